//! A segment with an engine of the caller's choice.
//!
//! ```text
//!   ids     ascending, Elias-Fano: the index of an id is its entry's rank
//!   engine  fingerprints and ranks: a scan, tables, or the sorted bytes of a file
//! ```
//!
//! Engines report ranks instead of ids: the rank leads to the id, an id is found by binary search, and a
//! removal is the bit at the rank. Dense ids take two bits per entry. Does not handle removals or other
//! segments.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::format::{Encoding, Layout, SegmentError};
use super::monotone::{Monotone, MonotoneBuf};
use super::view::SegmentView;
use super::writer::write;
use crate::fingerprint::{Fingerprint, MaxDistance, RecipeId};
use crate::hamming::Kernel;
use crate::index::collection::{BuildError, Collection, Entry};
use crate::index::near::{Effort, HammingIndex, Match, Query, SearchError};
use crate::index::scan::Scan;
use crate::index::tables::{TableOptions, Tables};

/// How a segment is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SegmentEngine {
    /// Linear scan: the best below some ten thousand entries.
    Scan,
    /// At most this many tables: the fastest for many entries, and the largest.
    Tables(usize),
    /// One sorted array, as in a file: the smallest.
    Sorted(Encoding),
}

/// Entries cannot become a segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentBuildError {
    /// Two entries have the same id.
    #[error("id {id} comes with more than one fingerprint; an id names one entry")]
    SameId { id: u64 },
    /// The removals belong to a segment with another number of entries.
    #[error("removals of a segment of {of} entries were given for one of {entries}")]
    OtherRemovals {
        /// Number of entries of the segment.
        entries: usize,
        /// Number of entries that the removals are for.
        of: usize,
    },
    #[error(transparent)]
    Engine(#[from] BuildError),
}

/// Memory with the bytes of a segment: a vector or a mapped file.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Immutable entries, each id once.
pub struct Segment {
    body: Body,
    entries: usize,
    smallest_id: u64,
    largest_id: u64,
}

enum Body {
    Scan(Scan, MonotoneBuf),
    Tables(Box<Tables>, MonotoneBuf),
    /// `heap` bytes are on the heap; the rest is mapped.
    Bytes {
        bytes: SharedBytes,
        layout: Box<Layout>,
        kernel: Kernel,
        heap: usize,
    },
}

impl Segment {
    /// Builds a segment that supports searches within `bound`.
    ///
    /// # Errors
    ///
    /// [`SegmentBuildError::SameId`] if an id occurs twice; [`BuildError`] if the engine does not
    /// support the bound or the number of entries.
    pub fn build(
        mut entries: Vec<Entry>,
        engine: SegmentEngine,
        bound: MaxDistance,
    ) -> Result<Self, SegmentBuildError> {
        entries.sort_unstable_by_key(|entry| entry.id);
        if let Some(twice) = entries.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(SegmentBuildError::SameId { id: twice[0].id });
        }
        let ids: Vec<u64> = entries.iter().map(|entry| entry.id).collect();
        (0u64..).zip(&mut entries).for_each(|(rank, entry)| entry.id = rank);
        Self::from_ranked(entries, &ids, engine, bound)
    }

    /// From entries with ranks instead of ids, and the ids, ascending.
    pub(crate) fn from_ranked(
        ranked: Vec<Entry>,
        ids: &[u64],
        engine: SegmentEngine,
        bound: MaxDistance,
    ) -> Result<Self, SegmentBuildError> {
        let (given, most) = (ids.len(), u32::MAX as usize);
        if given > most {
            return Err(BuildError::TooMany { given, most }.into());
        }
        let ranked = Collection::new(ranked)?;
        let (smallest_id, largest_id) = match ids {
            [first, .., last] => (*first, *last),
            [only] => (*only, *only),
            [] => (0, 0),
        };
        let body = match engine {
            SegmentEngine::Scan => Body::Scan(Scan::new(ranked), MonotoneBuf::new(ids)),
            SegmentEngine::Tables(most) => {
                let options = TableOptions::within(bound).most_tables(most);
                Body::Tables(Box::new(Tables::build(ranked, options)?), MonotoneBuf::new(ids))
            }
            SegmentEngine::Sorted(encoding) => {
                let bytes = write(&ranked, ids.iter().copied(), largest_id, "", encoding)
                    .expect("no name is short enough");
                let layout = Layout::read(&bytes).expect("just written");
                let heap = bytes.capacity() + size_of::<Vec<u8>>() + 2 * size_of::<usize>();
                let kernel = Kernel::best();
                Body::Bytes { bytes: Arc::new(bytes), layout: Box::new(layout), kernel, heap }
            }
        };
        Ok(Self { body, entries: given, smallest_id, largest_id })
    }

    /// Searches bytes in place. They must not change while the segment exists.
    pub fn map(bytes: SharedBytes) -> Result<Self, SegmentError> {
        let layout = Layout::read((*bytes).as_ref())?;
        let kernel = Kernel::best();
        let view = SegmentView::lay((*bytes).as_ref(), &layout, kernel)?;
        view.check()?;
        let ids = view.ids();
        let entries = ids.len();
        let ends = if entries == 0 { (0, 0) } else { (ids.get(0), ids.get(entries - 1)) };
        let (smallest_id, largest_id) = ends;
        let body = Body::Bytes { bytes, layout: Box::new(layout), kernel, heap: 0 };
        Ok(Self { body, entries, smallest_id, largest_id })
    }

    /// Loads bytes into another engine.
    pub fn load(
        view: &SegmentView<'_>,
        engine: SegmentEngine,
        bound: MaxDistance,
    ) -> Result<Self, SegmentBuildError> {
        let ids: Vec<u64> = view.ids().iter().collect();
        let mut ranked = Vec::with_capacity(ids.len());
        view.for_each_rank(|bits, rank| {
            ranked.push(Entry { fingerprint: Fingerprint::from_bits(bits), id: rank });
        });
        Self::from_ranked(ranked, &ids, engine, bound)
    }

    /// The bytes of a file: the same for the same entries, whatever the engine.
    ///
    /// # Errors
    ///
    /// [`SegmentError::LongRecipe`].
    pub fn to_bytes(&self, recipe: &RecipeId, encoding: Encoding) -> Result<Vec<u8>, SegmentError> {
        let collection = match &self.body {
            // A scan only gives its collection away, so a copy is needed while writing.
            Body::Scan(scan, _) => scan.clone().into_collection(),
            Body::Tables(tables, _) => Tables::clone(tables).into_collection(),
            Body::Bytes { .. } => {
                let mut ranked = Vec::with_capacity(self.entries);
                self.for_each_rank(|bits, rank| {
                    ranked.push(Entry { fingerprint: Fingerprint::from_bits(bits), id: rank });
                });
                // A valid segment never has too many rows.
                Collection::new(ranked).map_err(|_| SegmentError::Content { part: "the rows" })?
            }
        };
        let ids = self.ids();
        write(&collection, ids.iter(), self.largest_id, &recipe.to_string(), encoding)
    }

    fn engine_name(&self) -> &'static str {
        match &self.body {
            Body::Scan(..) => "scan",
            Body::Tables(..) => "tables",
            Body::Bytes { layout, .. } => match layout.header.encoding {
                Encoding::Plain => "sorted, plain",
                Encoding::Compressed => "sorted, compressed",
            },
        }
    }

    pub(crate) fn rank_of(&self, id: u64) -> Option<usize> {
        if self.entries == 0 || id < self.smallest_id || id > self.largest_id {
            return None;
        }
        self.ids().find(id)
    }

    /// The ids in order of rank.
    pub(crate) fn ids(&self) -> Monotone<'_> {
        match &self.body {
            Body::Scan(_, ids) | Body::Tables(_, ids) => ids.view(),
            Body::Bytes { bytes, layout, kernel, .. } => lay(bytes, layout, *kernel).ids(),
        }
    }

    /// Calls `each(fingerprint, rank)` for every entry, in this order.
    pub(crate) fn for_each_rank(&self, mut each: impl FnMut(u64, u64)) {
        let collection = match &self.body {
            Body::Scan(scan, _) => scan.clone().into_collection(),
            Body::Tables(tables, _) => Tables::clone(tables).into_collection(),
            Body::Bytes { bytes, layout, kernel, .. } => {
                lay(bytes, layout, *kernel).for_each_rank(each);
                return;
            }
        };
        for (row, &fingerprint) in collection.fingerprints().iter().enumerate() {
            collection.ids(row).for_each(|rank| each(fingerprint, rank));
        }
    }

    /// Calls `visit` with the rank and distance of every entry within `bound`, which may be wider
    /// than the engine supports. Compares all entries.
    pub(crate) fn scan_ranks(
        &self,
        query: Fingerprint,
        bound: MaxDistance,
        visit: &mut dyn FnMut(Match),
    ) {
        let collection = match &self.body {
            Body::Scan(scan, _) => scan.collection(),
            Body::Tables(tables, _) => tables.collection(),
            Body::Bytes { bytes, layout, kernel, .. } => {
                let view = lay(bytes, layout, *kernel);
                view.visit_ranks(&[query.into()], bound, &mut |_, found| {
                    visit(found);
                    ControlFlow::Continue(())
                });
                return;
            }
        };
        let stored = collection.fingerprints();
        let _ = Kernel::best().visit_within(stored, query.to_bits(), bound, |row, distance| {
            collection.ids(row).for_each(|id| visit(Match { distance, id }));
            ControlFlow::Continue(())
        });
    }

    /// As [`HammingIndex::visit_batch`], with ranks instead of ids.
    pub(crate) fn visit_ranks(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<Effort, SearchError> {
        match &self.body {
            Body::Scan(scan, _) => scan.visit_batch(queries, bound, visit),
            Body::Tables(tables, _) => tables.visit_batch(queries, bound, visit),
            Body::Bytes { bytes, layout, kernel, .. } => {
                Ok(lay(bytes, layout, *kernel).visit_ranks(queries, bound, visit))
            }
        }
    }
}

/// The layout was read from these bytes, which do not change.
fn lay<'a>(bytes: &'a SharedBytes, layout: &Layout, kernel: Kernel) -> SegmentView<'a> {
    SegmentView::lay((**bytes).as_ref(), layout, kernel).expect("bytes of a segment do not change")
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Segment");
        out.field("entries", &self.entries).field("engine", &self.engine_name());
        out.finish_non_exhaustive()
    }
}

impl HammingIndex for Segment {
    fn visit_batch(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<Effort, SearchError> {
        let ids = self.ids();
        self.visit_ranks(queries, bound, &mut |query, m| {
            visit(query, Match { id: ids.get(m.id as usize), ..m })
        })
    }

    fn widest(&self) -> MaxDistance {
        match &self.body {
            Body::Scan(scan, _) => scan.widest(),
            Body::Tables(tables, _) => tables.widest(),
            Body::Bytes { bytes, layout, kernel, .. } => lay(bytes, layout, *kernel).widest(),
        }
    }

    fn len(&self) -> usize {
        self.entries
    }

    /// Does not count a mapped file.
    fn memory_bytes(&self) -> usize {
        match &self.body {
            Body::Scan(scan, ids) => scan.memory_bytes() + ids.memory_bytes(),
            Body::Tables(tables, ids) => {
                size_of::<Tables>() + tables.memory_bytes() + ids.memory_bytes()
            }
            Body::Bytes { heap, .. } => size_of::<Layout>() + heap,
        }
    }
}
