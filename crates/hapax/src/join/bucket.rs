//! Finds all near pairs inside one part, in the cache.
//!
//! Sorts the part into buckets by the bits of a key (a counting sort) and compares each bucket with itself,
//! sixteen or more words at a time. A word is 32 of the bits in which the bucket may differ (the whole
//! fingerprint for a wide bound); near words are compared completely. Which keys find a pair follows from its
//! differing bits, so only the first reports it. `dense` handles buckets that are too large.

use std::sync::atomic::{AtomicU64, Ordering};

use super::dense::Dense;
use super::plan::{Plan, Stage};
use super::record::{Id, Pair, Record};
use crate::hamming::lanes::Word;
use crate::hamming::{BitGather, Kernel, Lanes, Work};

/// Words compared with many others while they stay in the first-level cache.
const TILE: usize = 4096;

/// Words of a bucket that are compared with the others together.
pub(super) const GROUP: usize = 8;

/// Number of stored words read at a time; words beyond the tile are ignored.
pub(super) const STEP: usize = 16;

/// Finds pairs in the parts of one stage.
pub(super) struct Finder<'a> {
    stage: &'a Stage,
    keys: Vec<Key>,
    half_words: bool,
    bound: u32,
    cluster: Dense,
    kernel: Kernel,
    rekeyed: AtomicU64,
}

struct Key {
    bucket: BitGather,
    /// The 32 bits compared first.
    word: BitGather,
    inner: u64,
}

/// A part and its buckets, reused for the next part.
pub(super) struct Scratch<I> {
    fingerprints: Vec<u64>,
    ids: Vec<I>,
    /// If set, records below this index come from one side and the others from the other side, and
    /// only pairs across are reported.
    border: Option<usize>,
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
            border: None,
            bucket_of: Vec::new(),
            ends: Vec::new(),
            order: Vec::new(),
            halves: Vec::new(),
            wholes: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.fingerprints.clear();
        self.ids.clear();
        self.border = None;
    }

    pub(super) fn extend(&mut self, records: &[Record<I>]) {
        self.fingerprints.extend(records.iter().map(|record| record.fingerprint));
        self.ids.extend(records.iter().map(|record| record.id));
    }

    /// From here on, only pairs of an earlier with a later record are reported.
    pub(super) fn set_border(&mut self) {
        self.border = Some(self.ids.len());
    }
}

impl Scratch<u32> {
    /// The part in buckets, 32 bits per record.
    #[inline(always)]
    pub(super) fn halves_in_buckets<L: Lanes>(
        &mut self,
        lanes: L,
        bucket: &BitGather,
        word: impl Fn(u64) -> u32,
    ) -> Placed<'_, u32> {
        number_buckets(lanes, bucket, self);
        let Self { fingerprints, ids, bucket_of, ends, order, halves, .. } = self;
        place(fingerprints, bucket_of, ends, order, halves, word);
        Placed { words: halves, order, ends, fingerprints, ids }
    }

    /// The part in buckets, whole records.
    #[inline(always)]
    pub(super) fn wholes_in_buckets<L: Lanes>(
        &mut self,
        lanes: L,
        bucket: &BitGather,
    ) -> Placed<'_, u64> {
        number_buckets(lanes, bucket, self);
        let Self { fingerprints, ids, bucket_of, ends, order, wholes, .. } = self;
        place(fingerprints, bucket_of, ends, order, wholes, |fingerprint| fingerprint);
        Placed { words: wholes, order, ends, fingerprints, ids }
    }
}

/// A part sorted into buckets.
pub(super) struct Placed<'a, W> {
    /// Bucket by bucket, followed by at least a group of padding.
    pub(super) words: &'a [W],
    /// The record of the part behind each word.
    pub(super) order: &'a [u32],
    /// End of each bucket.
    pub(super) ends: &'a [u32],
    pub(super) fingerprints: &'a [u64],
    pub(super) ids: &'a [u32],
}

impl<'a> Finder<'a> {
    /// Buckets of more than `cluster` records are keyed again.
    pub(super) fn new(plan: &Plan, stage: &'a Stage, kernel: Kernel, cluster: usize) -> Self {
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
            cluster: Dense { most: cluster, bound: plan.bound.bits() },
            kernel,
            rekeyed: AtomicU64::new(0),
        }
    }

    /// Number of buckets keyed again so far.
    pub(super) fn rekeyed(&self) -> u64 {
        self.rekeyed.load(Ordering::Relaxed)
    }

    /// Appends the pairs of the part in `scratch` that belong to this stage.
    pub(super) fn find<I: Id>(&self, scratch: &mut Scratch<I>, found: &mut Vec<Pair<I>>) {
        if scratch.ids.len() > 1 {
            // Not inlined into callers: in this crate, which is one unit, it runs a tenth slower.
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
            number_buckets(lanes, &key.bucket, scratch);
            let Scratch { fingerprints, ids, border, bucket_of, ends, order, halves, wholes } =
                &mut *scratch;
            let mut hit = |a: u32, b: u32| {
                let (a, b) = (a as usize, b as usize);
                let across = border.is_none_or(|border| a < border && border <= b);
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
                compare(lanes, halves, order, ends, finder.cluster.most, finder.bound, &mut hit);
            } else {
                place(fingerprints, bucket_of, ends, order, wholes, |fingerprint| fingerprint);
                compare(lanes, wholes, order, ends, finder.cluster.most, finder.bound, &mut hit);
            }
            let mut start = 0;
            for &end in &*ends {
                let members = &order[start..end as usize];
                start = end as usize;
                if members.len() > finder.cluster.most {
                    finder.rekeyed.fetch_add(1, Ordering::Relaxed);
                    let earlier = finder.keys[..number].iter().map(|key| key.inner);
                    let differ = finder.stage.earlier.iter().copied().chain(earlier).collect();
                    finder.cluster.pairs(lanes, fingerprints, members, differ, &mut hit);
                }
            }
        }
    }
}

/// Computes the bucket of each record, and the start of each bucket.
#[inline(always)]
fn number_buckets<L: Lanes, I: Id>(lanes: L, bits: &BitGather, scratch: &mut Scratch<I>) {
    let Scratch { fingerprints, bucket_of, ends, .. } = scratch;
    ends.clear();
    ends.resize((1 << bits.bits()) + 1, 0);
    bucket_of.clear();
    let ends = &mut ends[..];
    bucket_of.extend(fingerprints.iter().map(|&fingerprint| {
        let bucket = lanes.gather(bits, fingerprint) as u16;
        ends[bucket as usize] += 1;
        bucket
    }));
    let mut start = 0;
    for end in ends.iter_mut() {
        let count = *end;
        *end = start;
        start += count;
    }
}

/// Moves the words into their buckets; afterwards `ends` holds the end of each bucket.
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
    words.resize((len + GROUP + STEP).max(words.len()), W::default());
    let (order, words) = (&mut order[..len], &mut words[..len]);
    for ((number, &fingerprint), &bucket) in (0u32..).zip(fingerprints).zip(bucket_of) {
        let place = &mut ends[bucket as usize];
        words[*place as usize] = word(fingerprint);
        order[*place as usize] = number;
        *place += 1;
    }
}

/// Compares each bucket of at most `most` words with itself.
///
/// Queries are processed in groups: a vector of stored words is read once for the whole group, and
/// the loop over the stored words, whose length the CPU cannot predict, ends once per group.
#[inline(always)]
pub(super) fn compare<L: Lanes, W: Word>(
    _compiled_for: L,
    words: &[W],
    order: &[u32],
    ends: &[u32],
    most: usize,
    bound: u32,
    mut hit: impl FnMut(u32, u32),
) {
    let mut start = 0;
    for &end in ends {
        let end = end as usize;
        let compared = if end - start > most { start } else { end };
        for tile in (start..compared).step_by(TILE) {
            let tile_end = end.min(tile + TILE);
            let mut report = |query: usize, stored: usize| {
                if query < stored && stored < tile_end {
                    let (a, b) = (order[query], order[stored]);
                    hit(a.min(b), a.max(b));
                }
            };
            for query in (start..tile_end).step_by(GROUP) {
                let (group, after) = words[query..].split_at(GROUP);
                let Some(group) = group.first_chunk::<GROUP>() else { continue };
                if query >= tile && any_inside(group, bound) {
                    near_inside(group, bound, |a, b| report(query + a, query + b));
                }
                let first = tile.max(query + GROUP);
                let skipped = first - query - GROUP;
                let steps = tile_end.saturating_sub(first).div_ceil(STEP);
                let (stored, _) = after[skipped..].as_chunks::<STEP>();
                for (number, stored) in stored[..steps].iter().enumerate() {
                    if any_across(group, stored, bound) {
                        let first = first + number * STEP;
                        near_across(group, stored, bound, |a, b| report(query + a, first + b));
                    }
                }
            }
        }
        start = end;
    }
}

/// Whether two words of the group are near. Compares whole rows, so that it can be vectorized; the
/// distance of a word to itself is discounted.
#[inline(always)]
fn any_inside<W: Word>(group: &[W; GROUP], bound: u32) -> bool {
    let mut near = 0;
    for &query in group {
        for &stored in group {
            near += u32::from((query ^ stored).ones() <= bound);
        }
    }
    near > GROUP as u32
}

/// Whether a word of the group is near one of the stored ones.
#[inline(always)]
pub(super) fn any_across<W: Word>(group: &[W; GROUP], stored: &[W; STEP], bound: u32) -> bool {
    let mut least = [u32::MAX; STEP];
    for &query in group {
        for (least, &word) in least.iter_mut().zip(stored) {
            *least = (*least).min((query ^ word).ones());
        }
    }
    let mut any = false;
    for least in least {
        any |= least <= bound;
    }
    any
}

#[inline(always)]
fn near_inside<W: Word>(group: &[W; GROUP], bound: u32, mut near: impl FnMut(usize, usize)) {
    for (a, &query) in group.iter().enumerate() {
        for (b, &stored) in group.iter().enumerate().skip(a + 1) {
            if (query ^ stored).ones() <= bound {
                near(a, b);
            }
        }
    }
}

#[inline(always)]
pub(super) fn near_across<W: Word>(
    group: &[W; GROUP],
    stored: &[W; STEP],
    bound: u32,
    mut near: impl FnMut(usize, usize),
) {
    for (a, &query) in group.iter().enumerate() {
        let mut hits = 0u32;
        for (b, &word) in stored.iter().enumerate() {
            hits |= u32::from((query ^ word).ones() <= bound) << b;
        }
        while hits != 0 {
            near(a, hits.trailing_zeros() as usize);
            hits &= hits - 1;
        }
    }
}

/// The 32 lowest set bits of `mask`, or all if there are fewer.
pub(super) fn lowest_32(mask: u64) -> u64 {
    let mut left = mask;
    while left.count_ones() > 32 {
        left &= !(1 << (63 - left.leading_zeros()));
    }
    left
}
