//! The thesis's baseline: Manku's sorted tables with binary search.
//!
//! Online (chapter VI.A.1): for each choice of blocks a sorted copy of all fingerprints with those blocks first; a
//! query is permuted, the first fingerprint with its leading blocks is found by binary search and the following ones
//! are compared. Batch (VI.A.2, VII.G): four such tables over the queries, which every stored fingerprint searches.
//! As in the thesis, without a directory, batches of queries, or prefetch.

use hapax::hamming::BitGather;
use hapax::index::{Design, Match};

/// Tables over the stored fingerprints.
pub(super) struct SortedTables {
    tables: Vec<SortedTable>,
    bound: hapax::fingerprint::MaxDistance,
}

struct SortedTable {
    key: BitGather,
    rest: BitGather,
    permuted: Vec<u64>,
    ids: Vec<u32>,
}

impl SortedTable {
    fn new(stored: &[u64], mask: u64) -> Self {
        let (key, rest) = (BitGather::new(mask), BitGather::new(!mask));
        let mut table = Self { key, rest, permuted: Vec::new(), ids: Vec::new() };
        let mut rows: Vec<(u64, u32)> =
            stored.iter().zip(0..).map(|(&bits, id)| (table.permute(bits), id)).collect();
        rows.sort_unstable();
        (table.permuted, table.ids) = rows.into_iter().unzip();
        table
    }

    fn permute(&self, bits: u64) -> u64 {
        self.key.apply(bits) << self.rest.bits() | self.rest.apply(bits)
    }

    /// Fingerprints with the same key as the permuted `query`.
    fn bucket(&self, query: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        let below = self.rest.bits();
        let first = self.permuted.partition_point(|&it| it >> below < query >> below);
        let rows = self.permuted[first..].iter().copied().zip(self.ids[first..].iter().copied());
        rows.take_while(move |row| row.0 >> below == query >> below)
    }
}

impl SortedTables {
    /// Fingerprint `i` has id `i`. The keys of the design must not have a radius.
    pub(super) fn new(stored: &[u64], design: &Design) -> Self {
        let tables = design.keys().iter().map(|key| SortedTable::new(stored, key.mask)).collect();
        Self { tables, bound: design.bound() }
    }

    /// All matches, nearest first, ties by id; and the number of compared fingerprints.
    pub(super) fn find_all(&self, query: u64) -> (Vec<Match>, u64) {
        let (mut found, mut compared) = (Vec::new(), 0);
        for table in &self.tables {
            let query = table.permute(query);
            for (stored, id) in table.bucket(query) {
                compared += 1;
                let distance = (stored ^ query).count_ones();
                if self.bound.admits(distance) {
                    found.push(Match { distance, id: u64::from(id) });
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        (found, compared)
    }

    /// Any match.
    pub(super) fn find_first(&self, query: u64) -> Option<u32> {
        self.tables.iter().find_map(|table| {
            let query = table.permute(query);
            let near = |row: &(u64, u32)| self.bound.admits((row.0 ^ query).count_ones());
            table.bucket(query).find(near).map(|row| row.1)
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.tables.iter().map(|it| it.permuted.len() * 8 + it.ids.len() * 4).sum()
    }
}

/// Four tables over a batch of queries, for three bits.
pub(super) struct BatchTables(Vec<SortedTable>);

impl BatchTables {
    pub(super) fn new(queries: &[u64]) -> Self {
        let table = |block: u32| SortedTable::new(queries, 0xffff << (16 * block));
        Self((0..4).map(table).collect())
    }

    /// Calls `hit(query, place)` for each stored fingerprint within three bits of a query, once per
    /// table that finds it.
    pub(super) fn search(&self, stored: &[u64], mut hit: impl FnMut(u32, usize)) {
        for (place, &bits) in stored.iter().enumerate() {
            for table in &self.0 {
                let bits = table.permute(bits);
                for (query, number) in table.bucket(bits) {
                    if (query ^ bits).count_ones() <= 3 {
                        hit(number, place);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax::fingerprint::MaxDistance;

    #[test]
    fn the_number_of_comparisons_agrees_with_the_thesis() {
        // 6.6: L tables of 2^d fingerprints, of which 2^(d - x f / z) share a key of x of z blocks.
        let bits = |i: u64| hapax_synth::mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let stored: Vec<u64> = (0..1 << 18).map(bits).collect();
        let three = MaxDistance::new(3).unwrap();
        for (blocks, tables, key_bits) in [(4, 4, 16.0), (5, 10, 25.6)] {
            let online = SortedTables::new(&stored, &Design::blocks(blocks, three).unwrap());
            assert_eq!(online.tables.len(), tables);
            let queries = 1u64 << 12;
            let asked = (0..queries).map(|i| online.find_all(bits(i + (1 << 40))).1);
            let mean = asked.sum::<u64>() as f64 / queries as f64;
            let predicted = tables as f64 * (18.0_f64 - key_bits).exp2();
            assert!((mean / predicted - 1.0).abs() < 0.2, "{mean} compared, {predicted} predicted");
        }
    }

    #[test]
    fn both_baselines_agree_with_brute_force() {
        let stored = hapax_synth::planted(3, 400, 0.5, 3).fingerprints;
        let queries: Vec<u64> = stored.iter().step_by(7).map(|bits| bits ^ 0x11).collect();
        let design = Design::blocks(5, MaxDistance::new(3).unwrap()).unwrap();
        let online = SortedTables::new(&stored, &design);
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        for (number, &query) in (0u32..).zip(&queries) {
            let near: Vec<Match> = (0u64..)
                .zip(&stored)
                .map(|(id, bits)| Match { distance: (bits ^ query).count_ones(), id })
                .filter(|m| m.distance <= 3)
                .collect();
            expected.extend(near.iter().map(|m| (number, m.id as usize)));
            let (mut all, _) = online.find_all(query);
            assert_eq!(online.find_first(query).is_some(), !near.is_empty());
            all.sort_by_key(|m| m.id);
            assert_eq!(all, near);
        }
        BatchTables::new(&queries).search(&stored, |query, place| found.push((query, place)));
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, expected);
        assert!(expected.len() > 50);
    }
}
