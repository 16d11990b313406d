//! What a corpus is made of: documents, facts about addresses, and the rest.
//!
//! A document borrows from the batch it was read from wherever the format allows it, so that
//! reading copies nothing that is not decoded. [`Document::into_owned`] cuts the tie.
//!
//! Nothing here knows what documents are used for. An image in an archive is a document too; its
//! [`Kind`] says so.

use std::borrow::Cow;

use crate::error::Error;
use crate::original::Original;
use crate::timestamp::Timestamp;

/// Which of a source's files, by its position in the order of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Where a document lies, enough to fetch it again with [`Source::read_at`](crate::Source::read_at).
///
/// Ordered as the documents are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub file: FileId,
    /// Which line, row or record of the file, from 1.
    pub number: u64,
    /// Where the gzip member or Zstandard frame begins in the file; 0 where there is none.
    pub member: u64,
    /// How many (unpacked) bytes into the member, or into the file where there is none.
    pub within: u64,
    /// How many (unpacked) bytes the record has; 0 for a row.
    pub length: u32,
}

#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// The id field or the URL, and where there is neither the file and the line. The same in
    /// every run over the same files; whether it is unique is up to the corpus.
    pub id: Cow<'a, str>,
    /// Where it comes from.
    pub url: Option<Cow<'a, str>>,
    pub body: Body<'a>,
    /// As the archive or the server states it, with parameters: `text/html; charset=koi8-r`.
    pub content_type: Option<Cow<'a, str>>,
    /// How much it is worth; larger is better.
    pub score: Option<f64>,
    pub fetched: Option<Timestamp>,
    /// As the corpus states it.
    pub language: Option<Cow<'a, str>>,
    /// `Content-Language` of the archived HTTP response.
    pub http_language: Option<Cow<'a, str>>,
    /// `Link` of the archived HTTP response.
    pub http_link: Option<Cow<'a, str>>,
    pub place: Place,
    /// The record it was read from, for writing it out as it was and for looking up other fields.
    pub original: Original<'a>,
}

/// What a body is, as far as its archive says or its first bytes show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Html,
    Text,
    /// Anything else: images, PDF, archives.
    Other,
}

/// The content of a document.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    pub kind: Kind,
    /// The bytes or characters.
    pub content: Content<'a>,
}

/// Characters where the format has them, otherwise bytes whose charset is yet to be found.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// Known to be Unicode, whatever a meta tag inside may claim.
    Str(Cow<'a, str>),
    /// As the server sent them.
    Bytes(Cow<'a, [u8]>),
}

/// What an archive says about two addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A server answered a request for `from` by naming `to`.
    Redirect {
        /// The address that was asked for.
        from: String,
        /// The address it leads to, absolute.
        to: String,
        place: Place,
    },
    /// The crawler found at `from` what it had already stored for `to`.
    Revisit {
        /// The address that was asked for.
        from: String,
        /// The address whose record holds the content.
        to: String,
        place: Place,
    },
}

/// Why a record is not a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A record about records: warcinfo, request, metadata, the head of an ARC file.
    NotAPage,
    /// A revisit record that does not say of which address, or of its own.
    Revisit,
    /// The server answered with this status.
    Status(u16),
    /// A later piece of a segmented record.
    Continuation,
    /// An empty line of a JSONL or text file.
    Blank,
    /// A row or object whose page or text is null.
    NoBody,
}

/// What one record of a corpus turns out to be.
#[expect(clippy::large_enum_variant, reason = "nearly every record is a document")]
#[derive(Debug)]
pub enum Entry<'a> {
    Document(Document<'a>),
    /// Something about addresses.
    Fact(Fact),
    /// Neither, and nothing is wrong with that.
    Passed {
        reason: Reason,
        place: Place,
        /// Its id or address, where it states one.
        name: Option<Cow<'a, str>>,
    },
    /// Damaged; only with [`skip_bad`](crate::ReadOptions::skip_bad).
    Bad(Error),
}

impl Fact {
    /// Both addresses: the one that was asked for, and the one that stands for it.
    pub fn addresses(&self) -> (&str, &str) {
        match self {
            Self::Redirect { from, to, .. } | Self::Revisit { from, to, .. } => (from, to),
        }
    }
}

impl Content<'_> {
    /// The bytes, in UTF-8 where they are characters.
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

    /// Bytes as a server sent them, their kind from the content type and, where that says nothing,
    /// from the first bytes.
    pub(crate) fn from_server(content_type: Option<&str>, bytes: Cow<'a, [u8]>) -> Self {
        let kind = kind_of(content_type, &bytes);
        Self { kind, content: Content::Bytes(bytes) }
    }
}

impl Document<'_> {
    /// The same document with nothing borrowed.
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

    /// Any field of the original record by name: a JSON member, a column, a WARC header.
    /// Strings come as they are, numbers and the rest as JSON would write them.
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

/// Looks where a page's first tag would be.
pub(crate) fn by_first_bytes(bytes: &[u8]) -> Kind {
    let head = &bytes[..bytes.len().min(1024)];
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let tag = head.to_ascii_lowercase();
    let html = [&b"<!doctype html"[..], b"<html", b"<head", b"<body", b"<!--"];
    if html.iter().any(|start| tag.starts_with(start)) {
        return Kind::Html;
    }
    let xhtml = tag.starts_with(b"<?xml") && memchr::memmem::find(&tag, b"<html").is_some();
    if xhtml {
        Kind::Html
    } else if head.iter().any(|byte| *byte < 0x20 && !byte.is_ascii_whitespace()) {
        Kind::Other
    } else {
        Kind::Text
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
        assert_eq!(kind_of(None, b"\x89PNG\r\n\x1a\n\0\0"), Kind::Other);
    }

    #[test]
    fn a_place_is_small_enough_to_keep_for_every_document() {
        assert_eq!(size_of::<Place>(), 32);
    }
}
