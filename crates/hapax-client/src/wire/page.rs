//! What is known of a page.

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
    /// Thirty-two hexadecimal digits, equal exactly for equal texts; none while no text is known.
    pub content: Option<String>,
    /// Too few features for likeness to mean much.
    pub too_short: bool,
    pub words: u32,
    pub score: Option<f64>,
    /// When it was fetched last.
    #[serde(serialize_with = "moment::shown_if_known", deserialize_with = "moment::optional")]
    pub fetched: Option<u64>,
    /// When its content was last found changed.
    #[serde(serialize_with = "moment::shown_if_known", deserialize_with = "moment::optional")]
    pub changed: Option<u64>,
    /// When it was first seen with its present content, or with one that nearly matches it.
    #[serde(serialize_with = "moment::shown_if_known", deserialize_with = "moment::optional")]
    pub first_seen: Option<u64>,
    pub canonical: Option<String>,
    /// The address it redirects to.
    pub redirects_to: Option<String>,
}

/// Where a page stands, in a word.
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
    /// Of what the repository knows.
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

/// A page, and how it stands in its group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageDetail {
    #[serde(flatten)]
    pub page: Page,
    /// What is said of it now; without matches, as nothing was searched.
    pub status: Verdict,
}

impl PageDetail {
    /// Of what the repository knows and decides.
    pub fn new(info: PageInfo, decision: &Decision) -> Self {
        let status = Verdict::known(info.url.clone(), decision);
        Self { page: Page::new(info, status.group), status }
    }
}
