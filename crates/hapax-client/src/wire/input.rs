//! A page as sent by a client.

use crate::moment;
use hapax::fingerprint::RecipeId;
use hapax_store::Observation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A page: its address and exactly one of `html`, `text`, `signature` and `redirect`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageInput {
    pub url: String,
    /// Decoded HTML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A fingerprint made elsewhere; the service cannot confirm its matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<ReadySignature>,
    /// The target of its redirect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// PageRank, clicks or another score; larger is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Fetch time; the current time by default. Also parsed from RFC 3339.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "moment::optional"
    )]
    pub fetched: Option<u64>,
    /// Canonical URL, absolute, if the HTML does not have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// Language, for repositories with that scope, if the HTML does not state one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The value of the scope's field, for repositories with that scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// HTTP headers; `Link: rel=canonical` and `Content-Language` are used.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// The output of `hapax fingerprint --json` for a page; other fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadySignature {
    /// `name:digest`.
    pub recipe: String,
    /// Sixteen hexadecimal digits; null for a page without words.
    pub fingerprint: Option<String>,
    /// 256 hexadecimal digits; null for a page without words.
    pub sketch: Option<String>,
    /// Thirty-two hexadecimal digits, equal exactly for equal texts.
    pub content: String,
    #[serde(default)]
    pub words: u32,
    /// Whether the page has too few features for near matches.
    #[serde(default)]
    pub too_short: bool,
}

impl ReadySignature {
    /// For a page that was fingerprinted with this recipe.
    pub fn new(seen: &Observation, recipe: &RecipeId) -> Self {
        let comparable = seen.comparable.as_ref();
        Self {
            recipe: recipe.to_string(),
            fingerprint: comparable.map(|comparable| comparable.fingerprint.to_string()),
            sketch: comparable.map(|comparable| comparable.sketch.to_string()),
            content: seen.content.to_string(),
            words: seen.words,
            too_short: comparable.is_some_and(|comparable| comparable.too_short),
        }
    }
}

impl PageInput {
    /// A page that was fingerprinted with this recipe. The service cannot confirm its matches.
    pub fn ready(seen: &Observation, recipe: &RecipeId) -> Self {
        let signature = Some(ReadySignature::new(seen, recipe));
        Self { signature, ..Self::about(seen) }
    }

    /// A page with its extracted text.
    pub fn read(seen: &Observation, text: String) -> Self {
        Self { text: Some(text), ..Self::about(seen) }
    }

    /// Everything except the content.
    fn about(seen: &Observation) -> Self {
        let some = |text: &String| (!text.is_empty()).then(|| text.clone());
        Self {
            url: seen.url.clone(),
            score: seen.score,
            fetched: seen.fetched,
            canonical: seen.canonical.clone(),
            language: some(&seen.language),
            field: some(&seen.field),
            ..Self::default()
        }
    }
}
