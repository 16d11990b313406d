//! Passed-over records: counts by reason, and the places of the first.

use serde::{Deserialize, Serialize};

use crate::outputs::Summary;
use crate::passed_over::PassedRecord;
use hapax_report::{escape, grouped};

/// Records listed; `groups.parquet` has all.
pub(crate) const MOST: usize = 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Passed {
    /// Id or address, or file and number.
    document: String,
    reason: String,
    file: String,
    record: Option<u64>,
}

impl Passed {
    pub(crate) fn of(record: &PassedRecord<'_>, file: &str) -> Self {
        Self {
            document: record.called(file).into_owned(),
            reason: record.reason.clone().into_owned(),
            file: file.to_owned(),
            record: record.record,
        }
    }
}

pub(super) fn section(out: &mut String, summary: &Summary, shown: &[Passed]) {
    if summary.passed() == 0 {
        return;
    }
    out.push_str(&format!(
        "<section>\n<h2>Records that are not documents</h2>\n<p class=\"facts\">Of {} records read, {} are not documents: {}.</p>\n\
         <div class=\"scroll card\"><table>\n<thead><tr><th class=\"text\">record</th><th class=\"text\">why</th><th class=\"text\">file</th><th>line, row or record</th></tr></thead>\n<tbody>\n",
        grouped(summary.records),
        grouped(summary.passed()),
        crate::passed_line(&summary.passed_over),
    ));
    for passed in shown {
        out.push_str(&format!(
            "<tr><td class=\"text\">{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{}</td></tr>\n",
            super::address(&passed.document),
            escape(&passed.reason),
            escape(&passed.file),
            passed.record.map_or_else(|| "–".to_owned(), grouped),
        ));
    }
    out.push_str("</tbody>\n</table></div>\n");
    // Redirects and revisits that lead to a document are listed with it.
    let more = summary.passed() - summary.redirects - summary.revisits - shown.len() as u64;
    if more > 0 {
        out.push_str(
            "<p class=\"facts\">These are the first; groups.parquet has them all. A row may stand for \
             many damaged records.</p>\n",
        );
    }
    out.push_str("</section>\n");
}
