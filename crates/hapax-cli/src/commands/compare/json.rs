//! A comparison as one JSON object: the answer of `POST /v1/compare`, plus both texts.

use super::{Pair, Shown};
use hapax::fingerprint::Signature;
use hapax::fingerprint::explain::Passage;
use hapax_client::wire::Compared;
use hapax_dedup::stages::fingerprints::record::PageRecord;
use serde::Serialize;

#[derive(Serialize)]
struct Object<'a> {
    /// The result in a sentence.
    summary: String,
    #[serde(flatten)]
    compared: Compared,
    left: Side<'a>,
    right: Side<'a>,
}

#[derive(Serialize)]
struct Side<'a> {
    #[serde(flatten)]
    page: PageRecord<'a>,
    title: Option<&'a str>,
    text: &'a str,
    /// Byte ranges of `text` in UTF-8.
    passages: Vec<Stretch>,
}

#[derive(Serialize)]
struct Stretch {
    start: usize,
    end: usize,
    shared: bool,
}

/// The object that `--json` prints.
pub(super) fn object(pair: &Pair) -> impl Serialize {
    let c = &pair.comparison;
    Object {
        summary: pair.sentence(),
        compared: Compared::new(c, pair.recipe.sketch_shingle.words()),
        left: side(pair, &pair.left, &c.left, &c.left_passages),
        right: side(pair, &pair.right, &c.right, &c.right_passages),
    }
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
