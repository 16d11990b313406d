//! Jobs over a small engine in memory, where every promise can be looked at.

use std::convert::Infallible;

use hapax::fingerprint::Fingerprint;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::*;
use crate::engine::Results;

/// Documents with words (0 to 7) and a fingerprint; results are in the order of the documents.
#[derive(Clone, Debug)]
struct Small {
    documents: Vec<(Vec<u8>, u64, u8)>,
}

impl Engine for Small {
    type Error = Infallible;

    fn recipe(&self) -> &str {
        "test"
    }

    fn top(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<Results, Infallible> {
        let word: u8 = query.parse().unwrap_or(99);
        let found: Vec<DocumentId> = (0..)
            .map(DocumentId)
            .zip(&self.documents)
            .filter(|(id, document)| document.0.contains(&word) && !hidden(*id))
            .map(|(id, _)| id)
            .collect();
        let all = found.len() as u64;
        Ok(Results { top: found.into_iter().take(most).collect(), all })
    }

    fn fingerprints(&self, ids: &[DocumentId]) -> Result<Vec<Option<Fingerprint>>, Infallible> {
        let of = |id: &DocumentId| self.documents[id.0 as usize].1;
        Ok(ids.iter().map(|id| Some(Fingerprint::from_bits(of(id)))).collect())
    }

    fn facts(&self, ids: &[DocumentId]) -> Result<Vec<DocumentFacts>, Infallible> {
        let facts = |id: &DocumentId| DocumentFacts {
            name: format!("{:04}", id.0),
            url: format!("http://example.org/{:04}", id.0),
            sketch: None,
            score: Some(f64::from(self.documents[id.0 as usize].2)),
            words: 10,
            fetched: None,
        };
        Ok(ids.iter().map(facts).collect())
    }
}

fn engines() -> impl Strategy<Value = Small> {
    // Few bits, so that chains are common; few scores, so that ties are.
    let document = (btree_set(0u8..8, 1..4), 0u64..1 << 7, 0u8..4)
        .prop_map(|(words, bits, score)| (words.into_iter().collect(), bits, score));
    vec(document, 0..40).prop_map(|documents| Small { documents })
}

fn queries() -> Vec<Query> {
    (0..8).map(|word: u64| Query { text: word.to_string(), count: 10 - word }).collect()
}

fn policy(within: u8) -> Policy {
    Policy::from_toml(&format!("confirm = false\nwithin = {within}\nkeep = \"score\"")).unwrap()
}

fn parallel(engine: &Small, policy: &Policy, threads: usize) -> Outcome {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| all_at_once(engine, &queries(), policy, |_| ()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whoever_goes_matches_one_that_stays_and_was_seen_beside_it(
        engine in engines(),
        within in 0u8..4,
    ) {
        let outcome = parallel(&engine, &policy(within), 2);
        let gone: Vec<DocumentId> = outcome.removed.iter().map(|mark| mark.document).collect();
        for mark in &outcome.removed {
            let [(words, bits, score), (other_words, other_bits, other_score)] =
                [mark.document, mark.winner].map(|id| &engine.documents[id.0 as usize]);
            prop_assert!(!gone.contains(&mark.winner));
            prop_assert_eq!((bits ^ other_bits).count_ones(), u32::from(mark.distance));
            prop_assert!(mark.distance <= within);
            prop_assert!(other_score >= score);
            let word = (mark.query - 1) as u8;
            prop_assert!(words.contains(&word) && other_words.contains(&word));
        }
        prop_assert!(outcome.removed.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn threads_make_no_difference(engine in engines(), within in 0u8..4) {
        let one = parallel(&engine, &policy(within), 1);
        prop_assert_eq!(one.removed, parallel(&engine, &policy(within), 3).removed);
    }

    #[test]
    fn one_by_one_leaves_no_identical_results_and_its_winners_lead_to_one_that_stays(
        engine in engines(),
        within in 0u8..4,
    ) {
        let outcome = one_by_one(&engine, &queries(), &policy(within), |_| ()).unwrap();
        let gone: BTreeMap<DocumentId, DocumentId> =
            outcome.removed.iter().map(|mark| (mark.document, mark.winner)).collect();
        for query in queries() {
            let found = engine.top(&query.text, 1000, &|id| gone.contains_key(&id)).unwrap();
            let fingerprints = engine.fingerprints(&found.top).unwrap();
            let bound = hapax::fingerprint::MaxDistance::new(within).unwrap();
            // Within 0 bits nothing is left; otherwise chains leave some, never their best page.
            let left = propose(&fingerprints, bound);
            prop_assert!(within > 0 || left.is_empty());
        }
        for mut winner in gone.values() {
            for _ in 0..=gone.len() {
                match gone.get(winner) {
                    Some(next) => winner = next,
                    None => break,
                }
            }
            prop_assert!(!gone.contains_key(winner), "winners go in a circle");
        }
        let removed: usize = outcome.queries.iter().map(|query| query.marks.len()).sum();
        prop_assert_eq!(removed, outcome.removed.len());
    }

    #[test]
    fn of_two_identical_results_that_meet_one_goes(engine in engines()) {
        // Identical fingerprints that share a word always lose all but one of their number.
        let outcome = parallel(&engine, &policy(0), 2);
        let gone: Vec<u64> = outcome.removed.iter().map(|mark| mark.document.0).collect();
        for (a, first) in engine.documents.iter().enumerate() {
            for (b, second) in engine.documents.iter().enumerate().skip(a + 1) {
                let meet = first.0.iter().any(|word| second.0.contains(word));
                if meet && first.1 == second.1 {
                    let either = [a as u64, b as u64].iter().any(|id| gone.contains(id));
                    prop_assert!(either, "{a} and {b} both stay");
                }
            }
        }
    }
}

#[test]
fn queries_of_which_nothing_may_go_are_looked_at_and_left_alone() {
    let engine = Small { documents: vec![(vec![0], 5, 0), (vec![0], 5, 1)] };
    let policy =
        Policy::from_toml("confirm = false\n[[by-results]]\nto = 2\nremove = false").unwrap();
    let outcome = one_by_one(&engine, &queries(), &policy, |_| ()).unwrap();
    assert!(outcome.removed.is_empty());
    assert_eq!((outcome.queries[0].results, outcome.queries[0].examined), (2, 2));
}
