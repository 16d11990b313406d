//! Tests of whole files.
//!
//! The reference implementation is a list of documents. Damages every byte of a small file, and kills an append
//! at every byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::tempdir;

use super::*;

type Document = (u64, Option<Vec<u8>>);

fn append(path: &Path, documents: &[Document]) -> Result<Appended, HpxError> {
    let mut appender = Appender::open(path, "web-2:00")?;
    for (fingerprint, name) in documents {
        appender.push(*fingerprint, name.as_deref())?;
    }
    appender.finish()
}

/// All documents of the file, by id.
fn all_of(path: &Path) -> Result<Vec<Document>, HpxError> {
    let hpx = Hpx::open(path)?;
    let mut lookup = hpx.lookup();
    let mut documents = BTreeMap::new();
    let (mut stream, mut piece, mut position) = (hpx.stream(5000), Vec::new(), 0);
    while stream.next_piece(&mut piece)? {
        assert!(piece.is_sorted());
        for &fingerprint in &piece {
            let id = lookup.id(position)?;
            let name = lookup.name(id)?.map(<[u8]>::to_vec);
            assert!(documents.insert(id, (fingerprint, name)).is_none(), "each id once");
            position += 1;
        }
    }
    assert_eq!(position, hpx.len());
    Ok(documents.into_values().collect())
}

fn documents(most: usize) -> impl Strategy<Value = Vec<Document>> {
    let fingerprint = prop_oneof![any::<u64>(), 0u64..50, Just(u64::MAX)];
    let name = prop::option::weighted(0.8, vec(any::<u8>(), 1..20));
    vec((fingerprint, name), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn batches_are_read_back_in_the_order_of_their_ids(
        batches in vec(documents(120), 1..9),
        memory in 1usize..4000,
    ) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("x.hpx");
        let mut expected = Vec::new();
        for batch in &batches {
            let mut appender = Appender::open(&path, "").unwrap().memory(memory);
            for (fingerprint, name) in batch {
                let id = appender.push(*fingerprint, name.as_deref()).unwrap();
                prop_assert_eq!(id, expected.len() as u64);
                expected.push((*fingerprint, name.clone()));
            }
            let appended = appender.finish().unwrap();
            prop_assert_eq!(appended.added, batch.len() as u64);
            prop_assert_eq!(appended.documents, expected.len() as u64);
            prop_assert_eq!(all_of(&path).unwrap(), expected.clone());
            prop_assert!(appended.runs <= 8, "{appended:?}");
        }
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path()).collect();
        prop_assert_eq!(left, [path]);
    }

    #[test]
    fn any_bytes_are_read_without_panic(mut bytes in vec(any::<u8>(), 0..4000)) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("x.hpx");
        let magic = bytes.len().min(12);
        bytes[..magic].copy_from_slice(&b"hapaxHPX\x01\0\0\0"[..magic]);
        fs::write(&path, bytes).unwrap();
        prop_assert!(all_of(&path).is_err());
    }
}

/// Two states of a small file: bytes and documents of each.
fn two_states(folder: &Path) -> (Vec<u8>, Vec<u8>, Vec<Document>, Vec<Document>) {
    let path = folder.join("x.hpx");
    let name = |i: u64| Some(format!("page {i}").into_bytes());
    let first: Vec<Document> = (0..40).map(|i| (i * 0x0123_4567_89ab, name(i))).collect();
    let second: Vec<Document> = (40..50).map(|i| (i << 50, name(i))).collect();
    append(&path, &first).unwrap();
    let before = fs::read(&path).unwrap();
    append(&path, &second).unwrap();
    let after = fs::read(&path).unwrap();
    (before, after, first.clone(), [first, second].concat())
}

#[test]
fn a_file_cut_at_any_byte_is_refused_by_name() {
    let folder = tempdir().unwrap();
    let (_, after, _, _) = two_states(folder.path());
    let path = folder.path().join("cut.hpx");
    for length in 0..after.len() {
        fs::write(&path, &after[..length]).unwrap();
        let refused = all_of(&path).unwrap_err();
        assert!(refused.to_string().contains("cut.hpx"), "{length}: {refused}");
        let told = matches!(refused, HpxError::Truncated { .. } | HpxError::Foreign { .. });
        assert!(told, "{length}: {refused}");
    }
}

#[test]
fn an_append_killed_at_any_byte_leaves_the_previous_state() {
    let folder = tempdir().unwrap();
    let (before, after, old, new) = two_states(folder.path());
    let path = folder.path().join("killed.hpx");
    let more = [(7u64, Some(b"later".to_vec()))];
    // The slot is written last; everything else comes after the existing data.
    let slot = 1024..1024 + layout::SLOT;
    assert_eq!(before[..slot.start], after[..slot.start]);
    assert_eq!(before[slot.end..], after[slot.end..before.len()]);
    for length in before.len()..=after.len() {
        let mut bytes = after[..length].to_vec();
        bytes[slot.clone()].copy_from_slice(&before[slot.clone()]);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(all_of(&path).unwrap(), old, "{length}");
        append(&path, &more).unwrap();
        assert_eq!(all_of(&path).unwrap(), [&old[..], &more].concat(), "{length}");
    }
    // Killed while the slot was written: everything else is complete.
    for written in 0..=slot.len() {
        let mut bytes = after.clone();
        let torn = slot.start + written..slot.end;
        bytes[torn.clone()].copy_from_slice(&before[torn]);
        fs::write(&path, &bytes).unwrap();
        let found = all_of(&path).unwrap();
        assert!(found == old && written < slot.len() || found == new, "{written}");
        append(&path, &more).unwrap();
        assert_eq!(all_of(&path).unwrap(), [&found[..], &more].concat(), "{written}");
    }
}

#[test]
fn a_flipped_bit_anywhere_is_an_error_or_changes_nothing() {
    let folder = tempdir().unwrap();
    let (_, after, _, new) = two_states(folder.path());
    let path = folder.path().join("flipped.hpx");
    let mut refused = 0;
    for byte in 0..after.len() {
        let mut bytes = after.clone();
        bytes[byte] ^= 1 << (byte % 8);
        fs::write(&path, &bytes).unwrap();
        match all_of(&path) {
            Ok(found) => assert_eq!(found, new, "byte {byte}"),
            Err(error) => {
                assert!(error.to_string().contains("flipped.hpx"), "byte {byte}: {error}");
                refused += 1;
            }
        }
    }
    // The dead directory and the other slot are not read.
    assert!(refused * 10 > after.len() * 8, "{refused} of {}", after.len());
}

/// Every block of names is valid by itself; only the list assigns blocks to documents.
#[test]
fn a_list_that_names_another_block_is_refused() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.hpx");
    let documents: Vec<Document> =
        (0..600u64).map(|i| (i << 40, Some(format!("{i:04}").into_bytes()))).collect();
    append(&path, &documents).unwrap();
    let sound = fs::read(&path).unwrap();
    let names = Hpx::open(&path).unwrap().directory.names[0];
    let list = names.places_at as usize;
    assert_eq!(names.count, 600);
    for (to, from) in [(0, 8), (8, 0)] {
        let mut bytes = sound.clone();
        bytes.copy_within(list + from..list + from + 8, list + to);
        fs::write(&path, &bytes).unwrap();
        let refused = all_of(&path).unwrap_err();
        assert!(refused.to_string().contains("list of names"), "{refused}");
    }
}

#[test]
fn a_newer_file_and_another_recipe_are_refused() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.hpx");
    append(&path, &[(1, None)]).unwrap();
    let wrong = Appender::open(&path, "other:11").unwrap_err();
    assert!(matches!(wrong, HpxError::Recipe { .. }), "{wrong}");
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 2;
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(Hpx::open(&path).unwrap_err(), HpxError::TooNew { found: 2, .. }));
    fs::write(&path, "WARC/1.0").unwrap();
    assert!(matches!(Hpx::open(&path).unwrap_err(), HpxError::Foreign { .. }));
}

#[test]
fn there_is_one_writer_at_a_time_and_an_unfinished_one_leaves_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.hpx");
    append(&path, &[(1, None)]).unwrap();
    let bytes = fs::read(&path).unwrap();
    let mut one = Appender::open(&path, "").unwrap().memory(0);
    assert!(matches!(Appender::open(&path, "").unwrap_err(), HpxError::Locked { .. }));
    for i in 0..1000 {
        one.push(i, Some(b"lost")).unwrap();
    }
    drop(one);
    assert_eq!(fs::read(&path).unwrap(), bytes);
    let mut other = Appender::create(&path, "").unwrap();
    other.push(1, None).unwrap();
    drop(other);
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let empty = Appender::create(&path, "").unwrap().finish().unwrap();
    assert_eq!((empty.documents, all_of(&path).unwrap().len()), (0, 0));
}

#[test]
fn many_small_appends_keep_few_runs_and_write_little_again() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.hpx");
    let (mut merged, mut most) = (0, 0);
    for batch in 0..64u64 {
        let documents: Vec<Document> =
            (0..32).map(|i| ((batch * 32 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15), None)).collect();
        let appended = append(&path, &documents).unwrap();
        merged += appended.merged;
        most = most.max(appended.runs);
    }
    assert_eq!(all_of(&path).unwrap().len(), 2048);
    assert!(most <= 6 && merged <= 2048 * 8, "{most} runs, {merged} written again");
}

#[test]
fn reading_ahead_gives_the_same_and_can_be_stopped() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.hpx");
    let documents: Vec<Document> = (0..50_000u64).map(|i| (i * i, None)).collect();
    append(&path, &documents).unwrap();
    let hpx = Hpx::open(&path).unwrap();
    let mut ahead = ReadAhead::new(hpx.stream(9000));
    let (mut piece, mut all) = (Vec::new(), Vec::new());
    while ahead.next_piece(&mut piece).unwrap() {
        all.extend_from_slice(&piece);
    }
    assert_eq!(all.len(), documents.len());
    assert_eq!(ahead.bytes_read(), hpx.fingerprint_bytes());
    assert!(!ahead.next_piece(&mut piece).unwrap());
    let mut left = ReadAhead::new(hpx.stream(1));
    assert!(left.next_piece(&mut piece).unwrap());
    drop(left);
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    // The last fingerprints are just before the directory.
    bytes[length - 200] ^= 1;
    fs::write(&path, bytes).unwrap();
    let mut damaged = ReadAhead::new(Hpx::open(&path).unwrap().stream(1));
    let failed = loop {
        match damaged.next_piece(&mut piece) {
            Ok(true) => {}
            other => break other,
        }
    };
    assert!(matches!(failed, Err(HpxError::Damaged { .. })), "{failed:?}");
}

#[cfg(unix)]
#[test]
fn a_link_under_the_hidden_name_is_not_followed() {
    let folder = tempdir().unwrap();
    let (path, precious) = (folder.path().join("x.hpx"), folder.path().join("precious"));
    fs::write(&precious, "mine").unwrap();
    std::os::unix::fs::symlink(&precious, folder.path().join(".x.hpx.partial")).unwrap();
    append(&path, &[(7, None)]).unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
    assert_eq!(all_of(&path).unwrap().len(), 1);
}
