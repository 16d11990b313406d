//! What a caller may ask of a [`Extractor`](super::Extractor): how much of the page, which
//! extras, and how much memory a hostile page may cost.
//!
//! Every bound is inclusive. Reaching one is not an error: the rest is left out and
//! [`Page::truncated`](super::Page::truncated) says so.

/// What is known about a page besides its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints<'a> {
    /// The value of the HTTP `Content-Type` header, as received.
    pub content_type: Option<&'a str>,
    /// Where the page came from. Links are resolved against it, and its top-level domain
    /// helps to guess an undeclared charset.
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

/// A document and what its source knows about it.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    pub body: Body<'a>,
    /// Links and canonical addresses are resolved against it.
    pub url: Option<&'a str>,
    /// The HTTP `Content-Type`; says how [`Body::Bytes`] are read.
    pub content_type: Option<&'a str>,
    /// Stated by the source itself.
    pub language: Option<&'a str>,
    /// Stated by the source itself; taken as it is.
    pub canonical: Option<&'a str>,
    /// The HTTP `Content-Language`.
    pub http_language: Option<&'a str>,
    /// The HTTP `Link`, which may name a canonical address.
    pub http_link: Option<&'a str>,
}

impl<'a> Document<'a> {
    /// A body of which nothing else is known.
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
    /// Everything a reader sees in the body.
    #[default]
    Body,
    /// The title, then everything a reader sees in the body. Pages whose bodies are one template
    /// and whose titles differ are not the same page.
    Page,
    /// The body without navigation, header, footer, forms and link-dense blocks. Falls back
    /// to [`Extent::Body`] when nothing would be left.
    MainContent,
}

/// How much memory one page may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of input that are read; what follows is ignored. For legacy encodings the
    /// decoded text is bounded by three times this.
    pub max_input_bytes: usize,
    /// Bytes of [`Page::text`](super::Page::text), cut between characters; counted before
    /// addresses are removed and the main content is chosen.
    pub max_text_bytes: usize,
    /// Links looked at, before repeated ones are folded.
    pub max_links: usize,
    /// Bytes of a link's words, cut between characters. Does not count as truncation.
    pub max_link_text_bytes: usize,
    /// Bytes of any attribute value and of any resolved address. A longer one is dropped.
    pub max_url_bytes: usize,
    /// Bytes of the title, cut between characters. Does not count as truncation.
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

/// What a [`Extractor`](super::Extractor) does with every page it is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractOptions {
    /// Whole body or main content only.
    pub extent: Extent,
    /// Whether [`Page::links`](super::Page::links) is filled.
    pub collect_links: bool,
    pub limits: Limits,
}
