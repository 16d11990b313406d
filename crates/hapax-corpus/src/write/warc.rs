//! Writes WARC records of the kept documents.
//!
//! A record read from WARC is written byte for byte; if input and output have the same compression and the
//! record has its own gzip member or Zstandard frame, that member is copied as it is. An ARC record becomes a
//! WARC 1.1 `response`, other formats a `resource`, with ids made from content and place, equal in every run.
//! Does not copy warcinfo, request and metadata records.
//!
//! Format: ISO 28500:2017.

use std::io::{self, Read, SeekFrom};
use std::sync::Arc;

use super::file::pack;
use super::{Kept, revisit};
use crate::document::{Content, Document, FileId, Kind};
use crate::error::Error;
use crate::origin::Seekable;
use crate::original::{Archived, Original};
use crate::source::{Files, Source};
use crate::unpack::Packing;

/// Makes records, each compressed separately.
pub(super) struct Records {
    packing: Packing,
    input: Option<Arc<Files>>,
    /// The input file that was copied from last.
    open: Option<(FileId, Box<dyn Seekable>)>,
}

impl Records {
    /// Copies compressed members from the files of `source`, which the documents must come from;
    /// without it, compresses them again.
    pub(super) fn new(packing: Packing, source: Option<&Source>) -> Self {
        Self { packing, input: source.map(|source| Arc::clone(&source.files)), open: None }
    }

    /// Appends the record of a document.
    pub(super) fn record(
        &mut self,
        out: &mut Vec<u8>,
        document: &Document<'_>,
    ) -> Result<(), Error> {
        match &document.original {
            Original::Warc(record) => {
                if self.copy_member(out, document.place.file, record)? {
                    return Ok(());
                }
                let mut bytes = record.bytes.to_vec();
                bytes.extend_from_slice(b"\r\n\r\n");
                self.put(out, &bytes)
            }
            Original::Arc(record) => {
                let kind = "application/http; msgtype=response";
                self.put(out, &new_record("response", document, kind, record.block()))
            }
            Original::File | Original::Nothing | Original::Json(_) | Original::Row(_) => {
                let kind = content_type(document);
                let body = document.body.content.as_bytes();
                self.put(out, &new_record("resource", document, &kind, body))
            }
        }
    }

    /// Appends a record about a document that was left out.
    pub(super) fn removed(
        &self,
        out: &mut Vec<u8>,
        removed: &Document<'_>,
        kept: &Kept<'_>,
    ) -> Result<(), Error> {
        self.put(out, &revisit::record(removed, kept))
    }

    fn put(&self, out: &mut Vec<u8>, record: &[u8]) -> Result<(), Error> {
        if self.packing == Packing::Plain {
            out.extend_from_slice(record);
        } else {
            out.extend(pack(self.packing, record).map_err(|e| Error::io("pack", "a record", e))?);
        }
        Ok(())
    }

    /// `true` if the record's own member could be copied.
    fn copy_member(
        &mut self,
        out: &mut Vec<u8>,
        file: FileId,
        record: &Archived<'_>,
    ) -> Result<bool, Error> {
        let Some((offset, length)) = record.packed else { return Ok(false) };
        let Some(origin) = self.input.as_ref().and_then(|files| files.origin(file)) else {
            return Ok(false);
        };
        let cannot_read = |cause: io::Error| Error::io("read", origin.name(), cause);
        if self.open.as_ref().is_none_or(|(open, _)| *open != file) {
            self.open = Some((file, origin.open().map_err(cannot_read)?));
        }
        let Some((_, input)) = &mut self.open else { return Ok(false) };
        input.seek(SeekFrom::Start(offset)).map_err(cannot_read)?;
        let before = out.len();
        let read = input.by_ref().take(length).read_to_end(out).map_err(cannot_read)?;
        let whole = read as u64 == length && Packing::of(&out[before..]) == self.packing;
        if !whole {
            out.truncate(before);
        }
        Ok(whole)
    }
}

fn content_type(document: &Document<'_>) -> String {
    let charset = match document.body.content {
        Content::Str(_) => "; charset=utf-8",
        Content::Bytes(_) => "",
    };
    match (&document.content_type, document.body.kind) {
        (Some(stated), _) => one_line(stated),
        (None, Kind::Html) => format!("text/html{charset}"),
        (None, Kind::Text) => format!("text/plain{charset}"),
        (None, Kind::Other) => "application/octet-stream".to_owned(),
    }
}

fn new_record(kind: &str, document: &Document<'_>, content_type: &str, block: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(block.len() + 512);
    header(&mut record, kind, document);
    line(&mut record, "Content-Type", content_type);
    end(&mut record, block);
    record
}

/// The lines at the start of every record.
pub(super) fn header(record: &mut Vec<u8>, kind: &str, document: &Document<'_>) {
    record.extend_from_slice(b"WARC/1.1\r\n");
    line(record, "WARC-Type", kind);
    line(record, "WARC-Record-ID", &format!("<{}>", record_id(kind, document)));
    line(record, "WARC-Target-URI", &target(document));
    // The date is mandatory; an unknown one is written as the epoch.
    let date = document.fetched.map_or("1970-01-01T00:00:00Z".to_owned(), |it| it.to_string());
    line(record, "WARC-Date", &date);
}

pub(super) fn line(record: &mut Vec<u8>, name: &str, value: &str) {
    record.extend_from_slice(name.as_bytes());
    record.extend_from_slice(b": ");
    record.extend_from_slice(value.as_bytes());
    record.extend_from_slice(b"\r\n");
}

pub(super) fn end(record: &mut Vec<u8>, block: &[u8]) {
    line(record, "Content-Length", &block.len().to_string());
    record.extend_from_slice(b"\r\n");
    record.extend_from_slice(block);
    record.extend_from_slice(b"\r\n\r\n");
}

/// The address, or a generated one.
fn target(document: &Document<'_>) -> String {
    match &document.url {
        Some(url) => one_line(url),
        None => format!("urn:hapax:document:{}", one_line(&document.id)),
    }
}

/// Replaces line breaks, so that a value cannot end a header line or add another.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for sign in text.chars() {
        if sign.is_control() {
            line.push_str(&format!("%{:02X}", sign as u32));
        } else {
            line.push(sign);
        }
    }
    line
}

/// A UUID of version 8 (RFC 9562), derived from the record's contents.
fn record_id(kind: &str, document: &Document<'_>) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [kind.as_bytes(), document.id.as_bytes(), document.body.content.as_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let place = &document.place;
    for number in [u64::from(place.file.0), place.number] {
        hasher.update(&number.to_le_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let fields = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("urn:uuid:{}", fields.join("-"))
}
