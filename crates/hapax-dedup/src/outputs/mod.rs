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
use hapax_corpus::{Document, Entry, Source, Timestamp, Writer};

pub(crate) use folder::{LAST, OutFolder};
pub(crate) use summary::kept_name;
pub use summary::{Settings, Summary};
use tables::{Row, Table};

use crate::decide::{Decision, Verdict};
use crate::error::Error;
use crate::inputs::StreamName;
use crate::watch::Watch;

pub(crate) const GROUPS: &str = "groups.parquet";
pub(crate) const REMOVED: &str = "removed.parquet";

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
    /// `see` is shown every document.
    pub(crate) fn write(
        &self,
        watch: &mut dyn Watch,
        see: &mut dyn FnMut(u32, &Document<'_>),
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
                let mut document = match entry? {
                    Entry::Document(document) => document,
                    Entry::Fact(_) | Entry::Passed { .. } | Entry::Bad(_) => continue,
                };
                let file = &files[document.place.file.0 as usize];
                if let Cow::Owned(id) = self.names.clean(&document.id) {
                    document.id = Cow::Owned(id);
                }
                if position as usize >= pages.len() || document.id != pages.id(position) {
                    return Err(Error::Changed { path: file.clone() });
                }
                see(position, &document);
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
            group: self.group(&verdict),
            winner: winners.id(winner),
            earlier: verdict.earlier,
            outcome: outcome_name(verdict.outcome),
            distance: (!stays).then_some(verdict.distance),
            similarity: (!stays).then_some(verdict.similarity),
            rule: reason.as_ref().map(|it| it.rule),
            reason: reason.as_ref().map(|it| it.text.as_str()),
            file,
            record: document.place.number,
        };
        groups.push(&row)?;
        if stays {
            return Ok(kept.write(document)?);
        }
        if self.revisits {
            let fetched = winners.facts(winner).fetched.and_then(|it| i64::try_from(it).ok());
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
                group: self.group(&verdict),
                winner: winners.id(winner),
                earlier: verdict.earlier,
                outcome,
                distance: None,
                similarity: None,
                rule: Some(outcome),
                reason: None,
                file: &files[address.place.file.0 as usize],
                record: address.place.number,
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
