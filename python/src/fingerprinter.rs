//! A recipe made ready: one document or many, from Python or from Arrow.
//!
//! Engine fingerprinters have buffers of their own, so a call takes one for each of its threads
//! and puts it back: threads of Python may share one object.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_pyarrow::{PyArrowType, Table, ToPyArrow};
use hapax::fingerprint::{ContentHash, Fingerprinter, RecipeId, Signature as Engine, compare};
use hapax::page::{Document, PageError};
use hapax_dedup::Stop;
use hapax_dedup::stages::fingerprints::table::{SignatureRows, schema};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::comparison::Comparison;
use crate::errors::{of_page, raised};
use crate::recipes;
use crate::signature::Signature;
use crate::texts::{Content, Kind, Texts, not_unicode};
use crate::workers::{Done, each, interruptible, threads};

/// Documents that a thread takes at a time.
const TOGETHER: usize = 16;
/// The name of the column with their ids, if there is one.
const ID: &str = "id";

/// Makes signatures by one recipe.
#[pyclass(frozen, module = "hapax._hapax")]
pub(crate) struct FingerprinterCore {
    first: Fingerprinter,
    idle: Mutex<Vec<Fingerprinter>>,
}

/// A document as a caller gives it.
enum Given {
    Text(String),
    Bytes(Vec<u8>),
}

impl Given {
    fn content(&self) -> Content<'_> {
        match self {
            Self::Text(text) => Content::Text(text),
            Self::Bytes(bytes) => Content::Bytes(bytes),
        }
    }

    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            let text =
                text.to_cow().map_err(|error| not_unicode(value.py(), error, "the document"));
            return Ok(Self::Text(text?.into_owned()));
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.as_bytes().to_vec()));
        }
        let found = value.get_type().name()?;
        Err(PyTypeError::new_err(format!("a document is str or bytes, not {found}")))
    }
}

impl FingerprinterCore {
    fn lock(&self) -> MutexGuard<'_, Vec<Fingerprinter>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lend(&self, count: usize) -> Vec<Fingerprinter> {
        let mut idle = self.lock();
        let kept = idle.len() - count.min(idle.len());
        let mut lent = idle.split_off(kept);
        drop(idle);
        lent.resize_with(count, || self.first.clone());
        lent
    }

    fn with<T>(&self, work: impl FnOnce(&mut Fingerprinter) -> T) -> T {
        let lent = self.lock().pop();
        let mut by = lent.unwrap_or_else(|| self.first.clone());
        let result = work(&mut by);
        self.lock().push(by);
        result
    }

    /// What `keep` makes of every document's signature; `None` for a null, and with `skip` for what
    /// is neither HTML nor text.
    fn all<R: Send>(
        &self,
        py: Python<'_>,
        texts: &Texts,
        options: &Options,
        keep: impl Fn(Engine) -> R + Sync,
    ) -> PyResult<Vec<Option<R>>> {
        let count = options.threads.min(texts.len().max(1));
        let work = |by: &mut Fingerprinter, row: usize| -> Result<Option<R>, PageError> {
            match texts.document(row).map(|(text, kind)| text.signature(by, kind)) {
                None => Ok(None),
                Some(Ok(signature)) => Ok(Some(keep(signature))),
                Some(Err(_)) if options.skip => Ok(None),
                Some(Err(error)) => Err(error),
            }
        };
        let Done { results, tools, failed } =
            each(py, texts.len(), TOGETHER, self.lend(count), work)?;
        self.lock().extend(tools);
        match failed {
            None => Ok(results),
            Some((row, error)) => {
                Err(raised("PageError", format!("document {row}: {error}"), None))
            }
        }
    }

    fn wrapped(&self, signature: Engine) -> Signature {
        Signature { signature, recipe: self.first.recipe_id().clone() }
    }

    fn extracted(&self, document: &Given, kind: Kind) -> Result<String, PageError> {
        let document = document.content();
        self.with(|by| Ok(by.extract(&document.document(kind))?.text.clone()))
    }

    pub(crate) fn recipe_id(&self) -> &RecipeId {
        self.first.recipe_id()
    }

    pub(crate) fn engine(&self) -> &Fingerprinter {
        &self.first
    }
}

struct Options {
    threads: usize,
    skip: bool,
}

impl Options {
    fn new(asked: i64, skip: bool) -> PyResult<Self> {
        Ok(Self { threads: threads(asked)?.get(), skip })
    }
}

fn batches(stream: RecordBatchStreamReader) -> PyResult<Vec<RecordBatch>> {
    let batches: Result<Vec<_>, _> = stream.collect();
    batches.map_err(|error| raised("ArrowError", error.to_string(), None))
}

#[pymethods]
impl FingerprinterCore {
    #[new]
    fn new(recipe: &str, frequencies: Option<&str>, main_content: bool) -> PyResult<Self> {
        let first = recipes::fingerprinter(recipe, frequencies, main_content)?;
        Ok(Self { first, idle: Mutex::default() })
    }

    #[getter]
    fn recipe(&self) -> String {
        self.recipe_id().to_string()
    }

    fn one(
        &self,
        py: Python<'_>,
        document: &Bound<'_, PyAny>,
        kind: &str,
        content_type: Option<&str>,
        url: Option<&str>,
    ) -> PyResult<Signature> {
        let (document, kind) = (Given::of(document)?, Kind::parse(kind)?);
        let content = document.content();
        let known = content.document(kind);
        let known = Document { content_type: content_type.or(known.content_type), url, ..known };
        let signature = py.detach(|| self.with(|by| Ok(by.document(&known)?.signature)));
        signature.map(|signature| self.wrapped(signature)).map_err(|error| of_page(&error))
    }

    fn fingerprints_of_list(
        &self,
        py: Python<'_>,
        list: &Bound<'_, PyList>,
        kind: &str,
        threads: i64,
        skip: bool,
    ) -> PyResult<Vec<Option<u64>>> {
        let options = Options::new(threads, skip)?;
        let bits = |signature: Engine| signature.comparable.map(|it| it.fingerprint.to_bits());
        let all = self.all(py, &Texts::of_list(list, Kind::parse(kind)?)?, &options, bits)?;
        Ok(all.into_iter().map(Option::flatten).collect())
    }

    fn signatures_of_list(
        &self,
        py: Python<'_>,
        list: &Bound<'_, PyList>,
        kind: &str,
        threads: i64,
        skip: bool,
    ) -> PyResult<Vec<Option<Signature>>> {
        let options = Options::new(threads, skip)?;
        let texts = Texts::of_list(list, Kind::parse(kind)?)?;
        self.all(py, &texts, &options, |signature| self.wrapped(signature))
    }

    fn fingerprints_of_stream<'py>(
        &self,
        py: Python<'py>,
        stream: PyArrowType<RecordBatchStreamReader>,
        threads: i64,
        skip: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = Options::new(threads, skip)?;
        let texts = Texts::of_documents(&batches(stream.0)?)?;
        let bits = |signature: Engine| signature.comparable.map(|it| it.fingerprint.to_bits());
        let all = self.all(py, &texts, &options, bits)?;
        let array: UInt64Array = all.into_iter().map(Option::flatten).collect();
        array.into_data().to_pyarrow(py)
    }

    fn signatures_of_stream(
        &self,
        py: Python<'_>,
        stream: PyArrowType<RecordBatchStreamReader>,
        threads: i64,
        skip: bool,
        first: u64,
    ) -> PyResult<PyArrowType<Table>> {
        let options = Options::new(threads, skip)?;
        let batches = batches(stream.0)?;
        let texts = Texts::of_documents(&batches)?;
        let ids = Texts::of_columns(&batches, &[(ID, Kind::Text)])?;
        let all = self.all(py, &texts, &options, |signature| signature)?;
        let recipe = self.recipe_id().to_string();
        let table = py.detach(|| {
            let mut rows = SignatureRows::default();
            let nothing = Engine::without_text(ContentHash::of(""));
            for (row, signature) in all.iter().enumerate() {
                let signature = signature.as_ref().unwrap_or(&nothing);
                let number = (first + row as u64).to_string();
                let id = match ids.get(row) {
                    Some(Content::Text(id)) => id,
                    _ => &number,
                };
                rows.push(id, None, &recipe, signature)?;
            }
            Table::try_new(vec![rows.finish()?], schema())
        });
        let failed =
            |error: arrow_schema::ArrowError| raised("ArrowError", error.to_string(), None);
        Ok(PyArrowType(table.map_err(failed)?))
    }

    fn extract(&self, py: Python<'_>, document: &Bound<'_, PyAny>, kind: &str) -> PyResult<String> {
        let (document, kind) = (Given::of(document)?, Kind::parse(kind)?);
        py.detach(|| self.extracted(&document, kind)).map_err(|error| of_page(&error))
    }

    fn compare(
        slf: Bound<'_, Self>,
        left: &Bound<'_, PyAny>,
        right: &Bound<'_, PyAny>,
        kind: &str,
    ) -> PyResult<Comparison> {
        let (left, right, kind) = (Given::of(left)?, Given::of(right)?, Kind::parse(kind)?);
        let (py, this) = (slf.py(), slf.unbind());
        interruptible(py, &Stop::default(), move || {
            let this = this.get();
            let text = |given| this.extracted(given, kind).map_err(|error| of_page(&error));
            let (left, right) = (text(&left)?, text(&right)?);
            let comparison = this.with(|by| compare(by, &left, &right));
            Ok(Comparison::new(Arc::new(comparison), this.recipe_id().clone(), left, right))
        })
    }

    /// Seconds that the engine alone takes for a list of documents that lie in its own memory, on
    /// one thread: what a binding costs is measured against this.
    fn _seconds_in_rust(&self, py: Python<'_>, list: Vec<String>, kind: &str) -> PyResult<f64> {
        let kind = Kind::parse(kind)?;
        let took = py.detach(|| {
            self.with(|by| {
                let started = Instant::now();
                let mut comparables = Vec::with_capacity(list.len());
                for text in &list {
                    let comparable = Content::Text(text).signature(by, kind)?.comparable;
                    comparables.push(comparable.map(|it| it.fingerprint.to_bits()));
                }
                std::hint::black_box(&comparables);
                Ok(started.elapsed().as_secs_f64())
            })
        });
        took.map_err(|error: PageError| of_page(&error))
    }
}
