//! Distributed candidate generation: packed keys out, candidate pairs in.
//!
//! A representative goes to one piece of every stage of the join ([`hapax::join::distributed`]), or under
//! saturation to one place per band of its sketch. What one batch sends to one task is packed into one value of
//! *sections*. Sorted by position, a record takes 9 to 11 bytes, and no key is sent: it follows from the
//! fingerprint. Order and packing of arriving values do not matter.
//!
//! ```text
//!   section    scope u64 | stage or band u8 | piece u32 | count u32 | records
//!   record     position less the one before, in groups of 7 bits | fingerprint u64, or 5 bytes of a band and an own text
//! ```
//!
//! | column | holds |
//! |---|---|
//! | `task` | which of the tasks, from 0 |
//! | `packed`, `records` | the sections, and how many records they hold |
//! | `a`, `b`, `distance` | a candidate pair, `a < b` |
//! | | with distance -1: buckets keyed again, records; with distance -2: pairs of fingerprints, whoever has them |

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
/// Bytes of the key of a band.
const BAND: usize = 5;

/// How a set is cut: the same numbers everywhere give the same pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// How many representatives there are, about.
    pub rows: usize,
    /// Pieces of a stage.
    pub pieces: usize,
    /// Blocks of a fingerprint, once somebody has chosen.
    pub blocks: Option<u32>,
    /// Fewer bits than the job's bound.
    pub within: Option<u32>,
    /// From how many records on a bucket is keyed again; the engine's choice without.
    pub cluster: Option<usize>,
}

/// What of a fingerprint or sketch must be shared.
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

    /// The cut with the number of blocks chosen.
    ///
    /// # Errors
    ///
    /// The bound is too wide for a join.
    pub fn cut(&self, cut: Cut) -> Result<Cut, Error> {
        let blocks = self.pieces(&cut)?.blocks();
        Ok(Cut { blocks: Some(blocks), ..cut })
    }

    /// Sends representatives to the pieces where they are compared.
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

    /// Compares what arrived at a task; all values of one task must be in the batch.
    ///
    /// # Errors
    ///
    /// These are no packed keys, or a representative came twice.
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
                // Every stage has them in one piece.
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

    /// The same by bands of the sketch, where there is saturation.
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

    /// Candidates by bands; all values of one task must be in the batch. A pair may come several times.
    ///
    /// # Errors
    ///
    /// These are no packed keys, or a representative came twice.
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

/// Hands out all pairs that share a fingerprint; gives all that have one which another has before them, ascending.
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

/// Sections in the making, by task.
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
