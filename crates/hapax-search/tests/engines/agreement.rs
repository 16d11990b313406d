//! Requirements on every engine.

use std::collections::{BTreeMap, BTreeSet};

use hapax_search::choose::Sample;
use hapax_search::collapse::{Request, collapse};
use hapax_search::job::{JobOptions, Outcome, all_at_once, one_by_one, ranked};
use hapax_search::{Change, DocumentId, Engine, Removing, Showing};

use crate::corpus;

/// The winner of each removed page, by name.
pub(crate) type Removals = BTreeMap<String, String>;

fn names(engine: &impl Engine, query: &str, hide_marked: bool) -> Vec<String> {
    let hidden = |id: DocumentId| hide_marked && engine.is_marked(id);
    let found = engine.top(query, 1000, &hidden).unwrap();
    assert_eq!(found.all, found.top.len() as u64);
    assert_eq!(engine.top(query, 1000, &hidden).unwrap(), found, "the same each time");
    let few = engine.top(query, 3, &hidden).unwrap();
    assert_eq!((&found.top[..few.top.len()], found.all), (&few.top[..], few.all));
    engine.facts(&found.top).unwrap().into_iter().map(|facts| facts.name).collect()
}

/// The results of every query of the log.
fn seen(engine: &impl Engine, hide_marked: bool) -> Vec<Vec<String>> {
    corpus::log().iter().map(|query| names(engine, &query.text, hide_marked)).collect()
}

fn check(engine: &impl Engine, outcome: &Outcome) -> Removals {
    let removals: Removals =
        outcome.removed.iter().map(|gone| (gone.name.clone(), gone.winner.clone())).collect();
    assert_eq!(removals.len(), outcome.removed.len(), "each goes once");
    for gone in &outcome.removed {
        let mark = &gone.mark;
        assert!(!removals.contains_key(&gone.winner), "{} goes too", gone.winner);
        let bits = engine.fingerprints(&[mark.document, mark.winner]).unwrap();
        let distance = bits[0].unwrap().distance(bits[1].unwrap());
        assert_eq!(distance, u32::from(mark.distance));
        assert!(mark.distance <= mark.within);
    }
    removals
}

/// Runs the whole job on an engine with [`corpus::pages`], applies it, and undoes it. Returns the
/// removals.
pub(crate) fn agree<E: Removing>(engine: &mut E) -> Removals {
    let (log, policy) = (ranked(&corpus::log()), corpus::policy());
    let options = JobOptions::new(&policy);
    let before = seen(engine, false);
    assert!(before[..8].iter().all(|names| !names.is_empty()));
    assert!(before.last().unwrap().is_empty(), "a query without words finds nothing");
    let outcome = all_at_once(engine, &log, &options, |_| ()).unwrap();
    let removals = check(engine, &outcome);
    let gone: Vec<String> = removals.keys().cloned().collect();
    let stays = |lists: &[Vec<String>]| -> Vec<Vec<String>> {
        let left = |names: &Vec<String>| {
            names.iter().filter(|name| !removals.contains_key(*name)).cloned().collect()
        };
        lists.iter().map(left).collect()
    };

    // Marked: found as before, and left out on request, in the same order.
    assert_eq!(engine.change(Change::Mark, &gone, "mark").unwrap(), gone.len() as u64);
    assert_eq!(engine.operation(), Some("mark"));
    assert_eq!(seen(engine, false), before);
    assert_eq!(seen(engine, true), stays(&before));
    assert_eq!(engine.change(Change::Unmark, &gone, "unmark").unwrap(), gone.len() as u64);
    assert_eq!(seen(engine, true), before);

    // Removed: gone for everybody, and nothing else is.
    let mut named = gone.clone();
    named.push("http://unknown.test/".to_owned());
    assert_eq!(engine.remove(&named, "remove").unwrap(), gone.len() as u64);
    assert_eq!(engine.remove(&named, "again").unwrap(), 0);
    assert_eq!(engine.operation(), Some("again"));
    let left: BTreeSet<String> = seen(engine, false).into_iter().flatten().collect();
    let expected: BTreeSet<String> = stays(&before).into_iter().flatten().collect();
    assert_eq!(left, expected);
    let rest = all_at_once(engine, &log, &options, |_| ()).unwrap();
    assert!(rest.removed.is_empty(), "what was cleaned is clean");

    // Restored: as before.
    assert_eq!(engine.restore(&named, "undo").unwrap(), gone.len() as u64);
    assert_eq!(engine.operation(), Some("undo"));
    assert_eq!(seen(engine, false), before);

    let sequential = one_by_one(engine, &log, &policy, Sample { one_of: 1 }, |_| ()).unwrap();
    let sequential: BTreeSet<&String> = sequential.removed.iter().map(|gone| &gone.name).collect();
    assert_eq!(sequential, removals.keys().collect(), "families do not overlap here");
    removals
}

/// Lists of results show every result once, and collapse exactly what the job would remove.
pub(crate) fn lists_agree<E: Showing>(engine: &E) {
    let (log, policy) = (ranked(&corpus::log()), corpus::policy());
    for asked in &log {
        let (rank, query) = (asked.rank, &asked.query);
        let alone = std::slice::from_ref(asked);
        let mut outcome =
            all_at_once(engine, alone, &JobOptions::new(&policy), |_| ()).unwrap().queries;
        let outcome = outcome.remove(0);
        let name = |id| engine.facts(&[id]).unwrap().remove(0).name;
        let expected: Removals =
            outcome.marks.iter().map(|mark| (name(mark.document), name(mark.winner))).collect();
        let mut folded = Removals::new();
        let mut shown = Vec::new();
        let request = Request {
            query: &query.text,
            offset: 0,
            limit: 4,
            policy: Some(&policy),
            rank: Some(rank),
            hide_marked: false,
            scores: None,
        };
        // Page by page.
        for offset in (0..).step_by(request.limit) {
            let listing = collapse(engine, &Request { offset, ..request.clone() }).unwrap();
            assert_eq!((listing.results, listing.examined), (outcome.results, outcome.examined));
            assert_eq!(listing.folded, expected.len() as u64);
            if listing.hits.is_empty() {
                break;
            }
            let mut firsts = Vec::new();
            for hit in &listing.hits {
                let copies = hit.copies.iter().map(|copy| &copy.document);
                firsts.push(copies.chain([&hit.document]).map(|shown| shown.rank).min());
                shown.push(hit.document.facts.name.clone());
                for copy in &hit.copies {
                    let name = copy.document.facts.name.clone();
                    shown.push(name.clone());
                    folded.insert(name, hit.document.facts.name.clone());
                }
            }
            assert!(firsts.is_sorted(), "a hit stands where the first of it and its copies stood");
        }
        shown.sort();
        let mut all = names(engine, &query.text, false);
        all.sort();
        assert_eq!(shown, all);
        assert_eq!(folded, expected);
    }
}
