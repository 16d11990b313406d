//! Writes the contents of a commit, or its difference to an earlier one, as an increment.
//!
//! An increment is of one commit, however long writing it takes; writers continue meanwhile. Reads are verified
//! like all others, so a damaged repository is not copied. Starts the change log when the first increment is
//! requested.

use super::stream::{Header, Out, Part, Summary};
use crate::changes::{self, Changed};
use crate::confirm::SECRET;
use crate::error::{Fault, Outcome, StoreError, guarded};
use crate::lineage::{Lineage, Position};
use crate::repository::Repository;
use crate::tables;
use crate::texts::{Texts, TextsSince};
use crate::view::{OpenTables, View};
use redb::ReadableTable;
use std::io::{self, Write};
use std::sync::Arc;

pub struct Increment {
    header: Header,
    view: Arc<View>,
    /// `None` for everything.
    changed: Option<Changed>,
    texts: Option<TextsSince>,
}

impl std::fmt::Debug for Increment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Increment").field("header", &self.header).finish_non_exhaustive()
    }
}

impl Repository {
    /// What a copy at this position lacks of the last commit; everything if there is no copy, or if
    /// the change log does not reach back to it.
    ///
    /// # Errors
    ///
    /// [`StoreError::OtherHistory`] for a position outside this repository's history, or a disk
    /// error.
    pub fn increment(
        &self,
        after: Option<&Position>,
        texts: Option<&Texts>,
    ) -> Result<Increment, StoreError> {
        self.begin_log()?;
        // Taken before reading, so that everything acknowledged until then is included.
        let made = self.now();
        // Texts first: then the text of a copied page is at worst too new.
        let texts = texts.and_then(|texts| texts.since(after.map(|after| after.texts)));
        let view = self.view();
        let lineage = guarded(|| lineage_of(&view)).map_err(|fault| self.refusal(fault))?;
        let to = Position {
            texts: texts.as_ref().map_or((0, 0), TextsSince::position),
            ..position_of(&view, &lineage)
        };
        if let Some(after) = after {
            self.must_continue(&lineage, after, to.commit)?;
        }
        let changed = match after {
            Some(after) => guarded(|| changes::since(&view.transaction, after.commit, to.commit)),
            None => Ok(None),
        };
        let changed = changed.map_err(|fault| self.refusal(fault))?;
        let from = after.copied().filter(|_| changed.is_some());
        let header = Header { from, to, lineage, made };
        Ok(Increment { header, view, changed, texts })
    }

    fn must_continue(
        &self,
        lineage: &Lineage,
        copy: &Position,
        commit: u64,
    ) -> Result<(), StoreError> {
        let mut continues = lineage.continues(copy);
        if continues.is_ok() && copy.commit > commit {
            continues = Err(format!("it is {} commits ahead", copy.commit - commit));
        }
        let folder = self.folder().to_owned();
        continues.map_err(|what| StoreError::OtherHistory { folder, what })
    }

    /// Records that a standby at this position, or one that will get everything first, follows:
    /// when this repository is opened again, it waits to be promoted.
    ///
    /// # Errors
    ///
    /// [`StoreError::OtherHistory`] for a position outside this repository's history, or a disk
    /// error.
    pub fn is_followed_by(&self, standby: Option<&Position>) -> Result<(), StoreError> {
        if let Some(standby) = standby {
            self.must_continue(&self.lineage()?, standby, self.reader().commit())?;
        }
        self.record_standby()
    }

    /// The position of this copy; its epoch is 0 if it was never copied.
    pub fn position(&self, texts: Option<&Texts>) -> Result<Position, StoreError> {
        let texts = texts.and_then(Texts::position).unwrap_or((0, 0));
        self.query(|view| Ok(Position { texts, ..position_of(view, &lineage_of(view)?) }))
    }

    pub fn lineage(&self) -> Result<Lineage, StoreError> {
        self.query(lineage_of)
    }
}

fn lineage_of(view: &View) -> Outcome<Lineage> {
    Lineage::read(&view.transaction.open_table(tables::META)?)
}

fn position_of(view: &View, lineage: &Lineage) -> Position {
    let counters = view.counters;
    let (epoch, texts) = (lineage.present(), (0, 0));
    Position { epoch, commit: counters.commits, event: counters.last_event, texts }
}

impl Increment {
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Writes the increment.
    ///
    /// # Errors
    ///
    /// The repository cannot be read, or `to` fails.
    pub fn write(self, to: &mut dyn Write) -> Result<Summary, StoreError> {
        let Self { header, view, changed, texts } = self;
        let written = guarded(|| {
            let mut out = Out::begin(to, &header).map_err(unwritten)?;
            whole_tables(&view, &mut out)?;
            match changed {
                Some(changed) => rows_of(&view.tables, changed, &mut out)?,
                None => all_rows(&view.tables, &mut out)?,
            }
            if let Some(texts) = texts {
                texts.write(&mut |part, key, value| {
                    out.row(part, key, Some(value)).map_err(unwritten)
                })?;
            }
            out.end().map_err(unwritten)
        });
        let (rows, bytes) = written.map_err(|fault| fault.at(tables::FILE.as_ref()))?;
        Ok(Summary { header, rows, bytes })
    }
}

fn unwritten(error: io::Error) -> Fault {
    Fault::Copy(format!("it cannot be written: {error}"))
}

/// Settings, key and counters: a few rows whose changes are not logged.
fn whole_tables(view: &View, out: &mut Out<'_>) -> Outcome<()> {
    let reading = &view.transaction;
    for row in reading.open_table(tables::META)?.iter()? {
        let (name, value) = row?;
        let (name, value) = (name.value().as_bytes(), value.value().as_bytes());
        out.row(Part::Meta, name.len() as u64, Some(&[name, value])).map_err(unwritten)?;
    }
    for row in reading.open_table(SECRET)?.iter()? {
        let (name, value) = row?;
        let name = name.value().as_bytes();
        out.row(Part::Secret, name.len() as u64, Some(&[name, value.value()]))
            .map_err(unwritten)?;
    }
    for row in reading.open_table(tables::COUNTERS)?.iter()? {
        let (name, value) = row?;
        let name = name.value().as_bytes();
        let value = value.value().to_le_bytes();
        out.row(Part::Counters, name.len() as u64, Some(&[name, &value])).map_err(unwritten)?;
    }
    Ok(())
}

/// Calls `$put` with part, key and value for the rows of each table that is logged by key.
macro_rules! each_table {
    ($tables:expr, $rows:ident) => {
        $rows!(Part::Names, $tables.names, u32, |url| &[url.as_bytes()]);
        $rows!(Part::Pages, $tables.pages, u32, |record| &[record]);
        $rows!(Part::Former, $tables.former, u32, |row| &[&row.0.to_le_bytes(), row.1.as_bytes()]);
        $rows!(Part::Places, $tables.places, u32, |place| &[place.as_slice()]);
        $rows!(Part::Groups, $tables.groups, u32, |group| &[group.as_slice()]);
        $rows!(Part::Members, $tables.members, u64, |_none| &[]);
        $rows!(Part::Sources, $tables.sources, u64, |_none| &[]);
        $rows!(Part::Events, $tables.events, u64, |event| &[event.as_slice()]);
        $rows!(Part::Hosts, $tables.hosts, u64, |host| &[host]);
        $rows!(Part::Frames, $tables.frames, u64, |frame| &[frame]);
        $rows!(Part::HostTexts, $tables.host_texts, u64, |text| &[text]);
    };
}

fn all_rows(tables: &OpenTables, out: &mut Out<'_>) -> Outcome<()> {
    macro_rules! rows {
        ($part:expr, $table:expr, $key:ty, |$value:ident| $pieces:expr) => {
            for row in $table.iter()? {
                let (key, value) = row?;
                let $value = value.value();
                out.row($part, u64::from(key.value()), Some($pieces)).map_err(unwritten)?;
            }
        };
    }
    each_table!(tables, rows);
    Ok(())
}

fn rows_of(tables: &OpenTables, changed: Changed, out: &mut Out<'_>) -> Outcome<()> {
    for (part, keys) in changed.sorted() {
        for number in keys {
            let damaged = || Fault::Damaged(format!("the log of changes has key {number}"));
            macro_rules! row {
                ($part:expr, $table:expr, $key:ty, |$value:ident| $pieces:expr) => {
                    if part == $part {
                        let key = <$key>::try_from(number).ok().ok_or_else(damaged)?;
                        match $table.get(key)? {
                            Some(value) => {
                                let $value = value.value();
                                out.row(part, number, Some($pieces)).map_err(unwritten)?;
                            }
                            None => out.row(part, number, None).map_err(unwritten)?,
                        }
                    }
                };
            }
            each_table!(tables, row);
        }
    }
    Ok(())
}
