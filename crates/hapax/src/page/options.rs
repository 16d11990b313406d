//! Options of an [`Extractor`](super::Extractor): how much of the page, which extras, and how much memory a
//! hostile page may use.
//!
//! Every limit is inclusive. Exceeding one is not an error: the rest is left out and
//! [`Page::truncated`](super::Page::truncated) is set.

/// What is known about a page besides its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints<'a> {
    /// The value of the HTTP `Content-Type` header, as received.
    pub content_type: Option<&'a str>,
    /// The page's address. Links are resolved against it, and its top-level domain helps to guess
    /// an undeclared charset.
    pub url: Option<&'a str>,
}

#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    Html(&'a str),
    /// Decoded plain text.
    Text(&'a str),
    /// HTML or plain text in any encoding.
    Bytes(&'a [u8]),
}

/// A document with metadata from its source.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    pub body: Body<'a>,
    /// Links and canonical addresses are resolved against it.
    pub url: Option<&'a str>,
    /// The HTTP `Content-Type`, for reading [`Body::Bytes`].
    pub content_type: Option<&'a str>,
    /// Language according to the source.
    pub language: Option<&'a str>,
    /// Canonical URL according to the source; taken as it is.
    pub canonical: Option<&'a str>,
    /// The HTTP `Content-Language`.
    pub http_language: Option<&'a str>,
    /// The HTTP `Link`, which may have a canonical URL.
    pub http_link: Option<&'a str>,
}

impl<'a> Document<'a> {
    /// A body without metadata.
    pub const fn new(body: Body<'a>) -> Self {
        Self {
            body,
            url: None,
            content_type: None,
            language: None,
            canonical: None,
            http_language: None,
            http_link: None,
        }
    }
}

/// How much of a page becomes text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// All visible text of the body.
    #[default]
    Body,
    /// The title, then all visible text of the body. Distinguishes pages whose bodies are one
    /// template and whose titles differ.
    Page,
    /// The body without navigation, header, footer, forms and link-dense blocks. Falls back to
    /// [`Extent::Body`] if nothing would remain.
    MainContent,
}

/// Limits on the memory that one page may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum input in bytes; the rest is ignored. In legacy encodings the decoded text may be
    /// three times as long.
    pub max_input_bytes: usize,
    /// Maximum size of [`Page::text`](super::Page::text) in bytes, cut between characters; applied
    /// before addresses are removed and the main content is chosen.
    pub max_text_bytes: usize,
    /// Maximum number of links, before repeated ones are merged.
    pub max_links: usize,
    /// Maximum size of a link's text in bytes, cut between characters. Does not count as
    /// truncation.
    pub max_link_text_bytes: usize,
    /// Maximum size of an attribute value or a resolved address in bytes. Longer ones are dropped.
    pub max_url_bytes: usize,
    /// Maximum size of the title in bytes, cut between characters. Does not count as truncation.
    pub max_title_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_input_bytes: 64 << 20,
            max_text_bytes: 64 << 20,
            max_links: 10_000,
            max_link_text_bytes: 1 << 10,
            max_url_bytes: 8 << 10,
            max_title_bytes: 4 << 10,
        }
    }
}

/// Options of an [`Extractor`](super::Extractor).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractOptions {
    /// How much of the page is extracted.
    pub extent: Extent,
    /// Whether to fill [`Page::links`](super::Page::links).
    pub collect_links: bool,
    pub limits: Limits,
}
