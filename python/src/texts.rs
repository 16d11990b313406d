//! A column of documents: Python's own strings and bytes, or Arrow arrays where they lie.
//!
//! Strings are taken as UTF-8 once (the stable interface of Python 3.9 lends no view of them);
//! bytes and Arrow arrays are looked at in place, also without the interpreter's lock.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray, RecordBatch,
    StringArray, StringViewArray,
};
use arrow_schema::DataType;
use hapax::fingerprint::{Fingerprinter, Signature};
use hapax::page::{Body, Document, PageError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PyString};

use crate::errors::raised;

/// What documents are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Html,
    /// HTML or text in any encoding.
    Bytes,
}

impl Kind {
    pub(crate) fn parse(text: &str) -> PyResult<Self> {
        match text {
            "text" => Ok(Self::Text),
            "html" => Ok(Self::Html),
            "bytes" => Ok(Self::Bytes),
            other => {
                let reason = format!("kind {other:?} is none of 'text', 'html' and 'bytes'");
                Err(raised("ArgumentError", reason, None))
            }
        }
    }
}

/// One document.
#[derive(Clone, Copy)]
pub(crate) enum Content<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl Content<'_> {
    /// Its signature. Text is never looked at as bytes; bytes that are said to be text or HTML are
    /// still decoded by what they are.
    pub(crate) fn signature(
        self,
        by: &mut Fingerprinter,
        kind: Kind,
    ) -> Result<Signature, PageError> {
        Ok(by.document(&self.document(kind))?.signature)
    }

    /// As the engine takes it.
    pub(crate) fn document(&self, kind: Kind) -> Document<'_> {
        let body = match (*self, kind) {
            (Self::Text(text), Kind::Html) => Body::Html(text),
            (Self::Text(text), Kind::Text | Kind::Bytes) => Body::Text(text),
            (Self::Bytes(bytes), _) => Body::Bytes(bytes),
        };
        let content_type = match kind {
            Kind::Text => Some("text/plain"),
            Kind::Html => Some("text/html"),
            Kind::Bytes => None,
        };
        Document { content_type, ..Document::new(body) }
    }
}

/// Documents by number.
pub(crate) enum Texts {
    Strings(Vec<PyBackedStr>),
    Bytes(Vec<PyBackedBytes>),
    Arrow { columns: Vec<Column>, starts: Vec<usize> },
}

impl Texts {
    /// A list of strings, or of bytes.
    pub(crate) fn of_list(list: &Bound<'_, PyList>) -> PyResult<Self> {
        let wrong = |at: usize, item: &Bound<'_, PyAny>| {
            let found = item.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "document {at} is {found}, not str or bytes; all are of one type"
            ))
        };
        let bytes = list.get_item(0).is_ok_and(|first| first.is_instance_of::<PyBytes>());
        if bytes {
            let one = |(at, item): (usize, Bound<'_, PyAny>)| {
                item.cast::<PyBytes>().map(|b| b.clone().into()).map_err(|_| wrong(at, &item))
            };
            return Ok(Self::Bytes(list.iter().enumerate().map(one).collect::<PyResult<_>>()?));
        }
        let one = |(at, item): (usize, Bound<'_, PyAny>)| {
            let text = item.cast::<PyString>().map_err(|_| wrong(at, &item))?;
            PyBackedStr::try_from(text.clone())
        };
        Ok(Self::Strings(list.iter().enumerate().map(one).collect::<PyResult<_>>()?))
    }

    /// A column of tables that follow each other.
    pub(crate) fn of_batches(batches: &[RecordBatch], name: &str) -> PyResult<Self> {
        let mut columns = Vec::with_capacity(batches.len());
        let mut starts = vec![0];
        let mut rows = 0;
        for batch in batches {
            let column = batch.column_by_name(name);
            let column = column.ok_or_else(|| PyTypeError::new_err(format!("no column {name}")))?;
            columns.push(Column::of(column)?);
            rows += column.len();
            starts.push(rows);
        }
        Ok(Self::Arrow { columns, starts })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Strings(all) => all.len(),
            Self::Bytes(all) => all.len(),
            Self::Arrow { starts, .. } => starts.last().copied().unwrap_or(0),
        }
    }

    /// A document; `None` for a null.
    pub(crate) fn get(&self, row: usize) -> Option<Content<'_>> {
        match self {
            Self::Strings(all) => Some(Content::Text(&all[row])),
            Self::Bytes(all) => Some(Content::Bytes(&all[row])),
            Self::Arrow { columns, starts } => {
                let at = starts.partition_point(|&start| start <= row) - 1;
                columns[at].get(row - starts[at])
            }
        }
    }
}

/// A column of text or bytes in one of Arrow's forms.
pub(crate) enum Column {
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
    Binary(BinaryArray),
    LargeBinary(LargeBinaryArray),
    BinaryView(BinaryViewArray),
}

impl Column {
    fn of(array: &ArrayRef) -> PyResult<Self> {
        Ok(match array.data_type() {
            DataType::Utf8 => Self::Utf8(array.as_string().clone()),
            DataType::LargeUtf8 => Self::LargeUtf8(array.as_string().clone()),
            DataType::Utf8View => Self::Utf8View(array.as_string_view().clone()),
            DataType::Binary => Self::Binary(array.as_binary().clone()),
            DataType::LargeBinary => Self::LargeBinary(array.as_binary().clone()),
            DataType::BinaryView => Self::BinaryView(array.as_binary_view().clone()),
            other => {
                return Err(PyTypeError::new_err(format!(
                    "the column is {other}, not text or bytes"
                )));
            }
        })
    }

    fn get(&self, row: usize) -> Option<Content<'_>> {
        match self {
            Self::Utf8(a) => a.is_valid(row).then(|| Content::Text(a.value(row))),
            Self::LargeUtf8(a) => a.is_valid(row).then(|| Content::Text(a.value(row))),
            Self::Utf8View(a) => a.is_valid(row).then(|| Content::Text(a.value(row))),
            Self::Binary(a) => a.is_valid(row).then(|| Content::Bytes(a.value(row))),
            Self::LargeBinary(a) => a.is_valid(row).then(|| Content::Bytes(a.value(row))),
            Self::BinaryView(a) => a.is_valid(row).then(|| Content::Bytes(a.value(row))),
        }
    }
}
