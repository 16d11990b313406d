//! From a document to what is remembered of it.
//!
//! HTML and text are purified and fingerprinted by the recipe. What is neither, an image or a
//! PDF in an archive, is known by its bytes alone.

use std::borrow::Cow;

use hapax::fingerprint::{ContentHash, Fingerprint, Fingerprinter, Imprint, Sketch};
use hapax::group::{Scope, ScopeFacts};
use hapax::page::{Hints, Page, PageError, Purifier, PurifyOptions};
use hapax_corpus::{Content, Document, Kind};

use crate::options::Options;
use crate::pages::{NewPage, Standing};

/// Makes imprints; one for each thread.
pub(crate) struct Imprinter {
    purifier: Purifier,
    fingerprinter: Fingerprinter,
    scope: Scope,
    /// Lower-case primary tags; empty for all.
    languages: Vec<String>,
}

impl Imprinter {
    pub(crate) fn new(options: &Options) -> Self {
        let Options { fingerprinter, scope, languages, .. } = options;
        let extent = fingerprinter.recipe().extent;
        let purify = PurifyOptions { extent, ..PurifyOptions::default() };
        Self {
            purifier: Purifier::new(purify),
            fingerprinter: fingerprinter.clone(),
            scope: scope.clone(),
            languages: languages.iter().map(|it| primary(it).to_ascii_lowercase()).collect(),
        }
    }

    pub(crate) fn page(&mut self, document: &Document<'_>) -> NewPage {
        let url = document.url.as_deref().unwrap_or_default();
        let purified = purify(&mut self.purifier, document);
        let (canonical, stated_language) = match &purified {
            Ok(page) => (page.canonical.clone(), page.language.as_deref()),
            Err(_) => (None, None),
        };
        let language = document.language.as_deref().or(stated_language);
        let wanted = self.languages.is_empty()
            || language.is_none_or(|language| {
                self.languages.iter().any(|it| primary(language).eq_ignore_ascii_case(it))
            });
        let scope = match &self.scope {
            Scope::None => self.scope.key(&ScopeFacts::default()),
            Scope::Host | Scope::Domain => {
                self.scope.key(&ScopeFacts { url, ..ScopeFacts::default() })
            }
            Scope::Language => {
                let language = primary(language.unwrap_or_default());
                self.scope.key(&ScopeFacts { language, ..ScopeFacts::default() })
            }
            Scope::Field(name) => {
                let field = document.field(name).unwrap_or_default();
                self.scope.key(&ScopeFacts { field: &field, ..ScopeFacts::default() })
            }
        };
        let mut page = NewPage {
            id: document.id.to_string(),
            url: url.to_owned(),
            canonical: canonical.filter(|_| !url.is_empty()),
            content: ContentHash::from_bytes([0; 16]),
            standing: Standing::NotText,
            fingerprint: Fingerprint::from_bits(0),
            sketch: Sketch::from_bytes(&[0; 128]),
            score: document.score,
            fetched: document.fetched.map(|it| it.seconds()),
            words: 0,
            scope,
        };
        match purified {
            Ok(purified) => {
                let imprint = self.fingerprinter.purified(purified);
                let empty = purified.text.is_empty();
                fill(&mut page, &imprint, empty);
            }
            Err(_) => page.content = hash_of_bytes(document.body.content.as_bytes()),
        }
        if !wanted {
            page.standing = Standing::OtherLanguage;
            page.sketch = Sketch::from_bytes(&[0; 128]);
        }
        page
    }
}

/// The text of a document and what its markup states.
pub(crate) fn purify<'p>(
    purifier: &'p mut Purifier,
    document: &Document<'_>,
) -> Result<&'p Page, PageError> {
    let body = &document.body;
    let stated = match body.kind {
        Kind::Html => "text/html",
        Kind::Text => "text/plain",
        Kind::Other => {
            return Err(PageError::Unsupported {
                found: Cow::Owned(document.content_type.as_deref().unwrap_or("other").to_owned()),
            });
        }
    };
    let hints = Hints {
        content_type: Some(document.content_type.as_deref().unwrap_or(stated)),
        url: document.url.as_deref(),
    };
    match (&body.content, body.kind) {
        (Content::Str(text), Kind::Html) => purifier.purify_html(text, &hints),
        (Content::Str(text), Kind::Text | Kind::Other) => purifier.purify_text(text),
        (Content::Bytes(bytes), _) => purifier.purify(bytes, &hints),
    }
}

fn fill(page: &mut NewPage, imprint: &Imprint, empty: bool) {
    page.content = imprint.content;
    page.words = imprint.words;
    page.standing = match &imprint.mark {
        _ if empty => Standing::Empty,
        None => Standing::NoWords,
        Some(_) if imprint.too_short => Standing::TooShort,
        Some(_) => Standing::Judged,
    };
    if let Some(mark) = &imprint.mark {
        page.fingerprint = mark.fingerprint;
        page.sketch = mark.sketch;
    }
}

/// `de` of `de-AT`.
fn primary(language: &str) -> &str {
    language.split(['-', '_']).next().unwrap_or(language)
}

/// A hash that no text has: bytes are not compared with texts.
pub(crate) fn hash_of_bytes(bytes: &[u8]) -> ContentHash {
    let mut hasher = blake3::Hasher::new_derive_key("hapax-dedup: bytes that are no text");
    hasher.update(bytes);
    let mut hash = [0; 16];
    hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    ContentHash::from_bytes(hash)
}
