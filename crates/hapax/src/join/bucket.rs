//! All near pairs inside one part, without leaving the cache.
//!
//! The part is put into buckets by the bits of a key, by counting, and each bucket is compared
//! with itself: every word against those after it, sixteen or more at a time. A word is 32 of the
//! bits on which the bucket does not agree yet (or the whole fingerprint when the bound is wide);
//! what is near by that is looked up whole. A pair that an earlier key has found is dropped: which
//! keys find it can be told from the differing bits, so nothing need be remembered.
//!
//! What this module does not know: where the part came from, and threads.

use std::ops::ControlFlow;

use super::plan::{Plan, Stage};
use super::record::{Id, Pair, Record};
use crate::hamming::lanes::Word;
use crate::hamming::{BitGather, Kernel, Lanes, Work};

/// Words compared with many others while they stay in the first-level cache.
const TILE: usize = 4096;

/// Slices handed to the kernel are a multiple of this long, so that none has a slow tail; what
/// they show beyond the bucket is ignored.
const STEP: usize = 16;

/// How to look for pairs in the parts of one stage.
pub(super) struct Finder<'a> {
    stage: &'a Stage,
    keys: Vec<Key>,
    half_words: bool,
    bound: u32,
    kernel: Kernel,
}

struct Key {
    bucket: BitGather,
    /// The 32 bits compared first.
    word: BitGather,
    inner: u64,
}

/// A part and its buckets, kept from part to part.
pub(super) struct Scratch<I> {
    fingerprints: Vec<u64>,
    ids: Vec<I>,
    /// Records below this come from one side, the others from another, and only pairs across
    /// are asked for. 0: all pairs.
    border: usize,
    bucket_of: Vec<u16>,
    ends: Vec<u32>,
    order: Vec<u32>,
    halves: Vec<u32>,
    wholes: Vec<u64>,
}

impl<I: Id> Scratch<I> {
    pub(super) fn new() -> Self {
        Self {
            fingerprints: Vec::new(),
            ids: Vec::new(),
            border: 0,
            bucket_of: Vec::new(),
            ends: Vec::new(),
            order: Vec::new(),
            halves: Vec::new(),
            wholes: Vec::new(),
        }
    }

    /// Starts a new part.
    pub(super) fn clear(&mut self) {
        self.fingerprints.clear();
        self.ids.clear();
        self.border = 0;
    }

    /// Adds records to the part.
    pub(super) fn extend(&mut self, records: &[Record<I>]) {
        self.fingerprints.extend(records.iter().map(|record| record.fingerprint));
        self.ids.extend(records.iter().map(|record| record.id));
    }

    /// From here on only pairs of a record added before with one added after are asked for.
    pub(super) fn set_border(&mut self) {
        self.border = self.ids.len();
    }

    /// Heap bytes that a part of `records` records takes.
    pub(super) fn bytes(records: usize, half_words: bool) -> usize {
        let word = if half_words { size_of::<u32>() } else { size_of::<u64>() };
        records * (size_of::<u64>() + size_of::<I>() + size_of::<u16>() + size_of::<u32>() + word)
    }
}

impl<'a> Finder<'a> {
    pub(super) fn new(plan: &Plan, stage: &'a Stage, kernel: Kernel) -> Self {
        let key = |&inner: &u64| Key {
            bucket: BitGather::new(inner),
            word: BitGather::new(lowest_32(!(stage.outer | inner))),
            inner,
        };
        Self {
            stage,
            keys: stage.inner.iter().map(key).collect(),
            half_words: plan.half_words(),
            bound: plan.bound.bits(),
            kernel,
        }
    }

    /// Appends the pairs of the part in `scratch` that belong to this stage.
    pub(super) fn find<I: Id>(&self, scratch: &mut Scratch<I>, found: &mut Vec<Pair<I>>) {
        if scratch.ids.len() > 1 {
            self.kernel.run(FindPairs { finder: self, scratch, found });
        }
    }
}

struct FindPairs<'a, I> {
    finder: &'a Finder<'a>,
    scratch: &'a mut Scratch<I>,
    found: &'a mut Vec<Pair<I>>,
}

impl<I: Id> Work for FindPairs<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { finder, scratch, found } = self;
        for (number, key) in finder.keys.iter().enumerate() {
            number_buckets(lanes, key, scratch);
            let Scratch { fingerprints, ids, border, bucket_of, ends, order, halves, wholes } =
                &mut *scratch;
            let hit = |a: u32, b: u32| {
                let across = *border == 0 || (a as usize) < *border && b as usize >= *border;
                let (a, b) = (a as usize, b as usize);
                let flips = fingerprints[a] ^ fingerprints[b];
                let distance = flips.count_ones();
                if distance > finder.bound
                    || !across
                    || ids[a] == ids[b]
                    || finder.stage.earlier.iter().any(|used| flips & used == 0)
                    || finder.keys[..number].iter().any(|key| flips & key.inner == 0)
                {
                    return;
                }
                found.push(Pair::of(ids[a], ids[b], distance));
            };
            if finder.half_words {
                let word = |fingerprint| lanes.gather(&key.word, fingerprint) as u32;
                place(fingerprints, bucket_of, ends, order, halves, word);
                compare(lanes, halves, order, ends, finder.bound, hit);
            } else {
                place(fingerprints, bucket_of, ends, order, wholes, |fingerprint| fingerprint);
                compare(lanes, wholes, order, ends, finder.bound, hit);
            }
        }
    }
}

/// Says which bucket each record goes to, and where each bucket ends up starting.
#[inline(always)]
fn number_buckets<L: Lanes, I: Id>(lanes: L, key: &Key, scratch: &mut Scratch<I>) {
    let Scratch { fingerprints, bucket_of, ends, .. } = scratch;
    ends.clear();
    ends.resize((1 << key.bucket.bits()) + 1, 0);
    bucket_of.clear();
    bucket_of.extend(fingerprints.iter().map(|&f| lanes.gather(&key.bucket, f) as u16));
    for &bucket in bucket_of.iter() {
        ends[bucket as usize] += 1;
    }
    let mut start = 0;
    for end in ends.iter_mut() {
        let count = *end;
        *end = start;
        start += count;
    }
}

/// Puts the words into their buckets; afterwards `ends` says where each bucket ends.
#[inline(always)]
fn place<W: Word + Default>(
    fingerprints: &[u64],
    bucket_of: &[u16],
    ends: &mut [u32],
    order: &mut Vec<u32>,
    words: &mut Vec<W>,
    word: impl Fn(u64) -> W,
) {
    let len = fingerprints.len();
    order.resize(len.max(order.len()), 0);
    words.resize((len + STEP).max(words.len()), W::default());
    for ((number, &fingerprint), &bucket) in (0u32..).zip(fingerprints).zip(bucket_of) {
        let place = &mut ends[bucket as usize];
        words[*place as usize] = word(fingerprint);
        order[*place as usize] = number;
        *place += 1;
    }
}

/// Compares each bucket with itself.
#[inline(always)]
fn compare<L: Lanes, W: Word>(
    lanes: L,
    words: &[W],
    order: &[u32],
    ends: &[u32],
    bound: u32,
    mut hit: impl FnMut(u32, u32),
) {
    let mut start = 0;
    for &end in ends {
        let end = end as usize;
        for tile in (start..end).step_by(TILE) {
            let tile_end = end.min(tile + TILE);
            for query in start..tile_end {
                let first = tile.max(query + 1);
                let steps = (tile_end - first).next_multiple_of(STEP);
                let stored = &words[first..first + steps];
                let _ = lanes.within(stored, words[query], bound, |position, _| {
                    if first + position < tile_end {
                        let (a, b) = (order[query], order[first + position]);
                        hit(a.min(b), a.max(b));
                    }
                    ControlFlow::Continue(())
                });
            }
        }
        start = end;
    }
}

/// The 32 lowest set bits of `mask`, or all of them.
fn lowest_32(mask: u64) -> u64 {
    let mut left = mask;
    while left.count_ones() > 32 {
        left &= !(1 << (63 - left.leading_zeros()));
    }
    left
}
