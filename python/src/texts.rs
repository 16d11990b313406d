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
    Strings(Vec<PyBackedStr>, Kind),
    Bytes(Vec<PyBackedBytes>, Kind),
    /// Of each batch its columns, best first: a document is what the first of them has that is not null.
    Arrow {
        batches: Vec<Vec<(Column, Kind)>>,
        starts: Vec<usize>,
    },
}

/// How many documents of a list are taken between checks for Ctrl-C.
const BETWEEN: usize = 1 << 16;

impl Texts {
    /// A list of strings, or of bytes.
    pub(crate) fn of_list(list: &Bound<'_, PyList>, kind: Kind) -> PyResult<Self> {
        let bytes = list.get_item(0).is_ok_and(|first| first.is_instance_of::<PyBytes>());
        let wrong = |at: usize, item: &Bound<'_, PyAny>| {
            let found = item.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
            let expected = match (at, bytes) {
                (0, _) => "str or bytes",
                (_, true) => "bytes, as document 0 is",
                (_, false) => "str, as document 0 is",
            };
            PyTypeError::new_err(format!("document {at} is {found}; expected {expected}"))
        };
        let look =
            |at: usize| if at.is_multiple_of(BETWEEN) { list.py().check_signals() } else { Ok(()) };
        if bytes {
            let one = |(at, item): (usize, Bound<'_, PyAny>)| {
                look(at)?;
                item.cast::<PyBytes>().map(|b| b.clone().into()).map_err(|_| wrong(at, &item))
            };
            let all = list.iter().enumerate().map(one).collect::<PyResult<_>>()?;
            return Ok(Self::Bytes(all, kind));
        }
        let one = |(at, item): (usize, Bound<'_, PyAny>)| {
            look(at)?;
            let text = item.cast::<PyString>().map_err(|_| wrong(at, &item))?;
            PyBackedStr::try_from(text.clone())
                .map_err(|error| not_unicode(list.py(), error, &format!("document {at}")))
        };
        Ok(Self::Strings(list.iter().enumerate().map(one).collect::<PyResult<_>>()?, kind))
    }

    /// The columns of tables that follow each other whose names say what they hold: `html`, `text`, `bytes`.
    pub(crate) fn of_documents(batches: &[RecordBatch]) -> PyResult<Self> {
        let kinds = [("html", Kind::Html), ("text", Kind::Text), ("bytes", Kind::Bytes)];
        Self::of_columns(batches, &kinds)
    }

    /// A column of tables that follow each other.
    pub(crate) fn of_batches(batches: &[RecordBatch], name: &str) -> PyResult<Self> {
        if batches.iter().any(|batch| batch.column_by_name(name).is_none()) {
            return Err(PyTypeError::new_err(format!("no column {name}")));
        }
        Self::of_columns(batches, &[(name, Kind::Text)])
    }

    /// These columns, where they are there.
    pub(crate) fn of_columns(batches: &[RecordBatch], names: &[(&str, Kind)]) -> PyResult<Self> {
        let mut starts = vec![0];
        let mut rows = 0;
        let columns = |batch: &RecordBatch| {
            rows += batch.num_rows();
            starts.push(rows);
            let there = names.iter().filter_map(|&(name, kind)| {
                batch.column_by_name(name).map(|column| Ok((Column::of(column)?, kind)))
            });
            there.collect::<PyResult<Vec<_>>>()
        };
        let batches = batches.iter().map(columns).collect::<PyResult<_>>()?;
        Ok(Self::Arrow { batches, starts })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Strings(all, _) => all.len(),
            Self::Bytes(all, _) => all.len(),
            Self::Arrow { starts, .. } => starts.last().copied().unwrap_or(0),
        }
    }

    /// A text; `None` for a null.
    pub(crate) fn get(&self, row: usize) -> Option<Content<'_>> {
        self.document(row).map(|(content, _)| content)
    }

    /// A document and what it is; `None` for a null.
    pub(crate) fn document(&self, row: usize) -> Option<(Content<'_>, Kind)> {
        match self {
            Self::Strings(all, kind) => Some((Content::Text(&all[row]), *kind)),
            Self::Bytes(all, kind) => Some((Content::Bytes(&all[row]), *kind)),
            Self::Arrow { batches, starts } => {
                let at = starts.partition_point(|&start| start <= row) - 1;
                let mut columns = batches[at].iter();
                columns.find_map(|(column, kind)| Some((column.get(row - starts[at])?, *kind)))
            }
        }
    }
}

/// The same error, about a lone surrogate, with the place of the text.
pub(crate) fn not_unicode(py: Python<'_>, error: PyErr, place: &str) -> PyErr {
    let reason = format!(
        "{place} has half of a surrogate pair, which no UTF-8 text has; repair it, such as with \
         text.encode('utf-8', 'replace').decode()"
    );
    // An error without the attribute stays as it is.
    drop(error.value(py).setattr("reason", reason));
    error
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
