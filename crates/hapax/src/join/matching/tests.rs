//! Compares matching with comparing all pairs.
//!
//! Clustered inputs, in chunks of any size, on any number of threads; find-first must answer exactly the
//! queries that find-all answers.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::fingerprint::MaxDistance;
use crate::hamming::Kernel;
use crate::join::PairOptions;
use crate::join::tests::{Reversed, clustered};

struct Pieces<'a>(std::slice::Iter<'a, Vec<u64>>);

impl Chunks for Pieces<'_> {
    fn next_chunk(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, JoinError> {
        fingerprints.clear();
        Ok(self.0.next().map(|chunk| fingerprints.extend(chunk)).is_some())
    }
}

/// Queries and sorted chunks around the same centres.
fn case() -> impl Strategy<Value = (Vec<u64>, Vec<Vec<u64>>)> {
    (clustered(300), vec(0usize..300, 0..4)).prop_map(|(mut all, mut cuts)| {
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

/// Reference implementation: the hits of each chunk, query by query.
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

fn first_of_each(queries: &[u64]) -> BTreeMap<u64, u32> {
    queries.iter().enumerate().rev().map(|(number, &query)| (query, number as u32)).collect()
}

proptest! {
    #[test]
    fn tables_over_the_batch_find_exactly_the_matches(
        (queries, chunks) in case(),
        k in 0u8..=16,
        more_blocks in 0u32..4,
        chunk in 1usize..200,
        part in 1usize..60,
        threads in 1usize..4,
    ) {
        let bound = MaxDistance::new(k).unwrap();
        let firsts = first_of_each(&queries);
        let stands_for_itself = |hit: &Hit| firsts[&queries[hit.query as usize]] == hit.query;
        let expected: Vec<Hit> =
            plainly(&queries, &chunks, bound).concat().into_iter().filter(stands_for_itself).collect();
        for kernel in Kernel::available() {
            let options = PairOptions::within(bound).unwrap().kernel(kernel);
            let options = options.blocks(u32::from(k) + more_blocks).sizes(chunk, part);
            let batch = Batch::new(&queries, options, &Reversed(threads)).unwrap();
            prop_assert_eq!(batch.twins().len(), queries.len() - firsts.len());
            let mut hits = Vec::new();
            let mut source = Pieces(chunks.iter());
            let streamed = batch.stream(Wanted::All, &mut source, &Reversed(threads), |hit| {
                hits.push(hit);
                Ok(())
            }).unwrap();
            prop_assert_eq!(&hits, &expected);
            prop_assert_eq!(streamed.hits as usize, hits.len());
        }
    }

    #[test]
    fn find_first_gives_the_nearest_of_the_first_chunk_and_stops(
        (queries, chunks) in case(),
        k in 0u8..=10,
        threads in 1usize..4,
    ) {
        let bound = MaxDistance::new(k).unwrap();
        let firsts = first_of_each(&queries);
        let mut expected = Vec::new();
        let mut answered = std::collections::BTreeSet::<u32>::new();
        let mut read = 0;
        for hits in plainly(&queries, &chunks, bound) {
            if answered.len() == firsts.len() {
                break;
            }
            read += 1;
            let mut nearest = BTreeMap::<u32, Hit>::new();
            for hit in hits {
                if firsts[&queries[hit.query as usize]] != hit.query || answered.contains(&hit.query) {
                    continue;
                }
                let best = nearest.entry(hit.query).or_insert(hit);
                if (hit.distance, hit.position) < (best.distance, best.position) {
                    *best = hit;
                }
            }
            answered.extend(nearest.keys());
            expected.extend(nearest.into_values());
        }
        let batch =
            Batch::new(&queries, PairOptions::within(bound).unwrap(), &Reversed(threads)).unwrap();
        let mut hits = Vec::new();
        let mut source = Pieces(chunks.iter());
        let streamed = batch.stream(Wanted::First, &mut source, &Reversed(threads), |hit| {
            hits.push(hit);
            Ok(())
        }).unwrap();
        prop_assert_eq!(hits, expected);
        prop_assert_eq!(streamed.chunks, read);
    }
}

#[test]
fn a_chunk_out_of_order_is_refused() {
    let chunks = [vec![1, 2, 3], vec![5, 4]];
    let options = PairOptions::within(MaxDistance::new(3).unwrap()).unwrap();
    let batch = Batch::new(&[1], options, &Reversed(1)).unwrap();
    let refused = batch
        .stream(Wanted::All, &mut Pieces(chunks.iter()), &Reversed(1), |_| Ok(()))
        .unwrap_err();
    assert!(matches!(refused, JoinError::ChunkNotSorted { chunk: 1 }));
}

#[test]
fn copies_are_counted_to_the_end_of_their_run() {
    let stored = [1, 1, 1, 1, 1, 2, 3, 3];
    let counted: Vec<u32> = [0, 3, 5, 6].map(|index| copies_at(&stored, index)).to_vec();
    assert_eq!(counted, [5, 2, 1, 2]);
}
