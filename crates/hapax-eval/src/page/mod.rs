//! The report as one self-contained HTML page: scores, curves, distances, and errors side by side.
//!
//! Contains texts of documents only if the caller collected them; otherwise it only names them, for corpora that may
//! not be printed. Escapes everything that comes from documents.

mod charts;
mod errors;
mod scores;

pub use errors::Texts;

use hapax::fingerprint::Fingerprinter;
use hapax_report::{CHART_STYLE, counted, document, escape, grouped};

use crate::report::Report;

/// The layout; colours and charts have their own style sheets.
const STYLE: &str = include_str!("page.css");
/// Opens folded passages on click.
const SCRIPT: &str = "document.documentElement.classList.add('scripted');\
document.addEventListener('click',e=>{const b=e.target.closest('button.fold');\
if(b)b.closest('.row').classList.add('open')});";

/// Returns the HTML page; `by` is the recipe in whose words errors are explained.
pub fn page(report: &Report, texts: &Texts, by: &Fingerprinter) -> String {
    let body = format!("<main>\n{}</main>", body(report, texts, by));
    document("How right are the answers?", &[CHART_STYLE, STYLE], &body, SCRIPT)
}

fn body(report: &Report, texts: &Texts, by: &Fingerprinter) -> String {
    let mut out = String::new();
    out.push_str("<h1>How right are the answers?</h1>\n");
    let truth = &report.truth;
    let known = match (&truth.file, truth.graded) {
        (None, _) => "labels that the crawl brings with it".to_owned(),
        (Some(file), false) => format!("labels in <code>{}</code>", escape(file)),
        (Some(file), true) => {
            format!("exact similarities in <code>{}</code>", escape(file))
        }
    };
    out.push_str(&format!(
        "<p class=\"lead\">{} against {known}: {} of duplicates{}, {} of others.{}</p>\n",
        counted(report.documents, "document"),
        counted(truth.duplicates, "pair"),
        if truth.graded { format!(" (from {} up)", truth.alike) } else { String::new() },
        grouped(truth.others),
        match truth.missing {
            0 => String::new(),
            some => format!(" {} without a document.", counted(some, "entry")),
        }
    ));
    scores::write(&mut out, report);
    charts::write(&mut out, report);
    errors::write(&mut out, report, texts, by);
    out
}
