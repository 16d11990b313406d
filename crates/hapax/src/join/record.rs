//! A compact fingerprint with its id: the unit that joins move.
//!
//! Joins are limited by memory traffic, so a record with a 32-bit id takes 12 bytes instead of 16. Ids are
//! `u32` or `u64`; callers with other names number them. `Stored` encodes records and pairs for a
//! [`Spill`](super::Spill) as little-endian bytes of a fixed length. The encoding lives only as long as a join;
//! it is not a file format.

use std::fmt::Debug;

/// An unsigned number that identifies a document: `u32` or `u64`.
pub trait Id: Copy + Ord + Default + Debug + Send + Sync + sealed::Sealed + 'static {
    /// Encoded size in bytes.
    const BYTES: usize;

    /// Two ids as one number.
    type Both: Ord;

    /// Sorts like the ids, the first before the second.
    fn both(first: Self, second: Self) -> Self::Both;

    /// As the wider of the two.
    fn widen(self) -> u64;

    /// Writes its little-endian bytes to the start of `bytes`.
    fn write(self, bytes: &mut [u8]);

    /// Reads what [`write`](Self::write) wrote.
    fn read(bytes: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

macro_rules! id {
    ($number:ty, $both:ty) => {
        impl Id for $number {
            const BYTES: usize = size_of::<Self>();

            type Both = $both;

            #[inline(always)]
            fn both(first: Self, second: Self) -> $both {
                <$both>::from(first) << Self::BITS | <$both>::from(second)
            }

            #[inline(always)]
            fn widen(self) -> u64 {
                u64::from(self)
            }

            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes[..Self::BYTES].copy_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                let mut number = [0; Self::BYTES];
                number.copy_from_slice(&bytes[..Self::BYTES]);
                Self::from_le_bytes(number)
            }
        }
    };
}

id!(u32, u64);
id!(u64, u128);

/// A fingerprint and its id. Ordered by fingerprint, then id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C, packed(4))]
pub struct Record<I> {
    pub fingerprint: u64,
    pub id: I,
}

/// Two documents within the bound. Ordered by the smaller id, then the larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair<I> {
    /// The smaller id.
    pub a: I,
    pub b: I,
    /// Distance in bits.
    pub distance: u8,
}

impl<I: Id> Pair<I> {
    /// The pair of two ids in any order.
    #[inline(always)]
    pub(super) fn of(one: I, other: I, distance: u32) -> Self {
        Self { a: one.min(other), b: one.max(other), distance: distance as u8 }
    }
}

/// A value with a fixed encoded size.
pub(super) trait Stored: Copy {
    const BYTES: usize;
    fn write(self, bytes: &mut [u8]);
    fn read(bytes: &[u8]) -> Self;
}

impl<I: Id> Stored for Record<I> {
    const BYTES: usize = u64::BYTES + I::BYTES;

    fn write(self, bytes: &mut [u8]) {
        Id::write(self.fingerprint, bytes);
        self.id.write(&mut bytes[u64::BYTES..]);
    }

    fn read(bytes: &[u8]) -> Self {
        Self { fingerprint: <u64 as Id>::read(bytes), id: I::read(&bytes[u64::BYTES..]) }
    }
}

impl<I: Id> Stored for Pair<I> {
    const BYTES: usize = 2 * I::BYTES + 1;

    fn write(self, bytes: &mut [u8]) {
        self.a.write(bytes);
        self.b.write(&mut bytes[I::BYTES..]);
        bytes[2 * I::BYTES] = self.distance;
    }

    fn read(bytes: &[u8]) -> Self {
        Self { a: I::read(bytes), b: I::read(&bytes[I::BYTES..]), distance: bytes[2 * I::BYTES] }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode_and_decode<T: Stored>(value: T) -> T {
        let mut bytes = vec![0; T::BYTES];
        value.write(&mut bytes);
        T::read(&bytes)
    }

    #[test]
    fn a_record_with_a_short_id_takes_twelve_bytes() {
        assert_eq!(size_of::<Record<u32>>(), 12);
        assert_eq!(size_of::<Record<u64>>(), 16);
    }

    proptest! {
        #[test]
        fn encoded_values_are_read_back(fingerprint: u64, id: u64, other: u64, distance in 0u32..=64) {
            let record = Record { fingerprint, id };
            prop_assert_eq!(encode_and_decode(record), record);
            let short = Record { fingerprint, id: id as u32 };
            prop_assert_eq!(encode_and_decode(short), short);
            let pair = Pair::of(id, other, distance);
            prop_assert!(pair.a <= pair.b);
            prop_assert_eq!(encode_and_decode(pair), pair);
        }
    }
}
