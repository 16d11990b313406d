//! Joins new pages with stored ones by length, in steps for engines that move rows: Arrow batches in, Arrow batches
//! out.
//!
//! ```text
//!   stored --place--> its cell ---------\
//!                                        machine --compare--> new, stored, similarity
//!   new ----send----> cells in reach ---/
//! ```
//!
//! A stored page has one cell, and a new page comes to a machine once with all of its cells there, so every pair
//! comes once. **Lengths bound the Jaccard similarity of shingles, not the distance of SimHash fingerprints.**
//! `exact` counts lengths in the compared sets, asks all languages and loses nothing; `sampled` is the paper's,
//! with tau and a sampled rho: it sends less, and `recall` measures the loss. Releases the GIL. Bounds and cells
//! are in `hapax_partition`.
//!
//! Source: Zhu et al. 2012, 4.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_pyarrow::PyArrowType;
use hapax::fingerprint::ContentHash;
use hapax::page::{ExtractOptions, Extractor};
use hapax_dedup::recipes::LoadError;
use hapax_partition::study::similar_pairs;
use hapax_partition::{
    Bounds, Deviations, ExactBounds, FeatureMaker, LengthVector, Mapping, MappingSettings,
    PageFeatures, PartitionError, Placed, StoredPages,
};
use pyo3::prelude::*;

use crate::cell_rows::{Arrived, Outgoing, Pairs, Travelling};
use crate::errors::{of_argument, of_recipe, raised};
use crate::fingerprinter::FingerprinterCore;
use crate::texts::{Content, Kind, Texts};

type Batch = PyArrowType<RecordBatch>;
/// Stored pages of a cell: lengths, number, features.
type Cell = Vec<(LengthVector, u32, Vec<u64>)>;

/// How a mapping is learnt: dimensions, machines, tau, rho, by language.
type LearnNumbers = (usize, u32, f64, Option<f64>, bool);

/// Documents to features.
struct Reader {
    extractor: Extractor,
    maker: FeatureMaker,
    kind: Kind,
}

impl Reader {
    fn new(by: &FingerprinterCore, kind: &str) -> PyResult<Self> {
        let recipe = by.engine().recipe();
        let options = ExtractOptions { extent: recipe.extent, ..ExtractOptions::default() };
        Ok(Self {
            extractor: Extractor::new(options),
            maker: FeatureMaker::new(recipe)
                .map_err(|source| of_recipe(&LoadError::Recipe { path: None, source }))?,
            kind: Kind::parse(kind)?,
        })
    }

    /// What is neither HTML nor text has no features.
    fn features(&mut self, document: Content<'_>) -> PageFeatures {
        let page = self.extractor.document(&document.document(self.kind));
        page.map(|page| self.maker.features(&page.text)).unwrap_or_default()
    }

    /// Pages of a sample that have words.
    fn sample(&mut self, batches: &[Batch]) -> PyResult<Vec<PageFeatures>> {
        let mut pages = Vec::new();
        for batch in batches {
            let Rows { documents, count, .. } = Rows::of(&batch.0)?;
            let read = (0..count).filter_map(|row| documents.get(row)).map(|it| self.features(it));
            pages.extend(read.filter(|page| !page.words.is_empty()));
        }
        Ok(pages)
    }
}

/// Documents by their ids.
struct Rows {
    ids: Texts,
    documents: Texts,
    count: usize,
}

impl Rows {
    fn of(batch: &RecordBatch) -> PyResult<Self> {
        let texts = |name| Texts::of_batches(std::slice::from_ref(batch), name);
        Ok(Self { ids: texts("id")?, documents: texts("document")?, count: batch.num_rows() })
    }

    fn id(&self, row: usize) -> PyResult<&str> {
        match self.ids.get(row) {
            Some(Content::Text(id)) => Ok(id),
            Some(Content::Bytes(_)) | None => {
                let reason =
                    "a page has no id: its pairs cannot be reported; drop rows without one";
                Err(raised("CorpusError", reason, None))
            }
        }
    }
}

enum Bound {
    Exact(ExactBounds),
    Sampled,
}

/// The steps of a join under one mapping.
#[pyclass(frozen, module = "hapax._hapax")]
pub(crate) struct CellsCore {
    mapping: Mapping,
    /// The first cell of each language.
    firsts: Vec<usize>,
    bound: Bound,
    least: f64,
    /// Names everything on which the cell of a page depends.
    placed_by: String,
    by: Py<FingerprinterCore>,
    kind: String,
}

fn refused(error: &PartitionError) -> PyErr {
    of_argument(error)
}

impl CellsCore {
    fn reader(&self) -> PyResult<Reader> {
        Reader::new(self.by.get(), &self.kind)
    }

    /// The language and the lengths of a page, as the bound counts them.
    fn placed(&self, page: &PageFeatures) -> Placed {
        let placed = self.mapping.place(page);
        match self.bound {
            Bound::Sampled => placed,
            Bound::Exact(_) => {
                let part = &self.mapping.parts()[usize::from(placed.part)];
                Placed { lengths: part.dictionary.lengths(&page.shingles), ..placed }
            }
        }
    }

    /// The cells in which pages like this one can be, ascending.
    fn visits(&self, page: &PageFeatures, placed: &Placed) -> Vec<usize> {
        let Bound::Exact(bounds) = &self.bound else { return self.mapping.cells_near(placed) };
        let mut cells = Vec::new();
        for (part, &first) in self.mapping.parts().iter().zip(&self.firsts) {
            let lengths = part.dictionary.lengths(&page.shingles);
            cells.extend(bounds.cells(&part.cells, &lengths).into_iter().map(|it| first + it));
        }
        cells
    }

    fn rows(&self, batch: &RecordBatch, new: bool) -> PyResult<Vec<Batch>> {
        let mut reader = self.reader()?;
        let rows = Rows::of(batch)?;
        let mut out = Outgoing::default();
        for row in 0..rows.count {
            let id = rows.id(row)?;
            let page = rows.documents.get(row).map(|it| reader.features(it)).unwrap_or_default();
            if page.shingles.is_empty() {
                continue;
            }
            let placed = self.placed(&page);
            let cells = match new {
                true => self.visits(&page, &placed),
                false => vec![self.mapping.cell(&placed)],
            };
            let machine = |cell: &usize| self.mapping.machine(*cell);
            for cells in cells.chunk_by(|a, b| machine(a) == machine(b)) {
                let travelling = Travelling {
                    machine: cells.first().map_or(0, machine),
                    cells,
                    id,
                    language: page.language,
                    lengths: &placed.lengths,
                    features: &page.shingles,
                };
                out.push(&travelling, new, &self.placed_by)?;
            }
        }
        Ok(out.finish()?.into_iter().map(PyArrowType).collect())
    }

    fn compared(&self, batches: &[Batch]) -> PyResult<Vec<Batch>> {
        let arrived: PyResult<Vec<Arrived>> =
            batches.iter().map(|batch| Arrived::of(&batch.0, &self.placed_by)).collect();
        let arrived = arrived?;
        let places = || {
            let all = arrived.iter().enumerate();
            all.flat_map(|(at, rows)| (0..rows.len()).map(move |row| (at, row)))
        };
        let mut stored: Vec<(usize, usize)> = Vec::new();
        let mut cells: BTreeMap<i32, Cell> = BTreeMap::new();
        for (at, row) in places().filter(|&(at, row)| !arrived[at].is_new(row)) {
            let rows = &arrived[at];
            for cell in rows.cells(row) {
                let page = (rows.lengths(row)?, stored.len() as u32, rows.features(row)?);
                cells.entry(cell).or_default().push(page);
            }
            stored.push((at, row));
        }
        let mut shelves = BTreeMap::new();
        for (cell, pages) in cells {
            shelves.insert(cell, StoredPages::new(pages, self.least).map_err(|it| refused(&it))?);
        }
        let bounds = match self.bound {
            Bound::Exact(_) => None,
            Bound::Sampled => Some(self.mapping.bounds()),
        };
        let mut pairs = Pairs::default();
        let mut found = Vec::new();
        for (at, row) in places().filter(|&(at, row)| arrived[at].is_new(row)) {
            let rows = &arrived[at];
            let (lengths, features) = (rows.lengths(row)?, rows.features(row)?);
            found.clear();
            for shelf in rows.cells(row).iter().filter_map(|cell| shelves.get(cell)) {
                shelf.compare(&lengths, &features, bounds, &mut found);
            }
            for it in &found {
                let (from, stored) = stored[it.id as usize];
                pairs.push(rows.id(row)?, arrived[from].id(stored)?, it.similarity)?;
            }
        }
        Ok(pairs.finish()?.into_iter().map(PyArrowType).collect())
    }

    /// Pairs of a sample that are alike, and those of them that this bound brings together.
    fn recalled(&self, batches: &[Batch]) -> PyResult<(usize, usize)> {
        let pages = self.reader()?.sample(batches)?;
        let all: Vec<&PageFeatures> = pages.iter().collect();
        let placed: Vec<Placed> = pages.iter().map(|page| self.placed(page)).collect();
        let pairs =
            similar_pairs(&all, &all, self.least, &mut |_| ()).map_err(|error| refused(&error))?;
        let pairs: Vec<(usize, usize)> = pairs
            .into_iter()
            .filter(|(a, b)| a < b)
            .map(|(a, b)| (a as usize, b as usize))
            .collect();
        let meet = |&&(a, b): &&(usize, usize)| match self.bound {
            Bound::Exact(_) => {
                self.visits(&pages[a], &placed[a]).contains(&self.mapping.cell(&placed[b]))
            }
            Bound::Sampled => {
                let (a, b) = (&placed[a], &placed[b]);
                a.part == b.part && self.mapping.bounds().admit(&a.lengths, &b.lengths)
            }
        };
        Ok((pairs.len(), pairs.iter().filter(meet).count()))
    }
}

#[pymethods]
impl CellsCore {
    /// Of the text of a mapping's file. Without a similarity its tau.
    #[new]
    fn new(
        by: Py<FingerprinterCore>,
        mapping: &str,
        min_similarity: Option<f64>,
        bound: &str,
        kind: String,
    ) -> PyResult<Self> {
        let read = Mapping::from_toml(mapping).map_err(|error| refused(&error))?;
        let recipe = by.get().recipe_id().to_string();
        if read.recipe() != recipe {
            let reason = format!(
                "the mapping was learnt with the recipe {}, and pages are read with {recipe}: name \
                 the same recipe, or learn a mapping with this one",
                read.recipe()
            );
            return Err(raised("RecipeMismatchError", reason, None));
        }
        Kind::parse(&kind)?;
        let least = min_similarity.unwrap_or(read.bounds().tau());
        let with =
            |tau: f64, rho: f64, deviations: Deviations| -> Result<Mapping, PartitionError> {
                let bounds = Bounds::new(tau, rho)?;
                Mapping::new(
                    recipe.clone(),
                    bounds,
                    deviations,
                    read.parts().to_vec(),
                    read.runs().clone(),
                )
            };
        let mapping = with(least, read.bounds().rho(), *read.deviations());
        let mapping = mapping.map_err(|error| refused(&error))?;
        // The home of a page does not depend on how far others are looked for.
        let bare = with(1.0, 1.0, Deviations { epsilon: 0.0, delta: 0.0 });
        let homes = bare.map_err(|error| refused(&error))?.to_toml();
        let placed_by = format!("{bound} {}", ContentHash::of(&homes));
        let bound = match bound {
            "exact" => Bound::Exact(ExactBounds::new(least).map_err(|error| refused(&error))?),
            "sampled" => Bound::Sampled,
            other => {
                let reason = format!("bound {other:?} is neither 'exact' nor 'sampled'");
                return Err(raised("ArgumentError", reason, None));
            }
        };
        let firsts = mapping.parts().iter().scan(0, |next, part| {
            let first = *next;
            *next += part.cells.count();
            Some(first)
        });
        let firsts = firsts.collect();
        Ok(Self { mapping, firsts, bound, least, placed_by, by, kind })
    }

    #[getter]
    fn machines(&self) -> u32 {
        self.mapping.runs().machines()
    }

    #[getter]
    fn placed_by(&self) -> &str {
        &self.placed_by
    }

    /// Stored documents, columns `id` and `document`, to their machines.
    fn place(&self, py: Python<'_>, rows: Batch) -> PyResult<Vec<Batch>> {
        py.detach(|| self.rows(&rows.0, false))
    }

    /// New documents to the machines where stored ones like them can be.
    fn send(&self, py: Python<'_>, rows: Batch) -> PyResult<Vec<Batch>> {
        py.detach(|| self.rows(&rows.0, true))
    }

    /// New pages against stored ones, of everything that has come to some machines.
    fn compare(&self, py: Python<'_>, rows: Vec<Batch>) -> PyResult<Vec<Batch>> {
        py.detach(|| self.compared(&rows))
    }

    /// Pairs of a sample at least so similar, and how many of them are compared.
    fn recall(&self, py: Python<'_>, sample: Vec<Batch>) -> PyResult<(usize, usize)> {
        py.detach(|| self.recalled(&sample))
    }
}

/// Learns a mapping from a sample; the text of its file.
#[pyfunction]
pub(crate) fn learn_cells(
    py: Python<'_>,
    by: &FingerprinterCore,
    sample: Vec<Batch>,
    kind: &str,
    numbers: LearnNumbers,
) -> PyResult<String> {
    let (dimensions, machines, tau, rho, by_language) = numbers;
    let settings = MappingSettings { dimensions, machines, tau, rho, by_language };
    settings.check().map_err(|error| refused(&error))?;
    py.detach(|| {
        let pages = Reader::new(by, kind)?.sample(&sample)?;
        let recipe = by.recipe_id().to_string();
        let mapping = Mapping::learn(&pages, &recipe, &settings);
        mapping.map(|mapping| mapping.to_toml()).map_err(|error| refused(&error))
    })
}
