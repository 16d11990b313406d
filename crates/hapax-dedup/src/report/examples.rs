//! Pairs to look at: texts side by side, with the differences marked.
//!
//! Near-duplicates are chosen evenly over the range of similarities, because the least similar ones
//! show whether the bound is too low; pairs that just failed show whether it is too high. Their
//! texts are taken from the documents as these pass by in the second reading.

use std::collections::BTreeMap;

use hapax::fingerprint::side_by_side::{Row, lay_out};
use hapax::fingerprint::{Fingerprinter, compare};
use hapax::group::Outcome;
use hapax::page::{Purifier, PurifyOptions};
use hapax_corpus::Document;

use crate::decide::Decision;
use crate::html::{escape, grouped, row};
use crate::imprint::purify;

/// Near-duplicates that are shown.
const ALIKE: usize = 8;
/// Pairs that just failed that are shown.
const NOT_ALIKE: usize = 4;
/// A longer text is cut: nobody reads it to the end, and explaining is not fast.
const LONGEST: usize = 200_000;
/// No more rows of a pair are shown.
const MOST_ROWS: usize = 60;
/// No row has more differing text than this, on either side.
const LONGEST_ROW: usize = 4_000;

/// Pairs and their texts.
pub(crate) struct Examples {
    pairs: Vec<Example>,
    texts: BTreeMap<u32, Option<Text>>,
    purifier: Purifier,
}

#[derive(Clone, Copy)]
struct Example {
    winner: u32,
    other: u32,
    distance: u8,
    similarity: f32,
    alike: bool,
}

struct Text {
    title: Option<String>,
    text: String,
    cut: bool,
}

impl Examples {
    /// Chooses pairs.
    pub(crate) fn choose(decision: &Decision<'_>, fingerprinter: &Fingerprinter) -> Self {
        let mut near: Vec<Example> = Vec::new();
        for group in decision.groups() {
            for page in group.documents().skip(1) {
                let verdict = decision.verdict(page);
                if verdict.outcome == Outcome::Near {
                    near.push(Example {
                        winner: verdict.winner,
                        other: page,
                        distance: verdict.distance,
                        similarity: verdict.similarity,
                        alike: true,
                    });
                }
            }
        }
        near.sort_by(|a, b| a.similarity.total_cmp(&b.similarity).then(a.other.cmp(&b.other)));
        let mut pairs: Vec<Example> = match near.len() {
            0..=ALIKE => near,
            many => (0..ALIKE).map(|i| near[i * (many - 1) / (ALIKE - 1)]).collect(),
        };
        let mut seen: Vec<u32> = Vec::new();
        for pair in decision.nearly_alike() {
            // One page with many almost-copies is one example.
            if !seen.contains(&pair.a) && !seen.contains(&pair.b) {
                seen.extend([pair.a, pair.b]);
                pairs.push(Example {
                    winner: pair.a,
                    other: pair.b,
                    distance: pair.distance,
                    similarity: pair.similarity,
                    alike: false,
                });
            }
            if seen.len() >= 2 * NOT_ALIKE {
                break;
            }
        }
        let texts = pairs.iter().flat_map(|it| [(it.winner, None), (it.other, None)]).collect();
        let extent = fingerprinter.recipe().extent;
        let purifier = Purifier::new(PurifyOptions { extent, ..PurifyOptions::default() });
        Self { pairs, texts, purifier }
    }

    /// Takes what it needs of a document that passes by.
    pub(crate) fn see(&mut self, page: u32, document: &Document<'_>) {
        let Some(text) = self.texts.get_mut(&page) else { return };
        let Ok(page) = purify(&mut self.purifier, document) else { return };
        let cut = page.text.len() > LONGEST;
        let end = if cut { page.text.floor_char_boundary(LONGEST) } else { page.text.len() };
        *text = Some(Text { title: page.title.clone(), text: page.text[..end].to_owned(), cut });
    }

    /// Both sections; empty when there is nothing to show.
    pub(super) fn html(&self, decision: &Decision<'_>, fingerprinter: &Fingerprinter) -> String {
        let mut by = fingerprinter.clone();
        let mut out = String::new();
        for (alike, title, about) in [
            (
                true,
                "Near-duplicates side by side",
                "From the least to the most similar. A stays, B was removed for its sake.",
            ),
            (
                false,
                "Kept apart",
                "Their fingerprints are near, but their texts not alike enough: the pairs closest to the bound.",
            ),
        ] {
            let chosen: Vec<&Example> =
                self.pairs.iter().filter(|pair| pair.alike == alike).collect();
            if chosen.is_empty() {
                continue;
            }
            out.push_str(&format!(
                "<section class=\"examples\">\n<h2>{title}</h2>\n<p class=\"about\">{about} \
                 <span class=\"only-a\">only in A</span> <span class=\"only-b\">only in B</span> \
                 <span class=\"moved\">in both, elsewhere</span></p>\n"
            ));
            for (i, pair) in chosen.into_iter().enumerate() {
                self.pair(&mut out, pair, decision, &mut by, alike && i == 0);
            }
            out.push_str("</section>\n");
        }
        out
    }

    fn pair(
        &self,
        out: &mut String,
        pair: &Example,
        decision: &Decision<'_>,
        by: &mut Fingerprinter,
        open: bool,
    ) {
        let (Some(Some(left)), Some(Some(right))) =
            (self.texts.get(&pair.winner), self.texts.get(&pair.other))
        else {
            return;
        };
        let pages = decision.pages();
        let comparison = compare(by, &left.text, &right.text);
        let open = if open { " open" } else { "" };
        out.push_str(&format!(
            "<details class=\"example\"{open}>\n<summary><b>{:.2}</b> similar, {} <span>{}</span></summary>\n",
            pair.similarity,
            bits(pair.distance),
            escape(left.title.as_deref().unwrap_or_else(|| pages.address(pair.winner))),
        ));
        out.push_str("<div class=\"heads\">");
        for (letter, page, text) in [("a", pair.winner, left), ("b", pair.other, right)] {
            out.push_str(&format!(
                "<div class=\"{letter}\"><p class=\"name\"><b>{}</b> {}</p><p class=\"facts\">{} words{}</p></div>",
                letter.to_ascii_uppercase(),
                super::address(pages.address(page)),
                grouped(u64::from(pages.words(page))),
                if text.cut { ", only the beginning is shown" } else { "" },
            ));
        }
        out.push_str("</div>\n");
        let reason = decision.reason(pair.other).filter(|_| pair.alike);
        out.push_str(&format!(
            "<p class=\"facts\">{} of all runs of {} words are in both{}.</p>\n",
            share(comparison.jaccard),
            by.recipe().sketch_shingle.words(),
            reason.map_or_else(String::new, |it| format!("; A stays: {}", escape(&it.text))),
        ));
        out.push_str("<div class=\"rows\">\n");
        let rows = lay_out(&comparison, &left.text, &right.text);
        for laid in rows.iter().take(MOST_ROWS) {
            row(out, &shortened(laid, &left.text, &right.text), &left.text, &right.text);
        }
        out.push_str("</div>\n");
        let more = rows[rows.len().min(MOST_ROWS)..].iter();
        let more = more.filter(|row| matches!(row, Row::Different { .. })).count() as u64;
        if more > 0 {
            out.push_str(&format!("<p class=\"facts\">{} more differences.</p>\n", grouped(more)));
        }
        out.push_str("</details>\n");
    }
}

/// Exact, of the texts; all is never claimed of less than all.
fn share(jaccard: f64) -> String {
    match jaccard {
        all if all >= 1.0 => "All".to_owned(),
        some => format!("{:.0} %", (100.0 * some).min(99.0)),
    }
}

pub(super) fn bits(distance: u8) -> String {
    format!("{distance} bit{} apart", if distance == 1 { "" } else { "s" })
}

/// Without the tail of very long differing passages.
fn shortened(row: &Row, left_text: &str, right_text: &str) -> Row {
    let cut = |pieces: &[hapax::fingerprint::side_by_side::Piece], text: &str| {
        let start = pieces.first().map_or(0, |piece| piece.place.start);
        let end = text.floor_char_boundary((start + LONGEST_ROW).min(text.len()));
        pieces
            .iter()
            .filter(|piece| piece.place.start < end)
            .map(|piece| {
                let mut piece = piece.clone();
                piece.place.end = piece.place.end.min(end);
                piece
            })
            .collect()
    };
    match row {
        Row::Same { .. } => row.clone(),
        Row::Different { left, right } => {
            Row::Different { left: cut(left, left_text), right: cut(right, right_text) }
        }
    }
}
