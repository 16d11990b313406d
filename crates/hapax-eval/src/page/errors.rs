//! The worst errors of an evaluation, with the two texts side by side.
//!
//! Reads the shown documents again and shortens long texts. Does not choose the worst errors; the report does.

use std::collections::BTreeMap;

use hapax::fingerprint::side_by_side::{Row, lay_out};
use hapax::fingerprint::{Fingerprinter, compare};
use hapax::page::{ExtractOptions, Extractor};
use hapax_corpus::{ReadOptions, Source};
use hapax_report::{counted, escape, row};

use crate::error::Error;
use crate::report::{Report, WrongPair};

/// Texts of the shown documents, by position in the corpus.
#[derive(Debug, Default)]
pub struct Texts(BTreeMap<u32, String>);

/// Maximum length of a text in bytes.
const LONGEST: usize = 40_000;
/// Maximum number of rows per pair.
const MOST_ROWS: usize = 30;
/// Maximum length of a differing passage in bytes.
const LONGEST_ROW: usize = 1_200;

impl Texts {
    /// Reads the documents of the first run's worst errors, extracted by its recipe.
    pub fn of(
        report: &Report,
        inputs: &[String],
        read: &ReadOptions,
        by: &Fingerprinter,
    ) -> Result<Self, Error> {
        let mut wanted: BTreeMap<u32, String> = BTreeMap::new();
        for pair in report.runs.first().map_or(&[][..], |run| &run.worst) {
            wanted.insert(pair.positions.0, String::new());
            wanted.insert(pair.positions.1, String::new());
        }
        if wanted.is_empty() {
            return Ok(Self::default());
        }
        let options = ExtractOptions { extent: by.recipe().extent, ..ExtractOptions::default() };
        let mut extractor = Extractor::new(options);
        let source = Source::open(inputs, read.clone())?;
        let mut number = 0;
        for mut batch in source.batches() {
            for document in batch.documents() {
                let document = document?;
                if let Some(text) = wanted.get_mut(&number) {
                    let known = hapax_dedup::known(&document);
                    if let Ok(page) = known.and_then(|known| extractor.document(&known)) {
                        let end = page.text.floor_char_boundary(LONGEST.min(page.text.len()));
                        *text = page.text[..end].to_owned();
                    }
                }
                number += 1;
            }
        }
        Ok(Self(wanted))
    }
}

pub(super) fn write(out: &mut String, report: &Report, texts: &Texts, by: &Fingerprinter) {
    let Some(run) = report.runs.first().filter(|run| !run.worst.is_empty()) else { return };
    let mut by = by.clone();
    for (merged, title, about) in [
        (true, "Wrongly taken for the same", "The least alike first."),
        (false, "Not found", "The most alike first."),
    ] {
        let chosen: Vec<&WrongPair> = run.worst.iter().filter(|it| it.merged == merged).collect();
        if chosen.is_empty() {
            continue;
        }
        out.push_str(&format!(
            "<section><h2>{title}</h2>\n<p class=\"about\">{about} Of {}. \
             <span class=\"only-a\">only in A</span> <span class=\"only-b\">only in B</span> \
             <span class=\"moved\">in both, elsewhere</span></p>\n",
            escape(&run.title())
        ));
        for (number, pair) in chosen.into_iter().enumerate() {
            write_pair(out, pair, texts, &mut by, number == 0);
        }
        out.push_str("</section>\n");
    }
}

fn write_pair(
    out: &mut String,
    pair: &WrongPair,
    texts: &Texts,
    by: &mut Fingerprinter,
    open: bool,
) {
    let or_dash = |it: Option<String>| it.unwrap_or_else(|| "-".to_owned());
    let kind = if pair.merged { "tag" } else { "tag missed" };
    let facts = format!(
        "<b>{}</b> {}, {} of extracted texts (estimate), {} apart <span>{}</span> <span class=\"{kind}\">{}</span>",
        or_dash(pair.jaccard.map(|it| format!("{it:.3}"))),
        if pair.reference { "of whole pages (exact)" } else { "by the truth" },
        or_dash(pair.similarity.map(|it| format!("{it:.3}"))),
        or_dash(pair.distance.map(|it| counted(u64::from(it), "bit"))),
        escape(&pair.b),
        escape(&pair.label)
    );
    let names = format!("<p class=\"facts\">A {}<br>B {}</p>", escape(&pair.a), escape(&pair.b));
    let both = texts.0.get(&pair.positions.0).zip(texts.0.get(&pair.positions.1));
    let Some((left, right)) = both else {
        out.push_str(&format!("<div class=\"example\"><p>{facts}</p>{names}</div>\n"));
        return;
    };
    let open = if open { " open" } else { "" };
    out.push_str(&format!(
        "<details class=\"example\"{open}><summary>{facts}</summary>{names}<div class=\"rows\">\n"
    ));
    let comparison = compare(by, left, right);
    let rows = lay_out(&comparison, left, right);
    for laid in rows.iter().take(MOST_ROWS) {
        row(out, &shortened(laid, left, right), left, right);
    }
    out.push_str("</div>");
    let differs = rows.iter().any(|row| matches!(row, Row::Different { .. }));
    if !differs && pair.reference && pair.jaccard.is_some_and(|it| it < 1.0) {
        out.push_str(
            "<p class=\"facts\">The extracted texts do not differ; the whole pages do, in what is not \
             extracted: titles, navigation, text for browsers without scripts.</p>",
        );
    }
    if rows.len() > MOST_ROWS {
        let more = counted((rows.len() - MOST_ROWS) as u64, "more passage");
        out.push_str(&format!("<p class=\"facts\">{more}.</p>"));
    }
    out.push_str("</details>\n");
}

/// A row with very long differing passages cut.
fn shortened(row: &Row, left: &str, right: &str) -> Row {
    let cut = |pieces: &[hapax::fingerprint::side_by_side::Piece], text: &str| {
        let start = pieces.first().map_or(0, |piece| piece.place.start);
        let end = text.floor_char_boundary((start + LONGEST_ROW).min(text.len()));
        let mut kept = pieces.to_vec();
        kept.retain(|piece| piece.place.start < end);
        kept.iter_mut().for_each(|piece| piece.place.end = piece.place.end.min(end));
        kept
    };
    match row {
        Row::Same { .. } => row.clone(),
        Row::Different { left: l, right: r } => {
            Row::Different { left: cut(l, left), right: cut(r, right) }
        }
    }
}
