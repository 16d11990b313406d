//! The steps of a job for engines that move rows: Arrow batches in and out.
//!
//! What a step does is said in `hapax_dedup::distributed`; here batches cross the border, without a
//! copy, and the lock is released.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use arrow_array::RecordBatch;
use arrow_pyarrow::PyArrowType;
use hapax::group::scope::SUFFIXES;
use hapax_corpus::Source;
use hapax_dedup::distributed::{
    Cut, LearnFrames, OwnTexts, PartSignatures, Seen, Steps, Wide, write_part,
};
use hapax_dedup::{Error, KeptFormat, key};
use pyo3::prelude::*;
use serde_json::json;

use crate::dedup::{Asked, asked};
use crate::errors::{of_corpus, of_job, raised};
use crate::fingerprinter::FingerprinterCore;

type Batch = PyArrowType<RecordBatch>;

/// How representatives are cut: rows, pieces, blocks, within, dense cluster.
type CutNumbers = (usize, usize, Option<u32>, Option<u32>, Option<usize>);

/// The steps under the options of a job.
#[pyclass(frozen, module = "hapax._hapax")]
pub(crate) struct StepsCore {
    engine: Steps,
    recipe: String,
}

fn cut_of((rows, pieces, blocks, within, cluster): CutNumbers) -> Cut {
    Cut { rows, pieces, blocks, within, cluster }
}

fn given<T>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T>
where
    T: Send,
{
    py.detach(work).map_err(|error| of_job(&error))
}

fn batch(
    py: Python<'_>,
    work: impl FnOnce() -> Result<RecordBatch, Error> + Send,
) -> PyResult<Batch> {
    given(py, work).map(PyArrowType)
}

impl StepsCore {
    fn open(&self, inputs: &[String]) -> PyResult<Source> {
        let read = self.engine.options().read.clone();
        Source::open(inputs, read).map_err(|error| of_corpus(&error))
    }

    /// The source and its part, if the part still has these files.
    fn part(&self, inputs: &[String], part: usize, files: usize, first: &str) -> PyResult<Source> {
        let source = self.open(inputs)?;
        let changed = || {
            let text = format!(
                "the inputs have changed: part {part} was {first}; run the job again on inputs \
                 that stay as they are, and see that every machine sees the same ones"
            );
            raised("CorpusError", text, Some(first.as_ref()))
        };
        if source.files().len() != files || part >= source.parts() {
            return Err(changed());
        }
        let found = parts_of(&source).into_iter().nth(part);
        if found.is_none_or(|found| found.first().is_none_or(|name| name != first)) {
            return Err(changed());
        }
        Ok(source)
    }
}

/// The files of every part.
fn parts_of(source: &Source) -> Vec<Vec<String>> {
    let files: Vec<String> = source.files().collect();
    (0..source.parts())
        .map(|part| {
            let range = source.part_files(part);
            files[range.start as usize..range.end as usize].to_vec()
        })
        .collect()
}

#[pymethods]
impl StepsCore {
    #[new]
    #[pyo3(signature = (by, asked, key=None))]
    fn new(
        by: &FingerprinterCore,
        #[pyo3(from_py_with = asked)] asked: Asked,
        key: Option<&str>,
    ) -> PyResult<Self> {
        let mut options = asked.options(by)?;
        if let Some(key) = key {
            let wrong = || raised("ArgumentError", "a key is hexadecimal digits".to_owned(), None);
            let key = key::from_hex(key).ok_or_else(wrong)?;
            options.fingerprinter = options.fingerprinter.with_short_key(&key);
        }
        let recipe = options.fingerprinter.recipe_id().to_string();
        let engine = Steps::new(options).map_err(|error| of_job(&error))?;
        Ok(Self { engine, recipe })
    }

    /// What was asked for, as the summary says it.
    fn settings(&self) -> String {
        let options = self.engine.options();
        json!({
            "recipe": self.recipe,
            "within": options.policy.within.bits(),
            "min_similarity": options.policy.min_similarity.jaccard(),
            "confirm": options.confirm.name(),
            "frames": options.frames.name(),
            "shingle": options.fingerprinter.recipe().sketch_shingle.words(),
            "keep": options.keep.to_string(),
            "scope": options.scope.to_string(),
            "suffixes": SUFFIXES,
            "languages": options.languages,
        })
        .to_string()
    }

    /// The parts of the inputs: the files of each.
    fn parts(&self, py: Python<'_>, inputs: Vec<String>) -> PyResult<Vec<Vec<String>>> {
        py.detach(|| self.open(&inputs).map(|source| parts_of(&source)))
    }

    /// Signatures of a part of the inputs.
    fn signature(
        &self,
        py: Python<'_>,
        inputs: Vec<String>,
        part: usize,
        files: usize,
        first: &str,
    ) -> PyResult<SignaturesCore> {
        let rows = py.detach(|| {
            let source = self.part(&inputs, part, files, first)?;
            Ok::<_, PyErr>(self.engine.signature(&source, part, part, None))
        })?;
        Ok(SignaturesCore(Mutex::new(rows)))
    }

    /// Signatures of one file that is read under another name than its own.
    fn signature_copy(&self, path: &str, name: String, number: usize) -> PyResult<SignaturesCore> {
        let source = self.open(&[path.to_owned()])?;
        let renamed = Some((path.to_owned(), name));
        Ok(SignaturesCore(Mutex::new(self.engine.signature(&source, 0, number, renamed))))
    }

    /// Writes what stays of a part; how many documents stay.
    #[expect(
        clippy::too_many_arguments,
        reason = "a part, what goes of it, and where it is written"
    )]
    fn write_part(
        &self,
        py: Python<'_>,
        inputs: Vec<String>,
        part: usize,
        files: usize,
        first: &str,
        removed: Vec<i64>,
        documents: u64,
        path: PathBuf,
    ) -> PyResult<u64> {
        let source = self.part(&inputs, part, files, first)?;
        given(py, || write_part(&source, part, &removed, documents, &path)).map(|done| done.kept)
    }

    fn names(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.names(&rows.0))
    }

    fn frame_sample(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.frame_sample(&rows.0))
    }

    fn learn_frames(&self) -> LearnFramesCore {
        LearnFramesCore(Mutex::new(self.engine.learn_frames()))
    }

    fn own_texts(&self) -> OwnTextsCore {
        OwnTextsCore(Mutex::new(self.engine.own_texts()))
    }

    /// A frame as the report shows it, as JSON.
    fn shown_frame(&self, url: &str, pages: u32, text: &str, frame: &[u8]) -> String {
        self.engine.shown_frame(url, pages, text, frame)
    }

    fn copies(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.copies(&rows.0))
    }

    fn part_bits(&self, representatives: usize) -> u32 {
        self.engine.part_bits(representatives)
    }

    fn bucket_sizes(&self, py: Python<'_>, rows: Batch, wide: Vec<Wide>) -> PyResult<Batch> {
        batch(py, || self.engine.bucket_sizes(&rows.0, &wide))
    }

    fn suspects(
        &self,
        py: Python<'_>,
        rows: Batch,
        dense: Vec<i64>,
        wide: Vec<Wide>,
    ) -> PyResult<Batch> {
        batch(py, || self.engine.suspects(&rows.0, &dense, &wide))
    }

    fn thin(&self, py: Python<'_>, rows: Batch, number: usize, wide: Vec<Wide>) -> PyResult<Batch> {
        batch(py, || self.engine.thin(&rows.0, number, &wide))
    }

    fn saturation_sample(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.saturation_sample(&rows.0))
    }

    fn saturation_count(&self, py: Python<'_>, rows: Batch, sample: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.saturation_count(&rows.0, &sample.0))
    }

    /// `("clear", None, [])`, `("bands", chance, [])` or `("narrow", bits, fingerprints)`.
    fn see(
        &self,
        sample: Vec<i64>,
        counts: Vec<Vec<u64>>,
        representatives: usize,
    ) -> (&'static str, Option<f64>, Vec<i64>) {
        match self.engine.see(&sample, &counts, representatives) {
            Seen::Clear => ("clear", None, Vec::new()),
            Seen::Bands(chance) => ("bands", Some(chance), Vec::new()),
            Seen::Narrow(bits, dense) => ("narrow", Some(f64::from(bits)), dense),
        }
    }

    fn saturated(&self, py: Python<'_>, rows: Batch, dense: Vec<i64>) -> PyResult<Batch> {
        batch(py, || self.engine.saturated(&rows.0, &dense))
    }

    /// The cut with its number of blocks chosen.
    fn cut(&self, numbers: CutNumbers) -> PyResult<CutNumbers> {
        let Cut { rows, pieces, blocks, within, cluster } =
            self.engine.cut(cut_of(numbers)).map_err(|error| of_job(&error))?;
        Ok((rows, pieces, blocks, within, cluster))
    }

    fn keys(&self, py: Python<'_>, rows: Batch, cut: CutNumbers, tasks: usize) -> PyResult<Batch> {
        batch(py, || self.engine.keys(&rows.0, &cut_of(cut), tasks))
    }

    fn candidates(&self, py: Python<'_>, rows: Batch, cut: CutNumbers) -> PyResult<Batch> {
        batch(py, || self.engine.candidates(&rows.0, &cut_of(cut)))
    }

    fn match_new(&self, py: Python<'_>, rows: Batch, new: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.match_new(&rows.0, &new.0))
    }

    fn band_keys(&self, py: Python<'_>, rows: Batch, tasks: usize) -> PyResult<Batch> {
        batch(py, || self.engine.band_keys(&rows.0, tasks))
    }

    fn band_candidates(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.band_candidates(&rows.0))
    }

    fn confirm(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.confirm(&rows.0))
    }

    fn forest(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.forest(&rows.0))
    }

    fn components(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.components(&rows.0))
    }

    fn resolve(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.resolve(&rows.0))
    }

    fn group_rows(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.engine.group_rows(&rows.0))
    }

    /// Writes signatures of documents that stay; how many.
    fn write_signatures(&self, py: Python<'_>, rows: Batch, path: PathBuf) -> PyResult<u64> {
        given(py, || self.engine.write_signatures(&rows.0, &path))
    }

    /// The folder common to documents without an address, or None.
    fn common_folder(&self, py: Python<'_>, rows: Batch) -> PyResult<Option<String>> {
        given(py, || self.engine.common_folder(&rows.0))
    }

    fn common_of(&self, folders: Vec<String>) -> String {
        self.engine.common_of(&folders)
    }

    fn origins(&self, py: Python<'_>, rows: Batch, common: &str) -> PyResult<Batch> {
        batch(py, || self.engine.origins(&rows.0, common))
    }

    fn shown_of(&self, near: usize) -> Vec<usize> {
        self.engine.shown_of(near)
    }

    fn shown_apart(&self, pairs: Vec<(i64, i64)>) -> Vec<usize> {
        self.engine.shown_apart(&pairs)
    }

    /// Texts of some documents of a part of the inputs.
    fn example_texts(
        &self,
        py: Python<'_>,
        inputs: Vec<String>,
        part: usize,
        files: usize,
        first: &str,
        wanted: Vec<i64>,
    ) -> PyResult<Batch> {
        let source = self.part(&inputs, part, files, first)?;
        batch(py, || self.engine.example_texts(&source, part, &wanted))
    }

    /// What documents are written as unless the caller says otherwise; of so many, archived, rows of tables, and files.
    #[staticmethod]
    fn kept_ending(documents: u64, archived: u64, rows: u64, names: Vec<String>) -> &'static str {
        KeptFormat::as_read(documents, (archived, rows), names).ending()
    }

    /// `report.html` of what was gathered, as JSON.
    fn report(&self, py: Python<'_>, gathered: &str) -> PyResult<String> {
        given(py, || self.engine.report(gathered))
    }

    /// What the report shows: origins, groups, documents of each, pairs apart to choose from, and records
    /// that were passed over.
    #[classattr]
    const SHOWN: (usize, usize, usize, usize, usize) = {
        let shown = Steps::SHOWN;
        (shown.origins, shown.groups, shown.documents, shown.apart, shown.passed)
    };
    /// Passes over dense clusters; representatives of a scope from which on there may be saturation; members of a dense cluster; representatives
    /// of a scope beyond which they share more bits.
    #[classattr]
    const PASSES: usize = Steps::PASSES;
    #[classattr]
    const FEW: usize = Steps::FEW;
    #[classattr]
    const DENSE: usize = Steps::DENSE;
    #[classattr]
    const MANY: usize = Steps::MANY;
    /// Pages from which on a host has a frame, and how many hosts are looked at for the report.
    #[classattr]
    const MIN_FRAME_PAGES: u32 = Steps::MIN_FRAME_PAGES;
    #[classattr]
    const SHOWN_HOSTS: usize = Steps::SHOWN_HOSTS;
}

/// Pages of one host after the other, on their way to frames.
#[pyclass(frozen, module = "hapax._hapax")]
pub(crate) struct LearnFramesCore(Mutex<LearnFrames>);

#[pymethods]
impl LearnFramesCore {
    fn add(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.0.lock().unwrap_or_else(PoisonError::into_inner).add(&rows.0))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Batch> {
        batch(py, || self.0.lock().unwrap_or_else(PoisonError::into_inner).finish())
    }
}

/// Pages of one host after the other, each behind the frame of the host.
#[pyclass(frozen, module = "hapax._hapax")]
pub(crate) struct OwnTextsCore(Mutex<OwnTexts>);

#[pymethods]
impl OwnTextsCore {
    fn next(&self, py: Python<'_>, rows: Batch) -> PyResult<Batch> {
        batch(py, || self.0.lock().unwrap_or_else(PoisonError::into_inner).next(&rows.0))
    }
}

/// Batches of a part, one after the other.
#[pyclass(frozen, module = "hapax._hapax")]
pub(crate) struct SignaturesCore(Mutex<PartSignatures>);

#[pymethods]
impl SignaturesCore {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        given(py, || self.0.lock().unwrap_or_else(PoisonError::into_inner).next_batch())
            .map(|next| next.map(PyArrowType))
    }
}
