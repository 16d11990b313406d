//! The bundled sample: its known duplicates, and bytes that do not depend on threads.

use std::collections::BTreeMap;
use std::num::NonZero;

use crate::folder::{Folder, sample};

/// The pairs of `docs-truth.tsv` that are two versions of one page, with their similarity.
fn truth() -> Vec<(String, String, f64)> {
    let table = std::fs::read_to_string(sample().with_file_name("docs-truth.tsv")).unwrap();
    let path = |id: &str| sample().join(id).display().to_string();
    let mut pairs = Vec::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells[2], "same_page");
        pairs.push((path(cells[0]), path(cells[1]), cells[3].parse().unwrap()));
    }
    pairs
}

#[test]
fn versions_of_a_page_are_grouped_and_nothing_unlike_is_removed() {
    let folder = Folder::new();
    let finished = folder.dedup(&[sample().to_str().unwrap()], "out", |_| {}).unwrap();
    let groups = folder.table("out/groups.parquet");
    assert_eq!(groups.len() as u64, finished.summary.documents);
    let removed = folder.table("out/removed.parquet");
    assert_eq!(removed.len() as u64, finished.summary.removed());

    let mut known: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let truth = truth();
    for (a, b, jaccard) in &truth {
        known.insert((a, b), *jaccard);
        known.insert((b, a), *jaccard);
        if *jaccard >= 0.9 {
            assert_eq!(groups[a].winner, groups[b].winner, "{a} and {b} at {jaccard}");
        }
    }
    for (document, row) in &removed {
        if let Some(jaccard) = known.get(&(document.as_str(), row.winner.as_str())) {
            assert!(*jaccard >= 0.5, "{document} went for {} at {jaccard}", row.winner);
        }
        assert!(row.similarity.unwrap() >= 0.84 || row.outcome == "exact", "{document}: {row:?}");
        assert!(row.reason.is_some());
        assert_eq!(groups[&row.winner].outcome, "kept");
    }
}

#[test]
fn what_is_written_does_not_depend_on_the_number_of_threads() {
    let folder = Folder::new();
    for threads in [1, 2, 5] {
        let out = format!("out-{threads}");
        let set = |options: &mut hapax_dedup::Options| {
            options.threads = NonZero::new(threads).unwrap();
        };
        folder.dedup(&[sample().to_str().unwrap()], &out, set).unwrap();
    }
    let names = folder.names("out-1");
    assert_eq!(
        names,
        [
            "groups.parquet",
            "kept.jsonl",
            "kept.signatures",
            "removed.parquet",
            "report.html",
            "run.json",
            "summary.json"
        ]
    );
    for name in names.iter().filter(|name| *name != "run.json") {
        let one = folder.read(&format!("out-1/{name}"));
        for threads in [2, 5] {
            assert!(
                one == folder.read(&format!("out-{threads}/{name}")),
                "{name}, {threads} threads"
            );
        }
    }
}

#[test]
fn a_wider_bound_removes_more_and_a_higher_similarity_less() {
    let folder = Folder::new();
    let removed = |out: &str, within: u8, similarity: f64| {
        let finished = folder.dedup(&[sample().to_str().unwrap()], out, |options| {
            options.policy.within = hapax::fingerprint::MaxDistance::new(within).unwrap();
            options.policy.min_similarity =
                hapax::similarity::MinSimilarity::new(similarity).unwrap();
        });
        finished.unwrap().summary.removed()
    };
    let usual = removed("usual", 6, 0.8);
    assert!(removed("narrow", 0, 0.8) < usual);
    assert!(removed("strict", 6, 0.95) < usual);
    assert!(removed("loose", 10, 0.5) > usual);
}
