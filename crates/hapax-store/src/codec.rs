//! Encodes records as bytes, little-endian; `docs/internals/store.md` specifies the layouts.
//!
//! A page record has its own checksum, because redb reads rows without checking the file's. Invalid bytes are
//! [`Fault::Damaged`], never a panic.

use crate::error::{Fault, Outcome};
use crate::frames::Own;
use crate::page::{PageData, StoredComparable};
use hapax::fingerprint::sketch::BYTES as SKETCH;
use hapax::fingerprint::{ContentHash, Fingerprint, Sketch};
use hapax::group::ScopeKey;
use hapax::group::live::{Bare, Change, Check, GroupId, GroupRecord, PageId, PageRecord};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Format 1 had neither `first_seen` nor `recorded`. Format 3 adds the sketch under the
/// repository's key; formats 4 and 5 are 2 and 3 plus the page's own text.
const PLAIN_FORMAT: u8 = 2;
const KEYED_FORMAT: u8 = 3;
const OWN_FORMAT: u8 = 2;
const LAST_FORMAT: u8 = KEYED_FORMAT + OWN_FORMAT;
/// Added to the format of a dense page.
const DENSE: u8 = 128;
const HAS_CONTENT: u8 = 1;
const HAS_SCORE: u8 = 2;
const HAS_FETCHED: u8 = 4;
const HAS_CHANGED: u8 = 8;
const TOO_SHORT: u8 = 16;
const NAMED: u8 = 32;
const HAS_CANONICAL: u8 = 64;
const HAS_FIRST_SEEN: u8 = 128;

/// Reads fields from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(field)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take().map(|&[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(|&bytes| u16::from_le_bytes(bytes))
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(|&bytes| u32::from_le_bytes(bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(|&bytes| u64::from_le_bytes(bytes))
    }
}

fn checksum(id: PageId, body: &[u8]) -> u32 {
    xxh3_64_with_seed(body, u64::from(id.0)) as u32
}

pub(crate) fn write_page(id: PageId, page: &PageData, out: &mut Vec<u8>) {
    out.clear();
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    let too_short = page.comparable.as_ref().is_some_and(|comparable| comparable.too_short);
    let keyed = page.keyed.as_ref().filter(|_| page.comparable.is_some());
    let own = page.own.filter(|_| page.comparable.is_some());
    let format = if keyed.is_some() { KEYED_FORMAT } else { PLAIN_FORMAT };
    let format = if own.is_some() { format + OWN_FORMAT } else { format };
    out.extend([
        format | flag(page.dense, DENSE),
        flag(page.comparable.is_some(), HAS_CONTENT)
            | flag(page.score.is_some(), HAS_SCORE)
            | flag(page.fetched.is_some(), HAS_FETCHED)
            | flag(page.changed.is_some(), HAS_CHANGED)
            | flag(too_short, TOO_SHORT)
            | flag(page.named_canonical, NAMED)
            | flag(page.canonical.is_some(), HAS_CANONICAL)
            | flag(page.first_seen.is_some(), HAS_FIRST_SEEN),
        0,
        0,
        0,
        0,
    ]);
    out.extend(page.content.to_bytes());
    out.extend(page.words.to_le_bytes());
    out.extend(page.score.unwrap_or(0.0).to_le_bytes());
    out.extend(page.fetched.unwrap_or(0).to_le_bytes());
    out.extend(page.changed.unwrap_or(0).to_le_bytes());
    out.extend(page.scope.0.to_le_bytes());
    out.extend(page.first_seen.unwrap_or(0).to_le_bytes());
    // Numbers are from 1.
    out.extend(page.recorded.unwrap_or(0).to_le_bytes());
    if let Some(comparable) = &page.comparable {
        out.extend(comparable.fingerprint.to_bits().to_le_bytes());
        out.extend(comparable.sketch.to_bytes());
        out.extend(keyed.map(Sketch::to_bytes).as_slice().as_flattened());
        out.extend(own.map(Own::to_bytes).as_slice().as_flattened());
    }
    out.extend(page.canonical.as_deref().unwrap_or("").as_bytes());
    let sum = checksum(id, &out[6..]);
    out[2..6].copy_from_slice(&sum.to_le_bytes());
}

pub(crate) fn read_page(id: PageId, bytes: &[u8]) -> Outcome<PageData> {
    parse_page(id, bytes)
        .ok_or_else(|| Fault::Damaged(format!("the record of page {id} is not what was written")))
}

fn parse_page(id: PageId, bytes: &[u8]) -> Option<PageData> {
    let mut fields = Reader(bytes);
    let (format, flags, sum) = (fields.u8()?, fields.u8()?, fields.u32()?);
    let (format, dense) = (format & !DENSE, format & DENSE != 0);
    if !(1..=LAST_FORMAT).contains(&format) || sum != checksum(id, fields.0) {
        return None;
    }
    let has = |bit| flags & bit != 0;
    let content = ContentHash::from_bytes(*fields.take()?);
    let words = fields.u32()?;
    let score = f64::from_bits(fields.u64()?);
    let (fetched, changed) = (fields.u64()?, fields.u64()?);
    let scope = ScopeKey(fields.u64()?);
    let (first_seen, recorded) = match format {
        // Page numbers were assigned in order of arrival.
        1 => (has(HAS_CHANGED).then_some(changed), has(HAS_CONTENT).then(|| u64::from(id.0) + 1)),
        _ => {
            let (first_seen, recorded) = (fields.u64()?, fields.u64()?);
            (has(HAS_FIRST_SEEN).then_some(first_seen), (recorded > 0).then_some(recorded))
        }
    };
    let comparable = if has(HAS_CONTENT) {
        let fingerprint = Fingerprint::from_bits(fields.u64()?);
        let sketch = Sketch::from_bytes(fields.take::<SKETCH>()?);
        Some(StoredComparable { fingerprint, sketch, too_short: has(TOO_SHORT) })
    } else {
        None
    };
    let (format, has_own) = match format > KEYED_FORMAT {
        true => (format - OWN_FORMAT, true),
        false => (format, false),
    };
    let keyed = match format {
        KEYED_FORMAT => Some(Sketch::from_bytes(fields.take::<SKETCH>()?)),
        _ => None,
    };
    let own = match has_own {
        true => Some(Own::from_bytes(fields.take()?)?),
        false => None,
    };
    let canonical = match has(HAS_CANONICAL) {
        true => Some(str::from_utf8(fields.0).ok()?.to_owned()),
        false if fields.0.is_empty() => None,
        false => return None,
    };
    Some(PageData {
        content,
        comparable,
        keyed,
        own,
        words,
        score: has(HAS_SCORE).then_some(score),
        fetched: has(HAS_FETCHED).then_some(fetched),
        changed: has(HAS_CHANGED).then_some(changed),
        first_seen,
        recorded,
        scope,
        dense,
        named_canonical: has(NAMED),
        canonical,
    })
}

/// An encoded place: kind, group or target, term, and the continuation of a cycle.
pub(crate) type PlaceBytes = [u8; 11];

pub(crate) fn write_place(record: PageRecord) -> PlaceBytes {
    let (kind, place, term, to) = match record {
        PageRecord::Content { group, check: Check::Unchecked } => (0, group.0, 0, 0),
        PageRecord::Content { group, check: Check::Matches(term) } => (1, group.0, term, 0),
        PageRecord::Content { group, check: Check::Fails(term) } => (2, group.0, term, 0),
        PageRecord::Bare { group, why: Bare::Empty } => (3, group.0, 0, 0),
        PageRecord::Bare { group, why: Bare::Awaited } => (4, group.0, 0, 0),
        PageRecord::Bare { group, why: Bare::Loop { to } } => (5, group.0, 0, to.0),
        PageRecord::Redirects { to } => (6, to.0, 0, 0),
    };
    let mut bytes = [0; 11];
    bytes[0] = kind;
    bytes[1..5].copy_from_slice(&u32::to_le_bytes(place));
    bytes[5..7].copy_from_slice(&u16::to_le_bytes(term));
    bytes[7..].copy_from_slice(&u32::to_le_bytes(to));
    bytes
}

pub(crate) fn read_place(id: PageId, bytes: &PlaceBytes) -> Outcome<PageRecord> {
    let mut fields = Reader(bytes);
    let parsed = (|| {
        let (kind, place) = (fields.u8()?, fields.u32()?);
        let (term, to) = (fields.u16()?, PageId(fields.u32()?));
        let group = GroupId(place);
        let content = |check| PageRecord::Content { group, check };
        Some(match kind {
            0 => content(Check::Unchecked),
            1 => content(Check::Matches(term)),
            2 => content(Check::Fails(term)),
            3 => PageRecord::Bare { group, why: Bare::Empty },
            4 => PageRecord::Bare { group, why: Bare::Awaited },
            5 => PageRecord::Bare { group, why: Bare::Loop { to } },
            6 => PageRecord::Redirects { to: PageId(place) },
            _ => return None,
        })
    })();
    parsed.ok_or_else(|| Fault::Damaged(format!("the place of page {id} is of no known kind")))
}

pub(crate) type GroupBytes = [u8; 19];

pub(crate) fn write_group(record: &GroupRecord) -> GroupBytes {
    let mut bytes = [0; 19];
    bytes[..4].copy_from_slice(&record.winner.0.to_le_bytes());
    bytes[4..8].copy_from_slice(&record.members.to_le_bytes());
    bytes[8..12].copy_from_slice(&record.checked.to_le_bytes());
    bytes[12..16].copy_from_slice(&record.failing.to_le_bytes());
    bytes[16..18].copy_from_slice(&record.term.to_le_bytes());
    bytes[18] = record.radius;
    bytes
}

pub(crate) fn read_group(bytes: &GroupBytes) -> Option<GroupRecord> {
    let mut fields = Reader(bytes);
    Some(GroupRecord {
        winner: PageId(fields.u32()?),
        members: fields.u32()?,
        checked: fields.u32()?,
        failing: fields.u32()?,
        term: fields.u16()?,
        radius: fields.u8()?,
    })
}

/// An encoded change: kind, up to three numbers, and its time.
pub(crate) type ChangeBytes = [u8; 21];
/// Format 1 of the file had no times.
pub(crate) type UntimedBytes = [u8; 13];

/// A change of format 1, with unknown time.
pub(crate) fn timed(untimed: &UntimedBytes) -> ChangeBytes {
    let mut bytes = [0; 21];
    bytes[..13].copy_from_slice(untimed);
    bytes
}

/// `at` is in seconds since 1970, 0 if unknown.
pub(crate) fn write_change(change: Change, at: u64) -> ChangeBytes {
    let (kind, a, b, c) = match change {
        Change::Joined { page, group } => (0, page.0, group.0, 0),
        Change::Left { page, group } => (1, page.0, group.0, 0),
        Change::Merged { from, into } => (2, from.0, into.0, 0),
        Change::Split { from, into } => (3, from.0, into.0, 0),
        Change::WinnerChanged { group, from, to } => (4, group.0, from.0, to.0),
        Change::Gone { page } => (5, page.0, 0, 0),
        Change::Redirected { page, to } => (6, page.0, to.0, 0),
        Change::Returned { page } => (7, page.0, 0, 0),
        Change::Changed { page } => (8, page.0, 0, 0),
    };
    let mut bytes = [0; 21];
    bytes[0] = kind;
    bytes[13..].copy_from_slice(&at.to_le_bytes());
    for (place, number) in bytes[1..13].chunks_exact_mut(4).zip([a, b, c]) {
        place.copy_from_slice(&u32::to_le_bytes(number));
    }
    bytes
}

/// The change and its time; `None` if the time is unknown.
pub(crate) fn read_change(sequence: u64, bytes: &ChangeBytes) -> Outcome<(Change, Option<u64>)> {
    let mut fields = Reader(bytes);
    let parsed = (|| {
        let kind = fields.u8()?;
        let (a, b, c) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let at = fields.u64()?;
        let change = match kind {
            0 => Change::Joined { page: PageId(a), group: GroupId(b) },
            1 => Change::Left { page: PageId(a), group: GroupId(b) },
            2 => Change::Merged { from: GroupId(a), into: GroupId(b) },
            3 => Change::Split { from: GroupId(a), into: GroupId(b) },
            4 => Change::WinnerChanged { group: GroupId(a), from: PageId(b), to: PageId(c) },
            5 => Change::Gone { page: PageId(a) },
            6 => Change::Redirected { page: PageId(a), to: PageId(b) },
            7 => Change::Returned { page: PageId(a) },
            8 => Change::Changed { page: PageId(a) },
            _ => return None,
        };
        Some((change, (at > 0).then_some(at)))
    })();
    parsed.ok_or_else(|| Fault::Damaged(format!("event {sequence} is of no known kind")))
}
