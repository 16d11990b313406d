//! Writes the WARC `revisit` record of a removed document, which replay tools follow to the kept one.
//!
//! An exact copy gets the standard's profile, `identical-payload-digest`. A near-duplicate has another digest,
//! so it gets [`NEAR`] with the same headers. The block is the HTTP header of the removed record.
//!
//! Format: ISO 28500:2017, section 6.7.

use super::Kept;
use super::warc::{end, header, line, one_line};
use crate::document::Document;
use crate::original::Original;

const IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/// The profile for a record whose content is nearly, but not exactly, that of another.
const NEAR: &str = "urn:hapax:warc:revisit:near-duplicate";

pub(super) fn record(removed: &Document<'_>, kept: &Kept<'_>) -> Vec<u8> {
    let mut record = Vec::with_capacity(1024);
    header(&mut record, "revisit", removed);
    line(&mut record, "WARC-Profile", if kept.exact { IDENTICAL } else { NEAR });
    if let Some(id) = kept.record_id {
        line(&mut record, "WARC-Refers-To", &format!("<{}>", one_line(id)));
    }
    line(&mut record, "WARC-Refers-To-Target-URI", &one_line(kept.url));
    if let Some(fetched) = kept.fetched {
        line(&mut record, "WARC-Refers-To-Date", &fetched.to_string());
    }
    line(&mut record, "WARC-Payload-Digest", &digest(removed));
    let block = http_header(removed);
    if !block.is_empty() {
        line(&mut record, "Content-Type", "application/http; msgtype=response");
        line(&mut record, "WARC-Truncated", "length");
    }
    end(&mut record, block);
    record
}

/// The archive's own digest, or one of the body.
fn digest(document: &Document<'_>) -> String {
    let stored = match &document.original {
        Original::Warc(record) => record.field("WARC-Payload-Digest"),
        Original::File
        | Original::Nothing
        | Original::Json(_)
        | Original::Row(_)
        | Original::Arc(_) => None,
    };
    stored.map_or_else(
        || format!("blake3:{}", blake3::hash(document.body.content.as_bytes()).to_hex()),
        |stored| one_line(&stored),
    )
}

fn http_header<'d>(document: &'d Document<'_>) -> &'d [u8] {
    match &document.original {
        Original::Warc(record) | Original::Arc(record) => &record.block()[..record.http],
        Original::File | Original::Nothing | Original::Json(_) | Original::Row(_) => &[],
    }
}
