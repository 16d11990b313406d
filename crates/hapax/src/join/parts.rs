//! Splits a set into parts by a few of its bits.
//!
//! Each chunk of the set is partitioned independently, and a part consists of one run per chunk, which are read
//! one after the other. So writes stay inside a cache-sized area, chunks are partitioned in parallel without
//! shared output, and the order inside a part depends on the input alone.
//!
//! ```text
//!   chunk 0   | part 0 | part 1 |   part 2   |
//!   chunk 1   |  part 0  | part 1 | part 2 |
//!   part 1    =  chunk 0's run 1, then chunk 1's run 1
//! ```

use std::ops::Range;

use super::record::{Id, Record};

/// Records per chunk: 3 MB of them, so that writes to the parts stay in the cache.
pub(super) const CHUNK: usize = 1 << 18;

/// Records per part that fit into the second-level cache, with all buffers.
pub(super) const PART: usize = 1 << 15;

/// A run of neighbouring bits, as a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digit {
    shift: u32,
    bits: u32,
}

impl Digit {
    /// The bits of `mask`, which must be adjacent.
    pub(super) fn of(mask: u64) -> Self {
        let bits = mask.count_ones();
        let shift = if mask == 0 { 0 } else { mask.trailing_zeros() };
        debug_assert!(mask >> shift == (1u64 << bits) - 1, "{mask:x} is not one run");
        Self { shift, bits }
    }

    pub(super) fn values(self) -> usize {
        1 << self.bits
    }

    /// The value of these bits in `fingerprint`.
    #[inline(always)]
    pub(super) fn get(self, fingerprint: u64) -> usize {
        (fingerprint >> self.shift) as usize & (self.values() - 1)
    }
}

/// A chunk sorted by a digit.
pub(super) struct Runs<'a, I> {
    pub(super) records: &'a [Record<I>],
    /// Part `p` is `records[ends[p]..ends[p + 1]]`.
    pub(super) ends: Vec<u32>,
}

impl<I: Id> Runs<'_, I> {
    pub(super) fn part(&self, part: usize) -> &[Record<I>] {
        &self.records[self.ends[part] as usize..self.ends[part + 1] as usize]
    }
}

/// The runs of a chunk that is sorted by the digit already.
pub(super) fn runs_of_sorted<I: Id>(records: &[Record<I>], digit: Digit) -> Runs<'_, I> {
    Runs { records, ends: starts(records, digit) }
}

/// Copies `records` to `target`, sorted by the digit; a stable sort.
pub(super) fn partition<'a, I: Id>(
    records: &[Record<I>],
    digit: Digit,
    target: &'a mut [Record<I>],
) -> Runs<'a, I> {
    let target = &mut target[..records.len()];
    let ends = starts(records, digit);
    let mut next = ends.clone();
    for &record in records {
        let place = &mut next[digit.get(record.fingerprint)];
        target[*place as usize] = record;
        *place += 1;
    }
    Runs { records: target, ends }
}

/// The start of each value's run, and the end of the last.
fn starts<I: Id>(records: &[Record<I>], digit: Digit) -> Vec<u32> {
    let mut starts = vec![0u32; digit.values() + 1];
    for record in records {
        starts[digit.get(record.fingerprint) + 1] += 1;
    }
    for value in 0..digit.values() {
        starts[value + 1] += starts[value];
    }
    starts
}

/// Ranges of parts with about `wanted` records each: the tasks of a stage.
///
/// Every range has at least one part; together they are all parts, in order.
pub(super) fn ranges<I: Id>(
    runs: &[Runs<'_, I>],
    parts: usize,
    wanted: usize,
) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    let mut records = 0;
    for part in 0..parts {
        records += runs.iter().map(|run| run.part(part).len()).sum::<usize>();
        if records >= wanted || part + 1 == parts {
            ranges.push(start..part + 1);
            start = part + 1;
            records = 0;
        }
    }
    ranges
}

/// Splits `slice` into pieces of the given lengths, whose sum must not exceed its length.
pub(super) fn split_by<T>(
    slice: &mut [T],
    lengths: impl IntoIterator<Item = usize>,
) -> Vec<&mut [T]> {
    let mut left = slice;
    let mut pieces = Vec::new();
    for length in lengths {
        let (piece, rest) = left.split_at_mut(length);
        pieces.push(piece);
        left = rest;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_partition_is_a_stable_sort_by_the_digit(
            fingerprints in vec(0u64..5000, 0..300),
            shift in 0u32..10,
            bits in 0u32..6,
        ) {
            let records: Vec<Record<u32>> =
                fingerprints.iter().zip(0..).map(|(&fingerprint, id)| Record { fingerprint, id }).collect();
            let digit = Digit::of(((1 << bits) - 1) << shift);
            let mut sorted = records.clone();
            sorted.sort_by_key(|record| digit.get(record.fingerprint));
            let mut target = records.clone();
            let runs = partition(&records, digit, &mut target);
            prop_assert_eq!(runs.records, &sorted[..]);
            let again = runs_of_sorted(&sorted, digit);
            prop_assert_eq!(&runs.ends, &again.ends);
            for part in 0..digit.values() {
                prop_assert!(runs.part(part).iter().all(|r| digit.get(r.fingerprint) == part));
            }
        }
    }
}
