//! The live index and the planner, as Python sees them.
//!
//! Many numbers come and go as bytes, eight for each, little-endian: Python's `array`, NumPy and
//! Arrow all have them so, and none needs another library for it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hapax::fingerprint::{Fingerprint, MaxDistance, RecipeId};
use hapax::index::live::{LiveIndex, LiveOptions};
use hapax::index::plan::{Candidate, Machine, Request, plan};
use hapax::index::segment::{Encoding, Removed, Segment, SegmentEngine, SegmentView};
use hapax::index::{Answers, Entry, HammingIndex, Match, Query, Recall};
use hapax_corpus::hpx::{Appender, Hpx, HpxError};
use hapax_dedup::Stop;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use crate::errors::{of_argument, raised, system};
use crate::workers::{Done, each, interruptible, threads};

/// Queries that are searched together.
const BATCH: usize = 4096;
/// Up to so many entries a scan is the best engine.
const SCANNED: usize = 8192;
const TABLES: SegmentEngine = SegmentEngine::Tables(10);
/// Stands in a segment whose fingerprints stated no recipe.
const UNSTATED: &str = "unstated:0000000000000000";

/// Whole numbers from their bytes.
pub(crate) fn numbers(bytes: &[u8]) -> PyResult<Vec<u64>> {
    let (words, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(raised("ArgumentError", "numbers are 8 bytes each", None));
    }
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

pub(crate) fn bytes_of(numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    numbers.flat_map(u64::to_le_bytes).collect()
}

/// A bound as the caller says it.
pub(crate) fn bound(bits: u32) -> PyResult<MaxDistance> {
    u8::try_from(bits).ok().and_then(MaxDistance::new).ok_or_else(|| {
        raised("ArgumentError", format!("within {bits} bits: a distance is 0 to 64"), None)
    })
}

type Columns<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Fingerprints that can be asked who lives nearby.
#[pyclass(frozen, module = "hapax._hapax")]
pub(crate) struct IndexCore {
    index: LiveIndex,
    /// Held by whoever changes the index, so that a file has one moment of it.
    changing: Mutex<()>,
}

impl IndexCore {
    fn of(index: LiveIndex) -> Self {
        Self { index, changing: Mutex::new(()) }
    }

    fn of_segment(segment: Segment, bound: MaxDistance) -> PyResult<Self> {
        let removed = Removed::none(segment.len());
        let index = LiveIndex::from_segments(LiveOptions::within(bound), [(segment, removed)]);
        Ok(Self::of(index.map_err(|error| of_argument(&error))?))
    }

    fn bound(&self, asked: Option<u32>) -> PyResult<MaxDistance> {
        asked.map_or_else(|| Ok(self.index.snapshot().widest()), bound)
    }

    /// Everything in the index at one moment, by id.
    fn all(&self) -> Result<Vec<Entry>, String> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.index.freeze().map_err(|error| error.to_string())?;
        if let Some(task) = self.index.merge_of_all() {
            let merged = task.run().map_err(|error| error.to_string())?;
            self.index.commit(merged).map_err(|error| error.to_string())?;
        }
        let snapshot = self.index.snapshot();
        let Some((segment, _)) = snapshot.segments().next() else { return Ok(Vec::new()) };
        let recipe: RecipeId = UNSTATED.parse().map_err(|_| "a constant is no recipe")?;
        let bytes = segment.to_bytes(&recipe, Encoding::Plain).map_err(|it| it.to_string())?;
        let view = SegmentView::open(&bytes).map_err(|error| error.to_string())?;
        let mut entries = Vec::with_capacity(view.len());
        view.for_each(|entry| entries.push(entry));
        entries.sort_unstable_by_key(|entry| entry.id);
        Ok(entries)
    }
}

/// What a collection holds: names that are whole numbers are the ids, otherwise ids count from 0.
fn entries_of(hpx: &Hpx) -> Result<Vec<Entry>, HpxError> {
    let mut all = hpx.entries()?;
    all.sort_unstable();
    let mut lookup = hpx.lookup();
    let mut ids = Vec::with_capacity(all.len());
    for &(place, _) in &all {
        let name = lookup.name(place)?.and_then(|name| std::str::from_utf8(name).ok());
        ids.push(name.and_then(|name| name.parse().ok().filter(|id: &u64| id.to_string() == name)));
    }
    let numbered = ids.iter().all(Option::is_some);
    let entry = |((place, bits), id): ((u64, u64), Option<u64>)| Entry {
        fingerprint: Fingerprint::from_bits(bits),
        id: id.filter(|_| numbered).unwrap_or(place),
    };
    Ok(all.into_iter().zip(ids).map(entry).collect())
}

fn entries(ids: &[u8], fingerprints: &[u8]) -> PyResult<Vec<Entry>> {
    let (ids, fingerprints) = (numbers(ids)?, numbers(fingerprints)?);
    if ids.len() != fingerprints.len() {
        let reason = format!("{} ids for {} fingerprints", ids.len(), fingerprints.len());
        return Err(raised("ArgumentError", reason, None));
    }
    let entry = |(id, bits)| Entry { fingerprint: Fingerprint::from_bits(bits), id };
    Ok(ids.into_iter().zip(fingerprints).map(entry).collect())
}

#[pymethods]
impl IndexCore {
    #[new]
    fn new(within: u32) -> PyResult<Self> {
        let index = LiveIndex::new(LiveOptions::within(bound(within)?));
        Ok(Self::of(index.map_err(|error| of_argument(&error))?))
    }

    #[staticmethod]
    fn build(py: Python<'_>, ids: &[u8], fingerprints: &[u8], within: u32) -> PyResult<Self> {
        let (bound, entries) = (bound(within)?, entries(ids, fingerprints)?);
        interruptible(py, &Stop::default(), move || {
            let engine = if entries.len() <= SCANNED { SegmentEngine::Scan } else { TABLES };
            let segment = Segment::build(entries, engine, bound);
            Self::of_segment(segment.map_err(|error| of_argument(&error))?, bound)
        })
    }

    fn add(&self, py: Python<'_>, ids: &[u8], fingerprints: &[u8]) -> PyResult<()> {
        let entries = entries(ids, fingerprints)?;
        py.detach(|| {
            let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            self.index.insert_batch(&entries).map_err(|error| of_argument(&error))
        })
    }

    fn remove(&self, py: Python<'_>, ids: &[u8]) -> PyResult<usize> {
        let ids = numbers(ids)?;
        Ok(py.detach(|| {
            let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            self.index.remove_batch(&ids)
        }))
    }

    fn find(
        &self,
        py: Python<'_>,
        fingerprint: u64,
        within: Option<u32>,
    ) -> PyResult<Vec<(u64, u32)>> {
        let bound = self.bound(within)?;
        let query = Query::from(Fingerprint::from_bits(fingerprint));
        let found = py.detach(|| self.index.snapshot().find_all(&query, bound));
        let found = found.map_err(|error| of_argument(&error))?;
        Ok(found.into_iter().map(|near| (near.id, near.distance)).collect())
    }

    /// Three columns: the number of the query, the id of a match, the distance (one byte each).
    fn find_many<'py>(
        &self,
        py: Python<'py>,
        fingerprints: &[u8],
        within: Option<u32>,
        asked_threads: i64,
    ) -> PyResult<Columns<'py>> {
        let (bound, fingerprints) = (self.bound(within)?, numbers(fingerprints)?);
        let snapshot = self.index.snapshot();
        let batches: Vec<&[u64]> = fingerprints.chunks(BATCH).collect();
        let work = |(): &mut (), number: usize| -> Result<Answers, _> {
            let queries: Vec<Query<'_>> = batches[number]
                .iter()
                .map(|bits| Query::from(Fingerprint::from_bits(*bits)))
                .collect();
            snapshot.find_all_batch(&queries, bound)
        };
        let tools = vec![(); threads(asked_threads)?.get().min(batches.len().max(1))];
        let Done { results: answers, failed, .. } = each(py, batches.len(), 1, tools, work)?;
        if let Some((_, error)) = failed {
            return Err(of_argument(&error));
        }
        let found = || -> Box<dyn Iterator<Item = (u64, &Match)>> {
            let each = answers.iter().flat_map(Answers::iter);
            Box::new(
                (0u64..).zip(each).flat_map(|(query, near)| near.iter().map(move |m| (query, m))),
            )
        };
        let distances: Vec<u8> = found().map(|(_, near)| near.distance as u8).collect();
        Ok((
            PyBytes::new(py, &bytes_of(found().map(|(query, _)| query))),
            PyBytes::new(py, &bytes_of(found().map(|(_, near)| near.id))),
            PyBytes::new(py, &distances),
        ))
    }

    fn contains(&self, id: u64) -> bool {
        self.index.snapshot().contains(id)
    }

    fn count(&self) -> usize {
        self.index.snapshot().len()
    }

    #[getter]
    fn within(&self) -> u32 {
        self.index.snapshot().widest().bits()
    }

    #[getter]
    fn memory_bytes(&self) -> usize {
        self.index.memory_bytes()
    }

    /// Writes a collection as `hapax near build` does, with ids as names; the file appears when it is
    /// complete.
    fn save(slf: Bound<'_, Self>, path: PathBuf, recipe: Option<String>) -> PyResult<()> {
        if let Some(recipe) = &recipe {
            recipe
                .parse::<RecipeId>()
                .map_err(|error: hapax::fingerprint::ParseRecipeIdError| of_argument(&error))?;
        }
        let (py, this) = (slf.py(), slf.unbind());
        interruptible(py, &Stop::default(), move || {
            let failed = |error: HpxError| of_collection(error, &path);
            let entries = this.get().all().map_err(|e| raised("IndexFileError", e, None))?;
            let recipe = recipe.as_deref().unwrap_or_default();
            let mut file = Appender::create(&path, recipe).map_err(failed)?;
            for Entry { fingerprint, id } in entries {
                let name = id.to_string();
                file.push(fingerprint.to_bits(), Some(name.as_bytes())).map_err(failed)?;
            }
            file.finish().map(drop).map_err(failed)
        })
    }

    /// Ids and fingerprints of one moment, by id.
    fn entries<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let entries = py.detach(|| self.all()).map_err(|e| raised("IndexFileError", e, None))?;
        let ids = bytes_of(entries.iter().map(|entry| entry.id));
        let bits = bytes_of(entries.iter().map(|entry| entry.fingerprint.to_bits()));
        Ok((PyBytes::new(py, &ids), PyBytes::new(py, &bits)))
    }

    /// Reads such a file, or a segment of version 0.1; gives the recipe it states.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, within: u32) -> PyResult<(Self, Option<String>)> {
        let bound = bound(within)?;
        interruptible(py, &Stop::default(), move || {
            let bad = |error: &dyn std::error::Error| {
                raised("IndexFileError", error.to_string(), Some(&path))
            };
            let (entries, stated) = match Hpx::open(&path) {
                Ok(hpx) => {
                    let entries = entries_of(&hpx).map_err(|it| of_collection(it, &path))?;
                    (entries, hpx.recipe().to_owned())
                }
                Err(HpxError::Foreign { .. }) => {
                    let mut bytes = Vec::new();
                    hapax_corpus::open_file(&path)
                        .and_then(|mut file| file.read_to_end(&mut bytes))
                        .map_err(|error| system(&path, &error))?;
                    let view = SegmentView::open(&bytes).map_err(|error| bad(&error))?;
                    let mut entries = Vec::with_capacity(view.len());
                    view.for_each(|entry| entries.push(entry));
                    (entries, view.recipe().to_owned())
                }
                Err(error) => return Err(of_collection(error, &path)),
            };
            let engine = if entries.len() <= SCANNED { SegmentEngine::Scan } else { TABLES };
            let segment = Segment::build(entries, engine, bound).map_err(|error| bad(&error))?;
            let stated = Some(stated).filter(|recipe| !recipe.is_empty() && recipe != UNSTATED);
            Ok((Self::of_segment(segment, bound)?, stated))
        })
    }
}

fn of_collection(error: HpxError, path: &Path) -> PyErr {
    match error {
        HpxError::Io { source, .. } => system(path, &source),
        error => raised("IndexFileError", error.to_string(), Some(path)),
    }
}

/// Which index so many pages need, as JSON.
#[pyfunction]
pub(crate) fn plan_json(
    py: Python<'_>,
    pages: u64,
    within: u32,
    memory: Option<u64>,
    recall: f64,
    queries: Option<u64>,
) -> PyResult<String> {
    let recall = Recall::new(recall).ok_or_else(|| {
        raised("ArgumentError", format!("recall {recall}: it is above 0 and at most 1"), None)
    })?;
    let mut request = Request::new(pages, bound(within)?).recall(recall);
    (request.memory, request.queries) = (memory, queries);
    let plan = py.detach(|| plan(&request, &Machine::typical()));
    let plan = plan.map_err(|error| of_argument(&error))?;
    let candidates: Vec<Value> = plan.candidates.iter().map(candidate).collect();
    Ok(json!({"candidates": candidates, "chosen": plan.chosen, "reason": plan.reason}).to_string())
}

fn candidate(candidate: &Candidate) -> Value {
    json!({
        "engine": candidate.engine.name(),
        "tables": candidate.engine.tables(),
        "recall": candidate.recall,
        "bytes_per_page": candidate.bytes_per_page,
        "total_bytes": candidate.total_bytes,
        "probes": candidate.probes,
        "compared": candidate.compared,
        "nanoseconds_per_query": candidate.nanoseconds_per_query,
        "fits": candidate.fits,
    })
}
