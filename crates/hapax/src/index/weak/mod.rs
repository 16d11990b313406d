//! Finds nearly everything within `k` bits of a query, from one table, by flipping weak bits.
//!
//! A bit whose sum is near zero changes with a small edit, so flipping a few likely combinations finds a match:
//!
//! ```text
//!   sums of the leading bits    -80  +3  +41  -9  +66  -2      weak: 3, 9 and 2
//!   fingerprint                  0   1    1   0    1   0
//!   buckets tried                0   1    1   0    1   0       as it is
//!                                0   1    1   0    1   1       one bit flipped
//!                                0   0    1   0    1   0
//!                                0   0    1   0    1   1       two bits flipped, and so on
//! ```
//!
//! The caller provides the [`Recall`], pairs to learn flips from ([`Calibration`]), and the sums of each query;
//! without sums, many more probes are needed. Guarantees that every match is within the bound and reported
//! once. The recall holds for documents like those of the calibration. [`Recall::ALL`] is exact. Results do not
//! depend on the batch.
//!
//! Source: Sood, "Probabilistic simhash matching", 2011, chapters IV to VI; calibration, limits by recall and
//! processing by parts are ours.

mod calibration;
mod combinations;
mod compare;
mod deal;
pub(in crate::index) mod forecast;
mod measured;
mod plan;
mod rank;
mod search;
mod streamed;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::ControlFlow;

use self::combinations::MOST_FLIPS;
use self::deal::Scratch;
use self::plan::{EvenSample, Leading, Plan};
use self::search::Search;
use self::table::{Rows, Table};
use super::collection::{BuildError, Collection};
use super::near::{
    Answers, Effort, Gathered, HammingIndex, Match, Query, SearchError, check_bound,
};
use crate::fingerprint::MaxDistance;
use crate::hamming::Kernel;

pub use self::calibration::{Calibration, Shape};
pub(in crate::index) use self::measured::SAMPLE;
pub use self::measured::{Measured, Unmeasured};
pub use self::streamed::StreamedError;

/// The share of the matches to find: above 0, up to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Recall(f64);

impl Recall {
    pub const ALL: Self = Self(1.0);

    /// `None` unless `0 < share <= 1`.
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share <= 1.0).then_some(Self(share))
    }

    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the recall refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aim {
    /// All queries together. Takes the fewest probes: those most likely to find something, of
    /// whatever query.
    #[default]
    Average,
    /// Each query by itself, as far as its sums tell. A query with many weak bits gets all the
    /// probes it needs.
    EachQuery,
}

/// How to build [`WeakBits`].
#[derive(Clone, Debug)]
pub struct WeakOptions {
    bound: MaxDistance,
    recall: Recall,
    aim: Aim,
    calibration: Calibration,
    prefix_bits: Option<u32>,
    leading: Option<u64>,
}

impl WeakOptions {
    /// Maximum prefix length: a directory of 2^28 entries.
    pub const MOST_PREFIX_BITS: u32 = 28;

    /// An index for everything within `bound`, of which it finds the share `recall`.
    pub fn within(bound: MaxDistance, recall: Recall) -> Self {
        Self {
            bound,
            recall,
            aim: Aim::default(),
            calibration: Calibration::default(),
            prefix_bits: None,
            leading: None,
        }
    }

    /// Uses this knowledge about flips. The default is a rough model.
    #[must_use]
    pub fn calibration(mut self, calibration: Calibration) -> Self {
        self.calibration = calibration;
        self
    }

    /// Sets what the recall refers to.
    #[must_use]
    pub fn aim(mut self, aim: Aim) -> Self {
        self.aim = aim;
        self
    }

    /// Uses this number of leading bits instead of the predicted best, at most
    /// [`MOST_PREFIX_BITS`](Self::MOST_PREFIX_BITS).
    #[must_use]
    pub fn prefix_bits(mut self, bits: u32) -> Self {
        self.prefix_bits = Some(bits.min(Self::MOST_PREFIX_BITS));
        self
    }

    /// Uses these leading bits (if more than [`MOST_PREFIX_BITS`](Self::MOST_PREFIX_BITS), the
    /// highest of them) instead of those that the calibration's pairs flip least.
    #[must_use]
    pub fn leading(mut self, mask: u64) -> Self {
        let mut mask = mask;
        while mask.count_ones() > Self::MOST_PREFIX_BITS {
            mask &= mask - 1;
        }
        self.leading = Some(mask);
        self
    }
}

/// The engine for documents with known sums, where a stated recall suffices.
#[derive(Clone, Debug)]
pub struct WeakBits {
    table: Table,
    leading: Leading,
    /// One for each bound up to the widest.
    plans: Vec<Plan>,
    kernel: Kernel,
}

impl WeakBits {
    /// The widest supported bound.
    pub const WIDEST: u32 = MOST_FLIPS as u32;

    /// Builds the table and plans searches within every bound up to the given one.
    ///
    /// # Errors
    ///
    /// [`BuildError::BoundOutOfRange`] for a bound beyond [`WIDEST`](Self::WIDEST).
    pub fn build(pages: Collection, options: WeakOptions) -> Result<Self, BuildError> {
        Self::build_with_kernel(pages, options, Kernel::best())
    }

    /// With a given instruction set.
    pub fn build_with_kernel(
        pages: Collection,
        options: WeakOptions,
        kernel: Kernel,
    ) -> Result<Self, BuildError> {
        Self::from_rows(&mut &pages, options, kernel)
    }

    fn from_rows<R: Rows>(
        rows: &mut R,
        options: WeakOptions,
        kernel: Kernel,
    ) -> Result<Self, R::Error> {
        let WeakOptions { bound, recall, aim, calibration, prefix_bits, leading } = options;
        let asked = bound.bits();
        if asked > Self::WIDEST {
            return Err(BuildError::BoundOutOfRange { asked, most: Self::WIDEST }.into());
        }
        let mask = match leading {
            Some(mask) => mask,
            None => {
                let mut sample = EvenSample::default();
                rows.each(|bits, _, _| {
                    sample.add(bits);
                    Ok(())
                })?;
                plan::choose_leading(&calibration, &sample, asked, recall, prefix_bits)
            }
        };
        let leading = Leading::new(mask);
        let plan = |bound| Plan::new(&calibration, &leading, bound, recall, aim);
        let plans = (0..=asked).map(plan).collect();
        Ok(Self { table: Table::build(rows, mask)?, leading, plans, kernel })
    }

    /// Number of leading bits.
    pub fn prefix_bits(&self) -> u32 {
        self.table.prefix_bits()
    }
}

/// Queries whose matches are collected before sorting: few enough for the cache, and enough to have
/// many probes for each part of the table.
const SORT_BATCH: usize = 1 << 16;

impl WeakBits {
    fn search(&self, bound: MaxDistance) -> Result<Search<'_>, SearchError> {
        check_bound(bound, self.widest())?;
        let bound = bound.bits();
        let plan = &self.plans[bound as usize];
        let (table, leading) = (&self.table, &self.leading);
        Ok(Search { table, plan, leading, kernel: self.kernel, bound })
    }
}

impl HammingIndex for WeakBits {
    fn visit_batch(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<Effort, SearchError> {
        Ok(self.search(bound)?.run(queries, &mut Scratch::default(), visit))
    }

    fn find_all_batch(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
    ) -> Result<Answers, SearchError> {
        let search = self.search(bound)?;
        let chunks = queries.len().div_ceil(SORT_BATCH).max(1);
        let mut scratch = Scratch::default();
        let (mut gathered, mut answers) = (Gathered::default(), Answers::default());
        for queries in queries.chunks(queries.len().div_ceil(chunks).max(1)) {
            search.run(queries, &mut scratch, &mut |query, m| {
                gathered.push(query, m);
                ControlFlow::Continue(())
            });
            answers.add(queries.len(), &mut gathered);
        }
        Ok(answers)
    }

    fn widest(&self) -> MaxDistance {
        // One plan for each bound from 0, at most 17.
        MaxDistance::new((self.plans.len() - 1) as u8)
            .unwrap_or(const { MaxDistance::new(0).unwrap() })
    }

    fn len(&self) -> usize {
        self.table.len()
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.plans.capacity() * size_of::<Plan>()
    }
}
