//! One state of an index, opened for reading.
//!
//! Opening reads every name once: documents are numbered in order of name, so numbers, and everything that
//! depends on their order, follow from the pages alone. This takes 12 bytes of memory per document. Everything
//! else stays on disk until it is needed.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::path::{Path, PathBuf};

use hapax::fingerprint::{Fingerprint, Sketch};
use tantivy::columnar::{Column, StrColumn};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::store::StoreReader;
use tantivy::{DocSet, Index, ReloadPolicy, Searcher, SegmentReader, TERMINATED, Term};

use super::claims::{check_files, documents, texts};
use super::error::Error;
use super::schema::Fields;
use super::status::Status;
use super::stored;
use crate::engine::{DocumentFacts, DocumentId, Excerpt, Totals};

/// The number of a deleted or replaced document.
pub(super) const DEAD: u32 = u32::MAX;
const REMOVED: u8 = 1;
const MARKED: u8 = 2;
/// Maximum bytes of names in memory; about those of a million pages.
const NAMES: usize = 64 << 20;
/// Number of cached blocks of stored texts per segment, 16 kB each.
const BLOCKS: usize = 100;
/// A writer may commit while an index is being opened, but not indefinitely.
const TRIES: usize = 20;

pub(super) struct View {
    path: PathBuf,
    pub(super) searcher: Searcher,
    pub(super) fields: Fields,
    pub(super) segments: Vec<SegmentView>,
    /// Segment and document number of each document.
    places: Vec<(u32, u32)>,
    flags: Vec<u8>,
    status: Status,
    /// Average lengths of title, body and address in words.
    lengths: [f32; 3],
    /// All names by number, if they fit into memory.
    names: Option<Names>,
}

/// Concatenated names, because reading one from its dictionary means reading its neighbours.
#[derive(Default)]
struct Names {
    text: String,
    ends: Vec<u32>,
}

impl Names {
    fn push(&mut self, name: &[u8]) {
        self.text.push_str(&String::from_utf8_lossy(name));
        self.ends.push(self.text.len() as u32);
    }

    fn get(&self, number: u64) -> Option<&str> {
        let at = usize::try_from(number).ok()?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(start..*self.ends.get(at)? as usize)
    }
}

/// The columns of a segment.
pub(super) struct SegmentView {
    /// The number of each of its documents.
    pub(super) numbers: Vec<u32>,
    /// Stored texts of documents.
    shown: StoreReader,
    names: StrColumn,
    urls: Option<StrColumn>,
    fingerprints: Option<Column<u64>>,
    sketches: Option<Column<u64>>,
    scores: Option<Column<f64>>,
    words: Option<Column<u64>>,
    fetched: Option<Column<u64>>,
}

impl View {
    /// The last committed state.
    pub(super) fn open(path: &Path, index: &Index, fields: Fields) -> Result<Self, Error> {
        let failed = |source| Error::tantivy(path, source);
        let mut tried = 0;
        let (searcher, status) = loop {
            tried += 1;
            let before = index.load_metas().map_err(failed)?;
            let status = Status::read(path, before.payload.as_deref());
            check_files(path, index)?;
            let reader = index
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .try_into()
                .map_err(failed)?;
            let after = index.load_metas().map_err(failed)?;
            let same = before.opstamp == after.opstamp && before.payload == after.payload;
            if same || tried == TRIES {
                break (reader.searcher(), status?);
            }
        };
        let segments = searcher
            .segment_readers()
            .iter()
            .map(|reader| SegmentView::open(reader, fields))
            .collect::<tantivy::Result<Vec<_>>>()
            .map_err(failed)?;
        let lengths = average_lengths(&searcher, fields).map_err(failed)?;
        let (path, places, flags) = (path.to_owned(), Vec::new(), Vec::new());
        let names = Some(Names::default());
        let mut view =
            Self { path, searcher, fields, segments, places, flags, status, lengths, names };
        view.number().map_err(|source| Error::tantivy(&view.path, source))?;
        Ok(view)
    }

    /// Numbers documents by name, and records which are removed or marked.
    fn number(&mut self) -> tantivy::Result<()> {
        let Self { searcher, segments, places, flags, status, names, .. } = self;
        // For each segment: which existing document has the name of this rank in the segment.
        let mut holders: Vec<Vec<u32>> = Vec::with_capacity(segments.len());
        for (segment, reader) in segments.iter().zip(searcher.segment_readers()) {
            let mut holder = vec![DEAD; segment.names.num_terms()];
            for document in reader.doc_ids_alive() {
                let slot = segment.names.ords().first(document);
                if let Some(slot) = slot.and_then(|rank| holder.get_mut(rank as usize)) {
                    *slot = document;
                }
            }
            holders.push(holder);
        }
        let mut numbers: Vec<Vec<u32>> =
            segments.iter().map(|segment| vec![DEAD; segment.numbers.len()]).collect();
        let mut removed = status.removed.iter().peekable();
        let mut marked = status.marked.iter().peekable();
        let mut streams = segments
            .iter()
            .map(|segment| segment.names.dictionary().stream())
            .collect::<std::io::Result<Vec<_>>>()?;
        let mut heads = BinaryHeap::with_capacity(streams.len());
        for (at, stream) in streams.iter_mut().enumerate() {
            if stream.advance() {
                heads.push(Reverse((stream.key().to_vec(), at, 0usize)));
            }
        }
        while let Some(Reverse((mut name, at, rank))) = heads.pop() {
            let document = holders[at][rank];
            if document != DEAD {
                numbers[at][document as usize] = places.len() as u32;
                places.push((at as u32, document));
                let mut flag = 0;
                for (list, bit) in [(&mut removed, REMOVED), (&mut marked, MARKED)] {
                    while list.next_if(|listed| str::as_bytes(listed) < name.as_slice()).is_some() {
                    }
                    if list.next_if(|listed| str::as_bytes(listed) == name.as_slice()).is_some() {
                        flag |= bit;
                    }
                }
                flags.push(flag);
                if let Some(kept) = names {
                    kept.push(&name);
                    if kept.text.len() > NAMES {
                        *names = None;
                    }
                }
            }
            if streams[at].advance() {
                name.clear();
                name.extend_from_slice(streams[at].key());
                heads.push(Reverse((name, at, rank + 1)));
            }
        }
        drop(streams);
        for (segment, numbers) in segments.iter_mut().zip(numbers) {
            segment.numbers = numbers;
        }
        Ok(())
    }

    pub(super) fn status(&self) -> &Status {
        &self.status
    }

    /// Number of documents, including removed ones.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Of title, body or address, in words.
    pub(super) fn average_length(&self, field: usize) -> f32 {
        self.lengths[field]
    }

    pub(super) fn is_removed(&self, number: u32) -> bool {
        self.flag(u64::from(number)) & REMOVED != 0
    }

    /// Shows removed documents as if they had not been removed.
    pub(super) fn reveal(&mut self, names: &BTreeSet<String>) -> Result<(), Error> {
        let removed: Vec<usize> =
            (0..self.flags.len()).filter(|&at| self.flags[at] & REMOVED != 0).collect();
        let ids: Vec<DocumentId> = removed.iter().map(|&at| DocumentId(at as u64)).collect();
        for (at, facts) in removed.into_iter().zip(self.facts(&ids)?) {
            if names.contains(&facts.name) {
                self.flags[at] &= !REMOVED;
            }
        }
        Ok(())
    }

    pub(super) fn is_marked(&self, id: DocumentId) -> bool {
        self.flag(id.0) & MARKED != 0
    }

    fn flag(&self, number: u64) -> u8 {
        usize::try_from(number).ok().and_then(|at| self.flags.get(at)).copied().unwrap_or(0)
    }

    pub(super) fn totals(&self) -> Totals {
        let count = |test: fn(u8) -> bool| self.flags.iter().filter(|&&flag| test(flag)).count();
        let files = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let bytes = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
        Totals {
            documents: count(|flag| flag & REMOVED == 0) as u64,
            removed: count(|flag| flag & REMOVED != 0) as u64,
            marked: count(|flag| flag == MARKED) as u64,
            segments: self.segments.len() as u64,
            bytes,
        }
    }

    /// The names that documents have.
    pub(super) fn known(&self, names: &[String]) -> Result<Vec<String>, Error> {
        let failed = |source| Error::tantivy(&self.path, source);
        let mut known = Vec::new();
        for name in names {
            let term = Term::from_field_text(self.fields.name, name);
            for (segment, reader) in self.segments.iter().zip(self.searcher.segment_readers()) {
                if segment.holds(reader, self.fields.name, &term).map_err(failed)? {
                    known.push(name.clone());
                    break;
                }
            }
        }
        Ok(known)
    }

    pub(super) fn fingerprints(
        &self,
        ids: &[DocumentId],
    ) -> Result<Vec<Option<Fingerprint>>, Error> {
        let one = |id: &DocumentId| {
            let (segment, document) = self.place(*id)?;
            let column = self.segments[segment as usize].fingerprints.as_ref();
            let bits = column.and_then(|column| column.first(document));
            Ok(bits.map(Fingerprint::from_bits))
        };
        ids.iter().map(one).collect()
    }

    pub(super) fn facts(&self, ids: &[DocumentId]) -> Result<Vec<DocumentFacts>, Error> {
        let mut places = Vec::with_capacity(ids.len());
        for (at, id) in ids.iter().enumerate() {
            let (segment, document) = self.place(*id)?;
            places.push((segment, document, at));
        }
        let mut facts: Vec<DocumentFacts> = places
            .iter()
            .map(|&(segment, document, _)| self.segments[segment as usize].facts(document))
            .collect();
        let mut take = |at: usize, name: &str| {
            facts[at].name = name.to_owned();
            facts[at].url = name.to_owned();
        };
        match &self.names {
            Some(names) => {
                for (at, id) in ids.iter().enumerate() {
                    take(at, names.get(id.0).unwrap_or_default());
                }
            }
            None => self.read_texts(&mut places, |segment| Some(&segment.names), take)?,
        }
        self.read_texts(
            &mut places,
            |segment| segment.urls.as_ref(),
            |at, url| {
                facts[at].url = url.to_owned();
            },
        )?;
        Ok(facts)
    }

    /// Calls `visit` for each place with a value in the column. Reads in order of names, because
    /// neighbouring names are in the same block.
    fn read_texts(
        &self,
        places: &mut [(u32, u32, usize)],
        column: impl Fn(&SegmentView) -> Option<&StrColumn>,
        mut visit: impl FnMut(usize, &str),
    ) -> Result<(), Error> {
        places.sort_unstable();
        for same in places.chunk_by(|a, b| a.0 == b.0) {
            let Some(column) = column(&self.segments[same[0].0 as usize]) else { continue };
            let mut ranks: Vec<(u64, usize)> = same
                .iter()
                .filter_map(|&(_, document, at)| Some((column.ords().first(document)?, at)))
                .collect();
            ranks.sort_unstable();
            let sorted: Vec<u64> = ranks.iter().map(|&(rank, _)| rank).collect();
            let mut takers = ranks.iter().map(|&(_, at)| at);
            column
                .dictionary()
                .sorted_ords_to_term_cb(&sorted, |bytes| {
                    if let Some(at) = takers.next() {
                        visit(at, &String::from_utf8_lossy(bytes));
                    }
                })
                .map_err(|error| Error::io(&self.path, error))?;
        }
        Ok(())
    }

    pub(super) fn excerpts(&self, ids: &[DocumentId]) -> Result<Vec<Excerpt>, Error> {
        let mut excerpts = Vec::with_capacity(ids.len());
        for id in ids {
            let (segment, document) = self.place(*id)?;
            let document = self.segments[segment as usize].shown.get_document_bytes(document);
            let document = document.map_err(|source| Error::tantivy(&self.path, source))?;
            let texts = stored::texts(&document, self.fields.shown).ok_or_else(|| {
                let what = "what is kept of a page is made up".to_owned();
                Error::Damaged { path: self.path.clone(), what }
            })?;
            let mut shown = texts.into_iter().map(str::to_owned);
            let mut next = || shown.next().unwrap_or_default();
            excerpts.push(Excerpt { title: next(), start: next(), language: next() });
        }
        Ok(excerpts)
    }

    fn place(&self, id: DocumentId) -> Result<(u32, u32), Error> {
        let place = usize::try_from(id.0).ok().and_then(|at| self.places.get(at));
        place.copied().ok_or_else(|| Error::Unknown { path: self.path.clone(), id: id.0 })
    }
}

impl SegmentView {
    fn open(reader: &SegmentReader, fields: Fields) -> tantivy::Result<Self> {
        let documents = documents(reader, fields)?;
        let columns = reader.fast_fields();
        let names = texts(reader, "name", documents)?.ok_or_else(|| {
            tantivy::TantivyError::SchemaError("a segment has no column of names".to_owned())
        })?;
        Ok(Self {
            numbers: vec![DEAD; reader.max_doc() as usize],
            shown: reader.get_store_reader(BLOCKS)?,
            names,
            urls: texts(reader, "url", documents)?,
            fingerprints: columns.column_opt("fingerprint")?,
            sketches: columns.column_opt("sketch")?,
            scores: columns.column_opt("score")?,
            words: columns.column_opt("words")?,
            fetched: columns.column_opt("fetched")?,
        })
    }

    fn holds(&self, reader: &SegmentReader, field: Field, name: &Term) -> tantivy::Result<bool> {
        let index = reader.inverted_index(field)?;
        let Some(mut found) = index.read_postings(name, IndexRecordOption::Basic)? else {
            return Ok(false);
        };
        while found.doc() != TERMINATED {
            if self.numbers.get(found.doc() as usize).is_some_and(|&number| number != DEAD) {
                return Ok(true);
            }
            found.advance();
        }
        Ok(false)
    }

    /// Everything except name and address.
    fn facts(&self, document: u32) -> DocumentFacts {
        let first = |column: &Option<Column<u64>>| column.as_ref()?.first(document);
        let sketch = self.sketches.as_ref().and_then(|column| {
            let mut bytes = [0; hapax::fingerprint::sketch::BYTES];
            let mut filled = 0;
            for (chunk, word) in
                bytes.as_chunks_mut::<8>().0.iter_mut().zip(column.values_for_doc(document))
            {
                *chunk = word.to_le_bytes();
                filled += chunk.len();
            }
            (filled == bytes.len()).then(|| Sketch::from_bytes(&bytes))
        });
        DocumentFacts {
            name: String::new(),
            url: String::new(),
            sketch,
            score: self.scores.as_ref().and_then(|column| column.first(document)),
            words: first(&self.words).map_or(0, |words| u32::try_from(words).unwrap_or(u32::MAX)),
            fetched: first(&self.fetched),
        }
    }
}

/// From stored length classes, because exact sums would not survive a merge.
fn average_lengths(searcher: &Searcher, fields: Fields) -> tantivy::Result<[f32; 3]> {
    let mut averages = [1.0; 3];
    for (average, field) in averages.iter_mut().zip([fields.title, fields.body, fields.address]) {
        let (mut sum, mut documents) = (0u64, 0u64);
        for reader in searcher.segment_readers() {
            let lengths = reader.get_fieldnorms_reader(field)?;
            for document in reader.doc_ids_alive() {
                sum += u64::from(lengths.fieldnorm(document));
                documents += 1;
            }
        }
        // At least a small value, to avoid division by zero.
        *average = (sum as f64 / documents.max(1) as f64).max(0.01) as f32;
    }
    Ok(averages)
}
