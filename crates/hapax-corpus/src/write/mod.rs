//! Writes corpora: one file in one format, complete or not there at all.
//!
//! An [`Encoder`], one per thread, makes [`Piece`]s of documents; an [`Output`] takes pieces in order and moves
//! the complete file into place, or leaves the previous one. A [`Writer`] combines both. The same documents in
//! the same pieces give the same bytes for any number of threads.
//!
//! A document read from the output format is written unchanged: the JSON line, the row with all columns, the
//! WARC record byte for byte. From another format, it keeps what [`Document`] holds.

mod characters;
mod file;
mod jsonl;
mod parquet;
mod revisit;
mod table;
mod warc;

use std::io::Write;
use std::num::NonZero;
use std::path::Path;

use ::parquet::file::metadata::KeyValue;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use self::file::{PendingFile, pack};
use self::parquet::RowEncoder;
use self::warc::Records;
use crate::document::Document;
use crate::error::Error;
use crate::options::Format;
use crate::sniff;
use crate::source::Source;
use crate::timestamp::Timestamp;
use crate::unpack::Packing;

pub use table::Table;

/// Bytes that a [`Writer`] encodes and compresses together.
const BATCH_SIZE: usize = 1 << 20;

/// Encodes documents.
pub struct Encoder {
    kind: Kind,
    packing: Packing,
    bytes: Vec<u8>,
    count: Written,
    /// Name of the file, for errors.
    name: String,
}

enum Kind {
    Jsonl,
    Warc(Records),
    Parquet(RowEncoder),
}

/// Encoded documents.
#[derive(Debug)]
pub struct Piece {
    content: Content,
    count: Written,
}

#[derive(Debug)]
enum Content {
    Bytes(Vec<u8>),
    Rows(Vec<RecordBatch>, Vec<KeyValue>),
}

impl Piece {
    /// Compressed size in bytes; for rows, size in memory.
    pub fn bytes(&self) -> u64 {
        self.count.bytes
    }
}

impl Encoder {
    /// For the format and compression in the name of `path`: `.jsonl`, `.parquet` or `.warc`;
    /// `.jsonl` and `.warc` may be followed by `.gz` or `.zst`. Archive records that need no other
    /// compression are copied from the files of `source`, which the documents must come from.
    pub fn new(path: &Path, source: Option<&Source>) -> Result<Self, Error> {
        let packing = Packing::by_name(path);
        let failed =
            |what: &str| Error::Output { path: path.display().to_string(), what: what.to_owned() };
        if matches!(packing, Packing::Bzip2 | Packing::Xz) {
            return Err(failed("bzip2 and xz are read, not written; end it in .gz or .zst"));
        }
        let kind = match sniff::by_name(path) {
            Some(Format::Jsonl) => Kind::Jsonl,
            Some(Format::Parquet) => Kind::Parquet(RowEncoder::default()),
            Some(Format::Warc) => Kind::Warc(Records::new(packing, source)),
            Some(Format::Arc | Format::Html | Format::Text | Format::Lines) | None => {
                return Err(failed(
                    "its name does not say what to write; end it in .jsonl, .parquet or .warc, \
                     and .gz or .zst behind it",
                ));
            }
        };
        let name = path.display().to_string();
        Ok(Self { kind, packing, bytes: Vec::new(), count: Written::default(), name })
    }

    pub fn write(&mut self, document: &Document<'_>) -> Result<(), Error> {
        match &mut self.kind {
            Kind::Jsonl => jsonl::line(&mut self.bytes, document)?,
            Kind::Warc(records) => records.record(&mut self.bytes, document)?,
            Kind::Parquet(rows) => {
                let failed = |what| Error::Output { path: self.name.clone(), what };
                rows.push(document).map_err(failed)?;
            }
        }
        self.count.documents += 1;
        Ok(())
    }

    /// Records that a document was left out as a duplicate of another. Only WARC has a record for
    /// this; other formats do nothing.
    pub fn write_removed(&mut self, removed: &Document<'_>, kept: &Kept<'_>) -> Result<(), Error> {
        if let Kind::Warc(records) = &self.kind {
            records.removed(&mut self.bytes, removed, kept)?;
            self.count.removed += 1;
        }
        Ok(())
    }

    /// Everything written since the last call, compressed.
    pub fn piece(&mut self) -> Result<Piece, Error> {
        let mut count = std::mem::take(&mut self.count);
        let bytes = std::mem::take(&mut self.bytes);
        let failed = |what: String| Error::Output { path: self.name.clone(), what };
        let content = match &mut self.kind {
            Kind::Jsonl if self.packing != Packing::Plain && !bytes.is_empty() => {
                Content::Bytes(pack(self.packing, &bytes).map_err(|e| failed(e.to_string()))?)
            }
            Kind::Jsonl | Kind::Warc(_) => Content::Bytes(bytes),
            Kind::Parquet(rows) => {
                let (rows, pairs) = rows.take().map_err(failed)?;
                Content::Rows(rows, pairs)
            }
        };
        count.bytes = match &content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Rows(rows, _) => rows.iter().map(table::bytes_of).sum::<usize>() as u64,
        };
        Ok(Piece { content, count })
    }

    /// Whether there is enough for a piece.
    fn full(&self) -> bool {
        match &self.kind {
            Kind::Jsonl | Kind::Warc(_) => self.bytes.len() >= BATCH_SIZE,
            Kind::Parquet(rows) => rows.ready() > 0,
        }
    }
}

/// A file that is filled with pieces and appears when it is complete.
pub struct Output {
    target: Target,
    written: Written,
    threads: NonZero<usize>,
    name: String,
}

enum Target {
    /// With the contents of an empty file.
    Bytes(PendingFile, Vec<u8>),
    /// The first rows determine the schema.
    NoRows(PendingFile),
    Rows(Box<Table<PendingFile>>),
    Broken,
}

impl Output {
    /// The file appears under this name when it is finished. Rows are encoded on this many threads.
    pub fn create(path: &Path, threads: NonZero<usize>) -> Result<Self, Error> {
        let file = PendingFile::create(path)?;
        let name = file.name();
        let target = match sniff::by_name(path) {
            Some(Format::Parquet) => Target::NoRows(file),
            Some(Format::Jsonl) if Packing::by_name(path) != Packing::Plain => {
                let empty = pack(Packing::by_name(path), &[]).map_err(|cause| file.error(cause))?;
                Target::Bytes(file, empty)
            }
            _ => Target::Bytes(file, Vec::new()),
        };
        Ok(Self { target, written: Written::default(), threads, name })
    }

    pub fn add(&mut self, piece: Piece) -> Result<(), Error> {
        self.written.documents += piece.count.documents;
        self.written.removed += piece.count.removed;
        match piece.content {
            Content::Bytes(bytes) => {
                let Target::Bytes(file, empty) = &mut self.target else {
                    return Err(self.broken());
                };
                file.write_all(&bytes).map_err(|cause| file.error(cause))?;
                if !bytes.is_empty() {
                    empty.clear();
                }
                Ok(())
            }
            Content::Rows(rows, pairs) => {
                let Some(first) = rows.first() else { return Ok(()) };
                self.start(&first.schema(), pairs)?;
                rows.into_iter().try_for_each(|rows| self.rows(rows))
            }
        }
    }

    fn start(&mut self, schema: &SchemaRef, pairs: Vec<KeyValue>) -> Result<(), Error> {
        if !matches!(self.target, Target::NoRows(_)) {
            return Ok(());
        }
        if let Target::NoRows(file) = std::mem::replace(&mut self.target, Target::Broken) {
            let by = concat!("hapax-corpus ", env!("CARGO_PKG_VERSION"));
            let table = Table::create(file, schema, pairs, &[], by, self.threads);
            self.target = Target::Rows(Box::new(table.map_err(|error| self.error(&error))?));
        }
        Ok(())
    }

    fn rows(&mut self, rows: RecordBatch) -> Result<(), Error> {
        let Target::Rows(table) = &mut self.target else { return Err(self.broken()) };
        if rows.schema_ref().fields() != table.schema().fields() {
            return Err(self.error(&parquet::MIXED));
        }
        let pushed = table.push(rows);
        pushed.map_err(|error| self.error(&error))
    }

    fn error(&self, error: &impl std::fmt::Display) -> Error {
        Error::Output { path: self.name.clone(), what: error.to_string() }
    }

    fn broken(&self) -> Error {
        self.error(&"an earlier document could not be written")
    }

    /// Moves the file into place. Without this call no file appears.
    pub fn finish(mut self) -> Result<Written, Error> {
        self.start(&parquet::plain_schema(), Vec::new())?;
        let file = match std::mem::replace(&mut self.target, Target::Broken) {
            Target::Bytes(mut file, empty) => {
                file.write_all(&empty).map_err(|cause| file.error(cause))?;
                file
            }
            Target::Rows(table) => table.finish().map_err(|error| self.error(&error))?,
            Target::NoRows(_) | Target::Broken => return Err(self.broken()),
        };
        Ok(Written { bytes: file.finish()?, ..self.written })
    }
}

/// Writes documents one after the other.
pub struct Writer {
    encoder: Encoder,
    output: Output,
}

impl Writer {
    pub fn write(&mut self, document: &Document<'_>) -> Result<(), Error> {
        self.encoder.write(document)?;
        self.pass_on()
    }

    /// As [`Encoder::write_removed`].
    pub fn write_removed(&mut self, removed: &Document<'_>, kept: &Kept<'_>) -> Result<(), Error> {
        self.encoder.write_removed(removed, kept)?;
        self.pass_on()
    }

    fn pass_on(&mut self) -> Result<(), Error> {
        if self.encoder.full() { self.output.add(self.encoder.piece()?) } else { Ok(()) }
    }

    /// Moves the file into place. Without this call no file appears.
    pub fn finish(mut self) -> Result<Written, Error> {
        self.output.add(self.encoder.piece()?)?;
        self.output.finish()
    }
}

/// A writer for the format in the name of `path`; see [`Encoder::new`].
pub fn create(path: &Path, source: Option<&Source>) -> Result<Writer, Error> {
    let encoder = Encoder::new(path, source)?;
    Ok(Writer { encoder, output: Output::create(path, NonZero::<usize>::MIN)? })
}

/// The kept document of a removed one.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    pub url: &'a str,
    pub fetched: Option<Timestamp>,
    /// Its `WARC-Record-ID`, without brackets, if it has one.
    pub record_id: Option<&'a str>,
    /// Whether the removed document has exactly the same content, rather than nearly.
    pub exact: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub documents: u64,
    /// Number of records about documents that were left out.
    pub removed: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
}
