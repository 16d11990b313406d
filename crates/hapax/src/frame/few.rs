//! Collects the full hashes of an own text while there are few.

use super::FEW;

/// Up to [`FEW`] distinct hashes.
#[derive(Default)]
pub(super) struct Few {
    hashes: [u32; FEW],
    /// Number of hashes; may exceed [`FEW`].
    count: usize,
}

impl Few {
    pub(super) fn add(&mut self, hash: u32) {
        let known = self.hashes.get(..self.count);
        if known.is_some_and(|known| !known.contains(&hash)) {
            if let Some(slot) = self.hashes.get_mut(self.count) {
                *slot = hash;
            }
            self.count += 1;
        }
    }

    /// All hashes in order of their lower halves; `None` if there are more than [`FEW`].
    pub(super) fn all(&mut self) -> Option<&[u32]> {
        let hashes = self.hashes.get_mut(..self.count)?;
        hashes.sort_unstable_by_key(|hash| hash.rotate_left(16));
        Some(hashes)
    }
}
