//! Example pairs of the report: two texts next to each other, with differences marked.
//!
//! Near-duplicates are chosen evenly over the range of similarities, because the least similar ones show
//! whether the bound is too low; pairs that just failed show whether it is too high. Texts are taken during the
//! second reading.

use std::collections::{BTreeMap, BTreeSet};

use hapax::fingerprint::side_by_side::{Row, lay_out};
use hapax::fingerprint::{Fingerprinter, compare};
use hapax::group::{NearPair, Outcome};
use hapax::page::{ExtractOptions, Extractor};
use hapax_corpus::Document;
use serde::{Deserialize, Serialize};

use crate::decide::Decision;
use crate::signature::known;
use hapax_report::{counted, escape, row};

/// Near-duplicates shown.
const ALIKE: usize = 8;
/// Nearly confirmed pairs shown.
const NOT_ALIKE: usize = 4;
/// Longer texts are cut, for readers and because marking differences takes time.
const LONGEST: usize = 200_000;
/// Rows shown per pair.
const MOST_ROWS: usize = 60;
/// Differing text per row and side, in bytes.
const LONGEST_ROW: usize = 4_000;

/// The pairs to show, and the texts collected so far.
pub(crate) struct Examples {
    pairs: Vec<Chosen>,
    texts: BTreeMap<u32, Option<Text>>,
}

#[derive(Clone, Copy)]
struct Chosen {
    winner: u32,
    other: u32,
    distance: u8,
    similarity: f32,
    alike: bool,
}

/// A pair as the report shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Example {
    /// `true` for a removed near-duplicate, `false` for a pair that just failed.
    alike: bool,
    distance: u8,
    similarity: f32,
    /// Why the first was kept, if the second was removed as its duplicate.
    reason: Option<String>,
    sides: [Side; 2],
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Side {
    address: String,
    words: u32,
    #[serde(flatten)]
    text: Text,
}

/// The text of a document, cut to what is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Text {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    pub(crate) cut: bool,
}

/// Extracts texts from documents.
pub(crate) struct TextReader(Extractor);

impl TextReader {
    pub(crate) fn new(fingerprinter: &Fingerprinter) -> Self {
        let extent = fingerprinter.recipe().extent;
        Self(Extractor::new(ExtractOptions { extent, ..ExtractOptions::default() }))
    }

    /// `None` if the document is neither HTML nor text.
    pub(crate) fn text(&mut self, document: &Document<'_>) -> Option<Text> {
        let page = self.0.document(&known(document).ok()?).ok()?;
        let cut = page.text.len() > LONGEST;
        let end = if cut { page.text.floor_char_boundary(LONGEST) } else { page.text.len() };
        Some(Text { title: page.title.clone(), text: page.text[..end].to_owned(), cut })
    }
}

/// Which of `near` near-duplicates to show, as indexes in order of similarity, then of the removed
/// document.
pub(crate) fn shown_of(near: usize) -> Vec<usize> {
    match near {
        0..=ALIKE => (0..near).collect(),
        many => (0..ALIKE).map(|i| i * (many - 1) / (ALIKE - 1)).collect(),
    }
}

/// Which pairs that just failed to show; each page appears in at most one.
pub(crate) fn shown_apart<P: Copy + PartialEq>(pairs: impl Iterator<Item = (P, P)>) -> Vec<usize> {
    let mut seen: Vec<P> = Vec::new();
    let mut shown = Vec::new();
    for (at, (a, b)) in pairs.enumerate() {
        if !seen.contains(&a) && !seen.contains(&b) {
            seen.extend([a, b]);
            shown.push(at);
        }
        if shown.len() >= NOT_ALIKE {
            break;
        }
    }
    shown
}

impl Examples {
    /// Selects the pairs to show.
    pub(crate) fn choose(decision: &Decision<'_>) -> Self {
        let mut near: Vec<Chosen> = Vec::new();
        for group in decision.groups() {
            for page in group.documents().skip(1) {
                let verdict = decision.verdict(page);
                if verdict.outcome == Outcome::Near {
                    near.push(Chosen {
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
        let mut pairs: Vec<Chosen> = shown_of(near.len()).into_iter().map(|at| near[at]).collect();
        let apart: Vec<&NearPair> = decision.nearly_alike().collect();
        for at in shown_apart(apart.iter().map(|pair| (pair.a, pair.b))) {
            let &NearPair { a: winner, b: other, distance, similarity } = apart[at];
            pairs.push(Chosen { winner, other, distance, similarity, alike: false });
        }
        let texts = pairs.iter().flat_map(|it| [(it.winner, None), (it.other, None)]).collect();
        Self { pairs, texts }
    }

    /// The documents whose texts are needed.
    pub(crate) fn wanted(&self) -> BTreeSet<u32> {
        self.texts.keys().copied().collect()
    }

    /// Takes the texts of wanted documents.
    pub(crate) fn take(&mut self, texts: Vec<(u32, Option<Text>)>) {
        self.texts.extend(texts);
    }

    /// The pairs with both texts present.
    pub(super) fn seen(self, decision: &Decision<'_>) -> Vec<Example> {
        let pages = decision.pages();
        let mut shown = Vec::new();
        for pair in &self.pairs {
            let side = |page: u32| {
                let text = self.texts.get(&page).cloned().flatten()?;
                Some(Side {
                    address: pages.address(page).to_owned(),
                    words: pages.words(page),
                    text,
                })
            };
            let (Some(left), Some(right)) = (side(pair.winner), side(pair.other)) else { continue };
            let reason = decision.reason(pair.other).filter(|_| pair.alike);
            shown.push(Example {
                alike: pair.alike,
                distance: pair.distance,
                similarity: pair.similarity,
                reason: reason.map(|it| it.text),
                sides: [left, right],
            });
        }
        shown
    }
}

/// Both sections; empty if there is nothing to show.
pub(super) fn sections(examples: &[Example], fingerprinter: &Fingerprinter) -> String {
    let mut by = fingerprinter.clone();
    let mut out = String::new();
    for (alike, title, about) in [
        (
            true,
            "Near-duplicates side by side",
            "From the least to the most similar. A was kept, B was removed.",
        ),
        (
            false,
            "Kept although close",
            "Fingerprints are close, but the texts are less similar than the bound. The pairs closest to the bound:",
        ),
    ] {
        let chosen: Vec<&Example> = examples.iter().filter(|pair| pair.alike == alike).collect();
        if chosen.is_empty() {
            continue;
        }
        out.push_str(&format!(
            "<section class=\"examples\">\n<h2>{title}</h2>\n<p class=\"about\">{about} \
             <span class=\"only-a\">only in A</span> <span class=\"only-b\">only in B</span> \
             <span class=\"moved\">in both, elsewhere</span></p>\n"
        ));
        for (i, pair) in chosen.into_iter().enumerate() {
            section(&mut out, pair, &mut by, alike && i == 0);
        }
        out.push_str("</section>\n");
    }
    out
}

fn section(out: &mut String, pair: &Example, by: &mut Fingerprinter, open: bool) {
    let [left, right] = &pair.sides;
    let (left_text, right_text) = (&left.text.text, &right.text.text);
    let comparison = compare(by, left_text, right_text);
    let open = if open { " open" } else { "" };
    out.push_str(&format!(
        "<details class=\"example\"{open}>\n<summary><b>{:.3}</b> similar (estimate), {} <span>{}</span></summary>\n",
        pair.similarity,
        bits(pair.distance),
        escape(left.text.title.as_deref().unwrap_or(&left.address)),
    ));
    out.push_str("<div class=\"heads\">");
    for (letter, side) in [("a", left), ("b", right)] {
        out.push_str(&format!(
            "<div class=\"{letter}\"><p class=\"name\"><b>{}</b> {}</p><p class=\"facts\">{}{}</p></div>",
            letter.to_ascii_uppercase(),
            super::address(&side.address),
            counted(u64::from(side.words), "word"),
            if side.text.cut { ", only the beginning is shown" } else { "" },
        ));
    }
    out.push_str("</div>\n");
    out.push_str(&format!(
        "<p class=\"facts\">Exactly {} of {}all runs of {} words are in both{}.</p>\n",
        share(comparison.jaccard),
        if left.text.cut || right.text.cut { "the part shown, of " } else { "" },
        by.recipe().sketch_shingle.words(),
        pair.reason
            .as_deref()
            .map_or_else(String::new, |it| format!("; A was kept: {}", escape(it))),
    ));
    out.push_str("<div class=\"rows\">\n");
    let rows = lay_out(&comparison, left_text, right_text);
    for laid in rows.iter().take(MOST_ROWS) {
        row(out, &shortened(laid, left_text, right_text), left_text, right_text);
    }
    out.push_str("</div>\n");
    let more = rows[rows.len().min(MOST_ROWS)..].iter();
    let more = more.filter(|row| matches!(row, Row::Different { .. })).count() as u64;
    if more > 0 {
        let more = counted(more, "more difference");
        out.push_str(&format!("<p class=\"facts\">{more}.</p>\n"));
    }
    out.push_str("</details>\n");
}

/// The exact share of common shingles as a percentage; 100 % only if it is exactly all.
fn share(jaccard: f64) -> String {
    match jaccard {
        all if all >= 1.0 => "1".to_owned(),
        some => format!("{:.3}", some.min(0.999)),
    }
}

pub(super) fn bits(distance: u8) -> String {
    format!("{} apart", counted(u64::from(distance), "bit"))
}

/// Cuts very long differing passages.
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
