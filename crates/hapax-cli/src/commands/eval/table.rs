//! The report of `hapax eval` for the terminal.
//!
//! One row per setting, in blocks of at most 100 columns. Omits what the truth cannot decide, and explains that in a
//! line below. Does not measure: the numbers come from `hapax_eval`.

use crate::output;
use crate::readable::{count, counted};
use hapax_eval::{Report, Run, Score};

const WIDTH: usize = 100;

pub(super) fn table(report: &Report) -> String {
    let truth = &report.truth;
    let mut out = format!(
        "{} · {} of duplicates · {} of others{}\n\n",
        counted(report.documents, "document"),
        counted(truth.duplicates, "pair"),
        count(truth.others),
        match truth.missing {
            0 => String::new(),
            some => format!(" · {} without a document", counted(some, "entry")),
        }
    );
    out.push_str(&scores(report));
    let labels = labels(report);
    if !labels.is_empty() {
        out.push_str("\nby label\n");
        out.push_str(&labels);
    }
    out
}

type Column = (&'static str, fn(&Run) -> Option<String>);

/// A share with half the width of its 95 % confidence interval.
fn share(score: Option<Score>) -> Option<String> {
    let score = score.filter(|it| it.of > 0)?;
    Some(format!("{:.3} ±{:.3}", score.value, (score.high - score.low) / 2.0))
}

const FIRST: [Column; 6] = [
    ("precision", |run| share(run.pairs.and_then(|it| it.precision))),
    ("recall", |run| share(run.pairs.map(|it| it.recall))),
    ("F1", |run| share(run.pairs.and_then(|it| it.f1))),
    ("removed", |run| Some(count(run.removed))),
    ("< 0.5", |run| run.removed_pairs.map(|it| count(it.below_half))),
    ("largest", |run| Some(count(run.largest_group))),
];

const SECOND: [Column; 4] = [
    ("resolved", |run| share(Some(run.resolved))),
    (">= 0.8", |run| share(run.removed_pairs.map(|it| it.from_80))),
    ("exact sets", |run| share(run.group_scores.map(|it| it.exact_sets))),
    ("beyond", |run| run.beyond_bound.map(|it| format!("{:.2} %", 100.0 * it))),
];

const GROUPS: [Column; 3] = [
    ("ARI", |run| share(run.group_scores.map(|it| it.adjusted_rand))),
    ("B-cubed precision", |run| share(run.group_scores.map(|it| it.b_cubed_precision))),
    ("B-cubed recall", |run| share(run.group_scores.map(|it| it.b_cubed_recall))),
];

/// One row per run; omits columns that no run has.
fn rows(report: &Report, columns: &[Column]) -> Option<String> {
    let some = |column: &&Column| report.runs.iter().any(|run| column.1(run).is_some());
    let columns: Vec<&Column> = columns.iter().filter(some).collect();
    if columns.is_empty() {
        return None;
    }
    let names = columns.iter().map(|column| column.0);
    let header: Vec<&str> = ["answer", "within", "from"].into_iter().chain(names).collect();
    let rows = report.runs.iter().map(|run| {
        let cells = columns.iter().map(|column| column.1(run).unwrap_or_else(dash));
        settings(run).into_iter().chain(cells)
    });
    Some(output::table(&header, rows, 1))
}

fn settings(run: &Run) -> [String; 3] {
    [
        shortened(&run.name),
        run.within.map_or_else(dash, |it| it.to_string()),
        run.min_similarity.map_or_else(dash, |it| it.to_string()),
    ]
}

fn dash() -> String {
    "-".to_owned()
}

/// Shortens a name, because file names may be long.
fn shortened(name: &str) -> String {
    const LONGEST: usize = 18;
    match name.chars().count() {
        0..=LONGEST => name.to_owned(),
        _ => name.chars().take(LONGEST - 1).chain(['…']).collect(),
    }
}

fn scores(report: &Report) -> String {
    let blocks = [&FIRST[..], &SECOND, &GROUPS];
    let mut out = blocks.iter().filter_map(|it| rows(report, it)).collect::<Vec<_>>().join("\n");
    if let Some(why) = report.not_known() {
        out.push_str(&format!("\nprecision and F1 are not known: {}\n", wrapped(why)));
    }
    out.push_str(
        "\n< 0.5, >= 0.8: exact similarity of removed documents with the kept ones\n\
         resolved: known duplicates that are not both kept; beyond: pairs in groups over the bounds\n\
         ±: half of the 95 % interval; --json and --html have both ends\n",
    );
    out
}

/// Breaks a text into lines of limited width.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut length = "precision and F1 are not known: ".len();
    for word in text.split(' ') {
        if length + word.len() > WIDTH {
            out.push_str("\n  ");
            length = 2;
        } else if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        length += word.len() + 1;
    }
    out
}

/// Shares of the pairs of each label, for each run.
fn labels(report: &Report) -> String {
    if report.runs.first().is_none_or(|run| run.labels.len() < 2) {
        return String::new();
    }
    let rows = report.runs.iter().flat_map(|run| {
        run.labels.iter().map(move |label| {
            let share = 100.0 * label.together as f64 / label.pairs.max(1) as f64;
            let cells = [shortened(&label.label), count(label.pairs), format!("{share:.2} %")];
            settings(run).into_iter().chain(cells)
        })
    });
    output::table(&["answer", "within", "from", "label", "pairs", "in one group"], rows, 1)
}
