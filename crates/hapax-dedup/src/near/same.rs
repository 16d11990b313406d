//! Brings entries with equal keys together, on all threads.
//!
//! A parallel sort splits the whole list on one thread first. Here chunks are dealt to pieces by a hash of the
//! key, all at once, and each piece is sorted by itself. Entries with equal keys are in one piece, next to each
//! other if the key is what entries are ordered by first. Pieces depend on the entries alone, not on threads.

use rayon::prelude::*;

/// Approximate number of entries of a piece, which fits into the second-level cache.
const PIECE: usize = 1 << 12;
/// More pieces than this are slow to deal to.
const MOST_BITS: u32 = 10;
/// Chunks of a list; more than any machine needs to keep its threads busy.
const CHUNKS: usize = 256;

/// The sorted pieces of `count` entries.
pub(crate) fn pieces<E: Copy + Ord + Send + Sync>(
    count: usize,
    entry: impl Fn(usize) -> E + Sync,
    key: impl Fn(&E) -> u64 + Sync,
) -> Vec<Vec<E>> {
    let bits = (count / PIECE).max(1).next_power_of_two().ilog2().min(MOST_BITS);
    let piece_of = |entry: &E| {
        let mixed = key(entry).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed.checked_shr(u64::BITS - bits).unwrap_or(0) as usize
    };
    let each = count.div_ceil(CHUNKS).max(PIECE);
    // The entries of each chunk by piece, and the end of every piece.
    let deal = |chunk: usize| {
        let entries: Vec<E> = (chunk * each..count.min((chunk + 1) * each)).map(&entry).collect();
        let mut ends = vec![0usize; (1 << bits) + 1];
        for entry in &entries {
            ends[piece_of(entry) + 1] += 1;
        }
        for piece in 1..ends.len() {
            ends[piece] += ends[piece - 1];
        }
        let (mut places, mut dealt) = (ends.clone(), entries.clone());
        for entry in entries {
            let place = &mut places[piece_of(&entry)];
            dealt[*place] = entry;
            *place += 1;
        }
        (dealt, ends)
    };
    let chunks: Vec<_> = (0..count.div_ceil(each)).into_par_iter().map(deal).collect();
    let piece = |piece: usize| {
        let mut all = Vec::new();
        for (entries, ends) in &chunks {
            all.extend_from_slice(&entries[ends[piece]..ends[piece + 1]]);
        }
        all.sort_unstable();
        all
    };
    (0..1 << bits).into_par_iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_entry_is_in_one_piece_together_with_those_of_its_key(
            count in 0usize..40_000,
            keys in 1u64..3_000,
        ) {
            let entry = |at: usize| ((at as u64).wrapping_mul(0x2545_F491_4F6C_DD1D) % keys, at);
            let pieces = pieces(count, entry, |entry| entry.0);
            let mut seen = std::collections::BTreeSet::new();
            let mut all = Vec::new();
            for piece in pieces {
                prop_assert!(piece.is_sorted());
                for same in piece.chunk_by(|one, other| one.0 == other.0) {
                    prop_assert!(seen.insert(same[0].0));
                }
                all.extend(piece);
            }
            all.sort_unstable();
            let mut expected: Vec<_> = (0..count).map(entry).collect();
            expected.sort_unstable();
            prop_assert_eq!(all, expected);
        }
    }
}
