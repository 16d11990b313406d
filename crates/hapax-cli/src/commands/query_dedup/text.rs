//! The summary of a run, in a few lines.

use crate::readable::{self, count, counted};
use hapax_search::clean::{Effect, Finished, Summary};
use std::path::Path;

pub(super) fn text(finished: &Finished, out: Option<&Path>) -> String {
    let (summary, run) = (&finished.summary, &finished.run);
    let what = match summary.effect {
        Some(Effect::Removed) => "removed from the results",
        Some(Effect::Marked) => "marked in the index; --apply removes them from the results",
        None => "found; nothing was changed",
    };
    let mut text = format!(
        "{} of {}, {} compared: {} {what}\n",
        counted(summary.queries, "query"),
        counted(summary.log.distinct, "different one"),
        counted(summary.examined, "result"),
        counted(summary.removed, "duplicate"),
    );
    for line in notes(summary) {
        text.push_str(&line);
        text.push('\n');
    }
    if run.known > 0 {
        let known = counted(run.known, "query");
        text.push_str(&format!("{known} unchanged since the last run: not processed again\n"));
    }
    if let Some(difference) = &summary.difference {
        text.push_str(&format!(
            "sequential and parallel mode: {} in both, {} of them with another kept page; {} in sequential mode \
             only, {} in parallel mode only\n",
            count(difference.both),
            count(difference.other_winner),
            count(difference.only_one_by_one),
            count(difference.only_all_at_once),
        ));
    }
    let each = |seconds: f64| 1e3 * seconds / summary.queries.max(1) as f64;
    text.push_str(&format!(
        "{:.2} s on {}; per query {:.2} ms retrieval, {:.2} ms duplicate search\n",
        run.seconds,
        counted(run.threads as u64, "thread"),
        each(run.retrieval_seconds),
        each(run.dedup_seconds),
    ));
    if let Some(out) = out {
        text.push_str(&format!("{}\n", readable::path(&out.join("report.html"))));
    }
    text
}

fn notes(summary: &Summary) -> Vec<String> {
    let log = &summary.log;
    [
        (summary.without_results, "query", "without results"),
        (log.bad, "row", "of the log that could not be parsed"),
        (log.empty, "row", "without a query"),
        (log.too_long, "row", "too long for a query"),
        (log.repeated, "row", "repeated within a session"),
        (log.robots, "row", "by robots"),
    ]
    .into_iter()
    .filter(|(n, ..)| *n > 0)
    .map(|(n, noun, what)| format!("{} {what}", counted(n, noun)))
    .collect()
}
