//! The second reading: writes the kept documents and the tables of all verdicts.
//!
//! Files appear under their final names when all are complete; a failed run leaves the previous contents.
//! The same input gives the same bytes for any number of threads. Does not decide which documents are kept.

mod decided;
mod folder;
mod kept;
mod summary;
mod tables;
mod target;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use hapax::group::Outcome;
use hapax_corpus::write::{Encoder, Kept, Piece};
use hapax_corpus::{Batch, Document, Entry, Fact, Source, Timestamp};

pub use decided::Decided;
pub(crate) use folder::{LAST, OutFolder};
use kept::PartFiles;
pub(crate) use kept::{KeptFiles, kept_name};
pub use summary::{Settings, Summary};
pub(crate) use tables::TableFile;
use tables::{Row, Rows};

use crate::decide::{Decision, Verdict};
use crate::digest::BatchDigest;
use crate::error::Error;
use crate::inputs::StreamName;
use crate::options::{Layout, Options};
use crate::passed_over::PassedRecord;
use crate::read::Corpus;
use crate::report::{self, Examples, Passed, Text, TextReader};
use crate::watch::Watch;

pub(crate) const GROUPS: &str = "groups.parquet";
pub(crate) const REMOVED: &str = "removed.parquet";

/// The outcome of a record that is not a document.
pub(crate) const PASSED_OVER: &str = "passed_over";

/// Batch results per thread that may wait to be written; they hold documents, so they are bounded.
pub(crate) const AHEAD: usize = 4;

/// Everything the second reading needs.
pub(crate) struct Writing<'w> {
    pub(crate) source: &'w Source,
    pub(crate) names: &'w StreamName,
    pub(crate) corpus: &'w Corpus,
    pub(crate) decision: &'w Decision<'w>,
    pub(crate) folder: &'w OutFolder,
    /// File name of the kept documents, or a pattern.
    pub(crate) kept: &'w str,
    pub(crate) options: &'w Options,
}

/// What the report shows of the second reading.
pub(crate) struct Shown {
    pub(crate) examples: Examples,
    /// The first passed-over records.
    pub(crate) passed: Vec<Passed>,
    pub(crate) frames: report::Frames,
}

/// What a batch contributes to the outputs.
struct BatchOutput {
    part: usize,
    documents: u32,
    input_bytes: u64,
    /// `None` if it was written already.
    kept: Option<Piece>,
    groups: Result<RecordBatch, ArrowError>,
    removed: Result<RecordBatch, ArrowError>,
    texts: Vec<(u32, Option<Text>)>,
    passed: Vec<Passed>,
}

/// The table rows of a batch.
#[derive(Default)]
pub(crate) struct BatchRows {
    pub(crate) groups: Rows,
    pub(crate) removed: Rows,
    texts: Vec<(u32, Option<Text>)>,
    pub(crate) passed: Vec<Passed>,
}

impl Writing<'_> {
    /// Reads the corpus again and writes the kept documents and both tables. All threads read,
    /// encode and compress batches; the output is in corpus order. Returns the names of the files
    /// with kept documents.
    pub(crate) fn write(
        &self,
        shown: &mut Shown,
        watch: &mut dyn Watch,
    ) -> Result<Vec<String>, Error> {
        let threads = self.options.threads;
        let names = self.source.files();
        let files: Vec<String> = names.map(|it| self.names.clean(&it).into_owned()).collect();
        let layout = self.options.layout;
        let path = self.folder.making(self.kept);
        // Files per input take pieces in `work`, on any thread; other layouts take them in
        // `receive`, in order.
        let (by_part, mut kept) = match layout {
            Layout::AsInput => (Some(PartFiles::new(self.folder, self.kept)), None),
            Layout::One | Layout::Size(_) => {
                (None, Some(KeptFiles::create(self.folder, self.kept, layout, threads)?))
            }
        };
        let mut ended = Vec::new();
        let mut groups = TableFile::create(&self.folder.making(GROUPS), threads)?;
        let mut removed = TableFile::create(&self.folder.making(REMOVED), threads)?;
        let mut documents = 0;
        let mut wanted = shown.examples.wanted();
        wanted.extend(shown.frames.wanted());
        let mut seen = Vec::new();
        let work = |batch: Batch| {
            let (part, index) = (batch.part, batch.index);
            let mut made = self.batch(batch, &path, &files, &wanted)?;
            if let Some(by_part) = &by_part
                && let Some(piece) = made.kept.take()
            {
                by_part.add(part, index, piece)?;
            }
            Ok(made)
        };
        let receive = |batch: Result<BatchOutput, Error>| {
            let batch = batch?;
            if let Some((kept, piece)) = kept.as_mut().zip(batch.kept) {
                kept.add(piece)?;
            }
            if let Some(by_part) = &by_part {
                for part in ended.len()..batch.part {
                    ended.push(by_part.end(part)?);
                }
            }
            groups.add(batch.groups)?;
            removed.add(batch.removed)?;
            seen.extend(batch.texts);
            let room = report::passed::MOST.saturating_sub(shown.passed.len());
            shown.passed.extend(batch.passed.into_iter().take(room));
            documents += batch.documents;
            watch.files_done(u64::from(self.source.part_files(batch.part).start));
            watch.progress(u64::from(batch.documents), batch.input_bytes);
            if watch.stopped() { Err(Error::Stopped) } else { Ok(()) }
        };
        match layout {
            Layout::AsInput => self.source.in_order_spread(threads, work, receive)?,
            Layout::One | Layout::Size(_) => {
                self.source.in_order_ahead(threads, AHEAD, work, receive)?;
            }
        }
        if documents as usize != self.decision.pages().len() {
            return Err(Error::Changed { path: files.join(", ") });
        }
        shown.frames.take(&seen, self.decision.pages());
        shown.examples.take(seen);
        groups.add(address_rows(self.decision, &files))?;
        groups.end()?;
        removed.end()?;
        groups.finish()?;
        removed.finish()?;
        if let Some(by_part) = &by_part {
            for part in ended.len()..self.source.parts() {
                ended.push(by_part.end(part)?);
            }
        }
        kept.map_or(Ok(ended), KeptFiles::finish)
    }

    fn batch(
        &self,
        mut batch: Batch,
        path: &Path,
        files: &[String],
        wanted: &BTreeSet<u32>,
    ) -> Result<BatchOutput, Error> {
        let (from, to) = self.corpus.documents_of(batch.part, batch.index);
        let (mut position, input_bytes) = (from, batch.input_bytes);
        let (part, index, mut digest) = (batch.part, batch.index, BatchDigest::of(&batch));
        let mut kept = Encoder::new(path, Some(self.source))?;
        let mut rows = BatchRows::default();
        let mut reader = None;
        for entry in batch.entries() {
            let entry = entry?;
            let leads = matches!(&entry, Entry::Fact(fact) if leads(self.decision, fact));
            if let Some(passed) = PassedRecord::of(&entry).filter(|_| !leads) {
                let file = match &passed.file {
                    Ok(file) => Cow::Borrowed(files[file.0 as usize].as_str()),
                    Err(name) => self.names.clean(name),
                };
                rows.passed(&passed, &file);
            }
            let Entry::Document(mut document) = entry else { continue };
            digest.add(&document);
            let file = &files[document.place.file.0 as usize];
            if let Cow::Owned(id) = self.names.clean(&document.id) {
                document.id = Cow::Owned(id);
            }
            if position >= to || document.id != self.decision.pages().id(position) {
                return Err(Error::Changed { path: file.clone() });
            }
            if wanted.contains(&position) {
                let new = || TextReader::new(&self.options.fingerprinter);
                let text = reader.get_or_insert_with(new).text(&document);
                rows.texts.push((position, text));
            }
            self.document(position, &document, file, &mut kept, &mut rows)?;
            position += 1;
        }
        if position != to || !self.corpus.read_the_same(part, index, digest) {
            return Err(Error::Changed { path: self.part_name(part, files) });
        }
        Ok(BatchOutput {
            part,
            documents: position - from,
            input_bytes,
            kept: Some(kept.piece()?),
            groups: rows.groups.into_batch(),
            removed: rows.removed.into_batch(),
            texts: rows.texts,
            passed: rows.passed,
        })
    }

    /// The file of a part, or the first of its files and how many there are.
    fn part_name(&self, part: usize, files: &[String]) -> String {
        let range = self.source.part_files(part);
        let first = &files[range.start as usize];
        match range.len() {
            1 => first.clone(),
            more => format!("{first}, or one of the {} files after it,", more - 1),
        }
    }

    fn document(
        &self,
        position: u32,
        document: &Document<'_>,
        file: &str,
        kept: &mut Encoder,
        rows: &mut BatchRows,
    ) -> Result<(), Error> {
        let verdict = rows.document(self.decision, position, file, document.place.number);
        if verdict.outcome == Outcome::Kept {
            return Ok(kept.write(document)?);
        }
        if self.options.revisits {
            let (winners, winner) = self.decision.winner(&verdict);
            let fetched = winners.facts(winner).first_seen.and_then(|it| i64::try_from(it).ok());
            let stands = Kept {
                url: winners.address(winner),
                fetched: fetched.map(Timestamp::from_seconds),
                record_id: None,
                exact: verdict.outcome == Outcome::Exact,
            };
            kept.write_removed(document, &stands)?;
        }
        Ok(())
    }
}

/// Whether this redirect or revisit leads to a document. Such addresses have rows at the end.
pub(crate) fn leads(decision: &Decision<'_>, fact: &Fact) -> bool {
    let (Fact::Redirect { place, .. } | Fact::Revisit { place, .. }) = fact;
    // Addresses are in corpus order.
    decision.addresses().binary_search_by_key(place, |address| address.place).is_ok()
}

/// A number per winner; winners of earlier jobs follow those of this corpus.
fn group(decision: &Decision<'_>, verdict: &Verdict) -> u64 {
    let before = if verdict.earlier { decision.pages().len() as u64 } else { 0 };
    before + u64::from(verdict.winner)
}

/// The rows of redirects and revisits that lead to documents.
pub(crate) fn address_rows(
    decision: &Decision<'_>,
    files: &[String],
) -> Result<RecordBatch, ArrowError> {
    let mut rows = Rows::default();
    for address in decision.addresses() {
        let verdict = decision.verdict(address.document);
        let (winners, winner) = decision.winner(&verdict);
        let outcome = if address.revisit { "revisit" } else { "redirect" };
        rows.push(Row {
            document: &address.url,
            url: Some(&address.url),
            group: Some(group(decision, &verdict)),
            winner: Some(winners.id(winner)),
            earlier: verdict.earlier,
            outcome,
            rule: Some(outcome),
            file: &files[address.place.file.0 as usize],
            record: Some(address.place.number),
            ..Row::default()
        });
    }
    rows.into_batch()
}

impl BatchRows {
    /// Adds the row of a document; name and address are those of the page.
    pub(crate) fn document(
        &mut self,
        decision: &Decision<'_>,
        position: u32,
        file: &str,
        record: u64,
    ) -> Verdict {
        let pages = decision.pages();
        let verdict = decision.verdict(position);
        let (winners, winner) = decision.winner(&verdict);
        let reason = decision.reason(position);
        let stays = verdict.outcome == Outcome::Kept;
        let own = pages.own(position);
        let row = Row {
            document: pages.id(position),
            url: Some(pages.url(position)).filter(|url| !url.is_empty()),
            group: Some(group(decision, &verdict)),
            winner: Some(winners.id(winner)),
            earlier: verdict.earlier,
            outcome: verdict.outcome.name(),
            distance: (!stays).then_some(verdict.distance),
            similarity: (!stays).then_some(verdict.similarity),
            rule: reason.as_ref().map(|it| it.rule),
            reason: reason.as_ref().map(|it| it.text.as_str()),
            file,
            record: Some(record),
            own_similarity: (!stays && !verdict.earlier)
                .then(|| winners.own_shared(position, winner))
                .flatten(),
            own_words: own.map(|own| u64::from(own.text.words())),
        };
        if !stays {
            self.removed.push(row.clone());
        }
        self.groups.push(row);
        verdict
    }

    pub(crate) fn passed(&mut self, passed: &PassedRecord<'_>, file: &str) {
        if self.passed.len() < report::passed::MOST {
            self.passed.push(Passed::of(passed, file));
        }
        self.groups.push(Row {
            document: &passed.called(file),
            outcome: PASSED_OVER,
            reason: Some(&passed.reason),
            file,
            record: passed.record,
            ..Row::default()
        });
    }
}
