//! Probing everywhere against comparing everything.

use hapax::fingerprint::MaxDistance;
use hapax::join::{Chunks, Hit, JoinError, OneThread, Wanted};
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

/// All flips of at most `most` of the leading bits, the same for every query.
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

/// Fingerprints around a few centres, so that there is something to find.
fn clustered() -> impl Strategy<Value = Vec<u64>> {
    let one = (0u64..4, vec(0u32..64, 0..8)).prop_map(|(centre, flips)| {
        let centre = centre.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        flips.into_iter().fold(centre, |bits, bit| bits ^ 1 << bit)
    });
    vec(one, 0..300)
}

/// Queries and sorted chunks around the same centres.
fn case() -> impl Strategy<Value = (Vec<u64>, Vec<Vec<u64>>)> {
    (clustered(), vec(0usize..300, 0..4)).prop_map(|(mut all, mut cuts)| {
        let stored = all.split_off(all.len() / 3);
        cuts.push(0);
        cuts.push(300);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|ends| {
            let range = ends[0].min(stored.len())..ends[1].min(stored.len());
            let mut chunk = stored[range].to_vec();
            chunk.sort_unstable();
            chunk
        });
        (all, chunks.collect())
    })
}

/// The hits of each chunk, for every query by itself.
fn plainly(queries: &[u64], chunks: &[Vec<u64>], bound: MaxDistance) -> Vec<Vec<Hit>> {
    let mut base = 0;
    chunks
        .iter()
        .map(|chunk| {
            let mut hits = Vec::new();
            for (query, &wanted) in (0u32..).zip(queries) {
                let mut index = 0;
                for run in chunk.chunk_by(|a, b| a == b) {
                    let distance = (run[0] ^ wanted).count_ones();
                    if bound.admits(distance) {
                        let (position, copies) = (base + index, run.len() as u32);
                        hits.push(Hit { query, position, copies, distance: distance as u8 });
                    }
                    index += run.len() as u64;
                }
            }
            base += chunk.len() as u64;
            hits
        })
        .collect()
}

proptest! {
    #[test]
    fn probing_everywhere_finds_exactly_what_is_there(
        (queries, chunks) in case(),
        k in 0u8..=8,
        bits in 1u32..=10,
    ) {
        let bound = MaxDistance::new(k).unwrap();
        let expected = plainly(&queries, &chunks, bound).concat();
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
