//! Compares every engine with the simplest possible reference implementation.
//!
//! Inputs are clustered, so that there are matches; one suite runs over all engines, all supported bounds,
//! single queries and batches.

use std::ops::ControlFlow;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::fingerprint::{Fingerprint, MaxDistance};
use crate::hamming::Kernel;

/// Entries around a few centres, some with the same fingerprint, some with the same id. Uniform
/// values would be about 32 bits apart, so an index without any results would still agree with the
/// reference.
pub(super) fn neighbourhoods() -> impl Strategy<Value = (Vec<Entry>, Vec<Fingerprint>)> {
    vec(any::<u64>(), 1..5).prop_flat_map(|centres| {
        let near = (0..centres.len(), vec(0..u64::BITS, 0..14)).prop_map(move |(centre, flips)| {
            let bits = flips.into_iter().fold(centres[centre], |b, j| b ^ (1u64 << j));
            Fingerprint::from_bits(bits)
        });
        let unrelated = any::<u64>().prop_map(Fingerprint::from_bits);
        let point = prop_oneof![9 => near, 1 => unrelated].boxed();
        let entry = (point.clone(), prop_oneof![0u64..50, any::<u64>()])
            .prop_map(|(fingerprint, id)| Entry { fingerprint, id });
        (vec(entry, 0..150), vec(point, 0..150)).prop_map(|(entries, mut queries)| {
            queries.extend(entries.iter().take(20).map(|e| e.fingerprint));
            (entries, queries)
        })
    })
}

pub(super) fn plainly(entries: &[Entry], query: Fingerprint, bound: MaxDistance) -> Vec<Match> {
    let mut distinct = entries.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let mut found: Vec<Match> = distinct
        .iter()
        .map(|e| Match { distance: e.fingerprint.distance(query), id: e.id })
        .filter(|m| bound.admits(m.distance))
        .collect();
    found.sort_unstable();
    found
}

fn designs(bound: MaxDistance, blocks: u32) -> Vec<TableOptions> {
    let given = [Design::blocks(blocks, bound), Design::multi_index(blocks, bound)];
    let chosen = [1, 4, 10, 20].map(|most| TableOptions::within(bound).most_tables(most));
    let options = TableOptions::within(bound);
    given
        .into_iter()
        .flatten()
        .filter(|design| design.keys().len() <= 70)
        .map(|design| options.clone().design(design))
        .chain(chosen)
        .collect()
}

pub(super) fn check(
    index: &dyn HammingIndex,
    entries: &[Entry],
    queries: &[Fingerprint],
    bound: MaxDistance,
) -> Result<(), TestCaseError> {
    let asked: Vec<Query> = queries.iter().map(|&q| Query::from(q)).collect();
    let all = index.find_all_batch(&asked, bound).unwrap();
    let first = index.find_first_batch(&asked, bound).unwrap();
    prop_assert_eq!(first.len(), queries.len());
    for (number, &query) in queries.iter().enumerate() {
        let expected = plainly(entries, query, bound);
        prop_assert_eq!(all.of(number), &expected[..]);
        prop_assert_eq!(first[number].is_some(), !expected.is_empty());
        prop_assert!(first[number].is_none_or(|m| expected.contains(&m)));
    }
    for &query in queries.iter().take(3) {
        let expected = plainly(entries, query, bound);
        prop_assert_eq!(index.find_all(&query.into(), bound).unwrap(), expected);
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_scan_finds_exactly_the_matches(
        (entries, queries) in neighbourhoods(),
        k in 0u8..=64,
    ) {
        let bound = MaxDistance::new(k).unwrap();
        for kernel in Kernel::available() {
            let scan =
                Scan::with_kernel(Collection::new(entries.iter().copied()).unwrap(), kernel);
            check(&scan, &entries, &queries, bound)?;
        }
    }

    #[test]
    fn every_table_design_finds_exactly_the_matches(
        (entries, queries) in neighbourhoods(),
        k in 0u8..=16,
        narrower in 0u8..=16,
        blocks in 1u32..=20,
    ) {
        let bound = MaxDistance::new(k).unwrap();
        let asked = MaxDistance::new(k.min(narrower)).unwrap();
        for options in designs(bound, blocks) {
            let pages = Collection::new(entries.iter().copied()).unwrap();
            let tables = Tables::build(pages, options).unwrap();
            check(&tables, &entries, &queries, bound)?;
            check(&tables, &entries, &queries, asked)?;
        }
    }

    #[test]
    fn tables_give_the_same_results_on_every_kernel(
        (entries, queries) in neighbourhoods(),
        k in 0u8..=8,
    ) {
        let bound = MaxDistance::new(k).unwrap();
        for kernel in Kernel::available() {
            let pages = Collection::new(entries.iter().copied()).unwrap();
            let options = TableOptions::within(bound);
            let tables = Tables::build_with_kernel(pages, options, kernel).unwrap();
            check(&tables, &entries, &queries, bound)?;
        }
    }
}

/// Large enough that tables are sorted by partitions and buckets exceed a window.
#[test]
fn a_large_set_is_searched_like_a_small_one() {
    let mut random = generator();
    let dense = random();
    let fingerprints: Vec<u64> = (0..30_000)
        .map(|i| if i % 3 == 0 { dense ^ (random() & 0xff_0000_00ff) } else { random() })
        .collect();
    let entry = |(id, &bits): (u64, &u64)| Entry { fingerprint: Fingerprint::from_bits(bits), id };
    let entries: Vec<Entry> = (0..).zip(&fingerprints).map(entry).collect();
    let queries: Vec<Fingerprint> = fingerprints
        .iter()
        .step_by(97)
        .map(|bits| Fingerprint::from_bits(bits ^ (1 << (bits % 61)) ^ (bits & 0x10)))
        .collect();
    for k in [0, 3, 6, 12] {
        let bound = MaxDistance::new(k).unwrap();
        for options in [TableOptions::within(bound), TableOptions::within(bound).most_tables(3)] {
            let pages = Collection::new(entries.iter().copied()).unwrap();
            check(&Tables::build(pages, options).unwrap(), &entries, &queries, bound).unwrap();
        }
    }
}

/// Large batches are sorted first, their parts are not.
#[test]
fn a_large_batch_is_answered_like_its_parts() {
    let mut random = generator();
    let fingerprints: Vec<u64> = (0..600_000).map(|_| random()).collect();
    let entry = |(id, &bits): (u64, &u64)| Entry { fingerprint: Fingerprint::from_bits(bits), id };
    let pages = Collection::new((0..).zip(&fingerprints).map(entry)).unwrap();
    let queries: Vec<Query> = fingerprints
        .iter()
        .take(70_000)
        .map(|bits| Fingerprint::from_bits(bits ^ (1 << (bits % 64)) ^ (1 << (bits % 63))).into())
        .collect();
    for k in [3, 6] {
        let bound = MaxDistance::new(k).unwrap();
        let index = Tables::build(pages.clone(), TableOptions::within(bound)).unwrap();
        let whole = index.find_all_batch(&queries, bound).unwrap();
        let first = index.find_first_batch(&queries, bound).unwrap();
        assert!(whole.total() >= queries.len());
        for (number, part) in queries.chunks(1000).enumerate() {
            let part = index.find_all_batch(part, bound).unwrap();
            for (query, matches) in part.iter().enumerate() {
                let query = number * 1000 + query;
                assert_eq!(whole.of(query), matches);
                assert!(matches.contains(&first[query].unwrap()));
            }
        }
    }
}

/// A reproducible random sequence.
fn generator() -> impl FnMut() -> u64 {
    let mut state = 7u64;
    move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        state ^ (state >> 29)
    }
}

#[test]
fn an_empty_set_answers_nothing() {
    let bound = MaxDistance::new(5).unwrap();
    let query = [Query::from(Fingerprint::from_bits(0))];
    let empty = || Collection::new([]).unwrap();
    let engines: [Box<dyn HammingIndex>; 2] = [
        Box::new(Scan::new(empty())),
        Box::new(Tables::build(empty(), TableOptions::within(bound)).unwrap()),
    ];
    for engine in engines {
        assert!(engine.is_empty());
        assert_eq!(engine.find_all_batch(&query, bound).unwrap().total(), 0);
        assert_eq!(engine.find_all_batch(&[], bound).unwrap().total(), 0);
    }
}

#[test]
fn a_million_equal_pages_are_one_candidate() {
    let same = Fingerprint::from_bits(0xfeed_beef);
    let pages = Collection::new((0..1_000_000).map(|id| Entry { fingerprint: same, id })).unwrap();
    let bound = MaxDistance::new(3).unwrap();
    let tables = Tables::build(pages, TableOptions::within(bound)).unwrap();
    let mut calls = 0;
    let effort = tables
        .visit_batch(&[same.into()], bound, &mut |_, m| {
            assert_eq!(m, Match { distance: 0, id: calls });
            calls += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(calls, 1_000_000);
    assert!(effort.compared <= tables.design().keys().len() as u64);
    assert_eq!(tables.find_first(&same.into(), bound).unwrap().unwrap().id, 0);
}

#[test]
fn a_bound_beyond_the_index_is_refused() {
    let (three, four) = (MaxDistance::new(3).unwrap(), MaxDistance::new(4).unwrap());
    let pages = Collection::new([]).unwrap();
    let tables = Tables::build(pages.clone(), TableOptions::within(three)).unwrap();
    let refused = tables.find_all(&Fingerprint::from_bits(0).into(), four);
    assert_eq!(refused, Err(SearchError::BoundTooWide { asked: four, built: three }));

    let seventeen = TableOptions::within(MaxDistance::new(17).unwrap());
    let refused = Tables::build(pages, seventeen).map(|_| ()).unwrap_err();
    assert_eq!(refused, BuildError::BoundOutOfRange { asked: 17, most: 16 });
}
