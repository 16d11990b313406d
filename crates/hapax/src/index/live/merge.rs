//! Chooses which segments to merge and merges them, on any thread of the caller.
//!
//! A segment of `n` live entries is in tier `floor(log_growth(n / head))`. If a tier has more than `runs`
//! segments, they and all smaller ones are merged into one, so an entry is rewritten at most `(growth - 1) /
//! runs + 1` times per tier. One run is leveled compaction, more are tiered compaction. A segment of which half
//! is removed is rewritten alone. With more than `backlog` segments too many, an insert merges first, so their
//! number is bounded. Merges that share no segment can run concurrently; only their first and last steps block
//! writers. Source: O'Neil et al., "The log-structured merge-tree", 1996; Dayan, Athanassoulis and Idreos,
//! "Monkey", 2017.
//! ```text
//!   LiveIndex::pending_merge   chooses segments, copies pointers
//!   MergeTask::run             builds the new segment, on whatever thread the caller likes
//!   LiveIndex::commit          marks what was removed meanwhile, exchanges old for new
//! ```

use std::sync::Arc;

use super::options::LiveOptions;
use super::state::Slot;
use crate::fingerprint::Fingerprint;
use crate::index::collection::{Collection, Entry};
use crate::index::near::HammingIndex;
use crate::index::segment::{Segment, SegmentBuildError};

/// A merge of several segments into one.
///
/// While the task or its result exists, its segments are reserved for it; dropping it releases
/// them.
#[derive(Debug)]
pub struct MergeTask {
    pub(super) inputs: Vec<Slot>,
    pub(super) lease: Arc<()>,
    pub(super) options: LiveOptions,
}

/// A finished merge, for [`LiveIndex::commit`](super::LiveIndex::commit).
#[derive(Debug)]
pub struct Merged {
    pub(super) inputs: Vec<Slot>,
    pub(super) segment: Segment,
    /// Held, not read; see [`MergeTask`].
    _lease: Arc<()>,
}

impl MergeTask {
    /// Number of entries to write.
    pub fn entries(&self) -> usize {
        self.inputs.iter().map(Slot::live).sum()
    }

    /// Number of segments to merge.
    pub fn segments(&self) -> usize {
        self.inputs.len()
    }

    /// Builds the new segment. Sorts its entries once per table; holds no lock.
    ///
    /// # Errors
    ///
    /// [`SegmentBuildError`] if the engine cannot be built.
    pub fn run(self) -> Result<Merged, SegmentBuildError> {
        let Self { inputs, lease, options } = self;
        // The place of each live id, in the order of ids. The inputs are sorted runs already, which
        // a stable sort exploits.
        let mut sources: Vec<(u64, u32, u32)> = Vec::new();
        for (number, slot) in (0u32..).zip(&inputs) {
            let ids = (0u32..).zip(slot.segment.ids().iter());
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

/// The positions of the free segments to merge next; `None` if no merge is due.
pub(super) fn choose(sizes: &[Size], options: &LiveOptions) -> Option<Vec<usize>> {
    let free = || sizes.iter().enumerate().filter(|(_, size)| size.free);
    let wasteful = free().find(|(_, size)| size.live * 2 <= size.entries);
    if let Some((number, _)) = wasteful {
        return Some(vec![number]);
    }
    let tiers = sizes.iter().map(|size| tier(size.live, options)).max()? + 1;
    let in_tier = |wanted: u32| free().filter(move |(_, size)| tier(size.live, options) == wanted);
    let full = (0..tiers).find(|&wanted| in_tier(wanted).count() > options.runs)?;
    // Includes all smaller tiers. If the result would overfill its own tier, includes that tier,
    // too: merging it in a second step would write everything again.
    let mut chosen: Vec<usize> = Vec::new();
    let mut merged = 0;
    let mut take = |merged: &mut usize, wanted: u32| {
        for (number, size) in in_tier(wanted) {
            if *merged + size.live <= Collection::MOST {
                *merged += size.live;
                chosen.push(number);
            }
        }
    };
    (0..=full).for_each(|wanted| take(&mut merged, wanted));
    let (mut taken, mut reached) = (full, tier(merged, options));
    while reached > taken && in_tier(reached).count() >= options.runs {
        (taken + 1..=reached).for_each(|wanted| take(&mut merged, wanted));
        (taken, reached) = (reached, tier(merged, options));
    }
    (chosen.len() > 1).then_some(chosen)
}

/// Whether the backlog is exceeded. A complete merge of `n` live entries leaves at most `runs`
/// segments per tier.
pub(super) fn behind(sizes: &[Size], options: &LiveOptions) -> bool {
    let free = || sizes.iter().filter(|size| size.free);
    let live = free().map(|size| size.live).sum();
    let left = options.runs.saturating_mul(tier(live, options) as usize + 1);
    free().count() > left.saturating_add(options.backlog)
}

/// The facts that the choice depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) entries: usize,
    pub(super) live: usize,
    /// Not part of a merge already.
    pub(super) free: bool,
}

pub(super) fn tier(live: usize, options: &LiveOptions) -> u32 {
    (live / options.head).max(1).ilog(options.growth)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// By sizes only: freezes `heads` full heads and runs every pending merge.
        #[test]
        fn segments_stay_few_and_rewriting_is_bounded(
            heads in 1usize..3000,
            growth in 2usize..12,
            runs in 1usize..12,
            head in 1usize..10_000,
        ) {
            let options = LiveOptions::default().head(head).growth(growth).runs(runs);
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
            prop_assert!(segments.len() <= runs * tiers);
            let each = (growth - 1).div_ceil(runs) + 1;
            prop_assert!(written <= heads * head * tiers * each);
            prop_assert_eq!(segments.iter().sum::<usize>(), heads * head);
        }
    }

    #[test]
    fn a_half_removed_segment_is_rewritten_unless_it_is_being_merged() {
        let options = LiveOptions::default();
        let size = |entries, live, free| Size { entries, live, free };
        assert_eq!(choose(&[size(100, 51, true), size(100, 50, true)], &options), Some(vec![1]));
        assert_eq!(choose(&[size(100, 50, false)], &options), None);
        assert_eq!(choose(&[size(9, 9, true), size(9, 9, false)], &options), None);
        assert_eq!(choose(&[size(9, 9, true), size(9, 9, true)], &options), Some(vec![0, 1]));
        assert_eq!(choose(&[], &options), None);
    }
}
