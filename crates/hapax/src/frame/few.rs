//! The hashes of an own text while they are few: all of them, whole. Knows no pieces and no pages.

use super::FEW;

/// Different hashes, as long as they are few.
#[derive(Default)]
pub(super) struct Few {
    hashes: [u32; FEW],
    /// More than fit if there are more.
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

    /// By their lower halves; `None` if there are more.
    pub(super) fn all(&mut self) -> Option<&[u32]> {
        let hashes = self.hashes.get_mut(..self.count)?;
        hashes.sort_unstable_by_key(|hash| hash.rotate_left(16));
        Some(hashes)
    }
}
