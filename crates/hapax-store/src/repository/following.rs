//! Standbys and roles: applies increments, and changes who may write.
//!
//! An increment is one commit or none, like any other write; readers see it completely or not at all. A standby
//! takes no other writes. A primary with a standby takes no writes after it was opened again until it is
//! promoted, because the standby may have been promoted.
//!
//! Does not fetch increments, and does not decide who is the primary.

use super::*;
use crate::changes;
use crate::increment::apply::apply;
use crate::increment::{Header, Rows};
use crate::lineage::{self, LINEAGE, Lineage, Position};
use crate::texts::Texts;
use redb::WriteTransaction;
use std::io::Read;

impl Repository {
    pub fn role(&self) -> Role {
        Role::of_number(self.role.load(Ordering::Relaxed))
    }

    /// When the last applied increment was made, in seconds since 1970 by the clock of its source.
    /// Everything acknowledged there before that time is here.
    pub fn as_of(&self) -> Result<Option<u64>, StoreError> {
        self.query(|view| lineage::as_of(&view.transaction))
    }

    /// Starts the change log and the lineage, if there are none.
    pub(crate) fn begin_log(&self) -> Result<(), StoreError> {
        let mut writer = self.writer();
        if writer.logging {
            return Ok(());
        }
        let begun = self.administer(&mut writer, |writing, counters| {
            let mut meta = writing.open_table(tables::META)?;
            let mut lineage = Lineage::read(&meta)?;
            if lineage == Lineage::default() {
                lineage.begin(counters.commits, counters.last_event)?;
                meta.insert(LINEAGE, lineage.to_string().as_str())?;
            }
            changes::begin(writing)
        });
        begun.map_err(|fault| self.refusal(fault))?;
        writer.logging = true;
        Ok(())
    }

    /// Records in the file that a standby follows.
    pub(crate) fn record_standby(&self) -> Result<(), StoreError> {
        let mut writer = self.writer();
        if writer.followed || self.role() != Role::Primary {
            return Ok(());
        }
        let noted =
            self.administer(&mut writer, |writing, _| lineage::set_role(writing, Role::Waiting));
        noted.map_err(|fault| self.refusal(fault))?;
        writer.followed = true;
        Ok(())
    }

    /// Becomes the primary and begins an epoch. Copies with more than this one cannot follow it.
    pub fn promote(&self) -> Result<Position, StoreError> {
        let mut writer = self.writer();
        let promoted = self.administer(&mut writer, |writing, counters| {
            let mut meta = writing.open_table(tables::META)?;
            let mut lineage = Lineage::read(&meta)?;
            lineage.begin(counters.commits, counters.last_event)?;
            meta.insert(LINEAGE, lineage.to_string().as_str())?;
            lineage::set_role(writing, Role::Primary)
        });
        promoted.map_err(|fault| self.refusal(fault))?;
        writer.followed = false;
        self.role.store(Role::Primary as u8, Ordering::Relaxed);
        drop(writer);
        self.position(None)
    }

    /// Becomes a standby: takes increments and no writes.
    pub fn become_standby(&self) -> Result<(), StoreError> {
        let mut writer = self.writer();
        let role = Role::Standby;
        let set = self.administer(&mut writer, |writing, _| lineage::set_role(writing, role));
        set.map_err(|fault| self.refusal(fault))?;
        self.role.store(role as u8, Ordering::Relaxed);
        Ok(())
    }

    /// Applies an increment to a standby.
    ///
    /// # Errors
    ///
    /// [`StoreError::Copy`] for a truncated or damaged increment, [`StoreError::OtherHistory`] for
    /// one that does not continue this copy, or this is not a standby. Then nothing changes.
    pub fn apply_increment(
        &self,
        increment: &mut dyn Read,
        texts: Option<&Texts>,
    ) -> Result<Header, StoreError> {
        let unread = |error: std::io::Error| StoreError::Copy { what: error.to_string() };
        let (header, mut rows) = Rows::begin(increment).map_err(unread)?;
        let mut writer = self.writer();
        let applied = self.follow(&mut writer, &header, &mut rows, texts);
        applied.map_err(|fault| self.refusal(fault))?;
        writer.logging = true;
        Ok(header)
    }

    fn follow(
        &self,
        writer: &mut Writer,
        header: &Header,
        rows: &mut Rows<'_>,
        texts: Option<&Texts>,
    ) -> Outcome<()> {
        if self.role() != Role::Standby {
            return Err(Fault::NotPrimary(self.role()));
        }
        self.reopened(writer)?;
        let before = writer.counters;
        let db = writer.db.as_ref().ok_or_else(recovery::closed)?;
        let begun = guarded(|| Ok(db.begin_write()?));
        writer.failed |= begun.as_ref().is_err_and(recovery::is_of_disk);
        let transaction = begun?;
        let mut undo = Vec::new();
        let done = guarded(|| {
            let ours = Lineage::read(&transaction.open_table(tables::META)?)?;
            must_continue(&ours, &before, header)?;
            let applied = apply(header, rows, &transaction, texts, &mut |page, was, is| {
                if was != is {
                    undo.push((page, was));
                    set_index(&self.index, page, is)?;
                }
                Ok(())
            })?;
            match header.from {
                Some(_) if writer.logging => {
                    let (from, to) = (before.commits, header.to.commit);
                    changes::append(&transaction, from, to, applied.changed)?;
                }
                _ => changes::begin(&transaction)?,
            }
            lineage::set_as_of(&transaction, header.made)?;
            let counters = Counters::read(&transaction.open_table(tables::COUNTERS)?)?;
            let settings = tables::read_settings(&transaction.open_table(tables::META)?)?;
            if let Some(texts) = applied.texts {
                texts.commit()?;
            }
            Ok(((), (counters, settings)))
        });
        self.committed(writer, transaction, undo, done)
    }

    /// Changes administrative data, without counting a commit.
    pub(super) fn administer(
        &self,
        writer: &mut Writer,
        change: impl FnOnce(&WriteTransaction, &Counters) -> Outcome<()>,
    ) -> Outcome<()> {
        if self.watch.damage.get().is_some() {
            return Err(recovery::closed());
        }
        self.reopened(writer)?;
        let db = writer.db.as_ref().ok_or_else(recovery::closed)?;
        let begun = guarded(|| Ok(db.begin_write()?));
        writer.failed |= begun.as_ref().is_err_and(recovery::is_of_disk);
        let transaction = begun?;
        let state = (writer.counters, writer.settings.clone());
        let done = guarded(|| change(&transaction, &state.0)).map(|()| ((), state));
        self.committed(writer, transaction, Vec::new(), done)
    }
}

/// Checks that an increment continues a copy with this lineage and commit.
fn must_continue(ours: &Lineage, at: &Counters, header: &Header) -> Outcome<()> {
    let (epoch, commit) = (ours.present(), at.commits);
    let position = Position { epoch, commit, event: at.last_event, texts: (0, 0) };
    header
        .lineage
        .continues(&position)
        .map_err(|what| Fault::OtherHistory(format!("of this one, the other says: {what}")))?;
    let from = header.from.map_or(0, |from| from.commit);
    match from <= commit && commit <= header.to.commit {
        true => Ok(()),
        false => Err(Fault::Copy(format!(
            "it goes from commit {from} to {}, and this copy is at commit {commit}",
            header.to.commit
        ))),
    }
}
