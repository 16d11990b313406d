//! A live index compared with a map, under any interleaving, on one thread and on several.
//!
//! The reference implementation is an ordered map from id to fingerprint, copied for every snapshot and scanned
//! for every query. Ids and centres are few, so that replacements, removals and matches are frequent.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::fingerprint::{Fingerprint, MaxDistance, RecipeId};
use crate::index::near::{Match, Query};
use crate::index::segment::{Encoding, SegmentEngine, SegmentView};

type Model = BTreeMap<u64, Fingerprint>;

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, Fingerprint),
    InsertBatch(Vec<(u64, Fingerprint)>),
    Remove(u64),
    RemoveBatch(Vec<u64>),
    Freeze,
    Plan,
    PlanAll,
    Run,
    Commit,
    Drop,
    Snapshot,
    Reopen,
}

/// Few centres and few ids, so that matches, replacements and removals occur.
fn steps() -> impl Strategy<Value = (Vec<Step>, Vec<Fingerprint>)> {
    vec(any::<u64>(), 1..4).prop_flat_map(|centres| {
        let point = (0..centres.len(), vec(0..64u32, 0..9)).prop_map(move |(c, flips)| {
            Fingerprint::from_bits(flips.iter().fold(centres[c], |b, j| b ^ (1u64 << j)))
        });
        let point = prop_oneof![9 => point, 1 => any::<u64>().prop_map(Fingerprint::from_bits)];
        let point = point.boxed();
        let id = prop_oneof![8 => 0u64..60, 1 => any::<u64>()].boxed();
        let pair = (id.clone(), point.clone());
        let step = prop_oneof![
            12 => pair.clone().prop_map(|(id, point)| Step::Insert(id, point)),
            4 => vec(pair, 0..40).prop_map(Step::InsertBatch),
            5 => id.clone().prop_map(Step::Remove),
            1 => vec(id, 0..30).prop_map(Step::RemoveBatch),
            1 => Just(Step::Freeze),
            4 => Just(Step::Plan),
            1 => Just(Step::PlanAll),
            4 => Just(Step::Run),
            4 => Just(Step::Commit),
            1 => Just(Step::Drop),
            3 => Just(Step::Snapshot),
            1 => Just(Step::Reopen),
        ];
        (vec(step, 1..120), vec(point, 1..12))
    })
}

fn plainly(model: &Model, query: Fingerprint, bound: MaxDistance) -> Vec<Match> {
    let distances = model.iter().map(|(&id, f)| Match { distance: f.distance(query), id });
    let mut found: Vec<Match> = distances.filter(|m| bound.admits(m.distance)).collect();
    found.sort_unstable();
    found
}

fn agrees(
    snapshot: &Snapshot,
    model: &Model,
    queries: &[Fingerprint],
    bound: MaxDistance,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(snapshot.len(), model.len());
    let asked: Vec<Query> = queries.iter().map(|&query| query.into()).collect();
    let all = snapshot.find_all_batch(&asked, bound).unwrap();
    let first = snapshot.find_first_batch(&asked, bound).unwrap();
    for (number, &query) in queries.iter().enumerate() {
        let expected = plainly(model, query, bound);
        prop_assert_eq!(all.of(number), &expected[..]);
        prop_assert_eq!(first[number].is_some(), !expected.is_empty());
        prop_assert!(first[number].is_none_or(|m| expected.contains(&m)));
    }
    for id in 0..60 {
        prop_assert_eq!(snapshot.contains(id), model.contains_key(&id));
    }
    Ok(())
}

/// Encodes all segments and removals, and makes a new index from the bytes.
fn reopened(index: &LiveIndex, encoding: Encoding, mapped: bool) -> LiveIndex {
    index.freeze().unwrap();
    let recipe: RecipeId = "test-1:00000000000000aa".parse().unwrap();
    let options = index.options().clone();
    let kept: Vec<(Segment, Removed)> = index
        .snapshot()
        .segments()
        .map(|(segment, removed)| {
            let bytes = segment.to_bytes(&recipe, encoding).unwrap();
            let view = SegmentView::open(&bytes).unwrap();
            let gone = removed.to_bytes(view.identity());
            let removed = Removed::from_bytes(&gone, view.identity()).unwrap();
            let engine = options.engine_for(view.len());
            let loaded = Segment::load(&view, engine, options.bound).unwrap();
            if mapped {
                (Segment::map(Arc::new(bytes)).unwrap(), removed)
            } else {
                (loaded, removed)
            }
        })
        .collect();
    LiveIndex::from_segments(options, kept).unwrap()
}

proptest! {
    #[test]
    fn any_interleaving_equals_a_scan_over_what_survives(
        (steps, queries) in steps(),
        k in 0u8..=6,
        narrower in 0u8..=6,
        head in 1usize..20,
        growth in 2usize..5,
        runs in 1usize..4,
        scan_up_to in 0usize..60,
        engine in 0usize..3,
        backlog in 0usize..4,
    ) {
        let bound = MaxDistance::new(k).unwrap();
        let asked = MaxDistance::new(k.min(narrower)).unwrap();
        let engine = [
            SegmentEngine::Tables(5),
            SegmentEngine::Sorted(Encoding::Plain),
            SegmentEngine::Sorted(Encoding::Compressed),
        ][engine];
        let options = LiveOptions::within(bound)
            .head(head).growth(growth).runs(runs).scan_up_to(scan_up_to).engine(engine)
            .backlog(backlog);
        let mut index = LiveIndex::new(options).unwrap();
        let mut model = Model::new();
        let mut kept: Vec<(Snapshot, Model)> = Vec::new();
        let mut planned: Vec<MergeTask> = Vec::new();
        let mut merged: Vec<Merged> = Vec::new();
        for step in steps {
            match step {
                Step::Insert(id, fingerprint) => {
                    index.insert(Entry { fingerprint, id }).unwrap();
                    model.insert(id, fingerprint);
                }
                Step::InsertBatch(pairs) => {
                    let entry = |&(id, fingerprint)| Entry { fingerprint, id };
                    index.insert_batch(&pairs.iter().map(entry).collect::<Vec<_>>()).unwrap();
                    model.extend(pairs);
                }
                Step::Remove(id) => {
                    prop_assert_eq!(index.remove(id), model.remove(&id).is_some());
                }
                Step::RemoveBatch(ids) => {
                    let expected = ids.iter().filter(|id| model.remove(id).is_some()).count();
                    prop_assert_eq!(index.remove_batch(&ids), expected);
                }
                Step::Freeze => index.freeze().unwrap(),
                Step::Plan => planned.extend(index.pending_merge()),
                Step::PlanAll => planned.extend(index.merge_of_all()),
                Step::Run => merged.extend(planned.pop().map(|task| task.run().unwrap())),
                Step::Commit => {
                    // Stale if a segment was emptied in between; then nothing may change.
                    if let Some(done) = merged.pop() {
                        let _ = index.commit(done);
                    }
                }
                Step::Drop => drop(planned.pop()),
                Step::Snapshot => kept.push((index.snapshot(), model.clone())),
                Step::Reopen => {
                    let mapped = model.len().is_multiple_of(2);
                    let encoding =
                        if head.is_multiple_of(2) { Encoding::Plain } else { Encoding::Compressed };
                    index = reopened(&index, encoding, mapped);
                    merged.clear();
                    planned.clear();
                }
            }
            agrees(&index.snapshot(), &model, &queries[..1], asked)?;
        }
        kept.push((index.snapshot(), model.clone()));
        for (snapshot, model) in &kept {
            agrees(snapshot, model, &queries, asked)?;
        }
        drop((planned, merged));
        while index.merge_step().unwrap() {}
        let last = index.snapshot();
        agrees(&last, &model, &queries, bound)?;
        let tiers = merge::tier(model.len(), index.options()) as usize + 1;
        prop_assert!(last.segments().len() <= runs * tiers);
        prop_assert!(last.segments().all(|(s, gone)| gone.count() * 2 < s.len()));
    }
}

fn point(number: u64) -> Fingerprint {
    // A few hundred centres, with up to three bits flipped.
    let centre = (number % 300).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let flips = [number / 300 % 64, number / 7 % 64, number / 11 % 64];
    Fingerprint::from_bits(flips.iter().fold(centre, |bits, j| bits ^ (1 << j)))
}

/// Change `number` of the history that the threads below replay: mostly inserts, some of them
/// replacements, and removals.
fn change(number: u64) -> (u64, Option<Fingerprint>) {
    match number % 5 {
        4 => (number * 7 % (number + 1), None),
        3 => (number / 2, Some(point(number * 3 + 1))),
        _ => (number, Some(point(number))),
    }
}

#[test]
fn searches_during_inserts_and_merges_see_a_consistent_state() {
    const CHANGES: u64 = 6000;
    let bound = MaxDistance::new(3).unwrap();
    let options = LiveOptions::within(bound).head(64).growth(3).runs(2).scan_up_to(300);
    let index = LiveIndex::new(options.engine(SegmentEngine::Tables(4))).unwrap();
    // A snapshot taken between reading these has at least `done` and at most `begun` changes.
    let (begun, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let searched = AtomicU64::new(0);
    let writing = AtomicBool::new(true);

    let seen: Vec<(u64, u64, Snapshot)> = std::thread::scope(|threads| {
        threads.spawn(|| {
            for number in 0..CHANGES {
                begun.store(number + 1, Ordering::SeqCst);
                match change(number) {
                    (id, Some(fingerprint)) => index.insert(Entry { fingerprint, id }).unwrap(),
                    (id, None) => _ = index.remove(id),
                }
                done.store(number + 1, Ordering::SeqCst);
                // Makes sure that searches happen throughout, however the threads are scheduled.
                while searched.load(Ordering::SeqCst) < number / 8 {
                    std::thread::yield_now();
                }
            }
            writing.store(false, Ordering::SeqCst);
        });
        for _ in 0..2 {
            threads.spawn(|| {
                while writing.load(Ordering::SeqCst) {
                    match index.pending_merge() {
                        Some(task) => _ = index.commit(task.run().unwrap()),
                        None => std::thread::yield_now(),
                    }
                }
            });
        }
        let searcher = threads.spawn(|| {
            let mut seen = Vec::new();
            let mut number = 0;
            while writing.load(Ordering::SeqCst) {
                let least = done.load(Ordering::SeqCst);
                let snapshot = index.snapshot();
                let most = begun.load(Ordering::SeqCst);
                let query = Query::from(point(number));
                number += 1;
                let found = snapshot.find_all(&query, bound).unwrap();
                assert_eq!(found, snapshot.find_all(&query, bound).unwrap());
                if number % 16 == 1 {
                    seen.push((least, most, snapshot));
                }
                searched.store(number, Ordering::SeqCst);
                std::thread::yield_now();
            }
            seen
        });
        searcher.join().unwrap()
    });

    assert!(seen.len() > 20);
    let mut model = Model::new();
    let mut applied = 0;
    let stride = seen.len().div_ceil(60);
    for (least, most, snapshot) in seen.iter().step_by(stride) {
        // The one moment in `least..=most` that has these entries.
        let queries: Vec<Query> = (0..40).map(|q| point(q * 13).into()).collect();
        let found = snapshot.find_all_batch(&queries, bound).unwrap();
        let mut agreed = false;
        while applied <= *most {
            if applied >= *least {
                let same = |q: usize| found.of(q) == plainly(&model, queries[q].fingerprint, bound);
                agreed = snapshot.len() == model.len() && (0..queries.len()).all(same);
            }
            if agreed || applied == *most {
                break;
            }
            match change(applied) {
                (id, Some(fingerprint)) => _ = model.insert(id, fingerprint),
                (id, None) => _ = model.remove(&id),
            }
            applied += 1;
        }
        assert!(agreed, "no moment from {least} to {most} has these entries");
    }
}

/// Maximum number of segments if only inserts merge.
fn most_segments(entries: usize, options: &LiveOptions) -> usize {
    options.runs * (merge::tier(entries, options) as usize + 1) + options.backlog + 1
}

#[test]
fn inserts_merge_themselves_if_merging_falls_behind() {
    let bound = MaxDistance::new(3).unwrap();
    let options = LiveOptions::within(bound).head(16).growth(3).scan_up_to(100);
    for (batch, backlog) in [(1, 4), (7, 0), (40, 2), (3000, 4)] {
        let options = options.clone().backlog(backlog);
        let index = LiveIndex::new(options.clone()).unwrap();
        let entries: Vec<Entry> =
            (0..6000).map(|id| Entry { fingerprint: point(id), id }).collect();
        for (number, some) in entries.chunks(batch).enumerate() {
            index.insert_batch(some).unwrap();
            let there = ((number + 1) * batch).min(entries.len());
            let segments = index.snapshot().segments().len();
            // A batch may leave a few heads to the next insert.
            let most = most_segments(there, &options) + batch.div_ceil(16).min(backlog + 1);
            assert!(segments <= most, "{segments} segments, {batch} at a time");
        }
        let model: Model = entries.iter().map(|entry| (entry.id, entry.fingerprint)).collect();
        let queries: Vec<Fingerprint> = (0..30).map(|q| point(q * 11)).collect();
        agrees(&index.snapshot(), &model, &queries, bound).unwrap();
    }
}

#[test]
fn an_endless_merge_does_not_block_inserts() {
    let bound = MaxDistance::new(3).unwrap();
    let options = LiveOptions::within(bound).head(16).growth(3).scan_up_to(100);
    let index = LiveIndex::new(options.clone()).unwrap();
    let insert = |ids: std::ops::Range<u64>| {
        for id in ids {
            index.insert(Entry { fingerprint: point(id), id }).unwrap();
        }
    };
    insert(0..200);
    let slow = index.merge_of_all().unwrap();
    let set_aside = slow.segments();
    insert(200..4000);
    let segments = index.snapshot().segments().len();
    assert!(segments <= most_segments(4000, &options) + set_aside, "{segments}");
    index.commit(slow.run().unwrap()).unwrap();
    let model: Model = (0..4000).map(|id| (id, point(id))).collect();
    agrees(&index.snapshot(), &model, &[point(3), point(777)], bound).unwrap();
}

#[test]
fn a_batch_is_seen_whole_or_not_at_all() {
    let bound = MaxDistance::new(0).unwrap();
    let index = LiveIndex::new(LiveOptions::within(bound).head(10)).unwrap();
    let same = Fingerprint::from_bits(1);
    let writing = AtomicBool::new(true);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for batch in 0..200u64 {
                let entries: Vec<Entry> =
                    (0..25).map(|i| Entry { fingerprint: same, id: batch * 25 + i }).collect();
                index.insert_batch(&entries).unwrap();
                while index.merge_step().unwrap() {}
            }
            writing.store(false, Ordering::SeqCst);
        });
        while writing.load(Ordering::SeqCst) {
            let found = index.snapshot().find_all(&same.into(), bound).unwrap();
            assert_eq!(found.len() % 25, 0);
        }
    });
    assert_eq!(index.snapshot().len(), 5000);
}

#[test]
fn a_panicking_writer_leaves_the_previous_state() {
    let bound = MaxDistance::new(3).unwrap();
    let index = LiveIndex::new(LiveOptions::within(bound)).unwrap();
    index.insert(Entry { fingerprint: point(1), id: 1 }).unwrap();
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut writer = index.write();
        writer.positions.push(2);
        panic!("on purpose");
    }));
    assert!(died.is_err());
    index.insert(Entry { fingerprint: point(2), id: 2 }).unwrap();
    index.insert(Entry { fingerprint: point(3), id: 1 }).unwrap();
    assert!(index.remove(2));
    let model = Model::from([(1, point(3))]);
    agrees(&index.snapshot(), &model, &[point(1), point(2), point(3)], bound).unwrap();
}

#[test]
fn a_wide_bound_is_refused_when_made_and_when_asked() {
    let seventeen = MaxDistance::new(17).unwrap();
    let refused = LiveIndex::new(LiveOptions::within(seventeen)).map(|_| ()).unwrap_err();
    assert_eq!(refused, BuildError::BoundOutOfRange { asked: 17, most: 16 });
    let index = LiveIndex::new(LiveOptions::default()).unwrap();
    let query = [Query::from(point(0))];
    let seven = MaxDistance::new(7).unwrap();
    let none = &mut |_, _| ControlFlow::Continue(());
    assert!(index.snapshot().visit_batch(&query, seven, none).is_err());
}

#[test]
fn segments_that_share_a_live_id_are_refused() {
    let bound = MaxDistance::new(3).unwrap();
    let segment = |ids: [u64; 2]| {
        let entries = ids.map(|id| Entry { fingerprint: point(id), id }).to_vec();
        Segment::build(entries, SegmentEngine::Scan, bound).unwrap()
    };
    let options = LiveOptions::within(bound);
    let mut gone = Removed::none(2);
    let twice = [(segment([1, 2]), gone.clone()), (segment([2, 3]), gone.clone())];
    let refused = LiveIndex::from_segments(options.clone(), twice).map(|_| ()).unwrap_err();
    assert_eq!(refused, SegmentBuildError::SameId { id: 2 });
    gone.insert(1);
    let once = [(segment([1, 2]), gone), (segment([2, 3]), Removed::none(2))];
    assert_eq!(LiveIndex::from_segments(options.clone(), once).unwrap().snapshot().len(), 3);
    let foreign = [(segment([1, 2]), Removed::none(3))];
    let refused = LiveIndex::from_segments(options, foreign).map(|_| ()).unwrap_err();
    assert_eq!(refused, SegmentBuildError::OtherRemovals { entries: 2, of: 3 });
}

#[test]
fn a_popular_fingerprint_stays_cheap() {
    let bound = MaxDistance::new(3).unwrap();
    let index = LiveIndex::new(LiveOptions::within(bound)).unwrap();
    let same = Fingerprint::from_bits(77);
    let entries: Vec<Entry> = (0..200_000).map(|id| Entry { fingerprint: same, id }).collect();
    index.insert_batch(&entries).unwrap();
    index.freeze().unwrap();
    index.commit(index.merge_of_all().unwrap().run().unwrap()).unwrap();
    assert!((0..200_000).step_by(1000).all(|id| index.remove(id)));
    let snapshot = index.snapshot();
    let mut calls = 0;
    let effort = snapshot.visit_batch(&[same.into()], bound, &mut |_, _| {
        calls += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(calls, 199_800);
    assert!(effort.unwrap().compared <= 10);
    // Ranks of 18 bits, ids of two, one bit for removals; the rest is constant.
    assert!(index.memory_bytes() < 200_000 * 22 / 8 + 400_000, "{}", index.memory_bytes());
}

#[test]
fn what_a_merge_replaced_is_freed_when_no_snapshot_needs_it() {
    let bound = MaxDistance::new(3).unwrap();
    let index = LiveIndex::new(LiveOptions::within(bound).head(100).backlog(9)).unwrap();
    let entries: Vec<Entry> = (0..400).map(|id| Entry { fingerprint: point(id), id }).collect();
    index.insert_batch(&entries).unwrap();
    let before = index.snapshot();
    let old: Vec<Weak<Segment>> =
        before.segments().map(|(segment, _)| Arc::downgrade(segment)).collect();
    assert!(index.merge_step().unwrap());
    assert!(old.iter().all(|segment| segment.strong_count() > 0));
    assert_eq!(before.len(), 400);
    drop(before);
    assert!(old.iter().all(|segment| segment.strong_count() == 0));
}

#[test]
fn the_nearest_entries_are_those_of_a_scan_even_beyond_the_bound() {
    let six = MaxDistance::new(6).unwrap();
    let index =
        LiveIndex::new(LiveOptions::within(six).head(100).scan_up_to(200).backlog(9)).unwrap();
    // Spread by a multiplication, so that all distances occur.
    let spread = |id: u64| Fingerprint::from_bits(id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let entries: Vec<Entry> = (0..950).map(|id| Entry { fingerprint: spread(id), id }).collect();
    index.insert_batch(&entries).unwrap();
    while index.merge_step().unwrap() {}
    assert!((0..950).step_by(7).all(|id| index.remove(id)));
    let snapshot = index.snapshot();
    for (query, bound, limit) in [(3, 24, 20), (500, 30, 5), (949, 64, 2000), (8, 6, 3)] {
        let (query, bound) = (spread(query), MaxDistance::new(bound).unwrap());
        let mut expected: Vec<Match> = entries
            .iter()
            .filter(|entry| entry.id % 7 != 0)
            .map(|entry| Match { distance: entry.fingerprint.distance(query), id: entry.id })
            .filter(|found| bound.admits(found.distance))
            .collect();
        expected.sort_unstable();
        expected.truncate(limit);
        assert_eq!(snapshot.nearest(query, bound, limit), expected);
    }
}
