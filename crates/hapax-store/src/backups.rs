//! Named backups of a repository in one place, each an increment to the previous one.
//!
//! A backup gets its name when it was completely written and read back. It is restored together with the
//! backups it builds on, back to a full one; a backup with a missing predecessor is refused by name. A restored
//! repository is verified before it is used, and begins a new epoch.
//!
//! Does not delete backups: a chain can be deleted once there is a later full backup.

use crate::copies::receive;
use crate::error::StoreError;
use crate::increment::{Header, Summary, read_header, verify};
use crate::integrity::Integrity;
use crate::lineage::{Position, Role};
use std::cell::Cell;
use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// File extension of backups.
pub const SUFFIX: &str = ".hapax-backup";
const LONGEST: usize = 100;

/// A place for backups: a folder, or any other storage of named files.
pub trait Place {
    fn names(&self) -> io::Result<Vec<String>>;
    fn read(&self, name: &str) -> io::Result<Box<dyn Read>>;
    /// Writes a file that appears under its name when `fill` has written all of it.
    fn write(
        &self,
        name: &str,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
}

impl Place for PathBuf {
    fn names(&self) -> io::Result<Vec<String>> {
        let files = match fs::read_dir(self) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            files => files?,
        };
        let name = |file: io::Result<fs::DirEntry>| Ok(file?.file_name().to_string_lossy().into());
        files.map(name).collect()
    }

    fn read(&self, name: &str) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(BufReader::new(fs::File::open(self.join(name))?)))
    }

    fn write(
        &self,
        name: &str,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        fs::create_dir_all(self)?;
        let new = self.join(format!("{name}.new"));
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut out = BufWriter::with_capacity(1 << 20, crate::opening::new_file(&new)?);
        let written = fill(&mut out).and_then(|()| out.flush());
        let written = written.and_then(|()| out.get_ref().sync_all());
        let named = written
            .and_then(|()| crate::disk::rename(&crate::disk::RealDisk, &new, &self.join(name)));
        if named.is_err() {
            let _ = fs::remove_file(&new);
        }
        named
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.join(name))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    pub name: String,
    pub header: Header,
}

/// All backups of a place, earliest first. One that others continue is earlier than these, whatever
/// the clock said.
///
/// # Errors
///
/// The place is unreadable. Foreign files are ignored, whatever their names.
pub fn list(place: &dyn Place) -> Result<Vec<Backup>, StoreError> {
    let mut found = Vec::new();
    for file in place.names().map_err(unreadable)? {
        let Some(name) = file.strip_suffix(SUFFIX) else { continue };
        let header = place.read(&file).and_then(|mut from| read_header(&mut from));
        match header {
            Ok(header) => found.push(Backup { name: name.to_owned(), header }),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    let headers: Vec<Header> = found.iter().map(|it| it.header.clone()).collect();
    found.sort_by_cached_key(|Backup { name, header }| {
        let until = made_until(header, &headers);
        (until, header.to.commit, header.made, header.from.is_some(), name.clone())
    });
    Ok(found)
}

/// The latest time at which a backup can have been made: that of the earliest one that continues it.
fn made_until(header: &Header, all: &[Header]) -> u64 {
    let later = all.iter().filter(|it| it.lineage.continues(&header.to).is_ok());
    let later = later.filter(|it| it.to.commit >= header.to.commit);
    later.map(|it| it.made).min().unwrap_or(header.made).min(header.made)
}

/// Writes the increment after a position.
pub type Copy<'c> = &'c mut dyn FnMut(Option<&Position>, &mut dyn Write) -> io::Result<()>;

/// Makes a backup under an unused name: `copy` writes the increment after the last backup, or
/// everything.
///
/// # Errors
///
/// The name is invalid or in use, `copy` fails, or the copy arrived changed. Then no backup is
/// made.
pub fn take(
    place: &dyn Place,
    name: &str,
    whole: bool,
    copy: Copy<'_>,
) -> Result<Summary, StoreError> {
    good_name(name)?;
    let there = list(place)?;
    if there.iter().any(|it| it.name == name) {
        return Err(StoreError::Backup {
            what: format!("there is a backup `{name}` already; choose another name"),
        });
    }
    let after = there.last().filter(|_| !whole).map(|last| last.header.to);
    let file = format!("{name}{SUFFIX}");
    place.write(&file, &mut |out| copy(after.as_ref(), out)).map_err(refused)?;
    let read = place.read(&file).and_then(|mut from| verify(&mut from));
    read.map_err(|error| {
        let _ = place.remove(&file);
        refused(error)
    })
}

/// Restores a backup, by default the last one, to a folder without a repository.
///
/// # Errors
///
/// The backup or one of its predecessors is missing, or the result is damaged. Then no repository
/// is made.
pub fn restore(
    place: &dyn Place,
    name: Option<&str>,
    folder: &Path,
) -> Result<(Backup, Integrity), StoreError> {
    let there = list(place)?;
    let wanted = match name {
        Some(name) => there.iter().find(|it| it.name == name),
        None => there.last(),
    };
    let known = || {
        let names: Vec<&str> = there.iter().map(|it| it.name.as_str()).collect();
        match names.is_empty() {
            true => {
                "there is no backup in this place; `hapax store backup STORE --to PLACE` makes one"
                    .to_owned()
            }
            false => {
                let name = name.unwrap_or_default();
                format!("there is no backup `{name}`; there are {}", names.join(", "))
            }
        }
    };
    let wanted = wanted.ok_or_else(|| StoreError::Backup { what: known() })?;
    let mut chain = vec![wanted];
    while let Some(Backup { name, header: Header { from: Some(from), .. } }) = chain.last().copied()
    {
        let earlier = there.iter().find(|it| it.header.to == *from && !chain.contains(it));
        let missing = || StoreError::Backup {
            what: format!(
                "`{name}` builds on a backup of commit {}, which is missing",
                from.commit
            ),
        };
        chain.push(earlier.ok_or_else(missing)?);
    }
    let reading = Cell::new("");
    let mut parts = chain.iter().rev().map(|it| {
        reading.set(&it.name);
        place.read(&format!("{}{SUFFIX}", it.name))
    });
    let found = receive(folder, &mut parts, Role::Primary).map_err(|error| match error {
        StoreError::Copy { what } => {
            StoreError::Copy { what: format!("backup `{}`: {what}", reading.get()) }
        }
        other => other,
    })?;
    Ok((wanted.clone(), found))
}

fn unreadable(error: io::Error) -> StoreError {
    StoreError::Backup { what: format!("the place of the backups cannot be read: {error}") }
}

fn refused(error: io::Error) -> StoreError {
    StoreError::Copy { what: error.to_string() }
}

fn good_name(name: &str) -> Result<(), StoreError> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let bad = name.is_empty() || name.len() > LONGEST || name.starts_with('.');
    match !bad && name.bytes().all(good) {
        true => Ok(()),
        false => Err(StoreError::Backup {
            what: format!(
                "a backup's name is 1 to {LONGEST} letters, digits, `-`, `_` and `.`, not `{name}`"
            ),
        }),
    }
}
