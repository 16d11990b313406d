//! What extracting a page gives back, and why it may be refused.

use std::borrow::Cow;

/// The text of a page and the facts its markup states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// What a reader sees, with the title in front if [`Extent::Page`](super::Extent::Page) was
    /// asked for: words separated by single ASCII spaces, none at either end.
    pub text: String,
    /// Addresses that stood among the words and are no part of `text`, as written, a space behind each.
    pub addresses: String,
    /// The first `<title>`, folded like the text.
    pub title: Option<String>,
    /// `<link rel=canonical>`: absolute when the page's address is known, else as written.
    pub canonical: Option<String>,
    /// `<meta http-equiv=refresh>`.
    pub refresh: Option<Refresh>,
    /// `lang` of the `<html>` tag, else `<meta http-equiv=content-language>`.
    pub language: Option<String>,
    /// Out-links in order of appearance, each address once.
    pub links: Vec<Link>,
    /// Bytes of text that the markup hides from a reader, white space left out; no part of `text`.
    pub hidden_bytes: usize,
    /// How the bytes were read.
    pub kind: Kind,
    /// WHATWG name of the encoding the bytes were decoded with.
    pub encoding: &'static str,
    /// What named that encoding.
    pub encoding_source: EncodingSource,
    /// Something was left out because a [limit](super::Limits) was reached.
    pub truncated: bool,
}

impl Page {
    /// Whether more text is hidden than shown. External style sheets and scripts are not seen.
    pub fn hides_most(&self) -> bool {
        self.hidden_bytes > 0
            && self.hidden_bytes > self.text.bytes().filter(|&byte| byte != b' ').count()
    }
}

/// An out-link of a page: `<a href>`, `<area href>` or `<frame src>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Absolute `http` or `https` address without its fragment.
    pub url: String,
    /// The anchor's words: of the first link to this address that has any.
    pub text: String,
    /// Every link to this address says `rel=nofollow`.
    pub nofollow: bool,
}

/// The page asks to be replaced by another, or by itself, after a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// Whole seconds to wait.
    pub delay_seconds: u32,
    /// Where to go: absolute when the page's address is known, else as written. `None`
    /// means the same page again.
    pub url: Option<String>,
}

/// How the bytes of a page were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Markup: HTML, XHTML or XML.
    #[default]
    Html,
    /// Plain text: `<` means itself.
    Text,
}

/// What named the encoding of a page, strongest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EncodingSource {
    /// A byte order mark.
    Bom,
    /// The `charset` of the `Content-Type` header.
    Header,
    /// A `<meta>` tag or an XML declaration in the first 1,024 bytes.
    Meta,
    /// Nothing was declared and the bytes are UTF-8, or UTF-8 with rare damage.
    Utf8,
    /// Nothing was declared: guessed from the bytes.
    Detected,
    /// The caller handed over decoded text.
    #[default]
    Given,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The bytes are neither markup nor text.
    #[error("unsupported content: {found}; only HTML, XML and plain text can be extracted")]
    Unsupported {
        /// What was recognised: a file format, or the declared content type.
        found: Cow<'static, str>,
    },
}
