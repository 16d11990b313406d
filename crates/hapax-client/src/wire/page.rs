//! Data of a page.

use super::verdict::Verdict;
use crate::moment;
use hapax::group::live::{Bare, PageRecord};
use hapax_store::{Decision, PageInfo};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page {
    pub url: String,
    pub id: u32,
    /// `content`, `redirect`, `cycle`, `empty` or `awaited`.
    pub state: String,
    pub group: Option<u32>,
    /// Sixteen hexadecimal digits.
    pub fingerprint: Option<String>,
    /// Thirty-two hexadecimal digits, equal exactly for equal texts; null without a known text.
    pub content: Option<String>,
    /// Whether the page has too few features for near matches.
    pub too_short: bool,
    pub words: u32,
    pub score: Option<f64>,
    /// When it was last fetched.
    #[serde(serialize_with = "moment::shown_if_known", deserialize_with = "moment::optional")]
    pub fetched: Option<u64>,
    /// When its content last changed.
    #[serde(serialize_with = "moment::shown_if_known", deserialize_with = "moment::optional")]
    pub changed: Option<u64>,
    /// When it was first seen with its current content or one that nearly matches it.
    #[serde(serialize_with = "moment::shown_if_known", deserialize_with = "moment::optional")]
    pub first_seen: Option<u64>,
    pub canonical: Option<String>,
    /// The target of its redirect.
    pub redirects_to: Option<String>,
}

/// The state of a page as a word.
pub const fn state_name(place: &PageRecord) -> &'static str {
    match place {
        PageRecord::Content { .. } => "content",
        PageRecord::Redirects { .. } => "redirect",
        PageRecord::Bare { why: Bare::Loop { .. }, .. } => "cycle",
        PageRecord::Bare { why: Bare::Empty, .. } => "empty",
        PageRecord::Bare { why: Bare::Awaited, .. } => "awaited",
    }
}

impl Page {
    pub fn new(info: PageInfo, group: Option<u32>) -> Self {
        let comparable = info.comparable.as_ref();
        let blank = info.content.to_bytes() == [0; 16];
        Self {
            id: info.id.0,
            state: state_name(&info.place).into(),
            group,
            fingerprint: comparable.map(|comparable| comparable.fingerprint.to_string()),
            content: (!blank).then(|| info.content.to_string()),
            too_short: comparable.is_some_and(|comparable| comparable.too_short),
            words: info.words,
            score: info.score,
            fetched: info.fetched,
            changed: info.changed,
            first_seen: info.first_seen,
            canonical: info.canonical,
            redirects_to: info.redirects_to,
            url: info.url,
        }
    }
}

/// A page, with its status in its group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageDetail {
    #[serde(flatten)]
    pub page: Page,
    /// Its current verdict, without matches, because nothing was searched.
    pub status: Verdict,
}

impl PageDetail {
    pub fn new(info: PageInfo, decision: &Decision) -> Self {
        let status = Verdict::known(info.url.clone(), decision);
        Self { page: Page::new(info, status.group), status }
    }
}
