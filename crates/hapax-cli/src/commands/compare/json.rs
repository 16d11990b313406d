//! A comparison as one JSON object.

use super::{Pair, Shown, verdict};
use crate::commands::fingerprint::PageRecord;
use hapax::fingerprint::Imprint;
use hapax::fingerprint::explain::Passage;
use serde::Serialize;

#[derive(Serialize)]
struct Object<'a> {
    verdict: String,
    same_text: bool,
    percent: Option<f64>,
    distance: Option<u32>,
    sketch: Option<Sketch>,
    jaccard: f64,
    containment: f64,
    cosine: f64,
    shingles: Shingles,
    differing_bits: Vec<Bit>,
    left: Side<'a>,
    right: Side<'a>,
}

#[derive(Serialize)]
struct Sketch {
    jaccard: f64,
    standard_error: f64,
}

/// Distinct shingles.
#[derive(Serialize)]
struct Shingles {
    words: usize,
    shared: usize,
    only_left: usize,
    only_right: usize,
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
///
/// # Errors
///
/// None that can happen: every field can be written.
pub(super) fn object(pair: &Pair) -> serde_json::Result<String> {
    let c = &pair.comparison;
    let bits = c.bits.as_ref();
    let object = Object {
        verdict: verdict::sentence(pair),
        same_text: c.same_text,
        percent: bits.map(|b| b.percent),
        distance: bits.map(|b| b.distance),
        sketch: bits.map(|b| Sketch {
            jaccard: b.estimate.jaccard,
            standard_error: b.estimate.standard_error,
        }),
        jaccard: c.jaccard,
        containment: c.containment,
        cosine: c.cosine,
        shingles: Shingles {
            words: pair.recipe.sketch_shingle.words(),
            shared: c.shared,
            only_left: c.only_left,
            only_right: c.only_right,
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

fn side<'a>(pair: &'a Pair, shown: &'a Shown, imprint: &Imprint, passages: &[Passage]) -> Side<'a> {
    let stretch =
        |p: &Passage| Stretch { start: p.place.start, end: p.place.end, shared: p.shared };
    Side {
        page: PageRecord::new(shown.source.path(), &pair.recipe_id, imprint),
        title: shown.title.as_deref(),
        text: &shown.text,
        passages: passages.iter().map(stretch).collect(),
    }
}
