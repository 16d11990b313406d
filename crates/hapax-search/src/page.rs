//! A page for a search index: what is searched, and what is stored for comparing copies.
//!
//! Everything needed to choose between copies is computed in advance, so an index does not need the page's
//! text.

use hapax::fingerprint::{ContentHash, Fingerprint, Signature, Sketch};

/// Bytes of a text stored for display; passages beyond are found, but not shown.
const START: usize = 16 << 10;

#[derive(Clone, Debug, PartialEq)]
pub struct SearchPage {
    /// Unique in the index; a page replaces another one with the same name.
    pub name: String,
    /// Empty without an address.
    pub url: String,
    /// Empty without a title.
    pub title: String,
    /// The visible text.
    pub body: String,
    /// As stated by the page or the corpus, such as `en` or `zh-Hans`; empty if neither does.
    pub language: String,
    /// `None` if the page has no words or too few for near matches.
    pub fingerprint: Option<Fingerprint>,
    /// Confirms near-duplicates.
    pub sketch: Option<Sketch>,
    /// Equal exactly for equal texts.
    pub content: ContentHash,
    pub words: u32,
    /// Authority; larger is better.
    pub score: Option<f64>,
    /// Seconds since 1970.
    pub fetched: Option<u64>,
}

impl SearchPage {
    /// A page with this name and text, and the signature of that text. A page that is too short
    /// gets no fingerprint.
    pub fn new(name: impl Into<String>, body: impl Into<String>, signature: &Signature) -> Self {
        let comparable = signature.comparable.as_ref().filter(|_| !signature.too_short);
        Self {
            name: name.into(),
            url: String::new(),
            title: String::new(),
            body: body.into(),
            language: String::new(),
            fingerprint: comparable.map(|it| it.fingerprint),
            sketch: comparable.map(|it| it.sketch),
            content: signature.content,
            words: signature.words,
            score: None,
            fetched: None,
        }
    }

    /// The host of its address in lower case; empty without one.
    pub fn host(&self) -> String {
        host_of(&self.url)
    }

    /// The part of its text that is stored for display.
    pub fn start(&self) -> &str {
        &self.body[..self.body.floor_char_boundary(START)]
    }

    /// Its address without the scheme, with spaces instead of signs; otherwise `example.org` would
    /// be one word.
    pub(crate) fn address_words(&self) -> String {
        let address = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        address.replace(|c: char| c.is_ascii_punctuation(), " ")
    }

    /// The primary language subtag in lower case.
    pub fn language_code(&self) -> String {
        language_code(&self.language)
    }
}

/// A name as 64 bits; two names of an index hardly ever collide.
pub(crate) fn short_hash(name: &str) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&blake3::hash(name.as_bytes()).as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

/// The host of an address in lower case, without user and port.
pub(crate) fn host_of(url: &str) -> String {
    let Some((_, rest)) = url.split_once("://") else { return String::new() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.trim_end_matches('.').to_ascii_lowercase()
}

/// The first part of a language tag in lower case.
pub(crate) fn language_code(tag: &str) -> String {
    tag.trim().split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase()
}

/// A host and all domains above it: for `a.b.org` also `b.org` and `org`.
pub(crate) fn domains(host: &str) -> impl Iterator<Item = &str> {
    std::iter::successors((!host.is_empty()).then_some(host), |host| {
        host.split_once('.').map(|(_, above)| above).filter(|above| !above.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_cut_out_of_addresses() {
        assert_eq!(host_of("https://user@WWW.Example.org:8080/a?b"), "www.example.org");
        assert_eq!(host_of("http://[::1]:80/"), "::1");
        assert_eq!(host_of("file.txt"), "");
        assert_eq!(domains("a.b.org").collect::<Vec<_>>(), ["a.b.org", "b.org", "org"]);
        assert_eq!(domains("").count(), 0);
        assert_eq!(language_code("zh-Hans"), "zh");
    }
}
