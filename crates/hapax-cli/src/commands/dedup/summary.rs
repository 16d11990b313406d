//! The summary of a job, in a few lines.

use crate::readable::{bytes, count, counted};
use hapax_dedup::{Finished, Summary};

pub(super) fn text(finished: &Finished) -> String {
    let (summary, run) = (&finished.summary, &finished.run);
    let mut text = format!(
        "{} read ({}) · {} kept · {} removed: {} exact, {}, in {}\n",
        counted(summary.documents, "document"),
        bytes(summary.body_bytes),
        count(summary.kept),
        count(summary.removed()),
        count(summary.exact),
        counted(summary.near, "near-duplicate"),
        counted(summary.groups, "group"),
    );
    for line in notes(summary) {
        text.push_str(&line);
        text.push('\n');
    }
    let seconds =
        run.reading_seconds + run.deciding_seconds + run.confirming_seconds + run.writing_seconds;
    text.push_str(&format!(
        "{seconds:.2} s ({:.0} documents/s, {:.1} MB/s): {:.2} reading, {:.2} deciding, {:.2} confirming, {:.2} writing; \
         {:.0} bytes of memory a document{}\n",
        summary.documents as f64 / seconds.max(1e-3),
        summary.body_bytes as f64 / 1e6 / seconds.max(1e-3),
        run.reading_seconds,
        run.deciding_seconds,
        run.confirming_seconds,
        run.writing_seconds,
        run.bytes_per_document,
        run.peak_memory.map_or_else(String::new, |peak| format!(", peak {}", bytes(peak))),
    ));
    for file in &finished.files {
        text.push_str(&format!("{}\n", crate::readable::path(file)));
    }
    text
}

fn notes(summary: &Summary) -> Vec<String> {
    let noted =
        |n: u64, noun: &str, what: &str| (n > 0).then(|| format!("{} {what}", counted(n, noun)));
    [
        noted(summary.known, "document", "removed because an earlier job kept one like it"),
        noted(
            summary.unconfirmed,
            "document",
            "kept: the signature of another document, but a different text",
        ),
        noted(summary.too_short, "document", "too short to compare: only exact copies were removed"),
        noted(summary.hides_most, "document", "with more text hidden than shown"),
        noted(summary.without_words + summary.empty, "document", "without words"),
        noted(
            summary.not_text,
            "document",
            "neither HTML nor text: only exact copies were removed",
        ),
        noted(summary.other_languages, "document", "in other languages: not compared, and kept"),
        noted(summary.redirects, "address", "redirecting to a document"),
        noted(summary.revisits, "address", "repeating the content of a document"),
        noted(summary.passed(), "record", "passed over")
            .map(|line| format!("{line}: {}", hapax_dedup::passed_line(&summary.passed_over))),
        noted(
            summary.collisions,
            "document",
            "with the fingerprint of many others and a different text: each compared with a few",
        ),
        noted(summary.saturated, "document", "with too many chance matches").map(|line| {
            match (summary.saturated_chance, summary.saturated_within) {
                (Some(chance), _) => format!(
                    "{line}: compared with what sketches propose, {:.1} % of the pairs at the bound",
                    100.0 * chance
                ),
                (None, within) => {
                    let within = u64::from(within.unwrap_or(0));
                    format!("{line}: compared within {} only", counted(within, "bit"))
                }
            }
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}
