//! Which segments become one, and making it.
//!
//! Tiers: a segment of `n` live entries is in tier `floor(log_fan(n / head))`, everything below
//! one head in tier 0. When a tier has `fan` segments, all of them become one. So once nothing is
//! pending there are at most `fan - 1` segments in each of `log_fan(n / head) + 1` tiers, and as
//! long as heads are frozen full and nothing is removed an entry is rewritten once per tier. A
//! segment of which half is gone is rewritten alone; that is paid by the removals.
//!
//! Order does not matter: an id is live in one place only, so any segments can be merged, and
//! several merges can run at once as long as they share no segment.
//!
//! A merge is three steps, and only the first and the last, both short, hold the writers up:
//!
//! ```text
//!   LiveIndex::pending_merge   chooses segments, copies pointers
//!   MergeTask::run             builds the new segment, on whatever thread the caller likes
//!   LiveIndex::commit          marks what was removed meanwhile, exchanges old for new
//! ```
//!
//! Source: tiered compaction, as in O'Neil et al., "The log-structured merge-tree", 1996, and the
//! engines that came after it.

use std::sync::Arc;

use super::options::LiveOptions;
use super::state::Slot;
use crate::fingerprint::Fingerprint;
use crate::index::collection::{Collection, Entry};
use crate::index::near::HammingIndex;
use crate::index::segment::{Segment, SegmentBuildError};

/// Segments to be made into one.
///
/// While the task or its result exists its segments are given to no other; dropping it gives
/// them back.
#[derive(Debug)]
pub struct MergeTask {
    pub(super) inputs: Vec<Slot>,
    pub(super) lease: Arc<()>,
    pub(super) options: LiveOptions,
}

/// A finished merge, to be given to [`LiveIndex::commit`](super::LiveIndex::commit).
#[derive(Debug)]
pub struct Merged {
    pub(super) inputs: Vec<Slot>,
    pub(super) segment: Segment,
    /// Held, not read: see [`MergeTask`].
    _lease: Arc<()>,
}

impl MergeTask {
    /// How many entries will be written.
    pub fn entries(&self) -> usize {
        self.inputs.iter().map(Slot::live).sum()
    }

    /// How many segments become one.
    pub fn segments(&self) -> usize {
        self.inputs.len()
    }

    /// Makes the new segment. Takes as long as sorting its entries once per table; holds no lock.
    ///
    /// # Errors
    ///
    /// [`SegmentBuildError`] when the engine refuses.
    pub fn run(self) -> Result<Merged, SegmentBuildError> {
        let Self { inputs, lease, options } = self;
        // Where each live id is, in the order of ids. The inputs are runs in that order already,
        // which a stable sort makes use of.
        let mut sources: Vec<(u64, u32, u32)> = Vec::new();
        for (number, slot) in (0u32..).zip(&inputs) {
            let ids = (0u32..).zip(slot.segment.iter_ids());
            let live = ids.filter(|&(rank, _)| !slot.removed.contains(rank as usize));
            sources.extend(live.map(|(rank, id)| (id, number, rank)));
        }
        sources.sort();
        let ids: Vec<u64> = sources.iter().map(|&(id, _, _)| id).collect();
        let mut new_ranks: Vec<Vec<u32>> =
            inputs.iter().map(|slot| vec![u32::MAX; slot.segment.len()]).collect();
        for (new_rank, (_, number, rank)) in (0u32..).zip(sources) {
            new_ranks[number as usize][rank as usize] = new_rank;
        }
        let mut ranked = Vec::with_capacity(ids.len());
        for (slot, new_ranks) in inputs.iter().zip(&new_ranks) {
            slot.segment.for_each_rank(|bits, rank| {
                let new_rank = new_ranks[rank as usize];
                if new_rank != u32::MAX {
                    let fingerprint = Fingerprint::from_bits(bits);
                    ranked.push(Entry { fingerprint, id: u64::from(new_rank) });
                }
            });
        }
        drop(new_ranks);
        ranked.sort();
        let engine = options.engine_for(ids.len());
        let segment = Segment::from_ranked(ranked, &ids, engine, options.bound)?;
        Ok(Merged { inputs, segment, _lease: lease })
    }
}

/// Which of the free segments to merge next, as positions in the list; none when all is well.
pub(super) fn choose(sizes: &[Size], options: &LiveOptions) -> Option<Vec<usize>> {
    let free = || sizes.iter().enumerate().filter(|(_, size)| size.free);
    let wasteful = free().find(|(_, size)| size.live * 2 <= size.entries);
    if let Some((number, _)) = wasteful {
        return Some(vec![number]);
    }
    let tiers = sizes.iter().map(|size| tier(size.live, options)).max()? + 1;
    (0..tiers).find_map(|wanted| {
        let mut left = Collection::MOST;
        let fits = |&(_, size): &(usize, &Size)| {
            let fits = tier(size.live, options) == wanted && size.live < left;
            left -= if fits { size.live } else { 0 };
            fits
        };
        let same: Vec<usize> = free().filter(fits).map(|(number, _)| number).collect();
        (same.len() >= options.fan).then_some(same)
    })
}

/// What the choice depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) entries: usize,
    pub(super) live: usize,
    /// Not in a merge already.
    pub(super) free: bool,
}

pub(super) fn tier(live: usize, options: &LiveOptions) -> u32 {
    (live / options.head).max(1).ilog(options.fan)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Sizes only: freezes `heads` full heads and merges whenever something is pending.
        #[test]
        fn segments_stay_few_and_rewriting_is_bounded(
            heads in 1usize..3000,
            fan in 2usize..9,
            head in 1usize..10_000,
        ) {
            let options = LiveOptions::default().head(head).fan(fan);
            let mut segments: Vec<usize> = Vec::new();
            let mut written = 0;
            for _ in 0..heads {
                segments.push(head);
                loop {
                    let sizes: Vec<Size> = segments
                        .iter()
                        .map(|&live| Size { entries: live, live, free: true })
                        .collect();
                    let Some(mut chosen) = choose(&sizes, &options) else { break };
                    chosen.sort_unstable();
                    let merged: usize = chosen.iter().map(|&number| segments[number]).sum();
                    chosen.iter().rev().for_each(|&number| _ = segments.swap_remove(number));
                    segments.push(merged);
                    written += merged;
                }
            }
            let tiers = tier(heads * head, &options) as usize + 1;
            prop_assert!(segments.len() <= (fan - 1) * tiers);
            prop_assert!(written <= heads * head * (tiers - 1));
            prop_assert_eq!(segments.iter().sum::<usize>(), heads * head);
        }
    }

    #[test]
    fn a_segment_half_gone_is_rewritten_and_a_busy_one_is_not() {
        let options = LiveOptions::default();
        let size = |entries, live, free| Size { entries, live, free };
        assert_eq!(choose(&[size(100, 51, true), size(100, 50, true)], &options), Some(vec![1]));
        assert_eq!(choose(&[size(100, 50, false)], &options), None);
        let four = [size(9, 9, true), size(9, 9, true), size(9, 9, false), size(9, 9, true)];
        assert_eq!(choose(&four, &options), None);
        assert_eq!(choose(&[], &options), None);
    }
}
