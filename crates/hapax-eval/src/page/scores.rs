//! Tables of scores: one row per run, then the outcome of each label.

use hapax_report::{escape, grouped};

use crate::metrics::Score;
use crate::report::{Report, Run};

pub(super) fn write(out: &mut String, report: &Report) {
    out.push_str("<section><h2>Scores</h2>\n<div class=\"scroll\"><table>\n<tr><th class=\"text\">answer</th><th>removed</th>");
    for (name, _) in columns(report) {
        out.push_str(&format!("<th>{name}</th>"));
    }
    out.push_str("<th>below 0.5</th><th>largest group</th><th>beyond the bound</th></tr>\n");
    for run in &report.runs {
        out.push_str(&format!(
            "<tr><td class=\"text\">{}</td><td>{}<small>{} exact</small></td>",
            escape(&run.title()),
            grouped(run.removed),
            grouped(run.exact_copies)
        ));
        for (_, score) in columns(report) {
            out.push_str(&cell(score(run)));
        }
        let below = run.removed_pairs.as_ref().map(|it| grouped(it.below_half));
        let beyond = run.beyond_bound.map(|it| format!("{:.2} %", 100.0 * it));
        out.push_str(&format!(
            "<td>{}</td><td>{}</td><td>{}</td></tr>\n",
            below.unwrap_or_else(|| "-".to_owned()),
            grouped(run.largest_group),
            beyond.unwrap_or_else(|| "-".to_owned())
        ));
    }
    out.push_str("</table></div>\n<p class=\"about\">Under each score the interval that holds it 95 times in 100, \
                  from drawing whole groups of documents again. Found means: ended in one group; resolved means: they do not both stay. \
                  Removed pairs are documents that went with the one that stayed instead.</p>\n");
    if let Some(why) = report.not_known() {
        out.push_str(&format!("<p class=\"about\">Precision and F1 are not known: {why}.</p>\n"));
    }
    out.push_str("</section>\n");
    labels(out, report);
}

type Column = (&'static str, fn(&Run) -> Option<Score>);

/// The columns that every run has.
fn columns(report: &Report) -> impl Iterator<Item = Column> {
    let all: [Column; 10] = [
        ("precision", |run| run.pairs.and_then(|it| it.precision)),
        ("recall", |run| run.pairs.map(|it| it.recall)),
        ("duplicates resolved", |run| Some(run.resolved)),
        ("F1", |run| run.pairs.and_then(|it| it.f1)),
        ("removed pairs at 0.8 or above", |run| run.removed_pairs.map(|it| it.from_80)),
        ("ARI", |run| run.group_scores.map(|it| it.adjusted_rand)),
        ("B-cubed precision", |run| run.group_scores.map(|it| it.b_cubed_precision)),
        ("B-cubed recall", |run| run.group_scores.map(|it| it.b_cubed_recall)),
        ("exact sets", |run| run.group_scores.map(|it| it.exact_sets)),
        ("exact sets, duplicates only", |run| {
            run.group_scores.map(|it| it.exact_sets_of_duplicates)
        }),
    ];
    let some = |column: &Column| {
        report.runs.iter().any(|run| column.1(run).is_some_and(|score| score.of > 0))
    };
    all.into_iter().filter(some).collect::<Vec<_>>().into_iter()
}

fn cell(score: Option<Score>) -> String {
    match score.filter(|it| it.of > 0) {
        None => "<td>-</td>".to_owned(),
        Some(it) => {
            format!("<td>{:.4}<small>{:.4} to {:.4}</small></td>", it.value, it.low, it.high)
        }
    }
}

fn labels(out: &mut String, report: &Report) {
    let Some(first) = report.runs.first().filter(|it| !it.labels.is_empty()) else { return };
    out.push_str("<section><h2>By label</h2>\n<div class=\"scroll\"><table>\n<tr><th class=\"text\">label</th><th class=\"text\">means</th><th>pairs</th>");
    for run in &report.runs {
        out.push_str(&format!("<th>{}</th>", escape(&run.title())));
    }
    out.push_str("</tr>\n");
    for (row, label) in first.labels.iter().enumerate() {
        let means = match label.duplicate {
            Some(true) => "duplicates",
            Some(false) => "others",
            None => "neither",
        };
        let name = escape(&label.label);
        out.push_str(&format!(
            "<tr><td class=\"text\">{name}</td><td class=\"text\">{means}</td><td>{}</td>",
            grouped(label.pairs)
        ));
        for run in &report.runs {
            let share =
                run.labels.get(row).map_or(0.0, |it| it.together as f64 / it.pairs.max(1) as f64);
            out.push_str(&format!("<td>{:.2} %</td>", 100.0 * share));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n<p class=\"about\">Share of pairs that ended in one group.</p></section>\n");
}
