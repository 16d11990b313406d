//! Changes to a valid file, like those of a bad disk, an incomplete copy or an attacker.
//!
//! Bytes are interpreted as a list of changes, six bytes each: kind, position, value. So the fuzzer need not invent a
//! whole file, and every input is nearly valid.

/// Applies the changes encoded in `data` to `file`.
pub fn damaged(file: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for change in data.chunks_exact(6).take(32) {
        let [kind, a, b, c, value, more] = *change else { continue };
        if bytes.is_empty() {
            break;
        }
        let at = (usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16) % bytes.len();
        match kind % 8 {
            0 => bytes[at] ^= value,
            1 => bytes[at] = value,
            2 => bytes.truncate(at),
            3 => bytes.insert(at, value),
            // A word of very small or very large value, for places of lengths and counts.
            4 => put(&mut bytes, at & !7, u64::from(value) << (more % 64)),
            5 => put(&mut bytes, at & !7, u64::MAX - u64::from(value)),
            6 => {
                let end = (at + usize::from(more)).min(bytes.len());
                bytes[at..end].fill(value);
            }
            _ => {
                let from = at.min(bytes.len().saturating_sub(usize::from(more)));
                let piece = bytes[from..(from + usize::from(more)).min(bytes.len())].to_vec();
                let to = usize::from(value) * 8 % bytes.len();
                let end = (to + piece.len()).min(bytes.len());
                bytes[to..end].copy_from_slice(&piece[..end - to]);
            }
        }
    }
    bytes
}

/// Writes a little-endian word if it fits.
pub fn put(bytes: &mut [u8], at: usize, word: u64) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(8)) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// Reads a little-endian word; zero beyond the end.
pub fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u64::from_le_bytes(*word))
}

/// Inputs of a variant and a few changes.
pub(crate) fn seeds(variants: u8) -> Vec<Vec<u8>> {
    let change = |kind: u8, at: u8, value: u8| [kind, at.wrapping_mul(37), at, 0, value, at];
    let mut seeds: Vec<Vec<u8>> = (0..variants).map(|variant| vec![variant]).collect();
    for variant in 0..variants {
        for kind in 0..8 {
            let changes = [change(kind, kind, 1), change(0, 3 * kind, 128)];
            seeds.push([&[variant], changes.as_flattened()].concat());
        }
    }
    seeds
}
