//! Why two documents are alike, as Python and as a notebook shows it.
//!
//! The engine compares; here are getters, and HTML for people. The style belongs to one element,
//! so that it does not reach the rest of a notebook.

use std::sync::Arc;

use hapax::fingerprint::side_by_side::lay_out;
use hapax::fingerprint::{Comparison as Engine, RecipeId, Signature as EngineSignature};
use hapax_report::{escape, row};
use pyo3::prelude::*;

use crate::signature::Signature;

const STYLE: &str = include_str!("notebook.css");
/// A notebook is no place for a book.
const MOST_ROWS: usize = 200;

/// Everything that can be said about a pair of documents.
#[pyclass(frozen, module = "hapax")]
pub(crate) struct Comparison {
    engine: Arc<Engine>,
    recipe: RecipeId,
    left_text: String,
    right_text: String,
}

impl Comparison {
    pub(crate) fn new(engine: Arc<Engine>, recipe: RecipeId, left: String, right: String) -> Self {
        Self { engine, recipe, left_text: left, right_text: right }
    }

    fn signature(&self, of: &EngineSignature) -> Signature {
        Signature { signature: of.clone(), recipe: self.recipe.clone() }
    }
}

#[pymethods]
impl Comparison {
    /// The first document's signature.
    #[getter]
    fn left(&self) -> Signature {
        self.signature(&self.engine.left)
    }

    /// The second document's signature.
    #[getter]
    fn right(&self) -> Signature {
        self.signature(&self.engine.right)
    }

    /// The first document's text as it was compared.
    #[getter]
    fn left_text(&self) -> &str {
        &self.left_text
    }

    /// The second document's text as it was compared.
    #[getter]
    fn right_text(&self) -> &str {
        &self.right_text
    }

    /// Do both show exactly the same text?
    #[getter]
    fn same_text(&self) -> bool {
        self.engine.same_text
    }

    /// Bits in which the fingerprints differ; None when a document has no words.
    #[getter]
    fn distance(&self) -> Option<u32> {
        self.engine.bits.as_ref().map(|bits| bits.distance)
    }

    /// The sketches' estimate of `jaccard`.
    #[getter]
    fn similarity(&self) -> Option<f64> {
        self.engine.bits.as_ref().map(|bits| bits.estimate.jaccard)
    }

    /// The standard error of that estimate.
    #[getter]
    fn standard_error(&self) -> Option<f64> {
        self.engine.bits.as_ref().map(|bits| bits.estimate.standard_error)
    }

    /// The exact share of shingles that both have.
    #[getter]
    fn jaccard(&self) -> f64 {
        self.engine.jaccard
    }

    /// How much of the smaller document stands in the other.
    #[getter]
    fn containment(&self) -> f64 {
        self.engine.containment
    }

    /// Likeness of the weighted words that the fingerprints are made of.
    #[getter]
    fn cosine(&self) -> f64 {
        self.engine.cosine
    }

    /// Distinct shingles of both, of the first alone, and of the second alone.
    #[getter]
    fn shingles(&self) -> (usize, usize, usize) {
        (self.engine.shared, self.engine.only_left, self.engine.only_right)
    }

    /// The differing bits: position, sums in both, and ranks of weakness in both (1 is weakest).
    #[getter]
    fn differing_bits(&self) -> Vec<(u8, i64, i64, u8, u8)> {
        let bits = self.engine.bits.as_ref().map(|bits| bits.differing.as_slice());
        bits.unwrap_or_default()
            .iter()
            .map(|bit| (bit.bit, bit.left_sum, bit.right_sum, bit.left_rank, bit.right_rank))
            .collect()
    }

    /// Stretches of the first text, in order: the text and whether the other has it.
    #[getter]
    fn left_passages(&self) -> Vec<(&str, bool)> {
        let passages = self.engine.left_passages.iter();
        passages.map(|p| (&self.left_text[p.place.clone()], p.shared)).collect()
    }

    /// Stretches of the second text, in order: the text and whether the other has it.
    #[getter]
    fn right_passages(&self) -> Vec<(&str, bool)> {
        let passages = self.engine.right_passages.iter();
        passages.map(|p| (&self.right_text[p.place.clone()], p.shared)).collect()
    }

    fn __repr__(&self) -> String {
        match &self.engine.bits {
            Some(bits) => format!(
                "Comparison(distance={}, similarity={:.3}, jaccard={:.3})",
                bits.distance, bits.estimate.jaccard, self.engine.jaccard
            ),
            None if self.engine.same_text => "Comparison(no words, same text)".to_owned(),
            None => "Comparison(no words)".to_owned(),
        }
    }

    /// For notebooks: the numbers, and both texts side by side.
    fn _repr_html_(&self, py: Python<'_>) -> String {
        py.detach(|| self.html())
    }
}

impl Comparison {
    fn html(&self) -> String {
        let c = &*self.engine;
        let mut out = format!("<div class=\"hapax-comparison\"><style>{STYLE}</style>\n<dl>");
        let mut number = |name: &str, value: String, meaning: &str| {
            out.push_str(&format!(
                "<div title=\"{}\"><dt>{name}</dt><dd>{value}</dd></div>",
                escape(meaning)
            ));
        };
        if let Some(bits) = &c.bits {
            number("bits", format!("{} of 64 differ", bits.distance), "distance of fingerprints");
            let estimate = bits.estimate;
            let text = format!("{:.3} ± {:.3}", estimate.jaccard, estimate.standard_error);
            number("sketch", text, "shared text as estimated from 128 bytes each");
        }
        number("Jaccard", format!("{:.3}", c.jaccard), "shingles that both have, of all");
        number("containment", format!("{:.3}", c.containment), "of the smaller in the other");
        number("cosine", format!("{:.3}", c.cosine), "of the weighted words");
        out.push_str("</dl>\n<div class=\"rows\">\n");
        let rows = lay_out(c, &self.left_text, &self.right_text);
        for laid in rows.iter().take(MOST_ROWS) {
            row(&mut out, laid, &self.left_text, &self.right_text);
        }
        out.push_str("</div>\n");
        if rows.len() > MOST_ROWS {
            out.push_str(&format!("<p>… and {} more rows</p>\n", rows.len() - MOST_ROWS));
        }
        out.push_str("</div>\n");
        out
    }
}
