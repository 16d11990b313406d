//! The record a document was read from.
//!
//! Writers use it to give back what was there: the JSON line with all its fields, the row with all
//! its columns, the WARC record with all its headers. It also answers for fields that no document
//! has a place for.

use std::borrow::Cow;

use serde_json::Value;

use crate::read::headers::Headers;
use crate::read::parquet::Row;

/// The record as it was.
#[derive(Clone, Debug)]
pub enum Original<'a> {
    /// A file that is one document: the body is all there is.
    File,
    /// A line of text, likewise.
    Nothing,
    /// A line of JSONL, without its end.
    Json(Cow<'a, str>),
    /// A row of a table.
    Row(Row),
    Warc(Archived<'a>),
    Arc(Archived<'a>),
}

/// A record of an archive, unpacked: its header, and the block that the header describes.
#[derive(Clone, Debug)]
pub struct Archived<'a> {
    /// Header and block without the newlines that follow.
    pub bytes: Cow<'a, [u8]>,
    /// How long the header is, with the empty line that ends it.
    pub header: usize,
    /// How long the HTTP header at the start of the block is, with the empty line; 0 without one.
    pub http: usize,
    /// Where the compressed member lies that holds this record and nothing else:
    /// offset in the file and length.
    pub packed: Option<(u64, u64)>,
}

impl Original<'_> {
    pub(crate) fn into_owned(self) -> Original<'static> {
        match self {
            Self::File => Original::File,
            Self::Nothing => Original::Nothing,
            Self::Json(line) => Original::Json(Cow::Owned(line.into_owned())),
            Self::Row(row) => Original::Row(row),
            Self::Warc(record) => Original::Warc(record.into_owned()),
            Self::Arc(record) => Original::Arc(record.into_owned()),
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<String> {
        match self {
            Self::File | Self::Nothing | Self::Arc(_) => None,
            Self::Json(line) => {
                let object: serde_json::Map<String, Value> = serde_json::from_str(line).ok()?;
                match object.get(name)? {
                    Value::Null => None,
                    Value::String(text) => Some(text.clone()),
                    other => Some(other.to_string()),
                }
            }
            Self::Row(row) => row.field(name),
            Self::Warc(record) => record.field(name),
        }
    }
}

impl Archived<'_> {
    fn into_owned(self) -> Archived<'static> {
        Archived { bytes: Cow::Owned(self.bytes.into_owned()), ..self }
    }

    /// The header's lines, with the first and the empty one.
    pub fn header(&self) -> &[u8] {
        &self.bytes[..self.header]
    }

    /// Everything after the header.
    pub fn block(&self) -> &[u8] {
        &self.bytes[self.header..]
    }

    /// The value of a WARC header line.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        Headers::after_first_line(self.header()).get(name).map(Cow::into_owned)
    }
}
