//! Distributed candidate generation: packed keys out, candidate pairs in.
//!
//! A representative goes to one piece of every stage of the join ([`hapax::join::distributed`]) or, under
//! saturation, to one place per band of its sketch. What one batch sends to one task is packed into one value
//! of *sections*. Sorted by position, a record takes 9 to 11 bytes; its key follows from the fingerprint and is
//! not sent. Neither the order nor the packing of arriving values matters.
//!
//! ```text
//!   section    scope u64 | stage or band u8 | piece u32 | count u32 | records
//!   record     difference to the position before, in groups of 7 bits | fingerprint u64, or 5 bytes of a band and an own text
//! ```
//!
//! | column | holds |
//! |---|---|
//! | `task` | number of the task, from 0 |
//! | `packed`, `records` | the sections, and how many records they hold |
//! | `a`, `b`, `distance` | a candidate pair, `a < b` |
//! | | with distance -1: numbers of buckets keyed again and of their records; with distance -2: number of distinct fingerprint pairs |

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{Array, BinaryArray, RecordBatch};
use hapax::fingerprint::Sketch;
use hapax::join::{OneThread, PairOptions, Pieces, Record};

use super::rows::{Rows, batch, numbers};
use super::{Steps, mixed};
use crate::error::Error;
use crate::near::bands;

const KIND: &str = "representative";
const BAND: usize = 5;

/// How the join is partitioned. Equal values give equal pieces on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Approximate number of representatives.
    pub rows: usize,
    /// Pieces per stage.
    pub pieces: usize,
    /// Blocks of a fingerprint; `None` until [`Steps::cut`] has chosen.
    pub blocks: Option<u32>,
    /// A bound in bits below the job's; `None` for the job's bound.
    pub within: Option<u32>,
    /// Bucket size from which on a bucket is keyed again; `None` for the engine's default.
    pub cluster: Option<usize>,
}

/// One group of records to compare: a scope, a stage or band, and a piece.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Section {
    scope: u64,
    stage: u8,
    piece: u32,
}

impl Steps {
    fn pieces(&self, cut: &Cut) -> Result<Pieces, Error> {
        let mut options = PairOptions::within(self.within(cut.within)?)?;
        if let Some(blocks) = cut.blocks {
            options = options.blocks(blocks);
        }
        if let Some(cluster) = cut.cluster {
            options = options.cluster(cluster);
        }
        Ok(Pieces::new(&options, cut.rows, cut.pieces))
    }

    /// The same partition with the number of blocks chosen.
    ///
    /// # Errors
    ///
    /// The distance bound is too wide for a join.
    pub fn cut(&self, cut: Cut) -> Result<Cut, Error> {
        let blocks = self.pieces(&cut)?.blocks();
        Ok(Cut { blocks: Some(blocks), ..cut })
    }

    /// Sends every representative to the pieces in which it is compared.
    pub fn keys(&self, rows: &RecordBatch, cut: &Cut, tasks: usize) -> Result<RecordBatch, Error> {
        let pieces = self.pieces(cut)?;
        let rows = Rows::of(rows, KIND);
        let (positions, scopes) = (rows.numbers("position")?, rows.numbers("scope")?);
        let fingerprints = rows.numbers("fingerprint")?;
        let mut packing = Packing::new(tasks);
        for row in by_position(positions) {
            let (scope, bits) = (scopes[row].cast_unsigned(), fingerprints[row].cast_unsigned());
            for stage in 0..pieces.stages() {
                let section =
                    Section { scope, stage: stage as u8, piece: pieces.piece(stage, bits) };
                packing.push(section, section.place(), positions[row], &bits.to_le_bytes());
            }
        }
        packing.finish()
    }

    /// Finds candidates among the values of one task, all of which must be in the batch.
    ///
    /// # Errors
    ///
    /// The rows are not packed keys, or a representative occurs twice.
    pub fn candidates(&self, rows: &RecordBatch, cut: &Cut) -> Result<RecordBatch, Error> {
        let pieces = self.pieces(cut)?;
        let mut candidates = Candidates::default();
        for (section, records) in unpack::<8>(rows)? {
            let records: Vec<Record<u64>> = records
                .into_iter()
                .map(|(id, bits)| Record { fingerprint: u64::from_le_bytes(bits), id })
                .collect();
            let stage = usize::from(section.stage);
            if stage >= pieces.stages() {
                return Err(damaged("a stage that the plan has not"));
            }
            candidates.records += records.len() as i64;
            let found = pieces.pairs(stage, &records, &OneThread);
            candidates.rekeyed += found.rekeyed as i64;
            let later = twins(records, |a, b| {
                // Every stage has equal fingerprints in one piece, so the first stage is enough.
                if stage == 0 {
                    candidates.push(a, b, 0);
                }
            });
            for pair in found.pairs {
                let is_first = |id| later.binary_search(&id).is_err();
                candidates.proposed += i64::from(is_first(pair.a) && is_first(pair.b));
                candidates.push(pair.a, pair.b, i64::from(pair.distance));
            }
        }
        candidates.finish()
    }

    /// As [`keys`](Self::keys) under saturation: by bands of the sketch.
    pub fn band_keys(&self, rows: &RecordBatch, tasks: usize) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, KIND);
        let (positions, scopes) = (rows.numbers("position")?, rows.numbers("scope")?);
        let sketches: &BinaryArray = rows.column("sketch")?;
        let owns = rows.column("own")?;
        let mut packing = Packing::new(tasks);
        for row in by_position(positions) {
            let sketch = sketch(&rows, sketches, row)?;
            let own = rows.own(Some(owns), row)?;
            let scope = scopes[row].cast_unsigned();
            for band in 0..bands::count() {
                let part = bands::key(&sketch, own.bucket(band), band);
                let section = Section { scope, stage: band as u8, piece: 0 };
                let place = mixed(&[scope, band as u64, part]);
                let bytes = part.to_le_bytes();
                packing.push(section, place, positions[row], &bytes[..BAND]);
            }
        }
        packing.finish()
    }

    /// Finds candidates by bands. All values of one task must be in the batch; a pair may occur
    /// several times.
    ///
    /// # Errors
    ///
    /// The rows are not packed keys, or a representative occurs twice.
    pub fn band_candidates(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let mut candidates = Candidates::default();
        for (_, mut records) in unpack::<BAND>(rows)? {
            candidates.records += records.len() as i64;
            records.sort_unstable_by_key(|(position, part)| (*part, *position));
            for same in records.chunk_by(|one, other| one.1 == other.1) {
                let positions: Vec<u64> = same.iter().map(|it| it.0).collect();
                bands::among(&positions, |a, b| candidates.push(a, b, 0));
            }
            candidates.proposed = candidates.a.len() as i64;
        }
        candidates.finish()
    }
}

/// Reports all pairs with equal fingerprints to `take`, and returns the positions, ascending, whose
/// fingerprint occurs before.
fn twins(mut records: Vec<Record<u64>>, mut take: impl FnMut(u64, u64)) -> Vec<u64> {
    records.sort_unstable();
    let mut later = Vec::new();
    for same in records.chunk_by(|one, other| { one.fingerprint } == { other.fingerprint }) {
        for (at, other) in same.iter().enumerate().skip(1) {
            same[..at].iter().for_each(|one| take(one.id, other.id));
            later.push(other.id);
        }
    }
    later.sort_unstable();
    later
}

impl Section {
    fn place(&self) -> u64 {
        mixed(&[self.scope, u64::from(self.stage), u64::from(self.piece)])
    }
}

pub(super) fn sketch(rows: &Rows<'_>, column: &BinaryArray, row: usize) -> Result<Sketch, Error> {
    let bytes = if column.is_valid(row) { column.value(row) } else { &[] };
    let bytes: Result<&[u8; 128], _> = bytes.try_into();
    Ok(Sketch::from_bytes(bytes.map_err(|_| rows.wrong("a sketch has 128 bytes"))?))
}

fn by_position(positions: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_unstable_by_key(|&row| positions[row]);
    order
}

fn damaged(what: &str) -> Error {
    Error::Rows { rows: "key", what: format!("packed keys are damaged: {what}") }
}

struct Filling {
    count: u32,
    last: u64,
    bytes: Vec<u8>,
}

/// Sections under construction, by task.
struct Packing {
    tasks: Vec<BTreeMap<Section, Filling>>,
}

impl Packing {
    fn new(tasks: usize) -> Self {
        Self { tasks: (0..tasks.max(1)).map(|_| BTreeMap::new()).collect() }
    }

    fn push(&mut self, section: Section, place: u64, position: i64, rest: &[u8]) {
        let task = place % self.tasks.len() as u64;
        let filling = self.tasks[task as usize].entry(section);
        let filling = filling.or_insert_with(|| Filling { count: 0, last: 0, bytes: Vec::new() });
        let position = position.cast_unsigned();
        let mut step = position.wrapping_sub(filling.last);
        while step >= 0x80 {
            filling.bytes.push(step as u8 | 0x80);
            step >>= 7;
        }
        filling.bytes.push(step as u8);
        filling.bytes.extend_from_slice(rest);
        filling.last = position;
        filling.count += 1;
    }

    fn finish(self) -> Result<RecordBatch, Error> {
        let (mut tasks, mut records) = (Vec::new(), Vec::new());
        let mut packed = BinaryBuilder::new();
        for (task, sections) in (0..).zip(self.tasks).filter(|it| !it.1.is_empty()) {
            let mut bytes = Vec::new();
            let mut count = 0;
            for (Section { scope, stage, piece }, filling) in sections {
                bytes.extend(scope.to_le_bytes());
                bytes.push(stage);
                bytes.extend(piece.to_le_bytes());
                bytes.extend(filling.count.to_le_bytes());
                bytes.extend_from_slice(&filling.bytes);
                count += i64::from(filling.count);
            }
            tasks.push(task);
            records.push(count);
            packed.append_value(bytes);
        }
        let packed = Arc::new(packed.finish());
        let (tasks, records) = (numbers(tasks), numbers(records));
        batch("key", vec![("task", tasks), ("packed", packed), ("records", records)])
    }
}

type Unpacked<const N: usize> = BTreeMap<Section, Vec<(u64, [u8; N])>>;

/// The records of every section, ascending by position.
fn unpack<const N: usize>(rows: &RecordBatch) -> Result<Unpacked<N>, Error> {
    let packed: &BinaryArray = Rows::of(rows, "key").column("packed")?;
    let mut all: Unpacked<N> = BTreeMap::new();
    for bytes in packed.iter().flatten() {
        let mut rest = bytes;
        while !rest.is_empty() {
            let section = take_section(&mut rest).ok_or_else(|| damaged("a section is cut"))?;
            let (section, count) = section;
            let into = all.entry(section).or_default();
            let mut position = 0u64;
            for _ in 0..count {
                let step = take_step(&mut rest).ok_or_else(|| damaged("a record is cut"))?;
                position = position.wrapping_add(step);
                let (part, after) =
                    rest.split_first_chunk().ok_or_else(|| damaged("a record is cut"))?;
                rest = after;
                into.push((position, *part));
            }
        }
    }
    for records in all.values_mut() {
        records.sort_unstable();
        if records.windows(2).any(|two| two[0] == two[1]) {
            return Err(damaged("a representative came twice"));
        }
    }
    Ok(all)
}

fn take_section(rest: &mut &[u8]) -> Option<(Section, u32)> {
    let (scope, after) = rest.split_first_chunk()?;
    let (&stage, after) = after.split_first()?;
    let (piece, after) = after.split_first_chunk()?;
    let (count, after) = after.split_first_chunk()?;
    *rest = after;
    let (scope, piece) = (u64::from_le_bytes(*scope), u32::from_le_bytes(*piece));
    Some((Section { scope, stage, piece }, u32::from_le_bytes(*count)))
}

fn take_step(rest: &mut &[u8]) -> Option<u64> {
    let mut step = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        step |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(step);
        }
    }
    None
}

#[derive(Default)]
struct Candidates {
    a: Vec<i64>,
    b: Vec<i64>,
    distance: Vec<i64>,
    rekeyed: i64,
    records: i64,
    proposed: i64,
}

impl Candidates {
    fn push(&mut self, a: u64, b: u64, distance: i64) {
        self.a.push(a.min(b).cast_signed());
        self.b.push(a.max(b).cast_signed());
        self.distance.push(distance);
    }

    fn finish(mut self) -> Result<RecordBatch, Error> {
        self.a.extend([self.rekeyed, self.proposed]);
        self.b.extend([self.records, 0]);
        self.distance.extend([-1, -2]);
        let Self { a, b, distance, .. } = self;
        let columns = vec![("a", numbers(a)), ("b", numbers(b)), ("distance", numbers(distance))];
        batch("candidate", columns)
    }
}
