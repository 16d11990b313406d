//! Corpora out: one file, one format, complete or not there at all.
//!
//! Every writer fills a hidden file beside its target and renames it when it is complete and on
//! disk, so an interrupted or failed run leaves what was there before. The same documents in the
//! same order give the same bytes.
//!
//! A document that was read from the format it is written to goes out as it came: the JSON line
//! with all its fields, the row with all its columns, the WARC record byte for byte. From another
//! format it takes along what [`Document`] holds.

mod characters;
mod file;
mod jsonl;
mod parquet;
mod revisit;
mod warc;

use std::path::Path;

use crate::document::Document;
use crate::error::Error;
use crate::options::Format;
use crate::sniff;
use crate::source::Source;
use crate::timestamp::Timestamp;

pub use jsonl::JsonlWriter;
pub use parquet::ParquetWriter;
pub use warc::WarcWriter;

/// Takes documents one after the other.
pub trait Writer {
    /// Adds a document.
    fn write(&mut self, document: &Document<'_>) -> Result<(), Error>;

    /// Says that a document was left out because another stands for it. Only archives have a
    /// record for this; the other formats do nothing.
    fn write_removed(&mut self, removed: &Document<'_>, kept: &Kept<'_>) -> Result<(), Error> {
        let _ = (removed, kept);
        Ok(())
    }

    /// Puts the file in its place. Without this call nothing appears.
    fn finish(self: Box<Self>) -> Result<Written, Error>;
}

/// The document that stands for a removed one.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    pub url: &'a str,
    /// When it was fetched.
    pub fetched: Option<Timestamp>,
    /// Its `WARC-Record-ID`, without brackets, where it has one.
    pub record_id: Option<&'a str>,
    /// Whether the removed one has exactly the same content, or only nearly.
    pub exact: bool,
}

/// What has been written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub documents: u64,
    /// Records about documents that were left out.
    pub removed: u64,
    /// The size of the file.
    pub bytes: u64,
}

/// A writer for the format and packing that the name of `path` says: `.jsonl`, `.parquet` or
/// `.warc`; behind `.jsonl` and `.warc` also `.gz` or `.zst`. `source` is where the documents come
/// from, if they come from files; see [`WarcWriter::create`].
pub fn create(path: &Path, source: Option<&Source>) -> Result<Box<dyn Writer>, Error> {
    match sniff::by_name(path) {
        Some(Format::Jsonl) => Ok(Box::new(JsonlWriter::create(path)?)),
        Some(Format::Parquet) => Ok(Box::new(ParquetWriter::create(path)?)),
        Some(Format::Warc) => Ok(Box::new(WarcWriter::create(path, source)?)),
        Some(Format::Arc | Format::Html | Format::Text | Format::Lines) | None => {
            Err(Error::Output {
                path: path.display().to_string(),
                what: "its name does not say what to write; end it in .jsonl, .parquet or .warc, \
                       and .gz or .zst behind it"
                    .to_owned(),
            })
        }
    }
}
