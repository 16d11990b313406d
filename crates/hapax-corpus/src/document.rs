//! The contents of a corpus: documents, facts about addresses, and other records.
//!
//! A document borrows from the batch it was read from where the format allows it, so that reading copies only
//! what it decodes. [`Document::into_owned`] removes the borrow. Does not know how documents are used: an image
//! in an archive is a document, too; see its [`Kind`].

use std::borrow::Cow;
use std::fmt;

use crate::error::Error;
use crate::original::Original;
use crate::timestamp::Timestamp;

/// A file of a source, by its position in reading order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// The place of a document, with which [`Source::read_at`](crate::Source::read_at) can read it
/// again.
///
/// Ordered like the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub file: FileId,
    /// Line, row or record of the file, from 1.
    pub number: u64,
    /// Offset of the gzip member or Zstandard frame in the file; 0 without one.
    pub member: u64,
    /// Offset of the record in the unpacked member, or in the file without one.
    pub within: u64,
    /// Length of the unpacked record in bytes; 0 for a row.
    pub length: u32,
}

#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// The id field or the URL, or else file and line. The same in every run over the same files;
    /// not necessarily unique.
    pub id: Cow<'a, str>,
    /// The document's address.
    pub url: Option<Cow<'a, str>>,
    pub body: Body<'a>,
    /// As stated by the archive or the server, with parameters: `text/html; charset=koi8-r`.
    pub content_type: Option<Cow<'a, str>>,
    /// Quality; larger is better.
    pub score: Option<f64>,
    pub fetched: Option<Timestamp>,
    /// As stated by the corpus.
    pub language: Option<Cow<'a, str>>,
    /// `Content-Language` of the archived HTTP response.
    pub http_language: Option<Cow<'a, str>>,
    /// `Link` of the archived HTTP response.
    pub http_link: Option<Cow<'a, str>>,
    pub place: Place,
    /// The record it was read from, for writing it unchanged and for looking up other fields.
    pub original: Original<'a>,
}

/// The kind of a body, according to the archive or its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Html,
    Text,
    /// Other content: images, PDF, archives.
    Other,
}

/// The content of a document.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    pub kind: Kind,
    pub content: Content<'a>,
}

/// Characters, if the format has them, or bytes of unknown charset.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// Known to be Unicode, whatever a meta tag inside states.
    Str(Cow<'a, str>),
    /// Bytes as sent by the server.
    Bytes(Cow<'a, [u8]>),
}

/// A statement of an archive about two addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The server redirected a request for `from` to `to`.
    Redirect {
        /// The requested address.
        from: String,
        /// The target, absolute.
        to: String,
        place: Place,
    },
    /// The content at `from` is the one already stored for `to`.
    Revisit {
        /// The requested address.
        from: String,
        /// The address whose record has the content.
        to: String,
        place: Place,
    },
}

/// Why a record is not a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A record about other records: warcinfo, request, metadata, the head of an ARC file.
    NotAPage,
    /// A revisit record that names no other address.
    Revisit,
    /// The server answered with this status.
    Status(u16),
    /// A continuation of a segmented record.
    Continuation,
    /// An empty line of a JSONL or text file.
    Blank,
    /// A row or object whose page or text is null.
    NoBody,
}

/// The result of decoding one record.
#[derive(Debug)]
pub enum Entry<'a> {
    Document(Document<'a>),
    /// A statement about addresses.
    Fact(Fact),
    /// Neither, and not an error.
    Passed {
        reason: Reason,
        place: Place,
        /// Its id or address, if it states one.
        name: Option<Cow<'a, str>>,
    },
    /// Damaged records; only with [`skip_bad`](crate::ReadOptions::skip_bad).
    Bad(Bad),
}

/// Damaged records of one file with the same kind of error.
///
/// Of a batch, the first [`Batch::BAD_SHOWN`](crate::Batch::BAD_SHOWN) of a kind come one by one and the others
/// together at its end, because a bad line of two bytes has an error of hundreds.
#[derive(Debug)]
pub struct Bad {
    /// The error of the first record.
    pub error: Error,
    /// Number of records, at least 1.
    pub records: u64,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        match self.records {
            1 => Ok(()),
            more => write!(f, "; this and {} later records are bad in this way", more - 1),
        }
    }
}

impl Entry<'_> {
    /// Number of records that it stands for.
    pub fn records(&self) -> u64 {
        match self {
            Self::Bad(bad) => bad.records,
            Self::Document(_) | Self::Fact(_) | Self::Passed { .. } => 1,
        }
    }
}

impl Fact {
    /// The requested address, and the one that has the content.
    pub fn addresses(&self) -> (&str, &str) {
        match self {
            Self::Redirect { from, to, .. } | Self::Revisit { from, to, .. } => (from, to),
        }
    }
}

impl Content<'_> {
    /// The bytes; characters as UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    fn into_owned(self) -> Content<'static> {
        match self {
            Self::Str(text) => Content::Str(Cow::Owned(text.into_owned())),
            Self::Bytes(bytes) => Content::Bytes(Cow::Owned(bytes.into_owned())),
        }
    }
}

impl<'a> Body<'a> {
    pub fn str(kind: Kind, text: impl Into<Cow<'a, str>>) -> Self {
        Self { kind, content: Content::Str(text.into()) }
    }

    /// Bytes from a server; their kind follows from the content type or, without one, from the
    /// first bytes.
    pub(crate) fn from_server(content_type: Option<&str>, bytes: Cow<'a, [u8]>) -> Self {
        let kind = kind_of(content_type, &bytes);
        Self { kind, content: Content::Bytes(bytes) }
    }
}

impl Document<'_> {
    /// The same document without borrows.
    pub fn into_owned(self) -> Document<'static> {
        Document {
            id: Cow::Owned(self.id.into_owned()),
            url: self.url.map(|url| Cow::Owned(url.into_owned())),
            body: Body { kind: self.body.kind, content: self.body.content.into_owned() },
            content_type: self.content_type.map(|it| Cow::Owned(it.into_owned())),
            score: self.score,
            fetched: self.fetched,
            language: self.language.map(|it| Cow::Owned(it.into_owned())),
            http_language: self.http_language.map(|it| Cow::Owned(it.into_owned())),
            http_link: self.http_link.map(|it| Cow::Owned(it.into_owned())),
            place: self.place,
            original: self.original.into_owned(),
        }
    }

    /// Any field of the original record by name: a JSON member, a column, a WARC header. Strings as
    /// they are, other values as JSON.
    pub fn field(&self, name: &str) -> Option<String> {
        self.original.field(name)
    }
}

fn kind_of(content_type: Option<&str>, bytes: &[u8]) -> Kind {
    let stated = content_type.map(|it| it.split(';').next().unwrap_or_default().trim());
    match stated.map(str::to_ascii_lowercase).as_deref() {
        Some("text/html" | "application/xhtml+xml") => Kind::Html,
        Some("text/plain" | "text/markdown") => Kind::Text,
        None | Some("" | "application/octet-stream" | "unknown/unknown" | "no-type" | "unk") => {
            by_first_bytes(bytes)
        }
        Some(_) => Kind::Other,
    }
}

/// Bytes of a file or body that decide what it is.
pub(crate) const LOOKED_AT: usize = 4096;

/// Looks at the place of a page's first tag.
pub(crate) fn by_first_bytes(bytes: &[u8]) -> Kind {
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let tag = head.to_ascii_lowercase();
    let first = after_prolog(&tag);
    let is = |known: &[&[u8]]| known.iter().any(|tag| begins(first, tag));
    let page = [&b"<!doctype html"[..], b"<html", b"<head", b"<body"];
    let is_page = match &*tag {
        // Of XML, only these two are pages.
        [b'<', b'?', ..] => tag.starts_with(b"<?xml") && is(&page[..2]),
        // A comment may be too long to see what follows it.
        _ => is(&page) || first.starts_with(b"<!--"),
    };
    if is_page {
        Kind::Html
    } else if head.iter().take(1024).any(|byte| *byte < 0x20 && !byte.is_ascii_whitespace()) {
        Kind::Other
    } else {
        Kind::Text
    }
}

/// Whether the first tag is this one, and not one whose name merely begins so.
fn begins(bytes: &[u8], tag: &[u8]) -> bool {
    let after = bytes.strip_prefix(tag).map(<[u8]>::first);
    after
        .is_some_and(|it| it.is_none_or(|it| it.is_ascii_whitespace() || matches!(it, b'>' | b'/')))
}

/// What comes after XML declarations, processing instructions, comments and white space, or the first of them
/// that does not end.
fn after_prolog(mut bytes: &[u8]) -> &[u8] {
    loop {
        bytes = bytes.trim_ascii_start();
        let end: &[u8] = match bytes {
            [b'<', b'?', ..] => b"?>",
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            _ => return bytes,
        };
        match memchr::memmem::find(bytes, end) {
            Some(at) => bytes = &bytes[at + end.len()..],
            None => return bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_type_wins_and_a_missing_one_is_seen() {
        assert_eq!(kind_of(Some("Text/HTML; charset=x"), b"plain"), Kind::Html);
        assert_eq!(kind_of(Some("image/png"), b"<html>"), Kind::Other);
        assert_eq!(kind_of(None, b"\n <!DOCTYPE HTML>"), Kind::Html);
        assert_eq!(kind_of(None, b"<?xml version='1.0'?><html>"), Kind::Html);
        assert_eq!(kind_of(Some(""), b"plain words"), Kind::Text);
        let prolog = "\u{feff}\n <?xml version=\"1.0\"?>\n<!-- saved <p> -->\n<?xml-stylesheet?>\n";
        for page in ["<!DOCTYPE html PUBLIC \"x\">", "<html xmlns=\"x\">"] {
            assert_eq!(kind_of(None, format!("{prolog}{page}").as_bytes()), Kind::Html, "{page}");
        }
        let long = format!("<!-- {} -->", "licence ".repeat(LOOKED_AT));
        for page in ["<!-- saved --><html lang=en>", "<!---->\n<!doctype html>", "<head/>", &long] {
            assert_eq!(kind_of(None, page.as_bytes()), Kind::Html, "{page}");
        }
        for other in [
            "<header>",
            "<headlines>",
            "<bodyparts>",
            "<html-like>",
            "<!doctype htmlish>",
            "<?xml version='1.0'?><htmlish>",
            "<?xml version='1.0'?><body>",
            "<!-- drawn --><svg xmlns='x'>",
            "<!-- a feed -->\n<rss>",
        ] {
            assert_eq!(kind_of(None, other.as_bytes()), Kind::Text, "{other}");
        }
        let feed = format!("{prolog}<rss><![CDATA[<html>]]></rss>");
        assert_eq!(kind_of(None, feed.as_bytes()), Kind::Text);
        assert_eq!(kind_of(None, b"\x89PNG\r\n\x1a\n\0\0"), Kind::Other);
    }

    #[test]
    fn a_place_is_small_enough_to_keep_for_every_document() {
        assert_eq!(size_of::<Place>(), 32);
    }
}
