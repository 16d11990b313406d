//! The thesis's baseline: sorted tables of permuted fingerprints, binary search, linear scan.
//!
//! As implemented by Sood for comparison, after Manku, Jain and Das Sarma (2011, chapter VI.A): for each choice of
//! blocks a sorted copy of all fingerprints with those blocks moved to the front; a query is permuted, the first
//! fingerprint with the same leading blocks is found by binary search, and the following ones are compared one by
//! one. No directory, no batches, no prefetch. Ids are separate, 4 bytes each per table.

use hapax::fingerprint::{Fingerprint, MaxDistance};
use hapax::hamming::BitGather;
use hapax::index::{Design, Match};

pub(crate) struct SortedTables {
    tables: Vec<SortedTable>,
    bound: MaxDistance,
}

struct SortedTable {
    key: BitGather,
    rest: BitGather,
    permuted: Vec<u64>,
    ids: Vec<u32>,
}

impl SortedTable {
    fn permute(&self, fingerprint: u64) -> u64 {
        self.key.apply(fingerprint) << self.rest.bits() | self.rest.apply(fingerprint)
    }
}

impl SortedTables {
    /// The keys of `design` must have no radius. Fingerprint `i` has id `i`.
    pub(crate) fn build(stored: &[Fingerprint], design: &Design) -> Self {
        let tables = design.keys().iter().map(|key| {
            assert_eq!(key.radius, 0, "sorted tables look up exact keys");
            let mut table = SortedTable {
                key: BitGather::new(key.mask),
                rest: BitGather::new(!key.mask),
                permuted: Vec::new(),
                ids: Vec::new(),
            };
            let mut rows: Vec<(u64, u32)> =
                stored.iter().zip(0..).map(|(f, id)| (table.permute(f.to_bits()), id)).collect();
            rows.sort_unstable();
            (table.permuted, table.ids) = rows.into_iter().unzip();
            table
        });
        Self { tables: tables.collect(), bound: design.bound() }
    }

    /// All matches, nearest first, ties by id.
    pub(crate) fn find_all(&self, query: Fingerprint) -> Vec<Match> {
        let mut found = Vec::new();
        self.visit(query, |m| {
            found.push(m);
            true
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Any match.
    pub(crate) fn find_first(&self, query: Fingerprint) -> Option<Match> {
        let mut found = None;
        self.visit(query, |m| {
            found = Some(m);
            false
        });
        found
    }

    /// Visits a match once per table that contains it.
    fn visit(&self, query: Fingerprint, mut more: impl FnMut(Match) -> bool) {
        for table in &self.tables {
            let query = table.permute(query.to_bits());
            // Outside of the loops: a call into the engine is not inlined.
            let bits = table.rest.bits();
            let leading = query >> bits;
            let first = table.permuted.partition_point(|&p| p >> bits < leading);
            for (&stored, &id) in table.permuted[first..].iter().zip(&table.ids[first..]) {
                if stored >> bits != leading {
                    break;
                }
                let distance = (stored ^ query).count_ones();
                let matches = self.bound.admits(distance);
                if matches && !more(Match { distance, id: u64::from(id) }) {
                    return;
                }
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.tables.iter().map(|t| t.permuted.len() * 8 + t.ids.len() * 4).sum()
    }
}
