//! Makes the signature of a document; all front ends use this.
//!
//! A [`Document`] is a body with metadata from its source. [`Fingerprinter::document`] extracts the text, makes
//! the signature, and finds language and canonical address. Metadata of the source (a field, a WARC header)
//! beats the HTTP header, which beats the page's markup; nothing is guessed. A language is its primary subtag
//! in lower case: `de` for `de-AT`, `de_CH` and `DE, en`.
//!
//! Does not know where documents come from or how their signatures are used.

use url::Url;

use super::content::ContentHash;
use super::fingerprinter::{Fingerprinter, Signature};
use super::keyed::KeyedMaker;
use super::short_sketch::ShortSketch;
use super::sketch::Sketch;
use crate::page::{Document, Page, PageError};

/// A document with its signature.
#[derive(Debug)]
pub struct SignedPage<'p> {
    /// Extracted text and statements of the markup; valid until the next document.
    pub page: &'p Page,
    pub signature: Signature,
    /// The sketch under the key of [`Fingerprinter::with_key`]; `None` without a key or without
    /// words.
    pub keyed: Option<Sketch>,
    /// The short sketch under the key of [`Fingerprinter::with_short_key`]; `None` without a key or
    /// without words.
    pub short: Option<ShortSketch>,
    /// Primary subtag in lower case; empty if nothing states a language.
    pub language: String,
    pub canonical: Option<String>,
}

impl Fingerprinter {
    /// Makes the signature of a document.
    ///
    /// # Errors
    ///
    /// The body is neither HTML nor text.
    pub fn document(&mut self, document: &Document<'_>) -> Result<SignedPage<'_>, PageError> {
        self.own_document(document, |_| None)
    }

    /// As [`document`](Self::document), for a document that is compared by a part of its text. If
    /// `own` returns a text, fingerprint and sketches are made from it. The content hash remains
    /// that of the whole page.
    ///
    /// # Errors
    ///
    /// The body is neither HTML nor text.
    pub fn own_document(
        &mut self,
        document: &Document<'_>,
        own: impl FnOnce(&str) -> Option<String>,
    ) -> Result<SignedPage<'_>, PageError> {
        let page = self.extractor.document(document)?;
        let own = own(&page.text);
        let text = own.as_deref().unwrap_or(&page.text);
        let weights = self.weights.as_deref();
        let mut signature = self.maker.signature(text, &self.recipe, weights, self.keyed.as_mut());
        let (keyed, short) = self.keyed.as_mut().map(KeyedMaker::sketches).unwrap_or_default();
        let few = ContentHash::of_few_words(page, self.recipe.extent, signature.words);
        signature.content = few.unwrap_or(signature.content);
        signature.hidden_bytes = page.hidden_bytes;
        signature.hides_most = page.hides_most();
        let (mut language, canonical) = document.stated();
        if let Some(marked) = page.language.as_deref().filter(|_| language.is_empty()) {
            language = primary_language(marked);
        }
        let canonical = canonical.or_else(|| page.canonical.clone());
        Ok(SignedPage { page, signature, keyed, short, language, canonical })
    }

    /// Extracts the text as for a signature.
    pub fn extract(&mut self, document: &Document<'_>) -> Result<&Page, PageError> {
        self.extractor.document(document)
    }
}

impl Document<'_> {
    /// Language and canonical address as stated by the source and the HTTP headers.
    pub fn stated(&self) -> (String, Option<String>) {
        let languages = [self.language, self.http_language].into_iter().flatten();
        let language = languages.map(primary_language).find(|it| !it.is_empty());
        let linked = || canonical_link(self.http_link?, self.url?);
        let canonical = self.canonical.map(str::to_owned).or_else(linked);
        (language.unwrap_or_default(), canonical)
    }
}

/// The first language of a list, without region and script, in lower case.
pub fn primary_language(stated: &str) -> String {
    let first = stated.split(',').next().unwrap_or_default().trim();
    first.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase()
}

/// The target of `Link: <…>; rel="canonical"`, absolute.
fn canonical_link(value: &str, base: &str) -> Option<String> {
    let is_canonical = |parameters: &str| {
        parameters.split(';').any(|parameter| {
            let Some((name, value)) = parameter.split_once('=') else { return false };
            let mut relations = value.trim().trim_matches('"').split_whitespace();
            name.trim().eq_ignore_ascii_case("rel")
                && relations.any(|relation| relation.eq_ignore_ascii_case("canonical"))
        })
    };
    value.split('<').skip(1).find_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        let absolute = || Some(Url::parse(base).ok()?.join(target.trim()).ok()?.into());
        is_canonical(parameters.trim_end().trim_end_matches(',')).then(absolute)?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Recipe;
    use crate::page::{Body, Extent};

    fn fingerprinter() -> Fingerprinter {
        Fingerprinter::new(Recipe::built_in("web-2").unwrap(), None).unwrap()
    }

    const HTML: &str = "<html lang=fr-CA><link rel=canonical href=/tea><p>Green <b>tea</b>";

    #[test]
    fn the_source_beats_the_header_and_the_header_beats_the_markup() {
        let mut by = fingerprinter();
        let mut document = Document { url: Some("http://a/x"), ..Document::new(Body::Html(HTML)) };
        let mut decided = |document: &Document<'_>| {
            let signed = by.document(document).unwrap();
            (signed.language, signed.canonical.unwrap())
        };
        assert_eq!(decided(&document), ("fr".to_owned(), "http://a/tea".to_owned()));
        document.http_language = Some("de-AT, en");
        document.http_link = Some("</green-tea>; rel=canonical");
        assert_eq!(decided(&document), ("de".to_owned(), "http://a/green-tea".to_owned()));
        (document.language, document.canonical) = (Some("ES_mx"), Some("http://b/te"));
        assert_eq!(decided(&document), ("es".to_owned(), "http://b/te".to_owned()));
        document.language = Some("");
        assert_eq!(decided(&document).0, "de");
    }

    #[test]
    fn the_form_of_the_body_does_not_change_the_signature() {
        let mut by = fingerprinter();
        let decoded = by.document(&Document::new(Body::Html(HTML))).unwrap().signature;
        let bytes = Document {
            content_type: Some("text/html; charset=utf-8"),
            ..Document::new(Body::Bytes(HTML.as_bytes()))
        };
        assert_eq!(by.document(&bytes).unwrap().signature, decoded);
        assert_eq!(
            by.document(&Document::new(Body::Text("Green tea"))).unwrap().page.text,
            "Green tea"
        );
        assert_eq!(by.html(HTML).unwrap(), decoded);
        assert!(by.document(&Document::new(Body::Bytes(b"%PDF-1.4 \0\x01"))).is_err());
    }

    #[test]
    fn hidden_text_is_counted_and_left_out_of_the_signature() {
        let mut by = fingerprinter();
        let hiding = by.html("<p>Green tea<p hidden>white tea and black tea").unwrap();
        assert_eq!((hiding.hidden_bytes, hiding.hides_most), (19, true));
        let plain = by.html("<p>Green tea").unwrap();
        assert_eq!(
            (plain.content, plain.comparable, plain.hidden_bytes),
            (hiding.content, hiding.comparable, 0)
        );
    }

    #[test]
    fn few_words_are_a_copy_only_with_the_same_title_and_addresses() {
        let content = |extent: Extent, html: &str| {
            let recipe = Recipe { extent, ..Recipe::built_in("web-2").unwrap() };
            Fingerprinter::new(recipe, None).unwrap().html(html).unwrap().content
        };
        let page = |title: &str, words: &str, address: &str| {
            format!("<title>{title}</title><p>{words} http://{address}/x.")
        };
        for extent in [Extent::Page, Extent::MainContent] {
            let of = |title, words, address| content(extent, &page(title, words, address));
            let few = of("Moved", "see", "a.test");
            assert_eq!(few, of("Moved", "see", "a.test"), "{extent:?}");
            assert_ne!(few, of("Moved", "see", "b.test"), "{extent:?}");
            assert_ne!(few, of("Gone", "see", "a.test"), "{extent:?}");
            let six = "one two three four five six";
            assert_eq!(of("Moved", six, "a.test"), of("Moved", six, "b.test"), "{extent:?}");
        }
    }

    #[test]
    fn the_canonical_link_of_a_header_is_found_among_others() {
        let value = r#"</style.css>; rel=preload, </tea>; rel="nofollow canonical"; title="x""#;
        assert_eq!(canonical_link(value, "http://a/b/c").as_deref(), Some("http://a/tea"));
        assert_eq!(canonical_link("</tea>; rel=next", "http://a/"), None);
        assert_eq!(canonical_link("<<<>>>;rel=canonical<", "no base"), None);
    }
}
