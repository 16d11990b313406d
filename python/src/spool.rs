//! Documents of Python on their way to a job: a temporary file of what the job needs of them.
//!
//! A job reads its corpus twice, and a caller's data may be a stream. Values come as lists, a column each;
//! rows whose text is null are not written, and are known by the numbers that [`SpoolCore::rows`] lacks.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use hapax::page::{Hints, Kind as PageKind, decoded};
use hapax_corpus::{
    Body, Content, Document, FileId, Kind, NoSuchTime, Original, Place, Timestamp, Writer,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::errors::{of_corpus, raised};
use crate::index::bytes_of;
use crate::texts::not_unicode;

/// A column of a batch.
type Column<'a, 'py> = Option<&'a Bound<'py, PyList>>;

/// Writes documents to a file that a job can read.
#[pyclass(frozen, module = "hapax._hapax")]
pub(crate) struct SpoolCore {
    state: Mutex<State>,
}

struct State {
    writer: Option<Writer>,
    /// Those that have text.
    rows: Vec<u64>,
    /// How many there were.
    seen: u64,
}

#[pymethods]
impl SpoolCore {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let writer = hapax_corpus::write::create(&path, None).map_err(|error| of_corpus(&error))?;
        let state = State { writer: Some(writer), rows: Vec::new(), seen: 0 };
        Ok(Self { state: Mutex::new(state) })
    }

    /// Adds rows: lists of equal length for some of `id`, `html`, `text`, `bytes`, `url`, `score`, `fetched` and `language`.
    fn add(&self, count: usize, columns: BTreeMap<String, Bound<'_, PyList>>) -> PyResult<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for row in 0..count {
            let number = state.seen;
            state.seen += 1;
            let at = Row { columns: &columns, row, number };
            let Some((kind, text)) = at.text()? else { continue };
            let document = Document {
                id: Cow::Owned(at.string("id")?.unwrap_or_else(|| number.to_string())),
                url: at.string("url")?.map(Cow::Owned),
                body: Body { kind, content: Content::Str(Cow::Owned(text)) },
                content_type: None,
                score: at.value("score").and_then(|it| it.extract().ok()),
                fetched: at.fetched()?,
                language: at.string("language")?.map(Cow::Owned),
                http_language: None,
                http_link: None,
                place: Place { file: FileId(0), number, member: 0, within: 0, length: 0 },
                original: Original::Nothing,
            };
            let Some(writer) = &mut state.writer else {
                return Err(PyValueError::new_err("the file is finished"));
            };
            writer.write(&document).map_err(|error| of_corpus(&error))?;
            state.rows.push(number);
        }
        Ok(())
    }

    /// Completes the file. How many rows there were, and the numbers of those with text, eight bytes each.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(u64, Bound<'py, PyBytes>)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = state.writer.take() {
            writer.finish().map_err(|error| of_corpus(&error))?;
        }
        let rows = bytes_of(state.rows.iter().copied());
        Ok((state.seen, PyBytes::new(py, &rows)))
    }
}

/// One row of a batch.
struct Row<'a, 'py> {
    columns: &'a BTreeMap<String, Bound<'py, PyList>>,
    row: usize,
    /// Its number in the caller's data.
    number: u64,
}

impl<'py> Row<'_, 'py> {
    fn column(&self, name: &str) -> Column<'_, 'py> {
        self.columns.get(name)
    }

    /// `None` for a null.
    fn value(&self, name: &str) -> Option<Bound<'py, PyAny>> {
        let value = self.column(name)?.get_item(self.row).ok()?;
        (!value.is_none()).then_some(value)
    }

    fn wrong(&self, name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
        let found = value.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
        let number = self.number;
        PyTypeError::new_err(format!("row {number}: {name} is {found}; expected {expected}"))
    }

    fn string(&self, name: &str) -> PyResult<Option<String>> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let text = value.cast::<PyString>();
        let text = text.map_err(|_| self.wrong(name, &value, "str or None"))?;
        let place = || format!("{name} of row {}", self.number);
        let text = text.to_cow().map_err(|error| not_unicode(value.py(), error, &place()))?;
        Ok(Some(text.into_owned()))
    }

    /// Seconds since 1970, other whole numbers that stand for a time, or a text.
    fn fetched(&self) -> PyResult<Option<Timestamp>> {
        let Some(value) = self.value("fetched") else { return Ok(None) };
        if let Ok(number) = value.extract::<i64>() {
            return Ok(Some(Timestamp::from_number(number)));
        }
        let Ok(text) = value.cast::<PyString>() else { return Ok(None) };
        let Ok(text) = text.to_cow() else { return Ok(None) };
        Timestamp::of_field(&text).map_err(|NoSuchTime| {
            let number = self.number;
            let why = format!("row {number}: fetched is {text:?}; that day or hour does not exist");
            PyValueError::new_err(why)
        })
    }

    /// The document; HTML before text, as in a file.
    fn text(&self) -> PyResult<Option<(Kind, String)>> {
        let kinds = [
            ("html", Kind::Html, Some("text/html")),
            ("text", Kind::Text, Some("text/plain")),
            ("bytes", Kind::Text, None),
        ];
        for (name, kind, content_type) in kinds {
            let Some(value) = self.value(name) else { continue };
            if let Ok(bytes) = value.cast::<PyBytes>() {
                let hints = Hints { content_type, url: None };
                let (kind, text) = decoded(bytes.as_bytes(), &hints).map_err(|error| {
                    raised("PageError", format!("row {}: {error}", self.number), None)
                })?;
                let kind = match kind {
                    PageKind::Html => Kind::Html,
                    PageKind::Text => Kind::Text,
                };
                return Ok(Some((kind, text.into_owned())));
            }
            if !value.is_instance_of::<PyString>() {
                return Err(self.wrong(name, &value, "str, bytes or None"));
            }
            return Ok(self.string(name)?.map(|text| (kind, text)));
        }
        Ok(None)
    }
}
