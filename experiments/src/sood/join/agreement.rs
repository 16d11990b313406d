//! Compares probing everywhere with the exact join.

use hapax::fingerprint::MaxDistance;
use hapax::join::{Batch, Chunks, Hit, JoinError, OneThread, PairOptions, Wanted};
use proptest::collection::vec;
use proptest::prelude::*;

use super::probe::{Flips, probe};

struct Pieces<'a>(std::slice::Iter<'a, Vec<u64>>);

impl Chunks for Pieces<'_> {
    fn next_chunk(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, JoinError> {
        fingerprints.clear();
        Ok(self.0.next().map(|chunk| fingerprints.extend(chunk)).is_some())
    }
}

/// All flips of at most `most` leading bits, the same for every query.
struct Everywhere(u32, Vec<u32>);

impl Everywhere {
    fn new(bits: u32, most: u32) -> Self {
        Self(bits, (0..1u32 << bits).filter(|flip| flip.count_ones() <= most).collect())
    }
}

impl Flips for Everywhere {
    fn leading_bits(&self) -> u32 {
        self.0
    }

    fn of(&self, _: usize, flips: &mut Vec<u32>) {
        flips.extend(&self.1);
    }
}

/// Fingerprints around a few centres, so that there are matches.
fn clustered() -> impl Strategy<Value = Vec<u64>> {
    let one = (0u64..4, vec(0u32..64, 0..8)).prop_map(|(centre, flips)| {
        let centre = centre.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        flips.into_iter().fold(centre, |bits, bit| bits ^ 1 << bit)
    });
    vec(one, 0..100)
}

/// Distinct queries and sorted chunks around the same centres.
fn case() -> impl Strategy<Value = (Vec<u64>, Vec<Vec<u64>>)> {
    let sorted = || {
        clustered().prop_map(|mut all| {
            all.sort_unstable();
            all
        })
    };
    let queries = sorted().prop_map(|mut all| {
        all.dedup();
        all
    });
    (queries, vec(sorted(), 0..5))
}

/// The results of the engine's exact join, which its own tests compare with brute force.
fn exactly(queries: &[u64], chunks: &[Vec<u64>], bound: MaxDistance) -> Vec<Hit> {
    let options = PairOptions::within(bound).unwrap();
    let mut hits = Vec::new();
    let batch = Batch::new(queries, options, &OneThread).unwrap();
    let mut source = Pieces(chunks.iter());
    let take = |hit| {
        hits.push(hit);
        Ok(())
    };
    batch.stream(Wanted::All, &mut source, &OneThread, take).unwrap();
    hits
}

proptest! {
    #[test]
    fn probing_everywhere_agrees_with_the_exact_join(
        (queries, chunks) in case(),
        k in 0u8..=8,
        bits in 1u32..=10,
    ) {
        let bound = MaxDistance::new(k).unwrap();
        let expected = exactly(&queries, &chunks, bound);
        let flips = Everywhere::new(bits, u32::from(k));
        let mut hits = Vec::new();
        let mut source = Pieces(chunks.iter());
        let executor = OneThread;
        probe(&queries, &flips, bound, Wanted::All, &mut source, &executor, |hit| {
            hits.push(hit);
            Ok(())
        })
        .unwrap();
        prop_assert_eq!(&hits, &expected);

        let mut source = Pieces(chunks.iter());
        let mut first = Vec::new();
        probe(&queries, &flips, bound, Wanted::First, &mut source, &executor, |hit| {
            first.push(hit);
            Ok(())
        })
        .unwrap();
        prop_assert!(first.iter().all(|hit| expected.contains(hit)));
        let mut answered: Vec<u32> = first.iter().map(|hit| hit.query).collect();
        answered.sort_unstable();
        let mut answerable: Vec<u32> = expected.iter().map(|hit| hit.query).collect();
        answerable.sort_unstable();
        answerable.dedup();
        prop_assert_eq!(answered, answerable, "each once");
    }
}
