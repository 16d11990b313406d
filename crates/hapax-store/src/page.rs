//! Page data: as observed, and as stored.
//!
//! An address is any text of 1 to [`LONGEST_URL`] bytes and is compared as written, without resolving or
//! normalizing it. Does not compare pages or place them in groups.

use crate::contents::in_scope;
use crate::error::StoreError;
use crate::frames::Own;
use hapax::fingerprint::{ContentHash, Fingerprint, Signature, SignedPage, Sketch};
use hapax::frame::{Piece, pieces};
use hapax::group::ScopeKey;
use hapax::group::live::{Bare, Likeness, PageRecord};

/// Maximum length of an address in bytes.
pub const LONGEST_URL: usize = 16 * 1024;

/// The comparable data of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredComparable {
    pub fingerprint: Fingerprint,
    /// Confirms near-duplicates that the fingerprint proposes.
    pub sketch: Sketch,
    /// Whether the page has too few features for near matches; it then matches equal text only.
    pub too_short: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub url: String,
    /// Hash of the text; equal exactly for equal texts.
    pub content: ContentHash,
    /// Fingerprint and sketch of the text; `None` for a page without words.
    pub comparable: Option<StoredComparable>,
    /// The sketch under the repository's [key](crate::Repository::key), which confirms matches;
    /// `None` if the text is not known here, see [`Confirm`](crate::Confirm).
    pub keyed: Option<Sketch>,
    /// Pieces of the text, for the [frame](crate::Frames) of its host; empty if the text is not
    /// known here.
    pub pieces: Vec<Piece>,
    pub words: u32,
    /// PageRank, clicks or another score; larger is better. `None` keeps the known score.
    pub score: Option<f64>,
    /// Fetch time in seconds since 1970; `None` for the current time.
    pub fetched: Option<u64>,
    /// The page's `rel=canonical`, absolute.
    pub canonical: Option<String>,
    /// Whether another page names this one as canonical.
    pub named_canonical: bool,
    /// The language, if the scope needs it.
    pub language: String,
    /// The value of the scope's field, if the scope needs it.
    pub field: String,
}

impl Observation {
    /// A page with a known address and signature.
    pub fn new(url: impl Into<String>, signature: &Signature) -> Self {
        let comparable = signature.comparable.as_ref().map(|comparable| StoredComparable {
            fingerprint: comparable.fingerprint,
            sketch: comparable.sketch,
            too_short: signature.too_short,
        });
        Self { words: signature.words, ..Self::of_parts(url, signature.content, comparable) }
    }

    /// A page with all metadata of its source and its markup.
    pub fn of_page(url: impl Into<String>, page: SignedPage<'_>) -> Self {
        let mut found = Vec::new();
        pieces(&page.page.text, &mut found);
        Self {
            pieces: found,
            // Markup can contain anything; an address that cannot be stored is ignored.
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

/// The stored data of a page, except its place in the groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PageData {
    pub(crate) content: ContentHash,
    pub(crate) comparable: Option<StoredComparable>,
    pub(crate) keyed: Option<Sketch>,
    /// The own text, beyond the frame of its host.
    pub(crate) own: Option<Own>,
    pub(crate) words: u32,
    pub(crate) score: Option<f64>,
    pub(crate) fetched: Option<u64>,
    pub(crate) changed: Option<u64>,
    /// When the current content was first seen, and its number in the order of recorded contents.
    /// Both are kept while each new content nearly matches the previous one.
    pub(crate) first_seen: Option<u64>,
    pub(crate) recorded: Option<u64>,
    pub(crate) scope: ScopeKey,
    /// Whether more pages have close fingerprints than are compared.
    pub(crate) dense: bool,
    pub(crate) named_canonical: bool,
    pub(crate) canonical: Option<String>,
}

impl PageData {
    /// For a page of which only the address is known.
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
            dense: false,
            named_canonical: false,
            canonical: None,
        }
    }

    /// What remains of a page that redirects or was deleted: score and time.
    pub(crate) fn without_content(self) -> Self {
        let Self { score, fetched, changed, scope, .. } = self;
        Self { score, fetched, changed, scope, ..Self::blank() }
    }

    /// Whether a newer frame of its host exists than the one it was compared under.
    pub(crate) fn is_due(&self) -> bool {
        self.own.is_some_and(|own| own.compared_under < own.version)
    }

    /// The fingerprint under which the index has it.
    pub(crate) fn indexed(&self) -> Option<Fingerprint> {
        let comparable = self.comparable.as_ref()?;
        Some(in_scope(comparable.fingerprint, self.scope))
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
    /// The own text, and the version of the host's frame under which the page was compared; `None`
    /// without a frame.
    pub own: Option<Own>,
    pub words: u32,
    pub score: Option<f64>,
    /// When it was last fetched.
    pub fetched: Option<u64>,
    /// When its content last changed.
    pub changed: Option<u64>,
    /// When it was first seen with its current content or one that nearly matches it; used by the
    /// rules `earliest` and `latest`.
    pub first_seen: Option<u64>,
    /// Its canonical URL, if it names one.
    pub canonical: Option<String>,
    /// The target of its redirect, also in a cycle of redirects.
    pub redirects_to: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seen {
    /// The address was never seen before, except possibly as the target of a redirect.
    First,
    /// Known with exactly this content.
    Unchanged,
    /// Known with another content, or as a redirect.
    Changed,
}

impl Seen {
    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
        }
    }

    /// For a page with this place and stored content, seen with content `now`.
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

/// The known page most similar to another, whether it matches or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    pub url: String,
    pub likeness: Likeness,
}

/// Refuses a redirect to the page itself.
pub(crate) fn good_redirect(from: &str, to: &str) -> Result<(), StoreError> {
    good_url(from)?;
    good_url(to)?;
    match from == to {
        true => Err(StoreError::SelfRedirect { url: from.to_owned() }),
        false => Ok(()),
    }
}

/// Refuses an address of invalid length.
pub(crate) fn good_url(url: &str) -> Result<(), StoreError> {
    if (1..=LONGEST_URL).contains(&url.len()) {
        return Ok(());
    }
    let start = url.chars().take(80).collect();
    Err(StoreError::BadUrl { len: url.len(), most: LONGEST_URL, start })
}
