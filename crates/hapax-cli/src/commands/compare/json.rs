//! A comparison as one JSON object: what the service answers to `POST /v1/compare`, and both texts.

use super::{Pair, Shown, verdict};
use crate::commands::fingerprint::PageRecord;
use hapax::fingerprint::Signature;
use hapax::fingerprint::explain::Passage;
use serde::Serialize;

#[derive(Serialize)]
struct Object<'a> {
    /// The comparison in a sentence.
    summary: String,
    same_text: bool,
    distance: Option<u32>,
    /// The sketches' estimate of the Jaccard similarity of the texts, 0 to 1.
    similarity: Option<f64>,
    standard_error: Option<f64>,
    exact: Exact,
    differing_bits: Vec<Bit>,
    left: Side<'a>,
    right: Side<'a>,
}

/// The exact shares, and the distinct shingles they are shares of.
#[derive(Serialize)]
struct Exact {
    jaccard: f64,
    containment: f64,
    cosine: f64,
    shared: usize,
    only_left: usize,
    only_right: usize,
    /// Words of a shingle.
    shingle: usize,
}

/// A differing bit; rank 1 is a page's weakest.
#[derive(Serialize)]
struct Bit {
    bit: u8,
    left_sum: i64,
    right_sum: i64,
    left_rank: u8,
    right_rank: u8,
}

#[derive(Serialize)]
struct Side<'a> {
    #[serde(flatten)]
    page: PageRecord<'a>,
    title: Option<&'a str>,
    text: &'a str,
    /// Stretches of `text`, in bytes of its UTF-8.
    passages: Vec<Stretch>,
}

#[derive(Serialize)]
struct Stretch {
    start: usize,
    end: usize,
    shared: bool,
}

/// The object, on one line.
pub(super) fn object(pair: &Pair) -> serde_json::Result<String> {
    let c = &pair.comparison;
    let bits = c.bits.as_ref();
    let object = Object {
        summary: verdict::sentence(pair),
        same_text: c.same_text,
        distance: bits.map(|b| b.distance),
        similarity: bits.map(|b| b.estimate.jaccard),
        standard_error: bits.map(|b| b.estimate.standard_error),
        exact: Exact {
            jaccard: c.jaccard,
            containment: c.containment,
            cosine: c.cosine,
            shared: c.shared,
            only_left: c.only_left,
            only_right: c.only_right,
            shingle: pair.recipe.sketch_shingle.words(),
        },
        differing_bits: bits
            .map(|b| b.differing.as_slice())
            .unwrap_or_default()
            .iter()
            .map(|d| Bit {
                bit: d.bit,
                left_sum: d.left_sum,
                right_sum: d.right_sum,
                left_rank: d.left_rank,
                right_rank: d.right_rank,
            })
            .collect(),
        left: side(pair, &pair.left, &c.left, &c.left_passages),
        right: side(pair, &pair.right, &c.right, &c.right_passages),
    };
    let mut text = serde_json::to_string(&object)?;
    text.push('\n');
    Ok(text)
}

fn side<'a>(
    pair: &'a Pair,
    shown: &'a Shown,
    signature: &Signature,
    passages: &[Passage],
) -> Side<'a> {
    let stretch =
        |p: &Passage| Stretch { start: p.place.start, end: p.place.end, shared: p.shared };
    Side {
        page: PageRecord::new(shown.source.path(), &pair.recipe_id, signature),
        title: shown.title.as_deref(),
        text: &shown.text,
        passages: passages.iter().map(stretch).collect(),
    }
}
