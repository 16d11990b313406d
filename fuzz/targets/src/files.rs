//! Our own files: `.hpx`, index segments, removals, document frequencies.
//!
//! A changed file is refused or reads as it was written. A file that was changed together with its checksums is
//! refused or reads as some content: it must not panic, nor use more memory than a file of its size can need.

use crate::damage::{self, damaged, put, word};
use crate::{Target, choice, scratch};
use hapax::features::{Frequencies, FrequencyError};
use hapax::fingerprint::{Fingerprint, MaxDistance, Recipe};
use hapax::index::segment::{Encoding, Removed, Segment, SegmentEngine, SegmentView};
use hapax::index::{Entry, HammingIndex, Query};
use hapax_corpus::hpx::{Appender, Hpx, HpxError};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

pub const HPX: Target = Target {
    name: "hpx",
    about: "a changed .hpx file is refused or unchanged; a forged one ends in an error or a value",
    run: hpx,
    seeds: || damage::seeds(4),
    pieces: &["hapaxHPX", "hpxINDEX", "hpxIDEND"],
    rounds: 24_000,
};

/// Index segments and removals.
pub const SEGMENT_FILE: Target = Target {
    name: "segment_file",
    about: "a changed segment is refused or unchanged; a forged one answers as a scan of it would",
    run: segment_file,
    seeds: || damage::seeds(8),
    pieces: &["hapaxSEG", "hapaxREM"],
    rounds: 120_000,
};

/// Document frequencies.
pub const TABLES: Target = Target {
    name: "tables",
    about: "a changed table of frequencies is refused; a forged one comes back as it was read",
    run: tables,
    seeds: || damage::seeds(3),
    pieces: &[],
    rounds: 24_000,
};

type Documents = Vec<(u64, Option<Vec<u8>>)>;

/// All entries of a file, by id.
fn all_of(path: &Path) -> Result<Documents, HpxError> {
    let hpx = Hpx::open(path)?;
    let mut lookup = hpx.lookup();
    let mut documents = BTreeMap::new();
    let (mut stream, mut piece, mut position) = (hpx.stream(5000), Vec::new(), 0);
    while stream.next_piece(&mut piece)? {
        assert!(piece.is_sorted());
        for &fingerprint in &piece {
            let id = lookup.id(position)?;
            let name = lookup.name(id)?.map(<[u8]>::to_vec);
            documents.insert(id, (fingerprint, name));
            position += 1;
        }
    }
    assert_eq!(position, hpx.len());
    Ok(documents.into_values().collect())
}

/// A file after one append and after two, with its contents.
static STATES: LazyLock<[(Vec<u8>, Documents); 2]> = LazyLock::new(|| {
    let folder = scratch();
    let path = folder.path().join("x.hpx");
    let mut states = Vec::new();
    for round in 0..2u64 {
        let mut appender = Appender::open(&path, "web-2:00").unwrap();
        // The second state has more than one block of names.
        for i in 0..30 + round * 240 {
            let name = format!("page {round} {i}");
            let name = (i % 4 > 0).then_some(name.as_bytes());
            appender.push(i.wrapping_mul(0x0123_4567_89ab_cdef) >> (i % 9), name).unwrap();
        }
        appender.finish().unwrap();
        states.push((std::fs::read(&path).unwrap(), all_of(&path).unwrap()));
    }
    states.try_into().unwrap()
});

/// Corrects the checksum after `bytes[at..at + length]`.
fn seal(bytes: &mut [u8], at: u64, length: u64) {
    let Ok(start) = usize::try_from(at) else { return };
    let Some(end) = usize::try_from(length).ok().and_then(|length| start.checked_add(length))
    else {
        return;
    };
    let Some(body) = bytes.get(start..end) else { return };
    let sum = xxh3_64_with_seed(body, at);
    put(bytes, end, sum);
}

/// Corrects every checksum of a small `.hpx` file: blocks, directory, slots and header.
fn reseal_hpx(bytes: &mut [u8]) {
    let [odd, even] =
        [512, 1024].map(|at| (word(bytes, at), word(bytes, at + 8), word(bytes, at + 16)));
    let (_, at, length) = if odd.0 > even.0 { odd } else { even };
    if let Ok(start) = usize::try_from(at)
        && at >= 2048
        && length < 1 << 20
    {
        let runs = word(bytes, start.saturating_add(24)).min(8) as usize;
        let names = word(bytes, start.saturating_add(32)).min(8) as usize;
        for part in 0..runs + names {
            let entry = start.saturating_add(40 + 40 * part);
            let [a, b, c, d, e] = [0, 8, 16, 24, 32].map(|field| word(bytes, entry + field));
            if part < runs {
                let ids = a.saturating_mul(b).div_ceil(8);
                seal(bytes, c, ids);
                seal(bytes, d, e.saturating_sub(8));
            } else {
                seal(bytes, c, e.saturating_sub(c).saturating_sub(8));
                seal(bytes, e, b.div_ceil(256).saturating_mul(8));
            }
        }
        seal(bytes, at, length.saturating_sub(16));
    }
    seal(bytes, 512, 24);
    seal(bytes, 1024, 24);
    seal(bytes, 0, 504);
}

/// The first byte chooses the state, and whether checksums are corrected.
pub fn hpx(data: &[u8]) {
    let (first, rest) = choice(data);
    let (sound, _) = &STATES[first % 2];
    let mut bytes = damaged(sound, rest);
    let forged = first & 2 != 0;
    if forged {
        reseal_hpx(&mut bytes);
    }
    let folder = scratch();
    let path = folder.path().join("x.hpx");
    std::fs::write(&path, &bytes).unwrap();
    let read = all_of(&path);
    if !forged && let Ok(documents) = &read {
        let known = STATES.iter().any(|(_, state)| state == documents);
        assert!(known, "a changed file passes for one that nobody wrote");
    }
    // A file that cannot be read also refuses appends, or stays unharmed by them.
    if let Ok(mut appender) = Appender::open(&path, "web-2:00") {
        let pushed = appender.push(7, Some(b"later"));
        if pushed.is_ok()
            && appender.finish().is_ok()
            && let Ok(before) = read
            && !forged
        {
            let after = all_of(&path).unwrap();
            assert_eq!(after[..before.len()], before);
            assert_eq!(after.len(), before.len() + 1);
        }
    }
}

fn entries() -> Vec<Entry> {
    let mix = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 5);
    let each = |n: u64| Entry { fingerprint: Fingerprint::from_bits(mix(n / 2)), id: n * 3 };
    (0..40).map(each).collect()
}

static SEGMENTS: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let bound = MaxDistance::new(6).unwrap();
    let recipe = Recipe::built_in("web-2").unwrap().id(None);
    let segment = Segment::build(entries(), SegmentEngine::Scan, bound).unwrap();
    [Encoding::Plain, Encoding::Compressed].map(|how| segment.to_bytes(&recipe, how).unwrap())
});

static REMOVED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut removed = Removed::none(40);
    for rank in [0, 3, 4, 17, 39] {
        removed.insert(rank);
    }
    removed.to_bytes(99)
});

fn content(view: &SegmentView<'_>) -> Vec<Entry> {
    let mut all = Vec::new();
    view.for_each(|entry| all.push(entry));
    all.sort_unstable();
    all
}

/// Corrects the checksums of a segment with one block.
fn reseal_segment(bytes: &mut [u8]) {
    if bytes.len() < 88 {
        return;
    }
    let sums = bytes.len() - 8;
    let body = xxh3_64(&bytes[80..sums]);
    put(bytes, sums, body);
    put(bytes, 56, bytes.len() as u64);
    put(bytes, 64, xxh3_64(&body.to_le_bytes()));
    put(bytes, 72, xxh3_64(&bytes[..72]));
}

/// The first byte chooses the encoding, or removals; and whether checksums are corrected.
pub fn segment_file(data: &[u8]) {
    let (first, rest) = choice(data);
    let forged = first & 1 != 0;
    if first & 4 != 0 {
        let mut bytes = damaged(&REMOVED, rest);
        if forged && bytes.len() >= 64 {
            let body = xxh3_64(&bytes[64..]);
            put(&mut bytes, 48, body);
            let head = xxh3_64(&bytes[..56]);
            put(&mut bytes, 56, head);
        }
        if let Ok(removed) = Removed::from_bytes(&bytes, 99) {
            assert_eq!(removed.to_bytes(99), bytes, "removals that no writer writes");
            assert_eq!(removed.iter().count(), removed.count());
        }
        return;
    }
    let sound = &SEGMENTS[first / 2 % 2];
    let mut bytes = damaged(sound, rest);
    if forged {
        reseal_segment(&mut bytes);
    }
    let Ok(view) = SegmentView::open(&bytes) else { return };
    if !forged {
        assert_eq!(&bytes, sound, "a changed segment passes for sound");
    }
    let all = content(&view);
    assert_eq!(all.len(), view.len());
    let bound = MaxDistance::new(6).unwrap();
    let loaded = Segment::load(&view, SegmentEngine::Tables(4), bound).unwrap();
    for query in [all.first(), all.last()].into_iter().flatten() {
        let query = query.fingerprint;
        let mut found = view.find_all(&Query::from(query), bound).unwrap();
        let mut faster = loaded.find_all(&Query::from(query), bound).unwrap();
        let expected = all.iter().filter(|it| it.fingerprint.distance(query) <= 6).count();
        assert_eq!(found.len(), expected, "a search that is no scan");
        found.sort_unstable_by_key(|found| (found.distance, found.id));
        faster.sort_unstable_by_key(|found| (found.distance, found.id));
        assert_eq!(found, faster);
    }
}

static FREQUENCIES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut table = Frequencies::new(5, 10).unwrap();
    for document in 0..40u64 {
        let mut features: Vec<u64> = (0..9).map(|n| n * n * document).collect();
        table.add_document(&mut features);
    }
    table.to_bytes()
});

/// The first byte chooses a changed table, one with corrected checksums, or any bytes.
pub fn tables(data: &[u8]) {
    let (first, rest) = choice(data);
    let mut bytes = match first % 3 {
        2 => rest.to_vec(),
        _ => damaged(&FREQUENCIES, rest),
    };
    let forged = first % 3 > 0;
    if forged && bytes.len() > 32 {
        let body = bytes.len() - 32;
        let sum = blake3::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(sum.as_bytes());
    }
    let read: Result<Frequencies, FrequencyError> = Frequencies::from_bytes(&bytes);
    let Ok(table) = read else { return };
    if !forged {
        assert_eq!(bytes, *FREQUENCIES, "a changed table passes for sound");
    }
    let written = table.to_bytes();
    assert_eq!(Frequencies::from_bytes(&written).unwrap().to_bytes(), written);
    let weights = table.weights();
    for feature in 0..20 {
        let _ = (table.frequency(feature), weights.weight(feature));
    }
}
