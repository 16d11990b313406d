//! Compares segments with plain lists, and tests their bytes against damage.
//!
//! There are two kinds of damage: accidents, which checksums must detect, and invalid content with valid
//! checksums, which must be an error or a searchable segment.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::format::{BLOCK, HEADER};
use super::*;
use crate::fingerprint::{Fingerprint, MaxDistance, RecipeId};
use crate::index::{Entry, HammingIndex, Match, Query, tests};

const ENCODINGS: [Encoding; 2] = [Encoding::Plain, Encoding::Compressed];

fn recipe() -> RecipeId {
    "test-1:00000000000000aa".parse().unwrap()
}

/// Entries around a few centres, some with equal fingerprints; ids dense or scattered.
fn entries() -> impl Strategy<Value = Vec<Entry>> {
    vec(any::<u64>(), 1..5).prop_flat_map(|centres| {
        let near = (0..centres.len(), vec(0..64u32, 0..9))
            .prop_map(move |(c, flips)| flips.iter().fold(centres[c], |b, j| b ^ (1u64 << j)));
        let point = prop_oneof![4 => near, 1 => any::<u64>(), 1 => 0u64..4].boxed();
        let id = prop_oneof![3 => 0u64..400, 1 => any::<u64>()];
        vec((id, point), 0..200).prop_map(|pairs| {
            let by_id: BTreeMap<u64, u64> = pairs.into_iter().collect();
            let entry = |(id, bits)| Entry { fingerprint: Fingerprint::from_bits(bits), id };
            by_id.into_iter().map(entry).collect()
        })
    })
}

fn check(
    index: &dyn HammingIndex,
    entries: &[Entry],
    bound: MaxDistance,
) -> Result<(), TestCaseError> {
    let queries: Vec<Fingerprint> = entries.iter().map(|e| e.fingerprint).collect();
    tests::check(index, entries, &queries, bound)?;
    prop_assert_eq!(index.len(), entries.len());
    Ok(())
}

fn content(view: &SegmentView<'_>) -> Vec<Entry> {
    let mut content = Vec::new();
    view.for_each(|entry| content.push(entry));
    content
}

/// Recomputes all checksums, as a faulty or malicious writer would.
fn reseal(bytes: &mut [u8]) {
    let body_and_sums = bytes.len() - HEADER;
    let blocks = body_and_sums.div_ceil(BLOCK + 8);
    let sums_at = bytes.len() - blocks * 8;
    for number in 0..blocks {
        let start = HEADER + number * BLOCK;
        let sum = xxh3_64(&bytes[start..sums_at.min(start + BLOCK)]);
        bytes[sums_at + number * 8..][..8].copy_from_slice(&sum.to_le_bytes());
    }
    let sum = xxh3_64(&bytes[sums_at..]);
    bytes[64..72].copy_from_slice(&sum.to_le_bytes());
    let sum = xxh3_64(&bytes[..72]);
    bytes[72..80].copy_from_slice(&sum.to_le_bytes());
}

proptest! {
    #[test]
    fn every_engine_and_the_bytes_hold_the_entries(entries in entries(), k in 0u8..=8) {
        let bound = MaxDistance::new(k).unwrap();
        let mut sorted = entries.clone();
        sorted.sort_unstable();
        let engines = [
            SegmentEngine::Scan,
            SegmentEngine::Tables(6),
            SegmentEngine::Sorted(Encoding::Plain),
            SegmentEngine::Sorted(Encoding::Compressed),
        ];
        for encoding in ENCODINGS {
            let mut written: Option<Vec<u8>> = None;
            for engine in engines {
                let segment = Segment::build(entries.clone(), engine, bound).unwrap();
                check(&segment, &entries, bound)?;
                let bytes = segment.to_bytes(&recipe(), encoding).unwrap();
                prop_assert!(written.as_ref().is_none_or(|written| *written == bytes));
                written = Some(bytes);
            }
            let bytes = written.unwrap();
            let view = SegmentView::open(&bytes).unwrap();
            prop_assert_eq!(view.recipe(), recipe().to_string());
            prop_assert_eq!(content(&view), sorted.clone());
            check(&view, &entries, bound)?;
            let loaded = Segment::load(&view, SegmentEngine::Tables(3), bound).unwrap();
            check(&loaded, &entries, bound)?;
            let mapped = Segment::map(Arc::new(bytes.clone())).unwrap();
            check(&mapped, &entries, bound)?;
            prop_assert_eq!(mapped.to_bytes(&recipe(), encoding).unwrap(), bytes);
            for (rank, entry) in entries.iter().enumerate() {
                prop_assert_eq!(mapped.rank_of(entry.id), Some(rank));
                prop_assert_eq!(mapped.ids().get(rank), entry.id);
            }
        }
    }

    #[test]
    fn a_flipped_bit_or_a_truncation_is_detected(
        entries in entries(),
        compressed: bool,
        flips in vec(any::<prop::sample::Index>(), 1..20),
        cut: prop::sample::Index,
    ) {
        let bound = MaxDistance::new(3).unwrap();
        let segment = Segment::build(entries, SegmentEngine::Scan, bound).unwrap();
        let bytes = segment.to_bytes(&recipe(), ENCODINGS[usize::from(compressed)]).unwrap();
        for flip in &flips {
            let mut damaged = bytes.clone();
            let bit = flip.index(bytes.len() * 8);
            damaged[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(SegmentView::open(&damaged).is_err(), "bit {bit}");
        }
        prop_assert!(SegmentView::open(&bytes[..cut.index(bytes.len())]).is_err());
        let longer = [&bytes[..], &[0]].concat();
        prop_assert!(SegmentView::open(&longer).is_err());
    }

    #[test]
    fn invalid_content_with_valid_checksums_is_an_error_or_a_segment(
        entries in entries(),
        compressed: bool,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let bound = MaxDistance::new(3).unwrap();
        let segment = Segment::build(entries, SegmentEngine::Scan, bound).unwrap();
        let encoding = ENCODINGS[usize::from(compressed)];
        let mut bytes = segment.to_bytes(&recipe(), encoding).unwrap();
        for (at, value) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        reseal(&mut bytes);
        if let Ok(view) = SegmentView::open(&bytes) {
            let content = content(&view);
            check(&view, &content, bound)?;
            let again = Segment::load(&view, SegmentEngine::Scan, bound).unwrap();
            if view.recipe() == recipe().to_string() {
                prop_assert_eq!(again.to_bytes(&recipe(), view.encoding()).unwrap(), bytes);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(noise in vec(any::<u8>(), 0..300)) {
        prop_assert!(SegmentView::open(&noise).is_err());
        let headed = [&b"hapaxSEG\x01\0\0\0"[..], &noise].concat();
        prop_assert!(SegmentView::open(&headed).is_err());
    }
}

#[test]
fn an_id_names_one_entry() {
    let entry = |bits, id| Entry { fingerprint: Fingerprint::from_bits(bits), id };
    let bound = MaxDistance::new(3).unwrap();
    let twice = Segment::build(vec![entry(1, 5), entry(2, 5)], SegmentEngine::Scan, bound);
    assert_eq!(twice.unwrap_err(), SegmentBuildError::SameId { id: 5 });
}

#[test]
fn errors_say_what_is_wrong() {
    let bound = MaxDistance::new(3).unwrap();
    let segment = Segment::build(Vec::new(), SegmentEngine::Scan, bound).unwrap();
    let bytes = segment.to_bytes(&recipe(), Encoding::Plain).unwrap();
    let open = |bytes: &[u8]| SegmentView::open(bytes).map(|_| ()).unwrap_err().to_string();

    assert_eq!(open(b"PK"), "not a segment: it does not begin with hapaxSEG");
    let mut newer = bytes.clone();
    newer[8] = 9;
    assert_eq!(open(&newer), "format 9 is newer than 1, the last one this build reads");
    let expected = format!(
        "{} bytes where {} were written; the file is cut or was added to",
        bytes.len() - 1,
        bytes.len()
    );
    assert_eq!(open(&bytes[..bytes.len() - 1]), expected);

    let other: RecipeId = "other-2:00000000000000bb".parse().unwrap();
    let refused = SegmentView::open(&bytes).unwrap().must_be(&other).unwrap_err().to_string();
    assert!(refused.starts_with("made with recipe test-1:00000000000000aa, other-2"), "{refused}");
}

#[test]
fn a_block_says_where_it_is_damaged() {
    let bound = MaxDistance::new(0).unwrap();
    let entries = (0..20_000u64)
        .map(|id| Entry { fingerprint: Fingerprint::from_bits(id << 40), id })
        .collect();
    let segment = Segment::build(entries, SegmentEngine::Scan, bound).unwrap();
    let mut bytes = segment.to_bytes(&recipe(), Encoding::Plain).unwrap();
    bytes[100_000] ^= 4;
    let offset = (HEADER + BLOCK) as u64;
    let refused = SegmentView::open(&bytes).map(|_| ()).unwrap_err();
    assert_eq!(refused, SegmentError::Checksum { part: "a block", offset });
}

#[test]
fn a_popular_fingerprint_is_one_row() {
    let bound = MaxDistance::new(3).unwrap();
    let same = Fingerprint::from_bits(0xabcd);
    let entries = (0..100_000).map(|id| Entry { fingerprint: same, id }).collect();
    let segment = Segment::build(entries, SegmentEngine::Scan, bound).unwrap();
    let bytes = segment.to_bytes(&recipe(), Encoding::Compressed).unwrap();
    // Ranks of 17 bits, ids of two, plus samples and checksums.
    assert!(bytes.len() < 100_000 * 20 / 8, "{}", bytes.len());
    let view = SegmentView::open(&bytes).unwrap();
    assert_eq!(view.rows(), 1);
    let query = [Query::from(same)];
    let mut calls = 0;
    let effort = view.visit_batch(&query, bound, &mut |_, m| {
        assert_eq!(m, Match { distance: 0, id: calls });
        calls += 1;
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!((calls, effort.unwrap().compared), (100_000, 1));
}

/// The worked example of `docs/internals/format.md`.
#[test]
fn the_example_in_the_format_document_is_what_is_written() {
    let entry = |bits, id| Entry { fingerprint: Fingerprint::from_bits(bits), id };
    let entries = vec![entry(0xff00, 7), entry(0xff01, 9), entry(0xff00, 12)];
    let bound = MaxDistance::new(3).unwrap();
    let segment = Segment::build(entries, SegmentEngine::Scan, bound).unwrap();
    let recipe: RecipeId = "web-1:0123456789abcdef".parse().unwrap();
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/format.md");
    let document = std::fs::read_to_string(document).unwrap();
    let identity = |bytes: &[u8]| SegmentView::open(bytes).unwrap().identity();
    let plain = segment.to_bytes(&recipe, Encoding::Plain).unwrap();
    let compressed = segment.to_bytes(&recipe, Encoding::Compressed).unwrap();
    let mut removed = Removed::none(3);
    removed.insert(1);
    for bytes in [&plain, &compressed, &removed.to_bytes(identity(&plain))] {
        for (row, bytes) in bytes.chunks(16).enumerate() {
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let line = format!("{:04x}  {}", row * 16, hex.join(" "));
            assert!(document.lines().any(|l| l.trim_end() == line), "missing: {line}");
        }
    }
}
