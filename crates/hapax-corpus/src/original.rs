//! The record that a document was read from.
//!
//! Writers use it to reproduce the input: the JSON line with all fields, the row with all columns, the WARC
//! record with all headers. It also serves lookups of fields that documents do not have.

use std::borrow::Cow;

use serde_json::Value;

use crate::read::headers::Headers;
use crate::read::parquet::Row;

/// The record as it was read.
#[derive(Clone, Debug)]
pub enum Original<'a> {
    /// A file that is one document; the body is everything.
    File,
    /// A line of text; the body is everything.
    Nothing,
    /// A line of JSONL without line end.
    Json(Cow<'a, str>),
    /// A row of a table.
    Row(Row),
    Warc(Archived<'a>),
    Arc(Archived<'a>),
}

/// A record of an archive, unpacked: header and block.
#[derive(Clone, Debug)]
pub struct Archived<'a> {
    /// Header and block without the newlines after them.
    pub bytes: Cow<'a, [u8]>,
    /// Length of the header, including the empty line that ends it.
    pub header: usize,
    /// Length of the HTTP header at the start of the block, including the empty line; 0 without
    /// one.
    pub http: usize,
    /// Offset and length in the file of the compressed member, if it holds exactly this record.
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

    /// The header, including the first and the empty line.
    pub fn header(&self) -> &[u8] {
        &self.bytes[..self.header]
    }

    /// The bytes after the header.
    pub fn block(&self) -> &[u8] {
        &self.bytes[self.header..]
    }

    /// The value of a WARC header line.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        Headers::after_first_line(self.header()).get(name).map(Cow::into_owned)
    }
}
