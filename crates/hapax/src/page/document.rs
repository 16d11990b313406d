//! The result of extracting a page, and errors.

use std::borrow::Cow;

/// The text of a page and the facts stated by its markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The visible text, preceded by the title if [`Extent::Page`](super::Extent::Page) was
    /// requested: words separated by single ASCII spaces, without spaces at either end.
    pub text: String,
    /// Addresses between the words, which are not part of `text`, as written, each followed by a
    /// space.
    pub addresses: String,
    /// The first `<title>`, folded like the text.
    pub title: Option<String>,
    /// `<link rel=canonical>`: absolute if the page's address is known, otherwise as written.
    pub canonical: Option<String>,
    /// `<meta http-equiv=refresh>`.
    pub refresh: Option<Refresh>,
    /// `lang` of the `<html>` tag, otherwise `<meta http-equiv=content-language>`.
    pub language: Option<String>,
    /// Out-links in order of appearance, each address once.
    pub links: Vec<Link>,
    /// Bytes of text hidden by the markup, without white space; not part of `text`.
    pub hidden_bytes: usize,
    /// How the bytes were interpreted.
    pub kind: Kind,
    /// WHATWG name of the encoding.
    pub encoding: &'static str,
    /// How the encoding was determined.
    pub encoding_source: EncodingSource,
    /// Whether something was left out because a [limit](super::Limits) was reached.
    pub truncated: bool,
}

impl Page {
    /// Whether more text is hidden than shown. Ignores external style sheets and scripts.
    pub fn hides_most(&self) -> bool {
        self.hidden_bytes > 0
            && self.hidden_bytes > self.text.bytes().filter(|&byte| byte != b' ').count()
    }
}

/// An out-link of a page: `<a href>`, `<area href>` or `<frame src>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Absolute `http` or `https` address without fragment.
    pub url: String,
    /// The anchor text of the first link to this address that has any.
    pub text: String,
    /// Whether every link to this address has `rel=nofollow`.
    pub nofollow: bool,
}

/// A request to be redirected or reloaded after some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// Delay in whole seconds.
    pub delay_seconds: u32,
    /// The target: absolute if the page's address is known, otherwise as written. `None` to reload
    /// the same page.
    pub url: Option<String>,
}

/// How the bytes of a page are interpreted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Markup: HTML, XHTML or XML.
    #[default]
    Html,
    /// Plain text, in which `<` has no special meaning.
    Text,
}

/// How the encoding of a page was determined, strongest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EncodingSource {
    /// A byte order mark.
    Bom,
    /// The `charset` of the `Content-Type` header.
    Header,
    /// A `<meta>` tag or an XML declaration in the first 1,024 bytes.
    Meta,
    /// Not declared; the bytes are UTF-8, or UTF-8 with rare damage.
    Utf8,
    /// Not declared; guessed from the bytes.
    Detected,
    /// The caller passed decoded text.
    #[default]
    Given,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The bytes are neither markup nor text.
    #[error("unsupported content: {found}; only HTML, XML and plain text can be extracted")]
    Unsupported {
        /// A file format, or the declared content type.
        found: Cow<'static, str>,
    },
}
