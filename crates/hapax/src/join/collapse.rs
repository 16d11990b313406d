//! Identical fingerprints, made one.
//!
//! A popular page has its fingerprint a million times. Its copies are within any bound of each
//! other and of the same neighbours, so only one of them, the one with the smallest id, goes
//! on to be compared; the others are noted as its twins. That makes them cost a sort and no more.
//!
//! Works on one part at a time: records that agree in their highest bits.

use super::parts::{Digit, Runs, partition};
use super::record::{Id, Pair, Record};

/// Records that a comparison sort handles best.
const FEW: usize = 2;

/// More counters than this leave the second-level cache.
const MOST_BITS: u32 = 14;

/// Space to sort a part in, kept from part to part.
pub(super) struct Collapse<I> {
    gathered: Vec<Record<I>>,
    sorted: Vec<Record<I>>,
}

impl<I: Id> Collapse<I> {
    pub(super) fn new() -> Self {
        Self { gathered: Vec::new(), sorted: Vec::new() }
    }

    /// Writes the distinct fingerprints of a part, ascending, to the start of `distinct`, and says
    /// how many. All records of a part agree in their `fixed` highest bits.
    ///
    /// For each further id of a fingerprint, `twins` gets the smallest one with it, in order.
    pub(super) fn part(
        &mut self,
        runs: &[Runs<'_, I>],
        part: usize,
        fixed: u32,
        distinct: &mut [Record<I>],
        twins: &mut Vec<Pair<I>>,
    ) -> usize {
        self.gathered.clear();
        for run in runs {
            self.gathered.extend_from_slice(run.part(part));
        }
        let bits = (self.gathered.len() / FEW).max(1).ilog2().min(MOST_BITS).min(64 - fixed);
        // Of a few records none: then there is nothing to shift, by 64.
        let digit = Digit::of(((1u64 << bits) - 1).unbounded_shl(64 - fixed - bits));
        if self.sorted.len() < self.gathered.len() {
            self.sorted.resize(self.gathered.len(), Record::default());
        }
        let ends = partition(&self.gathered, digit, &mut self.sorted).ends;
        for bucket in ends.windows(2) {
            match &mut self.sorted[bucket[0] as usize..bucket[1] as usize] {
                [] | [_] => {}
                [one, other] => {
                    if one > other {
                        std::mem::swap(one, other);
                    }
                }
                more => more.sort_unstable(),
            }
        }
        distinct_of(&self.sorted[..self.gathered.len()], distinct, twins)
    }
}

/// Splits sorted records into distinct ones and twins.
fn distinct_of<I: Id>(
    sorted: &[Record<I>],
    distinct: &mut [Record<I>],
    twins: &mut Vec<Pair<I>>,
) -> usize {
    let mut count = 0;
    for same in sorted.chunk_by(|one, other| { one.fingerprint } == { other.fingerprint }) {
        distinct[count] = same[0];
        count += 1;
        let others = same.windows(2).filter(|ids| { ids[0].id } != { ids[1].id });
        twins.extend(others.map(|ids| Pair::of(same[0].id, ids[1].id, 0)));
    }
    count
}
