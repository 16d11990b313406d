//! The second reading: documents that stay are written, and what became of every one.
//!
//! Files appear under their names when all of them are complete; a failed run leaves what was there
//! before.

mod folder;
mod summary;
mod tables;

use std::borrow::Cow;

use hapax::group::Outcome;
use hapax_corpus::write::{Kept, create};
use hapax_corpus::{Document, Entry, Fact, Source, Timestamp, Writer};

pub(crate) use folder::{LAST, OutFolder};
pub(crate) use summary::kept_name;
pub use summary::{Settings, Summary};
use tables::{Row, Table};

use crate::decide::{Decision, Verdict};
use crate::error::Error;
use crate::inputs::StreamName;
use crate::passed_over::PassedRecord;
use crate::watch::Watch;

pub(crate) const GROUPS: &str = "groups.parquet";
pub(crate) const REMOVED: &str = "removed.parquet";

/// The outcome of a record that is not a document.
pub(crate) const PASSED_OVER: &str = "passed_over";

/// A record that is written.
pub(crate) enum Seen<'s> {
    /// The document at this position.
    Document(u32, &'s Document<'s>),
    /// A record that is not a document, and its file.
    Passed(&'s PassedRecord<'s>, &'s str),
}

/// What is written, of what, where.
pub(crate) struct Writing<'w> {
    pub(crate) source: &'w Source,
    pub(crate) names: &'w StreamName,
    pub(crate) decision: &'w Decision<'w>,
    pub(crate) folder: &'w OutFolder,
    /// The name of the file with the kept documents.
    pub(crate) kept: &'w str,
    /// Put revisit records where documents were removed.
    pub(crate) revisits: bool,
}

impl Writing<'_> {
    /// Reads the corpus again and writes the kept documents and both tables where they are made.
    /// `see` is shown every record that has no row at the end.
    pub(crate) fn write(
        &self,
        watch: &mut dyn Watch,
        see: &mut dyn FnMut(Seen<'_>),
    ) -> Result<(), Error> {
        let names = self.source.files();
        let files: Vec<String> = names.map(|it| self.names.clean(&it).into_owned()).collect();
        let mut kept = create(&self.folder.making(self.kept), Some(self.source))?;
        let mut groups = Table::create(&self.folder.making(GROUPS))?;
        let mut removed = Table::create(&self.folder.making(REMOVED))?;
        let pages = self.decision.pages();
        let mut position = 0;
        for mut batch in self.source.batches() {
            let (before, input_bytes) = (position, batch.input_bytes);
            for entry in batch.entries() {
                let entry = entry?;
                if let Some(passed) = PassedRecord::of(&entry).filter(|_| !self.leads(&entry)) {
                    let file = match &passed.file {
                        Ok(file) => Cow::Borrowed(files[file.0 as usize].as_str()),
                        Err(name) => self.names.clean(name),
                    };
                    self.passed(&passed, &file, &mut groups)?;
                    see(Seen::Passed(&passed, &file));
                }
                let Entry::Document(mut document) = entry else { continue };
                let file = &files[document.place.file.0 as usize];
                if let Cow::Owned(id) = self.names.clean(&document.id) {
                    document.id = Cow::Owned(id);
                }
                if position as usize >= pages.len() || document.id != pages.id(position) {
                    return Err(Error::Changed { path: file.clone() });
                }
                see(Seen::Document(position, &document));
                self.document(position, &document, file, &mut *kept, &mut groups, &mut removed)?;
                position += 1;
            }
            watch.progress(u64::from(position - before), input_bytes);
            if watch.stopped() {
                return Err(Error::Stopped);
            }
        }
        if position as usize != pages.len() {
            return Err(Error::Changed { path: files.join(", ") });
        }
        self.addresses(&files, &mut groups)?;
        kept.finish()?;
        groups.finish()?;
        removed.finish()
    }

    fn document(
        &self,
        position: u32,
        document: &Document<'_>,
        file: &str,
        kept: &mut dyn Writer,
        groups: &mut Table,
        removed: &mut Table,
    ) -> Result<(), Error> {
        let verdict = self.decision.verdict(position);
        let (winners, winner) = self.decision.winner(&verdict);
        let reason = self.decision.reason(position);
        let stays = verdict.outcome == Outcome::Kept;
        let row = Row {
            document: &document.id,
            url: document.url.as_deref(),
            group: Some(self.group(&verdict)),
            winner: Some(winners.id(winner)),
            earlier: verdict.earlier,
            outcome: outcome_name(verdict.outcome),
            distance: (!stays).then_some(verdict.distance),
            similarity: (!stays).then_some(verdict.similarity),
            rule: reason.as_ref().map(|it| it.rule),
            reason: reason.as_ref().map(|it| it.text.as_str()),
            file,
            record: Some(document.place.number),
        };
        groups.push(&row)?;
        if stays {
            return Ok(kept.write(document)?);
        }
        if self.revisits {
            let fetched = winners.facts(winner).first_seen.and_then(|it| i64::try_from(it).ok());
            let stands = Kept {
                url: winners.address(winner),
                fetched: fetched.map(Timestamp::from_seconds),
                record_id: None,
                exact: verdict.outcome == Outcome::Exact,
            };
            kept.write_removed(document, &stands)?;
        }
        removed.push(&row)
    }

    /// Does it say of an address which document it leads to? Such addresses have rows at the end.
    fn leads(&self, entry: &Entry<'_>) -> bool {
        let Entry::Fact(Fact::Redirect { place, .. } | Fact::Revisit { place, .. }) = entry else {
            return false;
        };
        // They are in the order of the corpus.
        let addresses = self.decision.addresses();
        addresses.binary_search_by_key(place, |address| address.place).is_ok()
    }

    fn passed(
        &self,
        passed: &PassedRecord<'_>,
        file: &str,
        groups: &mut Table,
    ) -> Result<(), Error> {
        groups.push(&Row {
            document: &passed.called(file),
            url: None,
            group: None,
            winner: None,
            earlier: false,
            outcome: PASSED_OVER,
            distance: None,
            similarity: None,
            rule: None,
            reason: Some(&passed.reason),
            file,
            record: passed.record,
        })
    }

    /// One number for each winner.
    fn group(&self, verdict: &Verdict) -> u64 {
        let before = if verdict.earlier { self.decision.pages().len() as u64 } else { 0 };
        before + u64::from(verdict.winner)
    }

    fn addresses(&self, files: &[String], groups: &mut Table) -> Result<(), Error> {
        for address in self.decision.addresses() {
            let verdict = self.decision.verdict(address.document);
            let (winners, winner) = self.decision.winner(&verdict);
            let outcome = if address.revisit { "revisit" } else { "redirect" };
            groups.push(&Row {
                document: &address.url,
                url: Some(&address.url),
                group: Some(self.group(&verdict)),
                winner: Some(winners.id(winner)),
                earlier: verdict.earlier,
                outcome,
                distance: None,
                similarity: None,
                rule: Some(outcome),
                reason: None,
                file: &files[address.place.file.0 as usize],
                record: Some(address.place.number),
            })?;
        }
        Ok(())
    }
}

/// As the tables and the report call it.
pub(crate) const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Kept => "kept",
        Outcome::Exact => "exact",
        Outcome::Near => "near",
        Outcome::Redirect => "redirect",
    }
}
