//! Numbers in bytes: little-endian words, and bit-packed columns of equal width.
//!
//! Like [`packed`](crate::index::packed), but over borrowed bytes at any address, so that a file can be read
//! where it is mapped. A column ends with at least eight bytes of padding, so that a read can always load nine
//! bytes. Guarantees that reading a value of the column stays inside its bytes; their length is checked once,
//! when the column is created.

/// Size of `count` values of `width` bits in bytes; `None` if larger than any file.
pub(super) fn packed_bytes(count: u64, width: u32) -> Option<u64> {
    if width == 0 {
        return Some(0);
    }
    count.checked_mul(u64::from(width))?.div_ceil(64).checked_mul(8)?.checked_add(8)
}

/// Number of bits of `largest`; 0 for zero.
pub(super) fn width_of(largest: u64) -> u32 {
    u64::BITS - largest.leading_zeros()
}

#[inline(always)]
pub(super) fn word_at(bytes: &[u8], offset: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(word)
}

/// The 32-bit word at a byte offset.
#[inline(always)]
pub(super) fn half_at(bytes: &[u8], offset: usize) -> u32 {
    let mut half = [0; 4];
    half.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(half)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PackedColumn<'a> {
    bytes: &'a [u8],
    width: u32,
}

impl<'a> PackedColumn<'a> {
    /// A column over exactly [`packed_bytes`] bytes.
    pub(super) fn new(bytes: &'a [u8], width: u32) -> Self {
        Self { bytes, width }
    }

    #[inline(always)]
    pub(super) fn get(&self, index: usize) -> u64 {
        if self.width == 0 {
            return 0;
        }
        let bit = index * self.width as usize;
        let (byte, shift) = (bit / 8, (bit % 8) as u32);
        let low = word_at(self.bytes, byte) >> shift;
        // At most seven bits are missing, and only if the value continues after the word.
        let high = (u64::from(self.bytes[byte + 8]) << 1) << (63 - shift);
        (low | high) & (u64::MAX >> (64 - self.width))
    }

    /// Whether all bits after the last of `count` values are zero.
    pub(super) fn padding_is_zero(&self, count: usize) -> bool {
        let bits = count * self.width as usize;
        let whole = bits.div_ceil(8);
        let last = bits.is_multiple_of(8) || self.bytes[bits / 8] >> (bits % 8) == 0;
        last && self.bytes[whole..].iter().all(|&byte| byte == 0)
    }
}

/// Appends a packed column.
pub(super) fn pack(out: &mut Vec<u8>, width: u32, values: impl Iterator<Item = u64>) {
    if width == 0 {
        return;
    }
    let (mut word, mut used) = (0u64, 0);
    for value in values {
        word |= value << used;
        used += width;
        if used >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            used -= 64;
            // The bits that did not fit; none if the value ended with the word.
            word = if used == 0 { 0 } else { value >> (width - used) };
        }
    }
    if used > 0 {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&[0; 8]);
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_values_are_read_back(width in 0u32..=64, values in vec(any::<u64>(), 0..200)) {
            let values: Vec<u64> =
                values.into_iter().map(|v| v.checked_shr(64 - width).unwrap_or(0)).collect();
            let mut bytes = Vec::new();
            pack(&mut bytes, width, values.iter().copied());
            prop_assert_eq!(Some(bytes.len() as u64), packed_bytes(values.len() as u64, width));
            let column = PackedColumn::new(&bytes, width);
            let back: Vec<u64> = (0..values.len()).map(|i| column.get(i)).collect();
            prop_assert_eq!(&back, &values);
            prop_assert!(column.padding_is_zero(values.len()));
        }
    }

    #[test]
    fn a_set_bit_in_the_padding_is_detected() {
        let mut bytes = Vec::new();
        pack(&mut bytes, 3, [7, 7].into_iter());
        assert!(PackedColumn::new(&bytes, 3).padding_is_zero(2));
        bytes[0] |= 1 << 6;
        assert!(!PackedColumn::new(&bytes, 3).padding_is_zero(2));
    }
}
