//! `POST /v1/compare`: compares two pages, and shows both next to each other.
//!
//! The engine compares and lays out; this module replaces places by pieces of text. A known page whose text is
//! not stored is compared by its fingerprint alone, without rows.

use super::JsonBody;
use crate::error::{ApiError, Code};
use crate::state::Service;
use axum::Json;
use axum::extract::State;
use hapax::fingerprint::side_by_side::{self, Mark, Piece, Row};
use hapax::fingerprint::{ContentHash, compare as compare_texts};
use hapax::page::{Body, Document, PageError};
use hapax_client::prepare::good_address;
use hapax_client::wire::Compared;
use hapax_store::StoredComparable;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Maximum size of a text that is laid out.
const LONGEST: usize = 2 << 20;

/// One side; exactly one field must be set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SideInput {
    url: Option<String>,
    html: Option<String>,
    text: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareInput {
    left: SideInput,
    right: SideInput,
}

/// The comparison of two pages.
#[derive(Debug, Serialize)]
pub struct SideBySide {
    #[serde(flatten)]
    compared: Compared,
    /// `None` if a text is not stored or has no words.
    sums: Option<Sums>,
    left: Side,
    right: Side,
    /// `None` if a text is not stored.
    rows: Option<Vec<Shown>>,
}

/// The weighted sums behind both fingerprints, bit 0 first; positive for a 1.
#[derive(Debug, Serialize)]
struct Sums {
    left: Vec<i64>,
    right: Vec<i64>,
}

#[derive(Debug, Serialize)]
struct Side {
    url: Option<String>,
    title: Option<String>,
    words: Option<u32>,
    fingerprint: Option<String>,
    text_kept: bool,
}

/// A row: equal words on both sides, or the differing words of each.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Shown {
    Same {
        same: String,
        /// The wording of the second page, if case or punctuation differ.
        #[serde(skip_serializing_if = "Option::is_none")]
        same_right: Option<String>,
    },
    Different {
        left: Vec<ShownPiece>,
        right: Vec<ShownPiece>,
    },
}

#[derive(Debug, Serialize)]
struct ShownPiece {
    text: String,
    /// `between`, `only` or `elsewhere`.
    mark: &'static str,
    /// Moved pieces have the same number on both sides.
    moved: Option<usize>,
}

enum Known {
    Text { title: Option<String>, text: String },
    Comparable { comparable: Option<StoredComparable>, words: u32 },
}

pub async fn compare(
    State(service): State<Arc<Service>>,
    JsonBody(input): JsonBody<CompareInput>,
) -> Result<Json<SideBySide>, ApiError> {
    let sides = [&input.left, &input.right].into_iter();
    let bytes = sides.flat_map(|side| [&side.html, &side.text]).flatten().map(String::len).sum();
    service.work_on(bytes, move |service| compared(service, input)).await.map(Json)
}

fn compared(service: &Service, input: CompareInput) -> Result<SideBySide, ApiError> {
    let (left_url, right_url) = (input.left.url.clone(), input.right.url.clone());
    let left = read(service, "left", input.left)?;
    let right = read(service, "right", input.right)?;
    let side = |url, known: &Known| {
        let (title, words, fingerprint, text_kept) = match known {
            Known::Text { title, .. } => (title.clone(), None, None, true),
            Known::Comparable { comparable, words } => {
                let bits = comparable.as_ref().map(|it| it.fingerprint.to_string());
                (None, Some(*words), bits, false)
            }
        };
        Side { url, title, words, fingerprint, text_kept }
    };
    let (mut left_side, mut right_side) = (side(left_url, &left), side(right_url, &right));
    if let (Known::Text { text: l, .. }, Known::Text { text: r, .. }) = (&left, &right) {
        let comparison = service.fingerprinting(l.len().max(r.len()), |by| compare_texts(by, l, r));
        for (side, signature) in
            [(&mut left_side, &comparison.left), (&mut right_side, &comparison.right)]
        {
            side.words = Some(signature.words);
            side.fingerprint = signature.comparable.as_ref().map(|it| it.fingerprint.to_string());
        }
        let rows = side_by_side::lay_out(&comparison, l, r);
        let rows = rows.into_iter().map(|row| shown(row, l, r)).collect();
        let both = comparison.left.comparable.as_ref().zip(comparison.right.comparable.as_ref());
        return Ok(SideBySide {
            compared: Compared::new(&comparison, service.recipe.sketch_shingle.words()),
            sums: both.map(|(left, right)| Sums {
                left: left.sums.as_array().to_vec(),
                right: right.sums.as_array().to_vec(),
            }),
            left: left_side,
            right: right_side,
            rows: Some(rows),
        });
    }
    let (l, r) = (comparable(service, left)?, comparable(service, right)?);
    let pair = l.as_ref().zip(r.as_ref());
    let estimate = pair.map(|(l, r)| l.sketch.estimate(&r.sketch));
    let compared = Compared {
        same_text: false,
        distance: pair.map(|(l, r)| l.fingerprint.distance(r.fingerprint)),
        similarity: estimate.as_ref().map(|estimate| estimate.jaccard),
        standard_error: estimate.as_ref().map(|estimate| estimate.standard_error),
        exact: None,
        differing_bits: Vec::new(),
    };
    Ok(SideBySide { compared, sums: None, left: left_side, right: right_side, rows: None })
}

fn read(service: &Service, name: &str, side: SideInput) -> Result<Known, ApiError> {
    let SideInput { url, html, text } = side;
    match (url, html, text) {
        (Some(url), None, None) => {
            good_address("url", &url)?;
            let unknown = || {
                let message = format!("{name}: no page with this address is known");
                ApiError::new(Code::NotFound, message)
            };
            let page = service.repository.page(&url)?.ok_or_else(unknown)?;
            let kept = service.texts.as_ref().and_then(|texts| texts.get(&url));
            // The page may have been recorded again without its text; then the stored text is
            // outdated.
            if let Some(text) = kept.filter(|text| ContentHash::of(text) == page.content) {
                return Ok(Known::Text { title: None, text });
            }
            Ok(Known::Comparable { comparable: page.comparable, words: page.words })
        }
        (None, html, text) if html.is_some() != text.is_some() => {
            let body = match (&html, &text) {
                (Some(html), _) => Body::Html(html),
                (None, text) => Body::Text(text.as_deref().unwrap_or_default()),
            };
            let bytes = html.as_ref().or(text.as_ref()).map_or(0, String::len);
            let (title, mut text) = service.fingerprinting(bytes, |by| {
                let page = by.extract(&Document::new(body))?;
                Ok::<_, PageError>((page.title.clone(), page.text.clone()))
            })?;
            text.truncate(text.floor_char_boundary(LONGEST));
            Ok(Known::Text { title, text })
        }
        _ => Err(ApiError::invalid(format!("{name}: give exactly one of url, html and text"))),
    }
}

fn comparable(service: &Service, known: Known) -> Result<Option<StoredComparable>, ApiError> {
    match known {
        Known::Comparable { comparable, .. } => Ok(comparable),
        Known::Text { text, .. } => {
            let signature = service.fingerprinting(text.len(), |by| by.text(&text))?;
            Ok(signature.comparable.map(|it| StoredComparable {
                fingerprint: it.fingerprint,
                sketch: it.sketch,
                too_short: signature.too_short,
            }))
        }
    }
}

fn shown(row: Row, left: &str, right: &str) -> Shown {
    let pieces = |pieces: Vec<Piece>, text: &str| {
        let piece = |piece: Piece| {
            let (mark, moved) = match piece.mark {
                Mark::Between => ("between", None),
                Mark::OnlyHere => ("only", None),
                Mark::Elsewhere(moved) => ("elsewhere", moved),
            };
            ShownPiece { text: text.get(piece.place).unwrap_or_default().to_owned(), mark, moved }
        };
        pieces.into_iter().map(piece).collect()
    };
    match row {
        Row::Same { left: l, right: r } => {
            let same = left.get(l).unwrap_or_default();
            let other = right.get(r).unwrap_or_default();
            let same_right = (other != same).then(|| other.to_owned());
            Shown::Same { same: same.to_owned(), same_right }
        }
        Row::Different { left: l, right: r } => {
            Shown::Different { left: pieces(l, left), right: pieces(r, right) }
        }
    }
}
