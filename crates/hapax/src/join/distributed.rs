//! Finds all pairs within a bound among records on many machines.
//!
//! Every record is sent to one *piece* for each stage of a [`plan`](super::plan), `k + 1` in total; only
//! records of one piece can share a bucket, and a piece is joined on the machine that receives it.
//!
//! ```text
//!   record --stage 0--> piece 0.17 --+
//!          --stage 1--> piece 1.3  --+--> pairs, each in one piece only
//!          --stage 2--> piece 2.40 --+
//! ```
//!
//! Guarantees that all pieces together give every pair within the bound once, like [`pairs`](super::pairs()),
//! in any order of the records. Buckets above the limit of [`PairOptions`] are keyed again without loss, and
//! counted. Does not report twins (equal fingerprints) and does not move records.

use super::bucket::Finder;
use super::executor::Executor;
use super::pairs::{PairOptions, arrange, find};
use super::parts::Digit;
use super::plan::{Plan, highest};
use super::record::{Id, Pair, Record};
use crate::hamming::memory::filled;

/// The partition of a set into pieces; equal parameters give equal pieces on every machine.
#[derive(Clone, Debug)]
pub struct Pieces {
    options: PairOptions,
    plan: Plan,
    digits: Vec<Digit>,
}

/// The result of a piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PiecePairs<I> {
    /// Pairs of different fingerprints, unordered.
    pub pairs: Vec<Pair<I>>,
    /// Number of buckets with so many records that they were keyed again.
    pub rekeyed: u64,
}

impl Pieces {
    /// Pieces for a set of about `rows` records, `wanted` per stage if the stage has enough bits.
    ///
    /// Machines may differ in the number of blocks that they consider cheapest: let one of them
    /// choose ([`blocks`](Self::blocks)) and pass its number to the others with
    /// [`PairOptions::blocks`].
    pub fn new(options: &PairOptions, rows: usize, wanted: usize) -> Self {
        let plan = options.plan(rows);
        let bits = wanted.max(1).next_power_of_two().ilog2();
        let digit = |stage: &super::plan::Stage| Digit::of(highest(stage.outer, bits));
        let digits = plan.stages.iter().map(digit).collect();
        Self { options: options.clone(), plan, digits }
    }

    /// Number of blocks per fingerprint.
    pub fn blocks(&self) -> u32 {
        self.plan.blocks()
    }

    /// Number of stages; a record goes to one piece of each.
    pub fn stages(&self) -> usize {
        self.digits.len()
    }

    /// The piece of a stage that a fingerprint belongs to.
    ///
    /// # Panics
    ///
    /// There is no such stage.
    pub fn piece(&self, stage: usize, fingerprint: u64) -> u32 {
        self.digits[stage].get(fingerprint) as u32
    }

    /// The pairs of a piece that belong to its stage.
    ///
    /// # Panics
    ///
    /// There is no such stage.
    pub fn pairs<I: Id>(
        &self,
        stage: usize,
        records: &[Record<I>],
        executor: &dyn Executor,
    ) -> PiecePairs<I> {
        if self.options.bound.bits() == 0 {
            return PiecePairs::default();
        }
        let stage = &self.plan.stages[stage];
        let finder = Finder::new(&self.plan, stage, self.options.kernel, self.options.cluster);
        let chunks: Vec<&[Record<I>]> = records.chunks(self.options.chunk).collect();
        let mut area = filled(records.len(), Record::default());
        let runs = arrange(&chunks, &mut area, stage, false, executor);
        let found = find(&runs, None, stage, &finder, &self.options, executor);
        let mut pairs: Vec<Pair<I>> = found.into_iter().flatten().collect();
        pairs.retain(|pair| pair.distance > 0);
        PiecePairs { pairs, rekeyed: finder.rekeyed() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fingerprint::MaxDistance;
    use crate::join::tests::{clustered, numbered};
    use crate::join::{OneThread, pairs};

    fn distributed(records: &[Record<u32>], pieces: &Pieces) -> (Vec<Pair<u32>>, u64) {
        let (mut all, mut rekeyed) = (Vec::new(), 0);
        for stage in 0..pieces.stages() {
            let mut order: Vec<(u32, Record<u32>)> =
                records.iter().map(|it| (pieces.piece(stage, it.fingerprint), *it)).collect();
            order.sort_by_key(|(piece, record)| (*piece, std::cmp::Reverse(record.id)));
            for piece in order.chunk_by(|one, other| one.0 == other.0) {
                let records: Vec<Record<u32>> = piece.iter().map(|it| it.1).collect();
                let found = pieces.pairs(stage, &records, &OneThread);
                all.extend(found.pairs);
                rekeyed += found.rekeyed;
            }
        }
        all.sort_unstable();
        (all, rekeyed)
    }

    proptest! {
        #[test]
        fn pieces_together_find_what_a_join_finds_and_each_pair_once(
            mut fingerprints in clustered(300),
            k in 0u8..=8,
            more_blocks in 0u32..=3,
            part in 1usize..60,
            wanted in 1usize..40,
            cluster in 1usize..40,
        ) {
            fingerprints.sort_unstable();
            fingerprints.dedup();
            let records = numbered(&fingerprints);
            let plain = PairOptions::within(MaxDistance::new(k).unwrap()).unwrap();
            let expected = pairs(records.clone(), &plain, &OneThread);
            let options =
                plain.blocks(u32::from(k) + more_blocks).sizes(100, part).cluster(cluster);
            let pieces = Pieces::new(&options, records.len(), wanted);
            prop_assert_eq!(distributed(&records, &pieces).0, expected.pairs());
        }
    }

    #[test]
    fn a_dense_bucket_is_counted_and_loses_no_pair() {
        let records: Vec<Record<u32>> =
            (0..3000).map(|id| Record { fingerprint: u64::from(id), id }).collect();
        let options = PairOptions::within(MaxDistance::new(2).unwrap()).unwrap().blocks(4);
        let expected = pairs(records.clone(), &options, &OneThread);
        let pieces = Pieces::new(&options.cluster(100), records.len(), 4);
        let (found, rekeyed) = distributed(&records, &pieces);
        assert!(found == expected.pairs(), "{} and {}", found.len(), expected.pairs().len());
        assert!(rekeyed > 0);
    }
}
