//! Encodes and decodes blocks of fingerprints, ids and names.
//!
//! ```text
//!   fingerprints   bytes u32 | entries u32 | first u64 | groups | checksum
//!                  a group: width u8, then up to 128 gaps of this width
//!   ids            numbers of the width in the directory | checksum
//!   names          bytes u32 | count u32 | end of each, u32 | text | checksum
//! ```
//!
//! A checksum is XXH3 of everything before it in the block, seeded with the block's offset, so that misplaced
//! blocks fail, too; it also provides the eight bytes that a reader may load beyond the last packed number. 128
//! gaps share a width, so that one large gap does not widen many. Widths of 57 to 63 are written as 64, so that
//! a number is always within the eight bytes at its place.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Entries per block of fingerprints or ids; the last block of a run may have fewer.
pub(super) const ENTRIES: usize = 8192;

/// Number of gaps that share a width.
const GROUP: usize = 128;

/// Names per block; the last block of a section may have fewer.
pub(super) const NAMES: usize = 256;

/// Maximum length of a name in bytes.
pub const LONGEST_NAME: usize = 1 << 16;

/// Bytes before the payload.
pub(super) const PREFIX: usize = 8;

pub(super) const CHECKSUM: usize = 8;

/// Maximum payload of a block of fingerprints.
pub(super) const MOST_PAYLOAD: usize = 8 + (ENTRIES / GROUP) * (1 + GROUP * 8);

/// Maximum payload of a block of names.
pub(super) const MOST_NAMES_PAYLOAD: usize = NAMES * (4 + LONGEST_NAME);

/// Maximum width of an id in bits.
pub(super) const MOST_ID_BITS: u32 = 56;

/// Appends the checksum of `bytes` from `start` on.
pub(super) fn seal(bytes: &mut Vec<u8>, start: usize, offset: u64) {
    let sum = xxh3_64_with_seed(&bytes[start..], offset);
    bytes.extend_from_slice(&sum.to_le_bytes());
}

/// The bytes before the checksum, if it is correct.
pub(super) fn unseal(bytes: &[u8], offset: u64) -> Option<&[u8]> {
    let (body, sum) = bytes.split_last_chunk::<CHECKSUM>()?;
    (xxh3_64_with_seed(body, offset) == u64::from_le_bytes(*sum)).then_some(body)
}

/// Length of the payload and number of entries, from the first eight bytes of a block.
pub(super) fn prefix(bytes: &[u8; PREFIX]) -> (usize, usize) {
    let [a, b, c, d, e, f, g, h] = *bytes;
    (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]) as usize)
}

fn start_block(count: usize, bytes: &mut Vec<u8>) -> usize {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&(count as u32).to_le_bytes());
    start
}

fn end_block(bytes: &mut Vec<u8>, start: usize, offset: u64) {
    let payload = (bytes.len() - start - PREFIX) as u32;
    bytes[start..start + 4].copy_from_slice(&payload.to_le_bytes());
    seal(bytes, start, offset);
}

/// Appends a block of 1 to [`ENTRIES`] ascending fingerprints.
pub(super) fn pack_fingerprints(sorted: &[u64], offset: u64, bytes: &mut Vec<u8>) {
    let start = start_block(sorted.len(), bytes);
    let Some((first, rest)) = sorted.split_first() else { return };
    bytes.extend_from_slice(&first.to_le_bytes());
    let mut last = *first;
    let mut gaps = [0u64; GROUP];
    for group in rest.chunks(GROUP) {
        for (gap, &fingerprint) in gaps.iter_mut().zip(group) {
            *gap = fingerprint - last;
            last = fingerprint;
        }
        let gaps = &gaps[..group.len()];
        let widest = gaps.iter().fold(0, |all, gap| all | gap);
        let width = match u64::BITS - widest.leading_zeros() {
            width @ 0..=MOST_ID_BITS => width,
            _ => u64::BITS,
        };
        bytes.push(width as u8);
        pack(gaps.iter().copied(), width, bytes);
    }
    end_block(bytes, start, offset);
}

/// Appends the fingerprints of a complete block. `false` if the block is invalid; the caller checks
/// the checksum.
pub(super) fn unpack_fingerprints(bytes: &[u8], into: &mut Vec<u64>) -> bool {
    let Some((head, _)) = bytes.split_first_chunk::<PREFIX>() else { return false };
    let (payload, entries) = prefix(head);
    let end = PREFIX + payload;
    if entries == 0 || entries > ENTRIES || bytes.len() != end + CHECKSUM || payload < 8 {
        return false;
    }
    let mut last = word_at(bytes, PREFIX);
    into.push(last);
    let (mut at, mut left) = (PREFIX + 8, entries - 1);
    let mut overflow = false;
    while left > 0 {
        let count = left.min(GROUP);
        let Some(&width) = bytes[..end].get(at) else { return false };
        let width = u32::from(width);
        let length = (count * width as usize).div_ceil(8);
        if width > MOST_ID_BITS && width != u64::BITS || at + 1 + length > end {
            return false;
        }
        let packed = &bytes[at + 1..at + 1 + length + CHECKSUM];
        unpack(packed, width, count, |gap| {
            let (next, over) = last.overflowing_add(gap);
            overflow |= over;
            last = next;
            into.push(next);
        });
        at += 1 + length;
        left -= count;
    }
    at == end && !overflow
}

/// Size of a block of `count` ids.
pub(super) fn ids_length(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8) + CHECKSUM
}

/// Appends a block of ids.
pub(super) fn pack_ids(ids: &[u64], width: u32, offset: u64, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    pack(ids.iter().copied(), width, bytes);
    seal(bytes, start, offset);
}

/// Appends the ids of a complete block.
pub(super) fn unpack_ids(bytes: &[u8], width: u32, count: usize, into: &mut Vec<u64>) -> bool {
    if bytes.len() != ids_length(count, width) || width > MOST_ID_BITS {
        return false;
    }
    unpack(bytes, width, count, |id| into.push(id));
    true
}

/// Appends a block of names.
pub(super) fn pack_names(ends: &[u32], text: &[u8], offset: u64, bytes: &mut Vec<u8>) {
    let start = start_block(ends.len(), bytes);
    ends.iter().for_each(|end| bytes.extend_from_slice(&end.to_le_bytes()));
    bytes.extend_from_slice(text);
    end_block(bytes, start, offset);
}

/// Name number `i` of a complete block.
pub(super) fn name(bytes: &[u8], i: usize) -> Option<&[u8]> {
    let (payload, count) = prefix(bytes.first_chunk::<PREFIX>()?);
    let body = bytes.get(PREFIX..PREFIX + payload)?;
    let (ends, text) = body.split_at_checked(count.checked_mul(4)?)?;
    let end = |i: usize| Some(u32::from_le_bytes(*ends.get(i * 4..)?.first_chunk()?) as usize);
    let start = if i == 0 { 0 } else { end(i - 1)? };
    text.get(start..end(i)?)
}

/// Packs numbers of `width` bits, back to back from the low end.
fn pack(numbers: impl Iterator<Item = u64>, width: u32, bytes: &mut Vec<u8>) {
    let (mut waiting, mut bits) = (0u128, 0);
    for number in numbers {
        waiting |= u128::from(number) << bits;
        bits += width;
        while bits >= 8 {
            bytes.push(waiting as u8);
            waiting >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        bytes.push(waiting as u8);
    }
}

/// Unpacks what [`pack`] packed; eight more bytes must follow.
#[inline(always)]
fn unpack(bytes: &[u8], width: u32, count: usize, mut each: impl FnMut(u64)) {
    let mask = u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0);
    let mut bit = 0;
    for _ in 0..count {
        each(word_at(bytes, bit / 8) >> (bit % 8) & mask);
        bit += width as usize;
    }
}

/// The eight bytes at an offset, which must be in bounds.
#[inline(always)]
pub(super) fn word_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_fingerprints_are_read_back(
            mut sorted in vec(prop_oneof![any::<u64>(), 0u64..1000, Just(u64::MAX)], 1..700),
            offset: u64,
        ) {
            sorted.sort_unstable();
            let mut bytes = vec![7; 3];
            pack_fingerprints(&sorted, offset, &mut bytes);
            let block = &bytes[3..];
            prop_assert!(unseal(block, offset).is_some());
            prop_assert!(unseal(block, !offset).is_none());
            let mut back = Vec::new();
            prop_assert!(unpack_fingerprints(block, &mut back));
            prop_assert_eq!(back, sorted);
            prop_assert!(block.len() <= PREFIX + MOST_PAYLOAD + CHECKSUM);
        }

        #[test]
        fn any_bytes_unpack_without_panic(bytes in vec(any::<u8>(), 0..400), count in 0usize..50, width in 0u32..70) {
            let mut into = Vec::new();
            let _ = unpack_fingerprints(&bytes, &mut into);
            let _ = unpack_ids(&bytes, width, count, &mut into);
            let _ = name(&bytes, count);
            let mut bytes = bytes;
            if bytes.len() > 24 {
                let payload = bytes.len() as u32 - 16;
                bytes[..8].copy_from_slice(&[payload.to_le_bytes(), 200u32.to_le_bytes()].concat());
                let _ = unpack_fingerprints(&bytes, &mut into);
                let _ = name(&bytes, count);
            }
        }

        #[test]
        fn packed_ids_are_read_back(ids in vec(0u64..1 << 56, 0..300), spare in 0u32..20) {
            let widest = ids.iter().fold(0, |all, id| all | id);
            let width = (u64::BITS - widest.leading_zeros() + spare).min(MOST_ID_BITS);
            let mut bytes = Vec::new();
            pack_ids(&ids, width, 9, &mut bytes);
            prop_assert_eq!(bytes.len(), ids_length(ids.len(), width));
            let mut back = Vec::new();
            prop_assert!(unpack_ids(&bytes, width, ids.len(), &mut back));
            prop_assert_eq!(back, ids);
        }
    }
}
