//! Jobs over a small engine in memory, in which every guarantee can be checked.

use std::convert::Infallible;

use hapax::fingerprint::Fingerprint;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::*;
use crate::engine::{DocumentFacts, Results};
use crate::fold::propose;

/// Documents with words (0 to 7) and a fingerprint; results are in document order.
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
    // Few bits, so that chains are frequent; few scores, so that ties are.
    let document = (btree_set(0u8..8, 1..4), 0u64..1 << 7, 0u8..4)
        .prop_map(|(words, bits, score)| (words.into_iter().collect(), bits, score));
    vec(document, 0..40).prop_map(|documents| Small { documents })
}

fn queries() -> Vec<Ranked> {
    let queries = (0..8u64).map(|word| Query { text: word.to_string(), count: 10 - word });
    ranked(&queries.collect::<Vec<_>>())
}

fn policy(within: u8) -> Policy {
    Policy::from_toml(&format!("confirm = false\nwithin = {within}\nkeep = \"score\"")).unwrap()
}

fn parallel(engine: &Small, policy: &Policy, threads: usize) -> Outcome {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| all_at_once(engine, &queries(), &JobOptions::new(policy), |_| ()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_removed_document_matches_a_kept_one_that_was_seen_with_it(
        engine in engines(),
        within in 0u8..4,
    ) {
        let outcome = parallel(&engine, &policy(within), 2);
        let gone: Vec<DocumentId> = outcome.removed.iter().map(|it| it.mark.document).collect();
        for removal in &outcome.removed {
            let mark = removal.mark;
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
    fn the_outcome_does_not_depend_on_threads(engine in engines(), within in 0u8..4) {
        let one = parallel(&engine, &policy(within), 1);
        prop_assert_eq!(one.removed, parallel(&engine, &policy(within), 3).removed);
    }

    #[test]
    fn one_by_one_leaves_no_identical_results_and_its_winners_lead_to_a_kept_one(
        engine in engines(),
        within in 0u8..4,
    ) {
        let outcome = one_by_one(&engine, &queries(), &policy(within), Sample { one_of: 1 }, |_| ()).unwrap();
        let gone: BTreeMap<DocumentId, DocumentId> =
            outcome.removed.iter().map(|it| (it.mark.document, it.mark.winner)).collect();
        for query in queries() {
            let found = engine.top(&query.query.text, 1000, &|id| gone.contains_key(&id)).unwrap();
            let fingerprints = engine.fingerprints(&found.top).unwrap();
            let bound = hapax::fingerprint::MaxDistance::new(within).unwrap();
            // Within 0 bits nothing is left; otherwise chains leave some, but never their best
            // page.
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
    fn of_two_identical_results_one_is_removed(engine in engines()) {
        // Of identical fingerprints that share a word, all but one are always removed.
        let outcome = parallel(&engine, &policy(0), 2);
        let gone: Vec<u64> = outcome.removed.iter().map(|it| it.mark.document.0).collect();
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

/// A change between two runs.
#[derive(Clone, Debug)]
enum Step {
    Add(Vec<u8>, u64, u8),
    Delete(usize),
    Score(usize, u8),
    Swap(usize, usize),
    Within(u8),
    LeastLeft(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let words = btree_set(0u8..8, 1..3).prop_map(|words| words.into_iter().collect::<Vec<u8>>());
    let step = prop_oneof![
        (words, 0u64..1 << 7, 0u8..4)
            .prop_map(|(words, bits, score)| Step::Add(words, bits, score)),
        (0usize..40).prop_map(Step::Delete),
        (0usize..40, 0u8..4).prop_map(|(at, score)| Step::Score(at, score)),
        (0usize..8, 0usize..8).prop_map(|(a, b)| Step::Swap(a, b)),
        (0u8..4).prop_map(Step::Within),
        (0u8..5).prop_map(Step::LeastLeft),
    ];
    vec(step, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn running_again_with_a_ledger_is_running_from_scratch(
        mut engine in engines(),
        steps in steps(),
        rank_bound in 1u64..8,
    ) {
        let mut log: Vec<Query> = queries().into_iter().map(|it| it.query).collect();
        let (mut within, mut least_left) = (2, 0);
        let mut ledger = Ledger::default();
        for step in [None].into_iter().chain(steps.into_iter().map(Some)) {
            match step {
                None => {}
                Some(Step::Add(words, bits, score)) => engine.documents.push((words, bits, score)),
                Some(Step::Delete(at)) if at < engine.documents.len() => {
                    engine.documents.remove(at);
                }
                Some(Step::Score(at, score)) if at < engine.documents.len() => {
                    engine.documents[at].2 = score;
                }
                Some(Step::Delete(_) | Step::Score(..)) => {}
                Some(Step::Swap(a, b)) => log.swap(a, b),
                Some(Step::Within(bits)) => within = bits,
                Some(Step::LeastLeft(left)) => least_left = left,
            }
            let policy = Policy::from_toml(&format!(
                "confirm = false\nwithin = {within}\nkeep = \"score\"\nleast-left = {least_left}\n\
                 [[by-rank]]\nto = {rank_bound}\nwithin = 3"
            ))
            .unwrap();
            let queries = ranked(&log);
            let sweep = vec![hapax::fingerprint::MaxDistance::new(1).unwrap()];
            let scratch =
                JobOptions { sweep, remember: true, ..JobOptions::new(&policy) };
            let expected = all_at_once(&engine, &queries, &scratch, |_| ()).unwrap();
            let again = JobOptions { earlier: Some(&ledger), ..scratch.clone() };
            let found = all_at_once(&engine, &queries, &again, |_| ()).unwrap();
            prop_assert_eq!(&found.removed, &expected.removed);
            prop_assert_eq!(&found.sweep, &expected.sweep);
            for (query, found) in queries.iter().zip(&found.queries) {
                let known = ledger.marks(&query.query.text, &found.digest.unwrap()).is_some();
                prop_assert_eq!(found.known, known);
            }
            ledger = Ledger::of(&queries, &found);
            prop_assert_eq!(&ledger, &Ledger::of(&queries, &expected));
            ledger = Ledger::from_bytes(&ledger.to_bytes()).unwrap();
            // Immediately again: nothing is processed.
            let again = JobOptions { earlier: Some(&ledger), ..scratch };
            let found = all_at_once(&engine, &queries, &again, |_| ()).unwrap();
            prop_assert!(found.queries.iter().all(|query| query.known));
            prop_assert_eq!(found.removed, expected.removed);
        }
    }

    #[test]
    fn other_bounds_are_what_jobs_with_them_would_find(engine in engines()) {
        let bounds: Vec<_> =
            (0..4).map(|bits| hapax::fingerprint::MaxDistance::new(bits).unwrap()).collect();
        let base = policy(2);
        let options = JobOptions { sweep: bounds.clone(), ..JobOptions::new(&base) };
        let outcome = all_at_once(&engine, &queries(), &options, |_| ()).unwrap();
        for (bound, marks) in bounds.into_iter().zip(&outcome.sweep) {
            let alone = base.with_within(bound);
            let alone = all_at_once(&engine, &queries(), &JobOptions::new(&alone), |_| ()).unwrap();
            let mut expected: Vec<Mark> = alone.removed.iter().map(|it| it.mark).collect();
            expected.sort_by_key(|mark| mark.document);
            prop_assert_eq!(marks, &expected);
        }
    }
}

#[test]
fn queries_without_removable_results_are_examined_and_unchanged() {
    let engine = Small { documents: vec![(vec![0], 5, 0), (vec![0], 5, 1)] };
    let policy =
        Policy::from_toml("confirm = false\n[[by-results]]\nto = 2\nremove = false").unwrap();
    let outcome = one_by_one(&engine, &queries(), &policy, Sample { one_of: 1 }, |_| ()).unwrap();
    assert!(outcome.removed.is_empty());
    assert_eq!((outcome.queries[0].results, outcome.queries[0].examined), (2, 2));
}
