//! Compares the engine with the scan, and its recall with the requested one.

use proptest::prelude::*;

use super::*;
use crate::fingerprint::simhash::{Tally, Tie, cut};
use crate::fingerprint::{BitSums, Fingerprint};
use crate::index::tests::neighbourhoods;
use crate::index::{Entry, Scan};
use hapax_synth::{Scratch, Web, WebOptions, Weighting};

fn bound(bits: u8) -> MaxDistance {
    MaxDistance::new(bits).unwrap()
}

/// Sums with the signs of these bits and various strengths.
fn sums_of(fingerprint: Fingerprint, seed: u64) -> BitSums {
    BitSums::new(std::array::from_fn(|j| {
        let size = (seed.rotate_left(j as u32 * 7) & 0xff) as i64;
        if fingerprint.to_bits() >> j & 1 == 1 { size + 1 } else { -size }
    }))
}

proptest! {
    #[test]
    fn with_full_recall_it_finds_exactly_what_the_scan_finds(
        (entries, queries) in neighbourhoods(),
        k in 0u8..=8,
        narrower in 0u8..=8,
        mask: u64,
        bits in 0u32..12,
        scattered: bool,
        seed: u64,
    ) {
        let queries = &queries[..queries.len().min(12)];
        let pages = Collection::new(entries.iter().copied()).unwrap();
        let scan = Scan::new(pages.clone());
        let mut options = WeakOptions::within(bound(k), Recall::ALL).prefix_bits(bits);
        if scattered {
            // At most 12 scattered bits.
            options = options.leading(mask & 0x8100_1818_8001_1807);
        }
        let sums: Vec<BitSums> = queries.iter().map(|&q| sums_of(q, seed)).collect();
        let asked: Vec<Query> = queries
            .iter()
            .zip(&sums)
            .enumerate()
            .map(|(i, (&fingerprint, sums))| Query { fingerprint, sums: (i % 3 > 0).then_some(sums) })
            .collect();
        for kernel in Kernel::available() {
            let index = WeakBits::build_with_kernel(pages.clone(), options.clone(), kernel).unwrap();
            for k in [bound(k), bound(k.min(narrower))] {
                let expected = scan.find_all_batch(&asked, k).unwrap();
                prop_assert_eq!(&index.find_all_batch(&asked, k).unwrap(), &expected);
                let first = index.find_first_batch(&asked, k).unwrap();
                for (number, query) in asked.iter().enumerate() {
                    let all = expected.of(number);
                    prop_assert_eq!(&index.find_all(query, k).unwrap(), all);
                    prop_assert_eq!(first[number].is_some(), !all.is_empty());
                    prop_assert!(first[number].is_none_or(|m| all.contains(&m)));
                }
            }
        }
    }
}

/// The pages of a synthetic web, as sums.
struct Documents {
    sums: Vec<BitSums>,
}

impl Documents {
    fn new(pages: u64) -> Self {
        let web = Web::new(WebOptions::new(3, pages));
        let (mut scratch, mut bag) = (Scratch::default(), Vec::new());
        let sums = (0..pages)
            .map(|page| {
                web.bag(page, Weighting::FrequencyRarity, &mut scratch, &mut bag);
                let mut tally = Tally::default();
                bag.iter().for_each(|&(hash, weight)| tally.add(hash, weight));
                tally.sums()
            })
            .collect();
        Self { sums }
    }

    fn fingerprint(&self, page: usize) -> Fingerprint {
        cut(&self.sums[page], Tie::Zero)
    }

    fn collection(&self) -> Collection {
        let entry = |id| Entry { fingerprint: self.fingerprint(id as usize), id };
        Collection::new((0..self.sums.len() as u64).map(entry)).unwrap()
    }

    fn queries(&self, from: usize, every: usize) -> Vec<Query<'_>> {
        let pages = (from..self.sums.len()).step_by(every);
        let query =
            |page| Query { fingerprint: self.fingerprint(page), sums: Some(&self.sums[page]) };
        pages.map(query).collect()
    }

    /// From pages that are not queries: the matches that the scan finds.
    fn calibration(&self, scan: &Scan) -> Calibration {
        let queries = self.queries(0, 6);
        let mut pairs = Vec::new();
        for (query, matches) in
            queries.iter().zip(scan.find_all_batch(&queries, bound(6)).unwrap().iter())
        {
            for found in matches {
                let other = self.fingerprint(found.id as usize);
                pairs.push((query.sums.unwrap(), query.fingerprint.to_bits() ^ other.to_bits()));
            }
        }
        Calibration::fit(pairs)
    }
}

/// The share of matches found, without identical ones, and its standard deviation: matches of one
/// query are found or missed together.
fn recall(index: &WeakBits, scan: &Scan, queries: &[Query], bound: MaxDistance) -> (f64, f64) {
    let found = index.find_all_batch(queries, bound).unwrap();
    let all = scan.find_all_batch(queries, bound).unwrap();
    let unequal = |matches: &[Match]| matches.iter().filter(|m| m.distance > 0).count() as f64;
    let counts: Vec<(f64, f64)> = found
        .iter()
        .zip(all.iter())
        .inspect(|(found, all)| assert!(found.iter().all(|m| all.contains(m))))
        .map(|(found, all)| (unequal(found), unequal(all)))
        .collect();
    let (found, all) = counts.iter().fold((0.0, 0.0), |(f, a), count| (f + count.0, a + count.1));
    let share = found / all;
    let squares: f64 = counts.iter().map(|(found, all)| (found - share * all).powi(2)).sum();
    (share, squares.sqrt() / all)
}

/// The recall must be at least the requested one, up to the sampling error of three standard
/// deviations, and not so much higher that the limits would be useless.
#[test]
fn on_documents_the_measured_recall_reaches_the_requested_one() {
    let documents = Documents::new(30_000);
    let scan = Scan::new(documents.collection());
    let calibration = documents.calibration(&scan);
    let queries = documents.queries(1, 6);
    for aim in [Aim::Average, Aim::EachQuery] {
        for k in [3, 6] {
            for asked in [0.8, 0.95, 0.99] {
                let options = WeakOptions::within(bound(k), Recall::new(asked).unwrap())
                    .calibration(calibration.clone())
                    .aim(aim)
                    .prefix_bits(14);
                let index = WeakBits::build(documents.collection(), options).unwrap();
                let (measured, deviation) = recall(&index, &scan, &queries, bound(k));
                let more = measured - asked;
                assert!(
                    more >= -3.0 * deviation && more <= 0.02 + 0.4 * (1.0 - asked),
                    "{aim:?}, within {k}: {measured} +- {deviation} found, {asked} asked"
                );
            }
        }
    }
}

#[test]
fn weak_bits_need_fewer_probes_than_bits_taken_at_random() {
    let documents = Documents::new(10_000);
    let calibration = documents.calibration(&Scan::new(documents.collection()));
    let options = WeakOptions::within(bound(3), Recall::new(0.95).unwrap())
        .calibration(calibration)
        .prefix_bits(12);
    let index = WeakBits::build(documents.collection(), options).unwrap();
    let effort = |queries: &[Query]| {
        index.visit_batch(queries, bound(3), &mut |_, _| ControlFlow::Continue(())).unwrap()
    };
    let with_sums = documents.queries(1, 10);
    let without: Vec<Query> = with_sums.iter().map(|q| q.fingerprint.into()).collect();
    let [known, unknown] = [effort(&with_sums), effort(&without)];
    assert!(known.probes * 3 < unknown.probes, "{known:?} {unknown:?}");
    let share = unknown.covered / without.len() as f64;
    assert!((0.95..=1.0).contains(&share), "{share}");
}

/// Large enough that probes are sorted by parts of the table.
#[test]
fn a_large_batch_is_answered_like_its_parts() {
    let documents = Documents::new(20_000);
    let mut state = 9u64;
    let unrelated = (20_000..300_000).map(|id| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        Entry { fingerprint: Fingerprint::from_bits(state ^ (state >> 29)), id }
    });
    let known = (0..20_000).map(|id| Entry { fingerprint: documents.fingerprint(id as usize), id });
    let pages = Collection::new(known.chain(unrelated)).unwrap();
    let mut queries = documents.queries(0, 2);
    queries.iter_mut().step_by(50).for_each(|query| query.sums = None);
    assert!(queries.len() >= 1 << 13);
    for aim in [Aim::Average, Aim::EachQuery] {
        let options = WeakOptions::within(bound(6), Recall::new(0.9).unwrap()).aim(aim);
        let index = WeakBits::build(pages.clone(), options).unwrap();
        let whole = index.find_all_batch(&queries, bound(6)).unwrap();
        let first = index.find_first_batch(&queries, bound(6)).unwrap();
        for (number, part) in queries.chunks(100).enumerate() {
            let part = index.find_all_batch(part, bound(6)).unwrap();
            for (query, matches) in part.iter().enumerate() {
                let query = number * 100 + query;
                assert_eq!(whole.of(query), matches);
                assert!(first[query].is_some_and(|m| matches.contains(&m)));
            }
        }
    }
}

#[test]
fn equal_or_missing_sums_do_not_panic() {
    let pages = (0..1000).map(|id| Entry { fingerprint: Fingerprint::from_bits(id << 54), id });
    let pages = Collection::new(pages).unwrap();
    let sums = [[0; 64], [1; 64], [i64::MIN; 64], [i64::MAX; 64]].map(BitSums::new);
    for aim in [Aim::Average, Aim::EachQuery] {
        for share in [1e-9, 0.5, 0.95, 1.0] {
            let recall = Recall::new(share).unwrap();
            let options = WeakOptions::within(bound(6), recall).aim(aim).prefix_bits(10);
            let index = WeakBits::build(pages.clone(), options).unwrap();
            for sums in &sums {
                let fingerprint = cut(sums, Tie::Zero);
                let query = Query { fingerprint, sums: Some(sums) };
                for k in 0..=6 {
                    index.find_all(&query, bound(k)).unwrap();
                }
            }
        }
    }
}

#[test]
fn memory_is_that_of_the_columns() {
    let pages: Vec<Entry> = (0..1u64 << 16)
        .map(|id| {
            let bits = (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Entry { fingerprint: Fingerprint::from_bits(bits), id }
        })
        .collect();
    let options = WeakOptions::within(bound(3), Recall::new(0.95).unwrap()).prefix_bits(10);
    let index = WeakBits::build(Collection::new(pages).unwrap(), options).unwrap();
    // 32 bits of filter, 22 of tail, 16 of id; a directory of 2^10 entries; the plans; the padding
    // of columns.
    let columns = (1 << 16) * (32 + 22 + 16) / 8 + (4 << 10);
    let plans = 4 * size_of::<Plan>();
    assert!((columns..columns + plans + 600).contains(&index.memory_bytes()));
}

#[test]
fn invalid_options_are_refused() {
    assert_eq!([0.0, -1.0, 1.1, f64::NAN].map(Recall::new), [None; 4]);
    let pages = Collection::new([]).unwrap();
    let refused = WeakBits::build(pages.clone(), WeakOptions::within(bound(17), Recall::ALL));
    assert_eq!(refused.map(|_| ()), Err(BuildError::BoundOutOfRange { asked: 17, most: 16 }));
    let index = WeakBits::build(pages, WeakOptions::within(bound(3), Recall::ALL)).unwrap();
    let query = Query::from(Fingerprint::from_bits(0));
    assert_eq!(index.find_all(&query, bound(3)), Ok(Vec::new()));
    let refused = index.find_all(&query, bound(4));
    assert_eq!(refused, Err(SearchError::BoundTooWide { asked: bound(4), built: bound(3) }));
}

/// A stream of sorted runs, in small chunks; it may change between readings.
struct Runs<'a>(Vec<&'a [u64]>);

impl<'a> Runs<'a> {
    fn of(runs: &'a [Vec<u64>]) -> Self {
        Self(runs.iter().flat_map(|run| run.chunks(1000)).rev().collect())
    }
}

impl crate::join::Chunks for Runs<'_> {
    fn next_chunk(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, crate::join::JoinError> {
        fingerprints.clear();
        let next = self.0.pop();
        fingerprints.extend_from_slice(next.unwrap_or_default());
        Ok(next.is_some())
    }
}

/// Documents in two sorted runs, some of them repeated.
fn runs(documents: &Documents) -> Vec<Vec<u64>> {
    let pages = 0..documents.sums.len();
    let stored = pages.flat_map(|page| {
        let copies = 1 + usize::from(page.is_multiple_of(7)) * 2;
        std::iter::repeat_n(documents.fingerprint(page).to_bits(), copies)
    });
    let stored: Vec<u64> = stored.collect();
    let mut runs: Vec<Vec<u64>> =
        stored.chunks(stored.len() / 3 * 2).map(<[u64]>::to_vec).collect();
    runs.iter_mut().for_each(|run| run.sort_unstable());
    runs
}

#[test]
fn a_streamed_index_finds_what_an_index_of_a_collection_finds() {
    let documents = Documents::new(5_000);
    let runs = runs(&documents);
    let stored = runs.iter().flatten().zip(0..);
    let entries = stored.map(|(&bits, id)| Entry { fingerprint: Fingerprint::from_bits(bits), id });
    let pages = Collection::new(entries).unwrap();
    let options = WeakOptions::within(bound(6), Recall::new(0.9).unwrap());
    let held = WeakBits::build(pages, options.clone()).unwrap();
    let streamed = WeakBits::build_streamed(|| Runs::of(&runs), options).unwrap();
    assert_eq!(held.len(), streamed.len());
    let queries = documents.queries(0, 3);
    let [held, streamed] = [&held, &streamed].map(|i| i.find_all_batch(&queries, bound(6)));
    assert_eq!(held, streamed);
}

#[test]
fn a_measured_recall_is_that_of_all_matches_within_the_bound() {
    let documents = Documents::new(30_000);
    let runs = runs(&documents);
    let queries = documents.queries(0, 5);
    let exact = Scan::new(
        Collection::new(
            runs.iter()
                .flatten()
                .zip(0..)
                .map(|(&bits, id)| Entry { fingerprint: Fingerprint::from_bits(bits), id }),
        )
        .unwrap(),
    );
    for asked in [0.8, 0.95] {
        let share = Recall::new(asked).unwrap();
        let open = || Runs::of(&runs);
        let built =
            WeakBits::build_measured(&queries, bound(6), share, open, &crate::join::OneThread);
        let Measured { index, recall: stated, matches, .. } = built.unwrap().unwrap();
        assert!(stated >= asked && matches > 200, "{stated} on {matches}");
        let (real, deviation) = recall(&index, &exact, &queries, bound(6));
        assert!((real - stated).abs() < 4.0 * deviation, "{stated} stated, {real} +- {deviation}");
    }
}

#[test]
fn a_sample_with_too_few_matches_grows_and_then_says_so() {
    let documents = Documents::new(30_000);
    let runs = runs(&documents);
    let share = Recall::new(0.9).unwrap();
    let measured = |queries: &[Query<'_>]| {
        let mut readings = 0;
        let open = || {
            readings += 1;
            Runs::of(&runs)
        };
        let built =
            WeakBits::build_measured(queries, bound(6), share, open, &crate::join::OneThread);
        (built.unwrap().map(|_| ()), readings)
    };
    // Few queries have matches.
    let unrelated: Vec<BitSums> = (0..20_000)
        .map(|i: u64| sums_of(Fingerprint::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)), i))
        .collect();
    let mut queries: Vec<Query<'_>> = unrelated
        .iter()
        .map(|sums| Query { fingerprint: cut(sums, Tie::Zero), sums: Some(sums) })
        .collect();
    assert_eq!(measured(&queries), (Err(Unmeasured::TooFew { matches: 0 }), 3));
    let known = documents.queries(0, 20);
    queries.iter_mut().skip(1).step_by(13).zip(known).for_each(|(query, page)| *query = page);
    let (built, readings) = measured(&queries);
    assert!(built.is_ok() && readings > 5, "{built:?} after {readings} readings");
    queries.iter_mut().for_each(|query| query.sums = None);
    assert_eq!(measured(&queries).0, Err(Unmeasured::TooFew { matches: 0 }));
}

#[test]
fn a_stream_that_changes_between_readings_is_an_error() {
    let whole = vec![(0..5000u64).map(|i| i << 50 | i).collect::<Vec<_>>()];
    let half = vec![whole[0][..2500].to_vec()];
    for (first, second) in [(&whole, &half), (&half, &whole)] {
        let mut readings = 0;
        let open = || {
            readings += 1;
            Runs::of(if readings < 3 { first } else { second })
        };
        let options = WeakOptions::within(bound(3), Recall::new(0.9).unwrap());
        let refused = WeakBits::build_streamed(open, options).map(|_| ());
        assert!(matches!(refused, Err(StreamedError::Build(BuildError::Changed))), "{refused:?}");
    }
}
