//! The second reading: documents that stay are written, and what became of every one.

mod folder;
mod summary;
mod tables;

use std::borrow::Cow;

use hapax::group::Outcome;
use hapax_corpus::write::{Kept, create};
use hapax_corpus::{Document, Entry, Source, Timestamp};

pub(crate) use folder::{LAST, OutFolder};
pub(crate) use summary::kept_name;
pub use summary::{Settings, Summary};
use tables::{Row, Table};

use crate::decide::Decision;
use crate::error::Error;
use crate::inputs::StreamName;
use crate::watch::Watch;

pub(crate) const GROUPS: &str = "groups.parquet";
pub(crate) const REMOVED: &str = "removed.parquet";

/// Reads the corpus again and writes the kept documents and both tables where they are made.
/// `see` is shown every document.
pub(crate) fn write(
    source: &Source,
    names: &StreamName,
    decision: &Decision<'_>,
    folder: &OutFolder,
    kept_name: &str,
    revisits: bool,
    watch: &mut dyn Watch,
    see: &mut dyn FnMut(u32, &Document<'_>),
) -> Result<(), Error> {
    let files: Vec<String> = source.files().map(|name| names.clean(&name).into_owned()).collect();
    let mut kept = create(&folder.making(kept_name), Some(source))?;
    let mut groups = Table::create(&folder.making(GROUPS))?;
    let mut removed = Table::create(&folder.making(REMOVED))?;
    let pages = decision.pages();
    let mut position = 0;
    for mut batch in source.batches() {
        let (before, input_bytes) = (position, batch.input_bytes);
        for entry in batch.entries() {
            let mut document = match entry? {
                Entry::Document(document) => document,
                Entry::Fact(_) | Entry::Passed { .. } | Entry::Bad(_) => continue,
            };
            let file = &files[document.place.file.0 as usize];
            if let Cow::Owned(id) = names.clean(&document.id) {
                document.id = Cow::Owned(id);
            }
            if position as usize >= pages.len() || document.id != pages.id(position) {
                return Err(Error::Changed { path: file.clone() });
            }
            see(position, &document);
            let verdict = decision.verdict(position);
            let reason = decision.reason(position);
            let stays = verdict.outcome == Outcome::Kept;
            let text = reason.as_ref().map(|it| it.text.as_str());
            let row = Row {
                document: &document.id,
                url: document.url.as_deref(),
                group: u64::from(verdict.winner),
                winner: pages.id(verdict.winner),
                outcome: outcome_name(verdict.outcome),
                distance: (!stays).then_some(verdict.distance),
                similarity: (!stays).then_some(verdict.similarity),
                rule: reason.as_ref().map(|it| it.rule),
                reason: text,
                file,
                record: document.place.number,
            };
            groups.push(&row)?;
            if stays {
                kept.write(&document)?;
            } else {
                removed.push(&row)?;
                if revisits {
                    let winner = pages.facts(verdict.winner);
                    let fetched = winner.fetched.and_then(|it| i64::try_from(it).ok());
                    let stands = Kept {
                        url: pages.address(verdict.winner),
                        fetched: fetched.map(Timestamp::from_seconds),
                        record_id: None,
                        exact: verdict.outcome == Outcome::Exact,
                    };
                    kept.write_removed(&document, &stands)?;
                }
            }
            position += 1;
        }
        watch.progress(u64::from(position - before), input_bytes);
    }
    if position as usize != pages.len() {
        return Err(Error::Changed { path: files.join(", ") });
    }
    for address in decision.addresses() {
        let winner = decision.verdict(address.document).winner;
        groups.push(&Row {
            document: &address.url,
            url: Some(&address.url),
            group: u64::from(winner),
            winner: pages.id(winner),
            outcome: if address.revisit { "revisit" } else { "redirect" },
            distance: None,
            similarity: None,
            rule: Some(if address.revisit { "revisit" } else { "redirect" }),
            reason: None,
            file: &files[address.place.file.0 as usize],
            record: address.place.number,
        })?;
    }
    kept.finish()?;
    groups.finish()?;
    removed.finish()
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
