//! Turns a document into its signature and facts.
//!
//! HTML and text are signed by the recipe. Other content, such as an image or a PDF in an archive, is
//! identified by its bytes alone.

use std::borrow::Cow;
use std::sync::Arc;

use hapax::fingerprint::document::primary_language;
use hapax::fingerprint::{ContentHash, Fingerprint, Fingerprinter, Signature, SignedPage, Sketch};
use hapax::frame::{Piece, PieceCutter};
use hapax::group::{Scope, ScopeFacts};
use hapax::page::{Body, Document as Known, PageError};
use hapax_corpus::{Content, Document, Kind};

use crate::frames::HostFrames;
use crate::options::{Frames, Options};
use crate::pages::{NewPage, Status};

/// Makes signatures; one per thread.
pub(crate) struct Signer {
    fingerprinter: Fingerprinter,
    scope: Scope,
    /// Primary subtags; empty for all languages.
    languages: Vec<String>,
    hides_most: bool,
    /// Pieces of the last signed page; `None` if frames are off.
    pieces: Option<Vec<Piece>>,
    cutter: PieceCutter,
    /// The frames of all hosts, if own texts alone decide.
    frames: Option<Arc<HostFrames>>,
}

impl Signer {
    /// With `all` frames given, signs own texts.
    pub(crate) fn new(options: &Options, all: Option<Arc<HostFrames>>) -> Self {
        let Options { fingerprinter, scope, languages, frames, .. } = options;
        Self {
            fingerprinter: fingerprinter.clone(),
            scope: scope.clone(),
            languages: languages.iter().map(|it| primary_language(it)).collect(),
            hides_most: false,
            pieces: (*frames == Frames::On).then(Vec::new),
            cutter: PieceCutter::default(),
            frames: all,
        }
    }

    /// Whether the last signed page has more hidden than visible text.
    pub(crate) fn hides_most(&self) -> bool {
        self.hides_most
    }

    /// Pieces of the last signed page; `None` if frames are off.
    pub(crate) fn pieces(&self) -> Option<&[Piece]> {
        self.pieces.as_deref()
    }

    pub(crate) fn page(&mut self, document: &Document<'_>) -> NewPage {
        let url = document.url.as_deref().unwrap_or_default();
        let mut alone = false;
        let own = |text: &str| {
            let own = self.frames.as_ref()?.own_text(url, text);
            alone = own.is_some();
            own
        };
        let signed = known(document).and_then(|it| self.fingerprinter.own_document(&it, own));
        self.hides_most = signed.as_ref().is_ok_and(|signed| signed.signature.hides_most);
        if let Some(out) = &mut self.pieces {
            let text = signed.as_ref().map_or("", |signed| &signed.page.text);
            self.cutter.pieces(if url.is_empty() { "" } else { text }, out);
        }
        let (canonical, language) = match &signed {
            Ok(signed) => (signed.canonical.clone(), signed.language.clone()),
            Err(_) => (None, primary_language(document.language.as_deref().unwrap_or_default())),
        };
        let wanted =
            self.languages.is_empty() || language.is_empty() || self.languages.contains(&language);
        let field = match &self.scope {
            Scope::Field(name) => document.field(name).unwrap_or_default(),
            Scope::None | Scope::Host | Scope::Domain | Scope::Language => String::new(),
        };
        let facts = ScopeFacts { url, language: &language, field: &field };
        let scope = self.scope.key(&facts);
        let mut page = NewPage {
            id: document.id.to_string(),
            url: url.to_owned(),
            canonical: canonical.filter(|_| !url.is_empty()),
            content: ContentHash::from_bytes([0; 16]),
            status: Status::NotText,
            fingerprint: Fingerprint::from_bits(0),
            sketch: Sketch::from_bytes(&[0; 128]),
            short: None,
            score: document.score,
            fetched: document.fetched.map(|it| it.seconds()),
            words: 0,
            scope,
            alone,
        };
        match signed {
            Ok(signed) => {
                page.short = signed.short;
                fill(&mut page, &signed.signature, signed.page.text.is_empty());
            }
            Err(_) => page.content = hash_of_bytes(document.body.content.as_bytes()),
        }
        if !wanted {
            page.status = Status::OtherLanguage;
            page.sketch = Sketch::from_bytes(&[0; 128]);
            page.short = None;
        }
        page
    }
}

/// Wraps a corpus document for the engine.
///
/// # Errors
///
/// The document is neither HTML nor text.
pub fn known<'d>(document: &'d Document<'_>) -> Result<Known<'d>, PageError> {
    let stated = document.content_type.as_deref();
    let (body, assumed) = match (&document.body.content, document.body.kind) {
        (_, Kind::Other) => {
            let found = Cow::Owned(stated.unwrap_or("other").to_owned());
            return Err(PageError::Unsupported { found });
        }
        (Content::Str(text), Kind::Html) => (Body::Html(text), "text/html"),
        (Content::Str(text), Kind::Text) => (Body::Text(text), "text/plain"),
        (Content::Bytes(bytes), Kind::Html) => (Body::Bytes(bytes), "text/html"),
        (Content::Bytes(bytes), Kind::Text) => (Body::Bytes(bytes), "text/plain"),
    };
    Ok(Known {
        url: document.url.as_deref(),
        content_type: stated.or(Some(assumed)),
        language: document.language.as_deref(),
        http_language: document.http_language.as_deref(),
        http_link: document.http_link.as_deref(),
        ..Known::new(body)
    })
}

/// The signature of a corpus document.
///
/// # Errors
///
/// The document is neither HTML nor text.
pub fn sign<'f>(
    fingerprinter: &'f mut Fingerprinter,
    document: &Document<'_>,
) -> Result<SignedPage<'f>, PageError> {
    fingerprinter.document(&known(document)?)
}

fn fill(page: &mut NewPage, signature: &Signature, empty: bool) {
    page.content = signature.content;
    page.words = signature.words;
    page.status = match &signature.comparable {
        _ if empty => Status::Empty,
        None => Status::NoWords,
        Some(_) if signature.too_short => Status::TooShort,
        Some(_) => Status::Comparable,
    };
    if let Some(comparable) = &signature.comparable {
        page.fingerprint = comparable.fingerprint;
        page.sketch = comparable.sketch;
    }
}

/// A hash that no text has, because bytes must not match texts.
pub(crate) fn hash_of_bytes(bytes: &[u8]) -> ContentHash {
    let mut hasher = blake3::Hasher::new_derive_key("hapax-dedup: bytes that are no text");
    hasher.update(bytes);
    let mut hash = [0; 16];
    hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    ContentHash::from_bytes(hash)
}
