//! Decodes Tantivy's numbers from untrusted bytes, with bounds checks.

/// Bytes that are read from the front.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Seven bits per byte, lowest first; the highest bit is set in the last byte.
    pub(super) fn number(&mut self) -> Option<u64> {
        self.seven_bits(|byte| byte & 0x80 != 0)
    }

    /// The same, with the highest bit set in all bytes except the last.
    pub(super) fn leb128(&mut self) -> Option<u64> {
        self.seven_bits(|byte| byte & 0x80 == 0)
    }

    fn seven_bits(&mut self, is_last: impl Fn(u8) -> bool) -> Option<u64> {
        let mut number = 0;
        for place in 0..10 {
            let byte = self.u8()?;
            let part = u64::from(byte & 0x7f);
            let shifted = part << (7 * place);
            if shifted >> (7 * place) != part {
                return None;
            }
            number |= shifted;
            if is_last(byte) {
                return Some(number);
            }
        }
        None
    }
}
