//! Exact search within `k` bits by hash tables over bit subsets.
//!
//! Sets of bit positions, *keys*, are chosen such that two fingerprints within `k` bits agree, or nearly agree,
//! on at least one; each key has a table. A lookup reads the few buckets that its keys select and verifies each
//! candidate. [`design`] defines exact keys, [`cost`] chooses the cheapest. Treats all bits as equally likely
//! to differ.
//!
//! Source: Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", 2007; Norouzi, Punjani and
//! Fleet, "Fast search in Hamming space with multi-index hashing", 2012. A directory of prefixes replaces
//! sorted tables.

pub mod cost;
pub mod design;
mod search;
mod table;

use std::ops::ControlFlow;

use self::search::Search;
use self::table::Table;
use super::collection::{BuildError, Collection};
use super::near::{Effort, HammingIndex, Match, Query, SearchError, check_bound};
use crate::fingerprint::MaxDistance;
use crate::hamming::Kernel;

pub use self::cost::Costs;
pub use self::design::{Design, Key};

#[derive(Clone, Debug)]
pub struct TableOptions {
    bound: MaxDistance,
    most_tables: usize,
    design: Option<Design>,
    costs: Option<Costs>,
}

impl TableOptions {
    /// Tables for everything within `bound`; the design is chosen by predicted cost among those
    /// with at most ten tables.
    pub fn within(bound: MaxDistance) -> Self {
        Self { bound, most_tables: 10, design: None, costs: None }
    }

    /// Limits the number of tables. More tables take more memory and, up to a point, less time; one
    /// to four take the least memory.
    #[must_use]
    pub fn most_tables(mut self, most: usize) -> Self {
        self.most_tables = most;
        self
    }

    /// Uses this design. Its bound replaces the given one.
    #[must_use]
    pub fn design(mut self, design: Design) -> Self {
        self.bound = design.bound();
        self.design = Some(design);
        self
    }

    /// Uses costs measured on this machine.
    #[must_use]
    pub fn costs(mut self, costs: Costs) -> Self {
        self.costs = Some(costs);
        self
    }
}

/// The exact engine for large sets.
#[derive(Clone, Debug)]
pub struct Tables {
    pages: Collection,
    tables: Vec<Table>,
    design: Design,
    kernel: Kernel,
}

impl Tables {
    /// Sorts the collection once per key.
    ///
    /// # Errors
    ///
    /// [`BuildError::BoundOutOfRange`] for a bound beyond [`Design::WIDEST`].
    pub fn build(pages: Collection, options: TableOptions) -> Result<Self, BuildError> {
        Self::build_with_kernel(pages, options, Kernel::best())
    }

    /// With a given instruction set.
    pub fn build_with_kernel(
        pages: Collection,
        options: TableOptions,
        kernel: Kernel,
    ) -> Result<Self, BuildError> {
        let asked = options.bound.bits();
        if asked > Design::WIDEST {
            return Err(BuildError::BoundOutOfRange { asked, most: Design::WIDEST });
        }
        let rows = pages.fingerprints().len();
        let costs = options.costs.unwrap_or_else(|| Costs::typical(rows));
        let choose = || cost::cheapest(rows, options.bound, options.most_tables, costs);
        let design = options.design.unwrap_or_else(choose);
        let mut tables: Vec<Table> = Vec::with_capacity(design.keys().len());
        for &key in design.keys() {
            let key_bits = key.mask.count_ones();
            let (prefix_bits, _) = cost::prefix_bits(rows, key_bits, key.radius, costs);
            let mut table = Table::build(pages.fingerprints(), key, prefix_bits, asked);
            table.set_earlier(&tables);
            tables.push(table);
        }
        Ok(Self { pages, tables, design, kernel })
    }

    /// The design in use.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// The entries without the tables.
    pub fn into_collection(self) -> Collection {
        self.pages
    }

    pub const fn collection(&self) -> &Collection {
        &self.pages
    }
}

impl HammingIndex for Tables {
    fn visit_batch(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<Effort, SearchError> {
        check_bound(bound, self.widest())?;
        let (pages, tables) = (&self.pages, self.tables.as_slice());
        Ok(self.kernel.run(Search { pages, tables, queries, bound: bound.bits(), visit }))
    }

    fn widest(&self) -> MaxDistance {
        self.design.bound()
    }

    fn len(&self) -> usize {
        self.pages.len()
    }

    fn memory_bytes(&self) -> usize {
        self.pages.memory_bytes()
            + self.tables.iter().map(Table::memory_bytes).sum::<usize>()
            + self.tables.capacity() * size_of::<Table>()
            + std::mem::size_of_val(self.design.keys())
    }
}
