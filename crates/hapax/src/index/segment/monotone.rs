//! Encodes ascending numbers compactly: Elias-Fano.
//!
//! Each of `n` numbers up to `u` is split into high bits and `l = floor(log2((u + 1) / n))` low bits. Low bits
//! are a packed column; high bits are unary: for each value a one per number that has it, then a zero. This
//! takes at most `2 + l` bits per number, and the zeros serve as a directory. The positions of every 256th one
//! and zero are stored, so a lookup reads a few words. Guarantees that bytes that pass [`Monotone::check`]
//! decode to ascending numbers, that no read leaves the bytes, and that a sequence has one encoding.
//!
//! Source: Elias 1974 and Fano 1971, as described by Vigna, "Quasi-succinct indices", 2013.
//!
//! ```text
//!   numbers     2   3   5   7   11   13      u = 13, n = 6, l = 1
//!   high        1   1   2   3    5    6
//!   low         0   1   1   1    1    1
//!   unary       0  110  10  10  0  10  10    high = 0, 1, 2, ... 6
//! ```

use super::bits::{PackedColumn, pack, packed_bytes, word_at};

/// Ones and zeros between two samples.
pub(super) const SAMPLE: u64 = 256;

/// The parameters needed to decode a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Number of numbers.
    pub(super) count: u64,
    /// The last number; zero for an empty sequence.
    pub(super) largest: u64,
}

impl Shape {
    /// `floor(log2((largest + 1) / count))`, computed without overflow.
    pub(super) fn low_bits(self) -> u32 {
        let Some(last) = self.count.checked_sub(1) else {
            return 0;
        };
        let (each, more) = (self.largest / self.count, self.largest % self.count);
        each.saturating_add(u64::from(more == last)).max(1).ilog2()
    }

    fn zeros(self) -> u64 {
        if self.count == 0 { 0 } else { (self.largest >> self.low_bits()).saturating_add(1) }
    }

    /// Sizes of the low bits, the unary code, the samples of ones and the samples of zeros in
    /// bytes; `None` if larger than any file.
    fn parts(self) -> Option<[u64; 4]> {
        let zeros = self.zeros();
        let unary = self.count.checked_add(zeros)?.div_ceil(64).checked_mul(8)?;
        let low = packed_bytes(self.count, self.low_bits())?;
        Some([low, unary, self.count.div_ceil(SAMPLE) * 8, zeros.div_ceil(SAMPLE) * 8])
    }

    /// Total size in bytes; `None` if larger than any file.
    pub(super) fn bytes(self) -> Option<u64> {
        self.parts()?.into_iter().try_fold(0u64, u64::checked_add)
    }
}

/// Appends a sequence. The numbers must ascend (equal ones are allowed) and fit `shape`.
pub(super) fn encode(out: &mut Vec<u8>, shape: Shape, numbers: impl Iterator<Item = u64> + Clone) {
    let low_bits = shape.low_bits();
    let mask = (1u64 << low_bits) - 1;
    pack(out, low_bits, numbers.clone().map(|number| number & mask));
    let (mut ones, mut zeros) = (Vec::new(), Vec::new());
    let mut unary = vec![0u64; (shape.count + shape.zeros()).div_ceil(64) as usize];
    let (mut place, mut closed) = (0u64, 0);
    let mut close = |place: &mut u64, up_to: u64| {
        while closed < up_to {
            if closed.is_multiple_of(SAMPLE) {
                zeros.push(*place);
            }
            closed += 1;
            *place += 1;
        }
    };
    for (index, number) in (0u64..).zip(numbers) {
        close(&mut place, number >> low_bits);
        if index.is_multiple_of(SAMPLE) {
            ones.push(place);
        }
        unary[(place / 64) as usize] |= 1 << (place % 64);
        place += 1;
    }
    close(&mut place, shape.zeros());
    for word in unary.into_iter().chain(ones).chain(zeros) {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// A sequence in borrowed bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monotone<'a> {
    shape: Shape,
    zero_count: u64,
    low_bits: u32,
    low: PackedColumn<'a>,
    unary: &'a [u8],
    ones: &'a [u8],
    zeros: &'a [u8],
}

impl<'a> Monotone<'a> {
    /// `None` unless `bytes` has exactly the size given by the shape.
    pub(super) fn new(bytes: &'a [u8], shape: Shape) -> Option<Self> {
        let mut rest = bytes;
        let mut take = |bytes: u64| {
            let (part, after) = rest.split_at_checked(usize::try_from(bytes).ok()?)?;
            rest = after;
            Some(part)
        };
        let [low, unary, ones, zeros] = shape.parts()?;
        let (low, unary, ones, zeros) = (take(low)?, take(unary)?, take(ones)?, take(zeros)?);
        let low_bits = shape.low_bits();
        let low = PackedColumn::new(low, low_bits);
        let zero_count = shape.zeros();
        rest.is_empty().then_some(Self { shape, zero_count, low_bits, low, unary, ones, zeros })
    }

    pub(super) fn len(&self) -> usize {
        self.shape.count as usize
    }

    pub(super) fn low_bits(&self) -> u32 {
        self.low_bits
    }

    /// Whether this is the encoding of ascending numbers that end with the largest.
    pub(super) fn check(&self) -> bool {
        let bits = self.shape.count + self.zero_count;
        let (mut ones, mut zeros) = (0u64, 0u64);
        let mut before = 0;
        for at in 0..self.unary.len() / 8 {
            let word = self.word(at);
            let inside = bits - at as u64 * 64;
            let valid = if inside >= 64 { u64::MAX } else { (1 << inside) - 1 };
            let found = u64::from(word.count_ones());
            if word & !valid != 0 || ones + found > self.shape.count {
                return false;
            }
            // Samples of the zeros in this word.
            let gaps = !word & valid;
            let after = zeros + u64::from(gaps.count_ones());
            // More zeros than expected would index past the samples.
            if after > self.zero_count {
                return false;
            }
            let sampled = zeros.next_multiple_of(SAMPLE);
            if sampled < after {
                let place = at as u64 * 64 + u64::from(nth_set(gaps, (sampled - zeros) as u32));
                if word_at(self.zeros, (sampled / SAMPLE) as usize * 8) != place {
                    return false;
                }
            }
            zeros = after;
            let mut left = word;
            while left != 0 {
                let place = at as u64 * 64 + u64::from(left.trailing_zeros());
                let number = ((place - ones) << self.low_bits) | self.low.get(ones as usize);
                let sampled = !ones.is_multiple_of(SAMPLE)
                    || word_at(self.ones, (ones / SAMPLE) as usize * 8) == place;
                if number < before || !sampled {
                    return false;
                }
                before = number;
                ones += 1;
                left &= left - 1;
            }
        }
        // The last bit is the zero after the highest high bits.
        ones == self.shape.count
            && before == self.shape.largest
            && (bits == 0 || (self.word(self.unary.len() / 8 - 1) >> ((bits - 1) % 64)) & 1 == 0)
            && (self.low_bits == 0 || self.low.padding_is_zero(self.len()))
    }

    /// Number `index`, which must be less than the length.
    pub(crate) fn get(&self, index: usize) -> u64 {
        let high = self.place_of_one(index) - index;
        ((high as u64) << self.low_bits) | self.low.get(index)
    }

    /// Reads numbers `start..start + out.len()`, all of which must exist.
    pub(super) fn load(&self, start: usize, out: &mut [u64]) {
        if out.is_empty() {
            return;
        }
        let place = self.place_of_one(start);
        let mut at = place / 64;
        let mut word = self.word(at) & (u64::MAX << (place % 64));
        for (index, number) in (start..).zip(out) {
            while word == 0 {
                at += 1;
                word = self.word(at);
            }
            let high = at * 64 + word.trailing_zeros() as usize - index;
            *number = ((high as u64) << self.low_bits) | self.low.get(index);
            word &= word - 1;
        }
    }

    /// Number of numbers whose high bits are less than `high`.
    #[inline]
    pub(super) fn below_high(&self, high: u64) -> usize {
        if high == 0 {
            0
        } else if high >= self.zero_count {
            self.len()
        } else {
            self.place_of_zero(high as usize - 1) - (high as usize - 1)
        }
    }

    /// Number of numbers less than `bound`.
    pub(super) fn below(&self, bound: u64) -> usize {
        if bound > self.shape.largest {
            return self.len();
        }
        let high = bound >> self.low_bits;
        let low = bound & ((1u64 << self.low_bits) - 1);
        let (mut start, mut end) = (self.below_high(high), self.below_high(high + 1));
        while start < end {
            let middle = start + (end - start) / 2;
            if self.low.get(middle) < low {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        start
    }

    /// The index of `number`; `None` if it is not in the sequence.
    pub(super) fn find(&self, number: u64) -> Option<usize> {
        let index = self.below(number);
        (index < self.len() && self.get(index) == number).then_some(index)
    }

    /// All numbers in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> + Clone + use<'a> {
        let (mut at, mut word, mut index) = (0, 0u64, 0);
        std::iter::from_fn(move || {
            if index == self.len() {
                return None;
            }
            while word == 0 {
                word = self.word(at);
                at += 1;
            }
            let high = (at - 1) * 64 + word.trailing_zeros() as usize - index;
            let number = ((high as u64) << self.low_bits) | self.low.get(index);
            word &= word - 1;
            index += 1;
            Some(number)
        })
    }

    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        word_at(self.unary, index * 8)
    }

    /// Position of one number `index`.
    fn place_of_one(&self, index: usize) -> usize {
        let sampled = word_at(self.ones, index / SAMPLE as usize * 8) as usize;
        self.walk(sampled, index % SAMPLE as usize, 0)
    }

    /// Position of zero number `index`.
    fn place_of_zero(&self, index: usize) -> usize {
        let sampled = word_at(self.zeros, index / SAMPLE as usize * 8) as usize;
        self.walk(sampled, index % SAMPLE as usize, u64::MAX)
    }

    /// The position of the set bit that has `skip` set bits between it and `from`, which must be
    /// set. Bits are read XORed with `flip`.
    #[inline(always)]
    fn walk(&self, from: usize, mut skip: usize, flip: u64) -> usize {
        let mut at = from / 64;
        let mut word = (self.word(at) ^ flip) & (u64::MAX << (from % 64));
        loop {
            let set = word.count_ones() as usize;
            if skip < set {
                break;
            }
            skip -= set;
            at += 1;
            word = self.word(at) ^ flip;
        }
        at * 64 + nth_set(word, skip as u32) as usize
    }
}

/// The position of set bit number `index` of a word.
#[inline(always)]
fn nth_set(mut word: u64, index: u32) -> u32 {
    for _ in 0..index {
        word &= word - 1;
    }
    word.trailing_zeros()
}

/// A sequence in owned bytes.
#[derive(Clone, Debug)]
pub(super) struct MonotoneBuf {
    bytes: Vec<u8>,
    shape: Shape,
}

impl MonotoneBuf {
    /// The numbers must ascend.
    pub(super) fn new(numbers: &[u64]) -> Self {
        let largest = numbers.last().copied().unwrap_or(0);
        let shape = Shape { count: numbers.len() as u64, largest };
        let mut bytes = Vec::with_capacity(shape.bytes().unwrap_or(0) as usize);
        encode(&mut bytes, shape, numbers.iter().copied());
        bytes.shrink_to_fit();
        Self { bytes, shape }
    }

    pub(super) fn view(&self) -> Monotone<'_> {
        Monotone::new(&self.bytes, self.shape).expect("as many bytes as were written")
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn ascending() -> impl Strategy<Value = Vec<u64>> {
        let near = |most: u64| vec(0..=most, 0..900);
        prop_oneof![near(10), near(700), near(1 << 20), near(u64::MAX)].prop_map(|mut numbers| {
            numbers.sort_unstable();
            numbers
        })
    }

    proptest! {
        #[test]
        fn numbers_come_back_and_are_found(numbers in ascending(), asked: u64, shift in 0u32..64) {
            let sequence = MonotoneBuf::new(&numbers);
            let view = sequence.view();
            prop_assert!(view.check());
            prop_assert_eq!(view.iter().collect::<Vec<_>>(), numbers.clone());
            for (index, &number) in numbers.iter().enumerate() {
                prop_assert_eq!(view.get(index), number);
                prop_assert_eq!(view.below(number), numbers.partition_point(|&n| n < number));
            }
            let asked = asked >> shift;
            prop_assert_eq!(view.below(asked), numbers.partition_point(|&n| n < asked));
            prop_assert_eq!(view.find(asked).is_some(), numbers.contains(&asked));
            let high = asked >> view.low_bits();
            let below = numbers.partition_point(|&n| n >> view.low_bits() < high);
            prop_assert_eq!(view.below_high(high), below);
            let middle = numbers.len() / 3;
            let mut loaded = vec![0; numbers.len() - middle];
            view.load(middle, &mut loaded);
            prop_assert_eq!(&loaded, &numbers[middle..]);
        }

        #[test]
        fn a_changed_bit_is_refused_or_is_another_sequence(
            numbers in ascending(),
            at: prop::sample::Index,
        ) {
            let mut sequence = MonotoneBuf::new(&numbers);
            prop_assume!(!sequence.bytes.is_empty());
            let bit = at.index(sequence.bytes.len() * 8);
            sequence.bytes[bit / 8] ^= 1 << (bit % 8);
            if sequence.view().check() {
                let others: Vec<u64> = sequence.view().iter().collect();
                prop_assert!(others.is_sorted());
                prop_assert_eq!(MonotoneBuf::new(&others).bytes, sequence.bytes);
            }
        }
    }

    #[test]
    fn dense_numbers_take_two_bits_and_the_samples() {
        let sequence = MonotoneBuf::new(&(0..1 << 20).collect::<Vec<u64>>());
        assert_eq!(sequence.memory_bytes() * 8, (1 << 20) * 2 + (1 << 20) * 2 / 256 * 64);
    }

    #[test]
    fn a_shape_beyond_memory_has_no_length() {
        let shape = Shape { count: u64::MAX, largest: u64::MAX };
        assert_eq!(shape.bytes(), None);
        assert!(Monotone::new(&[0; 64], shape).is_none());
    }
}
