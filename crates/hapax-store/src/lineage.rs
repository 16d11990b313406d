//! Identifies the repository behind a copy, its position, and whether it may be written.
//!
//! Whenever a copy becomes the primary, a new epoch begins: a random number, with the last commit and event
//! before it. The list of epochs is part of every copy, so two copies show whether one continues the other, and
//! followers of events whether these belong to the same history.
//!
//! Does not discover copies: an operator or orchestrator decides which one is the primary.

use crate::error::{Fault, Outcome};
use redb::{ReadTransaction, ReadableTable, TableDefinition, TableError, WriteTransaction};
use std::fmt;
use std::str::FromStr;

/// Data of one copy that is not copied.
pub(crate) const LOCAL: TableDefinition<'_, &str, &str> = TableDefinition::new("local");
/// Key of the list of epochs in `meta`.
pub(crate) const LINEAGE: &str = "lineage";
const ROLE: &str = "role";
/// When the last applied increment was made, by the clock of its source.
const AS_OF: &str = "as of";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Takes writes.
    Primary,
    /// Follows a primary.
    Standby,
    /// Was the primary of a standby and was opened again; the standby may have become the primary
    /// in between.
    Waiting,
}

impl Role {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Standby => "standby",
            Self::Waiting => "waiting",
        }
    }

    pub(crate) const fn of_number(number: u8) -> Self {
        match number {
            0 => Self::Primary,
            1 => Self::Standby,
            _ => Self::Waiting,
        }
    }
}

/// The time of one primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    pub id: u64,
    /// The last commit before the epoch.
    pub commit: u64,
    /// The last event before the epoch.
    pub event: u64,
}

/// The epochs of a repository, first to current.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage(pub(crate) Vec<Epoch>);

/// The position of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub epoch: u64,
    pub commit: u64,
    pub event: u64,
    /// Id of the file of texts, and the number of its last text; 0 and 0 without texts.
    pub texts: (u64, u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, commit, event, texts: (file, text) } = self;
        write!(f, "{epoch:016x}.{commit}.{event}.{file:016x}.{text}")
    }
}

/// The text is not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a position is the text that a copy of a repository states, such as 00..7f.12.30.00..00.0")]
pub struct ParsePositionError;

impl FromStr for Position {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('.').collect();
        let [epoch, commit, event, file, last] = parts[..] else { return Err(ParsePositionError) };
        let number = |text: &str| text.parse().map_err(|_| ParsePositionError);
        let id = |text| u64::from_str_radix(text, 16).map_err(|_| ParsePositionError);
        Ok(Self {
            epoch: id(epoch)?,
            commit: number(commit)?,
            event: number(event)?,
            texts: (id(file)?, number(last)?),
        })
    }
}

impl fmt::Display for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, Epoch { id, commit, event }) in self.0.iter().enumerate() {
            write!(f, "{}{id:016x}@{commit}@{event}", if place == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl FromStr for Lineage {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let epoch = |text: &str| {
            let parts: Vec<&str> = text.split('@').collect();
            let [id, commit, event] = parts[..] else { return None };
            let id = u64::from_str_radix(id, 16).ok()?;
            Some(Epoch { id, commit: commit.parse().ok()?, event: event.parse().ok()? })
        };
        let epochs: Option<Vec<Epoch>> = text.split_whitespace().map(epoch).collect();
        epochs.map(Self).ok_or(ParsePositionError)
    }
}

impl Lineage {
    /// Begins an epoch after a commit and an event.
    pub(crate) fn begin(&mut self, commit: u64, event: u64) -> Outcome<()> {
        let mut id = [0; 8];
        getrandom::getrandom(&mut id)
            .map_err(|error| Fault::from(redb::StorageError::Io(error.into())))?;
        self.0.push(Epoch { id: u64::from_le_bytes(id), commit, event });
        Ok(())
    }

    /// The number of the current epoch; 0 before the first.
    pub(crate) fn present(&self) -> u64 {
        self.0.last().map_or(0, |epoch| epoch.id)
    }

    /// For an epoch of this lineage: the epoch after it, if any. `None` for an unknown epoch.
    fn after(&self, id: u64) -> Option<Option<&Epoch>> {
        let at = self.0.iter().position(|epoch| epoch.id == id)?;
        Some(self.0.get(at + 1))
    }

    /// Checks that a copy with this lineage has everything that a copy at this position has.
    ///
    /// # Errors
    ///
    /// A description: the copies are of different repositories, or the other one has commits that
    /// this one never had.
    pub fn continues(&self, position: &Position) -> Result<(), String> {
        match self.after(position.epoch) {
            None => Err("it is a copy of another repository".into()),
            Some(Some(next)) if position.commit > next.commit => Err(format!(
                "it has {} commits that were lost when another copy became the primary after commit {}",
                position.commit - next.commit,
                next.commit
            )),
            Some(_) => Ok(()),
        }
    }

    /// Checks that events up to `event` of an epoch are part of this history.
    ///
    /// # Errors
    ///
    /// `None` for an epoch of another repository, otherwise the last event in common.
    pub fn follows(&self, epoch: u64, event: u64) -> Result<(), Option<u64>> {
        match self.after(epoch) {
            None => Err(None),
            Some(Some(next)) if event > next.event => Err(Some(next.event)),
            Some(_) => Ok(()),
        }
    }

    /// The last event that every history has that is part of this one; `None` if there is only one.
    pub fn common_event(&self) -> Option<u64> {
        self.0.iter().skip(1).map(|epoch| epoch.event).min()
    }

    pub(crate) fn read(meta: &impl ReadableTable<&'static str, &'static str>) -> Outcome<Self> {
        let Some(row) = meta.get(LINEAGE)? else { return Ok(Self::default()) };
        let bad = |_| Fault::Damaged(format!("its lineage is `{}`", row.value()));
        row.value().parse().map_err(bad)
    }
}

/// The role of a copy being opened.
pub(crate) fn role(reading: &ReadTransaction) -> Outcome<Role> {
    let table = match reading.open_table(LOCAL) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(Role::Primary),
        table => table?,
    };
    let row = table.get(ROLE)?;
    Ok(match row.as_ref().map(|row| row.value()) {
        None => Role::Primary,
        Some(name) if name == Role::Standby.name() => Role::Standby,
        Some(_) => Role::Waiting,
    })
}

/// When the last applied increment was made, in seconds since 1970.
pub(crate) fn as_of(reading: &ReadTransaction) -> Outcome<Option<u64>> {
    match reading.open_table(LOCAL) {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        table => Ok(table?.get(AS_OF)?.and_then(|row| row.value().parse().ok())),
    }
}

pub(crate) fn set_as_of(writing: &WriteTransaction, made: u64) -> Outcome<()> {
    writing.open_table(LOCAL)?.insert(AS_OF, made.to_string().as_str())?;
    Ok(())
}

/// Sets the role for the next opening.
pub(crate) fn set_role(writing: &WriteTransaction, role: Role) -> Outcome<()> {
    let mut table = writing.open_table(LOCAL)?;
    match role {
        Role::Primary => _ = table.remove(ROLE)?,
        Role::Standby | Role::Waiting => _ = table.insert(ROLE, role.name())?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(epoch: u64, commit: u64) -> Position {
        Position { epoch, commit, event: 0, texts: (0, 0) }
    }

    fn lineage() -> Lineage {
        Lineage(vec![Epoch { id: 7, commit: 0, event: 0 }, Epoch { id: 8, commit: 10, event: 30 }])
    }

    #[test]
    fn a_copy_that_has_what_was_lost_is_not_continued() {
        let lineage = lineage();
        assert_eq!(lineage.continues(&at(7, 10)), Ok(()));
        assert!(lineage.continues(&at(7, 11)).unwrap_err().contains("1 commits"));
        assert_eq!(lineage.continues(&at(8, 11)), Ok(()));
        assert!(lineage.continues(&at(9, 0)).is_err());
    }

    #[test]
    fn a_follower_learns_the_last_event_that_was_not_lost() {
        let lineage = lineage();
        assert_eq!(lineage.follows(7, 30), Ok(()));
        assert_eq!(lineage.follows(7, 31), Err(Some(30)));
        assert_eq!(lineage.follows(8, 99), Ok(()));
        assert_eq!(lineage.follows(1, 0), Err(None));
        assert_eq!((lineage.common_event(), Lineage::default().common_event()), (Some(30), None));
    }

    #[test]
    fn positions_and_lineages_are_read_as_they_are_written() {
        let position = Position { epoch: 0xfeed, commit: 12, event: 34, texts: (5, 6) };
        assert_eq!(position.to_string().parse(), Ok(position));
        assert_eq!(lineage().to_string().parse(), Ok(lineage()));
        for bad in ["", "1.2", "x.1.2.3.4", "1.2.3.4.-5", "1.2.3.4.5.6"] {
            assert_eq!(bad.parse::<Position>(), Err(ParsePositionError), "{bad}");
        }
    }
}
