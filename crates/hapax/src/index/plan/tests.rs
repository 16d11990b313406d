//! Compares predictions with measurements of built indexes.

use proptest::prelude::*;

use super::*;
use crate::fingerprint::simhash::{Tie, cut};
use crate::fingerprint::{BitSums, Fingerprint};
use crate::index::segment::{Segment, SegmentEngine};
use crate::index::{
    Collection, Effort, Entry, HammingIndex, Query, Scan, TableOptions, Tables, WeakBits,
    WeakOptions,
};

/// Tolerance of predicted averages when all matches are found: a match is compared in every table
/// that holds it, which predictions ignore ...
const FACTOR: f64 = 1.2;

/// ... and when the first match ends a query: how soon a batch sees a match depends on its other
/// queries.
const FACTOR_FIRST: f64 = 2.0;

/// Probes of weak bits are averages over the 200 pages of a sample, and queries are other pages.
const FACTOR_WEAK: f64 = 1.35;

fn within(bits: u32) -> MaxDistance {
    MaxDistance::new(bits as u8).unwrap()
}

/// A random sequence independent of the one behind the predictions.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

fn pages(rows: u64) -> Vec<u64> {
    let mut next = random(7);
    (0..rows).map(|_| next()).collect()
}

fn collection(pages: &[u64]) -> Collection {
    let entries = pages.iter().zip(0..);
    Collection::new(
        entries.map(|(&bits, id)| Entry { fingerprint: Fingerprint::from_bits(bits), id }),
    )
    .unwrap()
}

/// Builds the index of a candidate.
fn build(candidate: &Candidate, pages: Collection, request: &Request) -> Box<dyn HammingIndex> {
    let costs = Machine::typical().costs(pages.fingerprints().len());
    match &candidate.engine {
        Engine::Scan => Box::new(Scan::new(pages)),
        Engine::Tables(design) => {
            let options = TableOptions::within(request.bound).design(design.clone()).costs(costs);
            Box::new(Tables::build(pages, options).unwrap())
        }
        Engine::Sorted(encoding) => {
            let mut entries = Vec::new();
            for (row, &bits) in pages.fingerprints().iter().enumerate() {
                let fingerprint = Fingerprint::from_bits(bits);
                entries.extend(pages.ids(row).map(|id| Entry { fingerprint, id }));
            }
            let engine = SegmentEngine::Sorted(*encoding);
            Box::new(Segment::build(entries, engine, request.bound).unwrap())
        }
        Engine::WeakBits { prefix_bits } => {
            let options =
                WeakOptions::within(request.bound, request.recall).prefix_bits(*prefix_bits);
            Box::new(WeakBits::build(pages, options).unwrap())
        }
    }
}

/// Queries with exactly one match, at distance `bound`.
fn planted(pages: &[u64], bound: u32, count: usize) -> Vec<Fingerprint> {
    let mut next = random(99);
    let one = |i: usize| {
        let mut flips = 0u64;
        while flips.count_ones() < bound {
            flips |= 1 << (next() % 64);
        }
        Fingerprint::from_bits(pages[i * 31 % pages.len()] ^ flips)
    };
    (0..count).map(one).collect()
}

fn measured(index: &dyn HammingIndex, queries: &[Fingerprint], request: &Request) -> Effort {
    let queries: Vec<Query<'_>> = queries.iter().map(|&query| query.into()).collect();
    let mut found = 0;
    let effort = index
        .visit_batch(&queries, request.bound, &mut |_, _| {
            found += 1;
            match request.mode {
                Mode::All => std::ops::ControlFlow::Continue(()),
                Mode::First => std::ops::ControlFlow::Break(()),
            }
        })
        .unwrap();
    assert!(found >= queries.len(), "every query has a match");
    effort
}

fn near(predicted: f64, measured: f64, factor: f64) -> bool {
    predicted <= measured * factor && measured <= predicted * factor
}

#[test]
fn predicted_probes_comparisons_and_bytes_are_what_built_indexes_take() {
    for (rows, bound) in [(20_000, 3), (200_000, 3), (200_000, 6), (50_000, 10)] {
        let stored = pages(rows);
        let queries = planted(&stored, bound, 300);
        let all = Request::new(rows, within(bound));
        for (request, factor) in [(all, FACTOR), (all.first(), FACTOR_FIRST)] {
            for candidate in candidates(&request, &Machine::typical()).unwrap() {
                let index = build(&candidate, collection(&stored), &request);
                let effort = measured(&*index, &queries, &request);
                let mean = |total: u64| total as f64 / queries.len() as f64;
                let what = format!("{rows} within {bound}: {candidate:?} {effort:?}");
                // How a compressed segment weighs buckets against fingerprints is not predicted.
                if candidate.engine != Engine::Sorted(Encoding::Compressed) {
                    assert!(near(candidate.probes, mean(effort.probes), factor), "{what}");
                    assert!(near(candidate.compared, mean(effort.compared), factor), "{what}");
                }
                let bytes = index.memory_bytes() as f64;
                assert!(near(candidate.total_bytes as f64, bytes, 1.02), "{bytes} {what}");
            }
        }
    }
}

/// The sums of a document, and of an edited copy that differs within `bound` in some bit.
fn edited(next: &mut impl FnMut() -> u64, bound: u32) -> [BitSums; 2] {
    let mut unit = || (next() >> 11) as f64 / (1u64 << 53) as f64;
    // The sum of many small numbers is approximately normal.
    let mut normal = || (0..12).map(|_| unit()).sum::<f64>() - 6.0;
    loop {
        let size = 0.02 * 25f64.powf((normal() / 12.0 + 0.5).clamp(0.0, 1.0));
        let sums: [f64; 64] = std::array::from_fn(|_| normal());
        let copy = sums.map(|sum| sum + size * normal());
        let pair = [sums, copy].map(|sums| BitSums::new(sums.map(|sum| (sum * 1e6) as i64)));
        let [one, other] = [&pair[0], &pair[1]].map(|sums| cut(sums, Tie::Zero));
        if (1..=bound).contains(&one.distance(other)) {
            return pair;
        }
    }
}

#[test]
fn weak_bits_follow_their_plan_and_reach_the_requested_recall() {
    // Two sizes: small batches, and large batches that are processed part by part.
    for (rows, asked, bound) in [(50_000, 2000, 3), (300_000, 9000, 3), (300_000, 9000, 6)] {
        let mut next = random(5);
        let pairs: Vec<[BitSums; 2]> = (0..asked).map(|_| edited(&mut next, bound)).collect();
        let mut stored = pages(rows - asked);
        stored.extend(pairs.iter().map(|pair| cut(&pair[1], Tie::Zero).to_bits()));
        let queries: Vec<Query<'_>> = pairs
            .iter()
            .map(|[sums, _]| Query { fingerprint: cut(sums, Tie::Zero), sums: Some(sums) })
            .collect();
        for share in [0.9, 0.99] {
            let recall = Recall::new(share).unwrap();
            let request = Request::new(rows, within(bound)).recall(recall);
            let listed = candidates(&request, &Machine::typical()).unwrap();
            let weak = |c: &&Candidate| matches!(c.engine, Engine::WeakBits { .. });
            assert!(listed.iter().any(|c| weak(&c)));
            for candidate in listed.iter().filter(weak) {
                let index = build(candidate, collection(&stored), &request);
                let mut found = 0;
                let effort = index.visit_batch(&queries, request.bound, &mut |query, m| {
                    found += u64::from(m.id == rows - asked + query as u64);
                    std::ops::ControlFlow::Continue(())
                });
                let effort = effort.unwrap();
                let mean = |total: u64| total as f64 / asked as f64;
                let what = format!("{rows} within {bound} at {share}: {candidate:?} {effort:?}");
                assert!(near(candidate.probes, mean(effort.probes), FACTOR_WEAK), "{what}");
                assert!(near(candidate.compared, mean(effort.compared), FACTOR_WEAK), "{what}");
                let bytes = index.memory_bytes() as f64;
                assert!(near(candidate.total_bytes as f64, bytes, 1.02), "{bytes} {what}");
                assert!(mean(found) > share - 0.03, "found {} {what}", mean(found));
            }
        }
    }
}

#[test]
fn the_bytes_of_a_scan_are_exact() {
    for rows in [1, 2, 1000, 65_537] {
        let request = Request::new(rows, within(3));
        let listed = candidates(&request, &Machine::typical()).unwrap();
        let scan = listed.iter().find(|candidate| candidate.engine == Engine::Scan).unwrap();
        let index = Scan::new(collection(&pages(rows)));
        assert_eq!(scan.total_bytes, index.memory_bytes() as u64);
    }
}

#[test]
fn few_pages_are_scanned_and_many_are_not() {
    let plan_for = |pages| plan(&Request::new(pages, within(3)), &Machine::typical()).unwrap();
    assert_eq!(plan_for(1).choice().engine, Engine::Scan);
    assert_eq!(plan_for(100).choice().engine, Engine::Scan);
    assert!(matches!(plan_for(1_000_000).choice().engine, Engine::Tables(_)));
}

#[test]
fn a_few_queries_are_not_worth_building_for() {
    let request = Request::new(1_000_000, within(3));
    let choice = |request: Request| plan(&request, &Machine::typical()).unwrap();
    let few = choice(request.queries(3));
    assert_eq!(few.choice().engine, Engine::Sorted(Encoding::Plain), "{}", few.reason);
    assert!(matches!(choice(request.queries(1 << 30)).choice().engine, Engine::Tables(_)));
}

#[test]
fn more_memory_never_means_more_time() {
    let mut slowest = f64::INFINITY;
    for gigabytes in [100, 130, 200, 300, 400, 800, 2000] {
        let request = Request::new(8_000_000_000, within(3)).memory(gigabytes * 1_000_000_000);
        let plan = plan(&request, &Machine::typical()).unwrap();
        let choice = plan.choice();
        assert!(choice.total_bytes <= gigabytes * 1_000_000_000);
        assert_eq!(choice.parts, 2);
        assert!(choice.nanoseconds_per_query <= slowest, "{gigabytes} GB: {}", plan.reason);
        slowest = choice.nanoseconds_per_query;
    }
}

#[test]
fn too_little_memory_says_how_much_is_needed() {
    let request = Request::new(8_000_000_000, within(3)).memory(64_000_000_000);
    let refused = plan(&request, &Machine::typical()).unwrap_err();
    let PlanError::Memory { needed, engine, .. } = refused else { panic!("{refused}") };
    assert_eq!(engine, "sorted, compressed");
    assert!(refused.to_string().contains("64.0 GB"), "{refused}");
    assert!(plan(&request.memory(needed), &Machine::typical()).is_ok());
    assert!(plan(&request.memory(needed - 1), &Machine::typical()).is_err());
}

#[test]
fn with_less_recall_weak_bits_are_fast_in_little_memory() {
    let request = Request::new(8_000_000_000, within(3)).recall(Recall::new(0.95).unwrap());
    let listed = candidates(&request, &Machine::typical()).unwrap();
    let smallest_exact = listed.iter().filter(|c| c.recall == 1.0).map(|c| c.total_bytes).min();
    let weak = listed.iter().filter(|c| c.recall < 1.0).map(|c| c.total_bytes).min();
    // A compressed array is almost as small, but takes a hundred times as long.
    assert!(weak.unwrap() < smallest_exact.unwrap() * 12 / 10, "{listed:?}");
    let plan = plan(&request.memory(90_000_000_000), &Machine::typical()).unwrap();
    assert!(matches!(plan.choice().engine, Engine::WeakBits { .. }), "{}", plan.reason);
    assert_eq!(plan.choice().recall, 0.95);
    assert!(plan.reason.contains("95 % of the matches"), "{}", plan.reason);
}

#[test]
fn an_exact_request_is_answered_by_exact_engines_only() {
    let request = Request::new(1 << 26, within(6));
    let listed = candidates(&request, &Machine::typical()).unwrap();
    assert!(listed.iter().all(|candidate| candidate.recall == 1.0));
}

#[test]
fn bounds_too_wide_for_tables_are_scanned() {
    let plan = plan(&Request::new(1 << 20, within(40)), &Machine::typical()).unwrap();
    assert_eq!(plan.choice().engine, Engine::Scan);
}

#[test]
fn impossible_requests_are_refused() {
    let none = Request::new(0, within(3));
    assert_eq!(plan(&none, &Machine::typical()), Err(PlanError::NoPages));
    for share in [0.0, -0.5, 1.01, f64::NAN, f64::INFINITY] {
        assert!(Recall::new(share).is_none(), "{share}");
    }
}

#[test]
fn a_stopped_or_racing_clock_gives_sound_constants() {
    assert_eq!(Machine::calibrate(&mut || 0), Machine::typical());
    let mut now = 0;
    let racing = Machine::calibrate(&mut || {
        now += 1_000_000_000;
        now
    });
    let typical = Machine::typical();
    assert!(racing.near_probe >= typical.near_probe && racing.far_probe <= 20.0 * 40.0);
    assert!(racing.scanned <= 20.0 * typical.scanned);
}

proptest! {
    #[test]
    fn no_request_is_too_large_or_too_small(
        shift in 0u32..64,
        pages in 1u64..,
        bound in 0u32..=64,
        memory in proptest::option::of(any::<u64>()),
        recall in 0.01f64..=1.0,
        first: bool,
    ) {
        let mut request = Request::new((pages >> shift).max(1), within(bound));
        request.memory = memory;
        request.recall = Recall::new(recall).unwrap();
        request.mode = if first { Mode::First } else { Mode::All };
        match plan(&request, &Machine::typical()) {
            Ok(plan) => {
                prop_assert!(plan.choice().fits);
                prop_assert!(plan.choice().recall >= recall);
                prop_assert!(!plan.reason.is_empty());
            }
            Err(PlanError::Memory { given, needed, .. }) => prop_assert!(given < needed),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}
