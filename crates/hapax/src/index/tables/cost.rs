//! Chooses the cheapest design for a number of fingerprints.
//!
//! ```text
//!   time  =  sum over keys of  probes(p, radius) * (probe + rows / 2^p * entry)
//!   probes(p, r)  =  C(p, 0) + C(p, 1) + ... + C(p, r)
//! ```
//!
//! `p`, the number of key bits that the directory uses, minimizes the term. This is Sood's equation 6.10 with a
//! directory instead of the binary search. Every design is exact. [`Costs::typical`] is from a Zen 4 server: on
//! 10 million fingerprints and k = 6, 276 probes with 1,316 fingerprints took 7.4 us and 52 with 7,935 took 5.2
//! us; on a million and k = 8, 188 with 2,869 took 3.5 us and 57 with 7,080 took 3.8 us.

use super::design::{Design, Group, choose, fewest_flips};
use super::table::{Table, highest};
use crate::fingerprint::{Fingerprint, MaxDistance};

/// The costs of the steps of a lookup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Nanoseconds per probe: computing the key, a directory line and the first bucket line,
    /// overlapped with other probes.
    pub probe: f64,
    /// Nanoseconds per fingerprint of a bucket.
    pub entry: f64,
}

impl Costs {
    /// For a server of the 2020s. Probes into a set that stays in the cache cost a third.
    pub fn typical(rows: usize) -> Self {
        let doublings = (rows as f64 / 500_000.0).max(1.0).log2();
        Self { probe: (10.0 + 4.0 * doublings).min(40.0), entry: 0.45 }
    }
}

/// Maximum size of a directory, as a number of prefix bits.
const MOST_PREFIX_BITS: u32 = 28;

/// Average bucket size below which a larger directory does not justify its memory.
const LEAST_BUCKET: usize = 4;

/// The best number of key bits for the directory of a table, and the predicted nanoseconds for all
/// its probes.
pub(super) fn prefix_bits(rows: usize, key_bits: u32, radius: u32, costs: Costs) -> (u32, f64) {
    let most = (rows / LEAST_BUCKET).max(1).ilog2().min(key_bits).min(MOST_PREFIX_BITS);
    let cost = |p: u32| {
        let bucket = rows as f64 / (1u64 << p) as f64;
        probes(p, radius) as f64 * (costs.probe + bucket * costs.entry)
    };
    (0..=most).map(|p| (p, cost(p))).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
}

/// Number of ways to flip at most `radius` of `prefix_bits` bits.
pub(in crate::index) fn probes(prefix_bits: u32, radius: u32) -> u64 {
    (0..=radius.min(prefix_bits)).map(|i| choose(prefix_bits, i)).fold(0, u64::saturating_add)
}

/// The predicted costs of one table per query.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct TableForecast {
    /// The key bits that its directory uses, as a mask.
    pub(in crate::index) prefix: u64,
    /// Maximum number of these that a match may have flipped.
    pub(in crate::index) radius: u32,
    /// Number of buckets looked up.
    pub(in crate::index) probes: f64,
    /// Number of fingerprints in them, if they are spread evenly.
    pub(in crate::index) compared: f64,
    pub(in crate::index) nanoseconds: f64,
    /// Heap bytes of the table, except for a few hundred for lists of runs and of other tables.
    pub(in crate::index) bytes: u64,
}

/// The tables that [`Tables::build`](super::Tables::build) makes from a design.
pub(in crate::index) fn forecast(rows: usize, design: &Design, costs: Costs) -> Vec<TableForecast> {
    let table = |key: &super::Key| {
        let (bits, nanoseconds) = prefix_bits(rows, key.mask.count_ones(), key.radius, costs);
        let probes = probes(bits, key.radius) as f64;
        TableForecast {
            prefix: highest(key.mask, bits),
            radius: key.radius,
            probes,
            compared: probes * rows as f64 / (1u64 << bits) as f64,
            nanoseconds,
            bytes: Table::predicted_bytes(rows as u64, bits, design.bound().bits()),
        }
    };
    design.keys().iter().map(table).collect()
}

/// The design with the lowest predicted time among all groups of blocks with at most `most_tables`
/// tables.
pub(in crate::index) fn cheapest(
    rows: usize,
    bound: MaxDistance,
    most_tables: usize,
    costs: Costs,
) -> Design {
    let k = bound.bits();
    let most_tables = most_tables.clamp(1, 64);
    let mut best: Option<(f64, Vec<Group>)> = None;
    for count in 1..=(k + 1).min(most_tables as u32) {
        for tolerances in shares(k + 1, count) {
            if let Some((cost, groups)) = fill(rows, count, &tolerances, most_tables, costs)
                && best.as_ref().is_none_or(|(least, _)| cost < *least)
            {
                best = Some((cost, groups));
            }
        }
    }
    let whole = Group { tolerance: k, blocks: 1, taken: 1 };
    Design::groups(bound, &best.map_or_else(|| vec![whole], |(_, groups)| groups))
}

/// The cheapest way to split each of `count` equal groups within a total number of tables.
fn fill(
    rows: usize,
    count: u32,
    tolerances: &[u32],
    most_tables: usize,
    costs: Costs,
) -> Option<(f64, Vec<Group>)> {
    // best[t]: the lowest cost of the groups so far with at most t tables.
    let mut best: Vec<Option<(f64, Vec<Group>)>> = vec![Some((0.0, Vec::new())); most_tables + 1];
    for &tolerance in tolerances {
        let options = ways_to_cut(rows, Fingerprint::BITS / count, tolerance, most_tables, costs);
        let mut with_this = vec![None; most_tables + 1];
        for (budget, slot) in with_this.iter_mut().enumerate() {
            for (tables, cost, group) in options.iter().filter(|option| option.0 <= budget) {
                let Some((before, groups)) = &best[budget - tables] else { continue };
                let total = before + cost;
                if slot.as_ref().is_none_or(|(least, _)| total < *least) {
                    let mut groups = groups.clone();
                    groups.push(*group);
                    *slot = Some((total, groups));
                }
            }
        }
        best = with_this;
    }
    best.pop().flatten()
}

/// Ways to split a group of `bits` bits, as (tables, cost, group).
fn ways_to_cut(
    rows: usize,
    bits: u32,
    tolerance: u32,
    most_tables: usize,
    costs: Costs,
) -> Vec<(usize, f64, Group)> {
    let mut ways = Vec::new();
    for blocks in 1..=bits.min(12) {
        for taken in 1..=blocks {
            let tables = choose(blocks, taken);
            if tables > most_tables as u64 {
                continue;
            }
            let radius = fewest_flips(tolerance, blocks, taken);
            let (_, cost) = prefix_bits(rows, bits * taken / blocks, radius, costs);
            ways.push((tables as usize, cost * tables as f64, Group { tolerance, blocks, taken }));
        }
    }
    ways
}

/// All ways to write `total` as a sum of `parts` numbers of at least 1, largest first; each number
/// is given as a tolerance, one less.
fn shares(total: u32, parts: u32) -> Vec<Vec<u32>> {
    fn extend(left: u32, parts: u32, most: u32, sofar: &mut Vec<u32>, all: &mut Vec<Vec<u32>>) {
        if parts == 0 {
            if left == 0 {
                all.push(sofar.clone());
            }
            return;
        }
        for share in 1..=most.min(left) {
            sofar.push(share - 1);
            extend(left - share, parts - 1, share, sofar, all);
            sofar.pop();
        }
    }
    let mut all = Vec::new();
    extend(total, parts, total, &mut Vec::new(), &mut all);
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_chosen_design_misses_nothing(
            k in 0u32..=16,
            rows in 0usize..50_000_000,
            most_tables in 1usize..=20,
            positions in proptest::collection::vec(0u32..64, 16),
        ) {
            let bound = MaxDistance::new(k as u8).unwrap();
            let design = cheapest(rows, bound, most_tables, Costs::typical(rows));
            prop_assert!(design.keys().len() <= most_tables);
            let flips = positions.iter().take(k as usize).fold(0, |f, j| f | (1u64 << j));
            let found =
                design.keys().iter().any(|key| (flips & key.mask).count_ones() <= key.radius);
            prop_assert!(found, "{design:?}");
        }
    }

    #[test]
    fn shares_are_all_partitions() {
        assert_eq!(shares(4, 2), [vec![1, 1], vec![2, 0]]);
        assert_eq!(shares(7, 3).len(), 4);
    }
}
