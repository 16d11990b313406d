//! Collapses identical fingerprints.
//!
//! The copies of a popular page are within any bound of each other and have the same neighbours, so only the
//! one with the smallest id is compared; the others are recorded as its twins. A million copies thus cost no
//! more than a sort. Works on one part at a time: records that agree in their highest bits.

use super::parts::{Digit, Runs, partition};
use super::record::{Id, Pair, Record};

/// Up to this many records a comparison sort is fastest.
const FEW: usize = 2;

/// More counters than this exceed the second-level cache.
const MOST_BITS: u32 = 14;

/// Buffers for sorting a part, reused for the next part.
pub(super) struct Collapse<I> {
    gathered: Vec<Record<I>>,
    sorted: Vec<Record<I>>,
}

impl<I: Id> Collapse<I> {
    pub(super) fn new() -> Self {
        Self { gathered: Vec::new(), sorted: Vec::new() }
    }

    /// Writes the distinct fingerprints of a part, ascending, to the start of `distinct`, and
    /// returns their number. All records of a part must agree in their `fixed` highest bits.
    ///
    /// For each further id of a fingerprint, appends it with the smallest id to `twins`, in order.
    pub(super) fn part(
        &mut self,
        runs: &[Runs<'_, I>],
        part: usize,
        fixed: u32,
        distinct: &mut [Record<I>],
        twins: &mut Vec<Pair<I>>,
    ) -> usize {
        self.gathered.clear();
        for run in runs {
            self.gathered.extend_from_slice(run.part(part));
        }
        let bits = (self.gathered.len() / FEW).max(1).ilog2().min(MOST_BITS).min(64 - fixed);
        // No bits for very few records, which would be a shift by 64.
        let digit = Digit::of(((1u64 << bits) - 1).unbounded_shl(64 - fixed - bits));
        if self.sorted.len() < self.gathered.len() {
            self.sorted.resize(self.gathered.len(), Record::default());
        }
        let ends = partition(&self.gathered, digit, &mut self.sorted).ends;
        for bucket in ends.windows(2) {
            match &mut self.sorted[bucket[0] as usize..bucket[1] as usize] {
                [] | [_] => {}
                [one, other] => {
                    if one > other {
                        std::mem::swap(one, other);
                    }
                }
                more => more.sort_unstable(),
            }
        }
        distinct_of(&self.sorted[..self.gathered.len()], distinct, twins)
    }
}

/// Splits sorted records into distinct ones and twins.
fn distinct_of<I: Id>(
    sorted: &[Record<I>],
    distinct: &mut [Record<I>],
    twins: &mut Vec<Pair<I>>,
) -> usize {
    let mut count = 0;
    for same in sorted.chunk_by(|one, other| { one.fingerprint } == { other.fingerprint }) {
        distinct[count] = same[0];
        count += 1;
        let others = same.windows(2).filter(|ids| { ids[0].id } != { ids[1].id });
        twins.extend(others.map(|ids| Pair::of(same[0].id, ids[1].id, 0)));
    }
    count
}
