//! Compares joins with the reference implementation.
//!
//! The reference is a loop over all pairs; inputs are clustered so that there are pairs, and the result must
//! not depend on threads, memory or storage.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::fingerprint::MaxDistance;
use crate::hamming::Kernel;

/// Runs tasks last to first on several threads, to expose dependencies on the order.
pub(super) struct Reversed(pub(super) usize);

impl Executor for Reversed {
    fn for_each(&self, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            for thread in 0..self.0 {
                scope.spawn(move || (thread..tasks).step_by(self.0).rev().for_each(work));
            }
        });
    }

    fn width(&self) -> usize {
        self.0
    }
}

/// Fingerprints around a few centres, with repetitions. Uniform fingerprints would have no pairs.
pub(super) fn clustered(most: usize) -> impl Strategy<Value = Vec<u64>> {
    vec(any::<u64>(), 1..5).prop_flat_map(move |centres| {
        let near = (0..centres.len(), vec(0..u64::BITS, 0..12)).prop_map(move |(centre, flips)| {
            flips.into_iter().fold(centres[centre], |bits, j| bits ^ (1u64 << j))
        });
        vec(prop_oneof![9 => near, 1 => any::<u64>()], 0..most)
    })
}

pub(super) fn numbered(fingerprints: &[u64]) -> Vec<Record<u32>> {
    (0u32..).zip(fingerprints).map(|(id, &fingerprint)| Record { fingerprint, id }).collect()
}

/// Pairs among the first documents of each fingerprint, and the twins.
fn plainly(records: &[Record<u32>], bound: MaxDistance) -> (Vec<Pair<u32>>, Vec<Pair<u32>>) {
    let mut first = BTreeMap::<u64, u32>::new();
    for &record in records {
        let id = first.entry(record.fingerprint).or_insert(record.id);
        *id = record.id.min(*id);
    }
    let mut twins: Vec<Pair<u32>> = records
        .iter()
        .filter(|record| first[&{ record.fingerprint }] != record.id)
        .map(|record| Pair { a: first[&{ record.fingerprint }], b: record.id, distance: 0 })
        .collect();
    let mut pairs = Vec::new();
    for (one, &a) in &first {
        for (other, &b) in first.range(one + u64::from(*one < u64::MAX)..) {
            let distance = (one ^ other).count_ones();
            if a != b && bound.admits(distance) {
                pairs.push(Pair { a: a.min(b), b: a.max(b), distance: distance as u8 });
            }
        }
    }
    pairs.sort_unstable();
    twins.sort_unstable();
    (pairs, twins)
}

proptest! {
    #[test]
    fn a_join_finds_exactly_what_comparing_everything_finds(
        fingerprints in clustered(250),
        k in 0u8..=16,
    ) {
        let bound = MaxDistance::new(k).unwrap();
        let records = numbered(&fingerprints);
        let (expected, twins) = plainly(&records, bound);
        for kernel in Kernel::available() {
            let options = PairOptions::within(bound).unwrap().kernel(kernel);
            let joined = pairs(records.clone(), &options, &OneThread);
            prop_assert_eq!(joined.pairs(), &expected[..], "{:?}", kernel);
            prop_assert_eq!(joined.twins(), &twins[..]);
        }
    }

    #[test]
    fn no_plan_partition_or_thread_count_changes_the_result(
        fingerprints in clustered(400),
        order in any::<u64>(),
        k in 0u8..=10,
        blocks in 0u32..=14,
        chunk in 1usize..500,
        part in 1usize..100,
        threads in 1usize..4,
        cluster in 1usize..200,
    ) {
        let bound = MaxDistance::new(k).unwrap();
        let mut records = numbered(&fingerprints);
        let options = PairOptions::within(bound).unwrap();
        let plain = pairs(records.clone(), &options, &OneThread);
        records.sort_by_key(|record| u64::from(record.id).wrapping_mul(order | 1) >> 7);
        let options = options.blocks(blocks).sizes(chunk, part).cluster(cluster);
        prop_assert_eq!(pairs(records, &options, &Reversed(threads)), plain);
    }

    #[test]
    fn a_dense_cluster_that_shares_its_first_bits_is_joined_exactly(
        tails in vec(prop_oneof![any::<u64>(), 0u64..5000, (0u32..24).prop_map(|j| 1 << j)], 0..400),
        shared in 32u32..56,
        head: u64,
        k in 0u8..=6,
        more_blocks in 0u32..=3,
        cluster in 1usize..40,
        memory in 2000usize..30_000,
    ) {
        let bound = MaxDistance::new(k).unwrap();
        let fingerprints: Vec<u64> =
            tails.iter().map(|tail| (head & !(u64::MAX >> shared)) | (tail & (u64::MAX >> shared))).collect();
        let records = numbered(&fingerprints);
        let (expected, twins) = plainly(&records, bound);
        let options = PairOptions::within(bound).unwrap().blocks(u32::from(k) + more_blocks).cluster(cluster);
        for kernel in Kernel::available() {
            let joined = pairs(records.clone(), &options.clone().kernel(kernel), &Reversed(2));
            prop_assert_eq!(joined.pairs(), &expected[..], "{:?}", kernel);
            prop_assert_eq!(joined.twins(), &twins[..]);
        }
        let spill = MemorySpill::default();
        let mut join = SpilledPairs::of_any_size(options, memory, spill, &OneThread);
        records.iter().try_for_each(|&record| join.push(record)).unwrap();
        let mut edges = Vec::new();
        join.finish(|edge| {
            edges.push(edge);
            Ok(())
        }).unwrap();
        let mut both = [expected, twins].concat();
        both.sort_unstable();
        prop_assert_eq!(edges, both);
    }

    #[test]
    fn ids_of_64_bits_join_like_ids_of_32(fingerprints in clustered(200), k in 0u8..=6) {
        let options = PairOptions::within(MaxDistance::new(k).unwrap()).unwrap();
        let narrow = pairs(numbered(&fingerprints), &options, &OneThread);
        let far = 1u64 << 40;
        let records = (far..).zip(&fingerprints).map(|(id, &fingerprint)| Record { fingerprint, id });
        let wide = pairs(records.collect(), &options, &OneThread);
        let moved = |pair: &Pair<u64>| {
            Pair { a: (pair.a - far) as u32, b: (pair.b - far) as u32, distance: pair.distance }
        };
        prop_assert_eq!(wide.pairs().iter().map(moved).collect::<Vec<_>>(), narrow.pairs());
        prop_assert_eq!(wide.twins().iter().map(moved).collect::<Vec<_>>(), narrow.twins());
    }

    #[test]
    fn a_spilled_join_gives_the_same_edges_in_the_same_order(
        fingerprints in clustered(400),
        order in any::<u64>(),
        k in 0u8..=8,
        more_blocks in 0u32..4,
        memory in 500usize..30_000,
        chunk in 1usize..300,
        part in 1usize..60,
        threads in 1usize..4,
    ) {
        let options = PairOptions::within(MaxDistance::new(k).unwrap()).unwrap();
        let mut records = numbered(&fingerprints);
        let plain = pairs(records.clone(), &options, &OneThread);
        records.sort_by_key(|record| u64::from(record.id).wrapping_mul(order | 1) >> 7);
        let options = options.blocks(u32::from(k) + more_blocks).sizes(chunk, part);
        let executor = Reversed(threads);
        let mut spill = MemorySpill::default();
        let mut edges = Vec::new();
        let mut join = SpilledPairs::of_any_size(options, memory, &mut spill, &executor);
        for record in records {
            join.push(record).unwrap();
        }
        join.finish(|edge| {
            edges.push(edge);
            Ok(())
        })
        .unwrap();
        prop_assert_eq!(edges, plain.edges().collect::<Vec<_>>());
        prop_assert_eq!(spill.partitions(), 0, "everything is given up");
    }

    #[test]
    fn edges_connect_all_near_documents(fingerprints in clustered(120), k in 0u8..=5) {
        let bound = MaxDistance::new(k).unwrap();
        let options = PairOptions::within(bound).unwrap();
        let joined = pairs(numbered(&fingerprints), &options, &OneThread);
        let edges: Vec<Pair<u32>> = joined.edges().collect();
        prop_assert!(edges.is_sorted());
        prop_assert_eq!(edges.len(), joined.pairs().len() + joined.twins().len());
        let classes: usize = joined.classes().map(|(_, twins)| twins.len()).sum();
        prop_assert_eq!(classes, joined.twins().len());
    }
}

#[test]
fn larger_sets_agree_whatever_the_number_of_blocks() {
    let planted = hapax_synth::planted(7, 60_000, 0.3, 6);
    let records = numbered(&planted.fingerprints);
    for k in [1, 3, 6, 8] {
        let options = PairOptions::within(MaxDistance::new(k).unwrap()).unwrap();
        let everything = options.clone().blocks(u32::from(k)).cluster(usize::MAX);
        let expected = pairs(records.clone(), &everything, &OneThread);
        assert!(expected.pairs().len() > 1000);
        for blocks in u32::from(k) + 1..=u32::from(k) + 3 {
            let options = options.clone().blocks(blocks).sizes(7001, 900);
            let found = pairs(records.clone(), &options, &Reversed(2));
            assert!(found == expected, "{blocks} blocks within {k}");
        }
        assert!(pairs(records.clone(), &options, &OneThread) == expected, "within {k}");
    }
}

#[test]
fn a_million_equal_pages_are_a_star() {
    let mut records: Vec<Record<u32>> =
        (0..1_000_000).rev().map(|id| Record { fingerprint: 0xfeed, id }).collect();
    records.push(Record { fingerprint: 0xfeec, id: 2_000_000 });
    let options = PairOptions::within(MaxDistance::new(3).unwrap()).unwrap();
    let joined = pairs(records, &options, &OneThread);
    assert_eq!(joined.pairs(), [Pair { a: 0, b: 2_000_000, distance: 1 }]);
    assert_eq!(joined.twins().len(), 999_999);
    assert!(joined.twins().iter().all(|twin| twin.a == 0 && twin.distance == 0));
}

#[test]
fn nothing_and_one_have_no_pairs() {
    let options = PairOptions::within(MaxDistance::new(16).unwrap()).unwrap();
    for records in [vec![], vec![Record { fingerprint: 5, id: 1u32 }]] {
        let joined = pairs(records, &options, &OneThread);
        assert!(joined.pairs().is_empty() && joined.twins().is_empty());
    }
}

#[test]
fn a_bound_beyond_sixteen_bits_is_refused() {
    let refused = PairOptions::within(MaxDistance::new(17).unwrap()).unwrap_err();
    assert!(matches!(refused, JoinError::BoundOutOfRange { asked: 17, most: 16 }));
}

#[test]
fn a_spilled_join_of_a_larger_set_agrees() {
    let planted = hapax_synth::planted(9, 100_000, 0.3, 4);
    let options = PairOptions::within(MaxDistance::new(4).unwrap()).unwrap();
    let records = numbered(&planted.fingerprints);
    let plain: Vec<Pair<u32>> = pairs(records.clone(), &options, &OneThread).edges().collect();
    for memory in [200_000, 1_000_000, 100_000_000] {
        let mut join =
            SpilledPairs::of_any_size(options.clone(), memory, MemorySpill::default(), &OneThread);
        records.iter().try_for_each(|&record| join.push(record)).unwrap();
        let mut edges = Vec::new();
        join.finish(|edge| {
            edges.push(edge);
            Ok(())
        })
        .unwrap();
        assert!(edges == plain, "in {memory} bytes");
    }
}

#[test]
fn a_failing_storage_or_sink_ends_the_join_with_its_error() {
    struct Full;
    impl Spill for Full {
        fn append(&mut self, _: u32, _: &[u8]) -> std::io::Result<()> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn read(&mut self, _: u32, _: u64, _: &mut [u8]) -> std::io::Result<()> {
            Err(std::io::ErrorKind::UnexpectedEof.into())
        }
        fn forget(&mut self, _: u32) -> std::io::Result<()> {
            Ok(())
        }
    }
    let options = PairOptions::within(MaxDistance::new(3).unwrap()).unwrap();
    let mut join = SpilledPairs::of_any_size(options.clone(), 1000, Full, &OneThread);
    let failed = numbered(&[5; 1000]).into_iter().try_for_each(|record| join.push(record));
    assert!(matches!(failed, Err(JoinError::Spill { .. })));

    let spill = MemorySpill::default();
    let mut join = SpilledPairs::of_any_size(options.clone(), 1000, spill, &OneThread);
    numbered(&[5; 1000]).into_iter().try_for_each(|record| join.push(record)).unwrap();
    let failed = join.finish(|_| Err(JoinError::Sink { source: "no more room".into() }));
    assert!(matches!(failed, Err(JoinError::Sink { .. })));

    let small = SpilledPairs::<u32, _>::new(options, 1000, Full, &OneThread);
    assert!(matches!(small.err(), Some(JoinError::MemoryTooSmall { given: 1000, .. })));
}
