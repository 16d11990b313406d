//! What is known of a page: what comes in, and what is kept.
//!
//! An address is any text of 1 to [`LONGEST_URL`] bytes and is compared as it is written; nothing is
//! resolved or normalised here. How pages are compared, and where they stand, is known elsewhere.

use crate::error::StoreError;
use crate::frames::Own;
use hapax::fingerprint::{ContentHash, Fingerprint, Signature, SignedPage, Sketch};
use hapax::frame::{Piece, pieces};
use hapax::group::ScopeKey;
use hapax::group::live::{Bare, Likeness, PageRecord};

/// The longest address, in bytes.
pub const LONGEST_URL: usize = 16 * 1024;

/// What of a page is compared with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredComparable {
    pub fingerprint: Fingerprint,
    /// Confirms what the fingerprint proposes.
    pub sketch: Sketch,
    /// Too few features for likeness to mean much: such a page matches only equal text.
    pub too_short: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub url: String,
    /// The hash of its text: equal exactly for equal texts.
    pub content: ContentHash,
    /// Fingerprint and sketch of its text, which near-duplicates share in part; `None` for a page
    /// without words.
    pub comparable: Option<StoredComparable>,
    /// Its sketch under the repository's [key](crate::Repository::key), which confirms matches; `None`
    /// if the text is not known here, see [`Confirm`](crate::Confirm).
    pub keyed: Option<Sketch>,
    /// Of its text, for the [frame](crate::Frames) of its host; empty if the text is not known here.
    pub pieces: Vec<Piece>,
    pub words: u32,
    /// PageRank, clicks, anything of which more is better. `None` keeps what is known.
    pub score: Option<f64>,
    /// When it was fetched, seconds since 1970. `None` is the time at which it is recorded.
    pub fetched: Option<u64>,
    /// The address in its `rel=canonical`, absolute.
    pub canonical: Option<String>,
    /// Does another page name this one as canonical?
    pub named_canonical: bool,
    /// Its language, when the scope asks for it.
    pub language: String,
    /// The value of the scope's field, when the scope asks for it.
    pub field: String,
}

impl Observation {
    /// A page of which address and signature are known.
    pub fn new(url: impl Into<String>, signature: &Signature) -> Self {
        let comparable = signature.comparable.as_ref().map(|comparable| StoredComparable {
            fingerprint: comparable.fingerprint,
            sketch: comparable.sketch,
            too_short: signature.too_short,
        });
        Self { words: signature.words, ..Self::of_parts(url, signature.content, comparable) }
    }

    /// A page with all that its source and its markup state.
    pub fn of_page(url: impl Into<String>, page: SignedPage<'_>) -> Self {
        let mut found = Vec::new();
        pieces(&page.page.text, &mut found);
        Self {
            pieces: found,
            // Markup can name anything; an address that cannot be stored says nothing.
            canonical: page.canonical.filter(|it| it.len() <= LONGEST_URL),
            language: page.language,
            keyed: page.keyed,
            ..Self::new(url, &page.signature)
        }
    }

    /// A page whose fingerprint was made elsewhere.
    pub fn of_parts(
        url: impl Into<String>,
        content: ContentHash,
        comparable: Option<StoredComparable>,
    ) -> Self {
        Self {
            url: url.into(),
            content,
            comparable,
            keyed: None,
            pieces: Vec::new(),
            words: 0,
            score: None,
            fetched: None,
            canonical: None,
            named_canonical: false,
            language: String::new(),
            field: String::new(),
        }
    }
}

/// What is kept of a page, its place in the groups aside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PageData {
    pub(crate) content: ContentHash,
    pub(crate) comparable: Option<StoredComparable>,
    pub(crate) keyed: Option<Sketch>,
    /// Beyond the frame of its host.
    pub(crate) own: Option<Own>,
    pub(crate) words: u32,
    pub(crate) score: Option<f64>,
    pub(crate) fetched: Option<u64>,
    pub(crate) changed: Option<u64>,
    /// When the present content was first seen, and its place in the order of what was recorded.
    /// Both last as long as each content nearly matches the one before.
    pub(crate) first_seen: Option<u64>,
    pub(crate) recorded: Option<u64>,
    pub(crate) scope: ScopeKey,
    pub(crate) named_canonical: bool,
    pub(crate) canonical: Option<String>,
}

impl PageData {
    /// Of a page of which nothing but the address is known.
    pub(crate) fn blank() -> Self {
        Self {
            content: ContentHash::from_bytes([0; 16]),
            comparable: None,
            keyed: None,
            own: None,
            words: 0,
            score: None,
            fetched: None,
            changed: None,
            first_seen: None,
            recorded: None,
            scope: ScopeKey::ALL,
            named_canonical: false,
            canonical: None,
        }
    }

    /// What may go when the page redirects or is gone: all but score and time.
    pub(crate) fn without_content(self) -> Self {
        let Self { score, fetched, changed, scope, .. } = self;
        Self { score, fetched, changed, scope, ..Self::blank() }
    }

    /// Is a newer frame of its host known than the one it was compared under?
    pub(crate) fn is_due(&self) -> bool {
        self.own.is_some_and(|own| own.judged < own.version)
    }

    pub(crate) fn same_content(&self, other: &Self) -> bool {
        self.content == other.content
            && self.comparable == other.comparable
            && self.scope == other.scope
    }
}

/// A page as the repository knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct PageInfo {
    pub url: String,
    pub id: hapax::group::live::PageId,
    pub place: hapax::group::live::PageRecord,
    /// Equal exactly for equal texts; zero for a page without content.
    pub content: ContentHash,
    /// `None` for a page that redirects, is awaited or has no words.
    pub comparable: Option<StoredComparable>,
    /// What it says beyond the frame of its host, and which version of the frame it was compared under; `None` where no frame was
    /// known.
    pub own: Option<Own>,
    pub words: u32,
    /// Its score, if known.
    pub score: Option<f64>,
    /// When it was fetched last.
    pub fetched: Option<u64>,
    /// When its content was last found to be other than before.
    pub changed: Option<u64>,
    /// When it was first seen with its present content, or with one that nearly matches it: what
    /// the rules `earliest` and `latest` go by.
    pub first_seen: Option<u64>,
    /// Its canonical address, if it names one.
    pub canonical: Option<String>,
    /// The address it redirects to, in a cycle of redirects too.
    pub redirects_to: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seen {
    /// Its address was never seen, at most redirected to.
    First,
    /// It is known with this very content.
    Unchanged,
    /// It is known with another content, or as a redirect.
    Changed,
}

impl Seen {
    /// Its name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
        }
    }

    /// Of a page with this place and content, seen with this content.
    pub(crate) fn of(place: Option<PageRecord>, known: &ContentHash, now: &ContentHash) -> Self {
        match place {
            None | Some(PageRecord::Bare { why: Bare::Awaited, .. }) => Self::First,
            Some(PageRecord::Content { .. } | PageRecord::Bare { why: Bare::Empty, .. })
                if known == now =>
            {
                Self::Unchanged
            }
            Some(_) => Self::Changed,
        }
    }
}

/// The known page most like another, whether it matches or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    pub url: String,
    pub likeness: Likeness,
}

/// Refuses a redirect that leads nowhere else.
pub(crate) fn good_redirect(from: &str, to: &str) -> Result<(), StoreError> {
    good_url(from)?;
    good_url(to)?;
    match from == to {
        true => Err(StoreError::SelfRedirect { url: from.to_owned() }),
        false => Ok(()),
    }
}

/// Refuses an address that cannot be kept.
pub(crate) fn good_url(url: &str) -> Result<(), StoreError> {
    if (1..=LONGEST_URL).contains(&url.len()) {
        return Ok(());
    }
    let start = url.chars().take(80).collect();
    Err(StoreError::BadUrl { len: url.len(), most: LONGEST_URL, start })
}
