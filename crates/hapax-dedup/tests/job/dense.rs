//! Popular pages and templates cost work linear in the number of pages, counted in comparisons.

use hapax_dedup::Summary;

use crate::folder::{Folder, jsonl, words};

const MANY: usize = 20_000;

fn clean(texts: impl Fn(usize) -> String, count: usize) -> Summary {
    let folder = Folder::new();
    let texts: Vec<String> = (0..count).map(texts).collect();
    let lines = jsonl(texts.iter().enumerate().map(|(i, text)| (format!("{i:06}"), &**text)));
    let input = folder.write("pages.jsonl", lines);
    let finished = folder.dedup(&[&input], "out", |_| {}).unwrap();
    assert_eq!(folder.table("out/groups.parquet").len(), count);
    finished.summary
}

#[test]
fn a_page_repeated_many_times_is_kept_once_and_never_compared() {
    let page = words(150, 1);
    let summary = clean(|_| page.clone(), MANY);
    assert_eq!((summary.kept, summary.exact, summary.near), (1, MANY as u64 - 1, 0));
    assert_eq!(summary.compared_pairs, 0);
}

#[test]
fn a_template_with_another_number_in_each_page_costs_linear_work() {
    let (head, tail) = (words(60, 1), words(60, 2));
    let template = |i: usize| format!("{head} number {i} {tail}");
    let summary = clean(template, MANY);
    assert_eq!((summary.kept, summary.groups), (1, 1), "{summary:?}");
    assert!(summary.compared_pairs < 20 * MANY as u64, "{} compared", summary.compared_pairs);
    assert!(summary.candidate_pairs < 20 * MANY as u64, "{} proposed", summary.candidate_pairs);
}

#[test]
fn a_template_whose_number_moves_many_bits_costs_linear_work() {
    // Three numbers change many more bits than one: thousands of distinct fingerprints, all close.
    let parts = [words(80, 1), words(80, 2), words(80, 3), words(80, 4)];
    let template = |i: usize| {
        let [a, b, c, d] = &parts;
        format!("{a} {i} {b} {} {c} x{} {d}", i * 7 + 1, i * 13 + 5)
    };
    let summary = clean(template, MANY);
    assert!(summary.dense > MANY as u64 / 2, "{summary:?}");
    assert!(summary.kept < MANY as u64 / 100, "{summary:?}");
    assert!(summary.compared_pairs < 60 * MANY as u64, "{} compared", summary.compared_pairs);
    assert!(summary.candidate_pairs < 60 * MANY as u64, "{} proposed", summary.candidate_pairs);
}

#[test]
fn dense_clusters_do_not_absorb_pages_that_share_only_a_fingerprint() {
    // Two templates of the same words in different order: equal fingerprints, no common passage.
    let ordered: Vec<String> = (0..120).map(|i| format!("w{i}")).collect();
    let (one, two): (Vec<_>, Vec<_>) = (ordered.clone(), ordered.into_iter().rev().collect());
    let template = |i: usize| {
        format!("{} {i}", if i.is_multiple_of(2) { one.join(" ") } else { two.join(" ") })
    };
    let summary = clean(template, 2_000);
    assert_eq!(summary.kept, 2, "{summary:?}");
}

#[test]
fn a_template_with_too_little_in_common_costs_linear_work_and_is_kept() {
    // Thousands of close fingerprints with different texts: no page can represent the others.
    let parts = [words(12, 1), words(12, 2), words(12, 3), words(12, 4)];
    let template = |i: usize| {
        let [a, b, c, d] = &parts;
        format!("{a} {i} {b} {} {c} x{} {d}", i * 7 + 1, i * 13 + 5)
    };
    let summary = clean(template, MANY);
    assert_eq!(summary.kept, MANY as u64);
    assert!(summary.saturated > MANY as u64 / 2, "{summary:?}");
    assert!(summary.candidate_pairs < 300 * MANY as u64, "{} proposed", summary.candidate_pairs);
    assert!(summary.compared_pairs < 300 * MANY as u64, "{} compared", summary.compared_pairs);
}
