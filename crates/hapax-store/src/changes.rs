//! The change log: which rows each commit touched, so that a later copy includes only those.
//!
//! One row per commit, keyed by the commit: the sorted keys of every table, as differences in a variable number
//! of bytes. The log begins with the first copy, and drops its oldest entries when it exceeds [`MOST`] bytes. A
//! gap, as left by older versions that write without a log, is detected. Does not hold values: a copy reads
//! them as of its own commit.

use crate::error::{Fault, Outcome};
use crate::increment::Part;
use crate::lineage::LOCAL;
use redb::{ReadTransaction, ReadableTable, TableDefinition, TableError, WriteTransaction};

/// Keyed by the last commit of the entry; its first 8 bytes are the previous commit.
pub(crate) const CHANGES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("changes");
const BYTES: &str = "log bytes";
/// Maximum size of the log in bytes, enough for some 10 million changed pages.
const MOST: u64 = 256 << 20;

/// Keys that were touched, by table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed([Vec<u64>; Part::KEYED.len()]);

impl Changed {
    pub(crate) fn add(&mut self, part: Part, key: u64) {
        if let Some(keys) = self.0.get_mut(part as usize) {
            keys.push(key);
        }
    }

    /// The distinct keys of each table, ascending.
    pub(crate) fn sorted(mut self) -> impl Iterator<Item = (Part, Vec<u64>)> {
        for keys in &mut self.0 {
            keys.sort_unstable();
            keys.dedup();
        }
        Part::KEYED.into_iter().zip(self.0)
    }

    fn encode(self, from: u64) -> Vec<u8> {
        let mut out = from.to_le_bytes().to_vec();
        for (_, keys) in self.sorted() {
            put(&mut out, keys.len() as u64);
            let mut last = 0;
            for key in keys {
                put(&mut out, key - last);
                last = key;
            }
        }
        out
    }

    fn decode(&mut self, mut bytes: &[u8]) -> Option<()> {
        for keys in &mut self.0 {
            let count = take(&mut bytes)?;
            let mut last = 0u64;
            for _ in 0..count {
                last = last.checked_add(take(&mut bytes)?)?;
                keys.push(last);
            }
        }
        bytes.is_empty().then_some(())
    }
}

/// Seven bits per byte; the highest bit says that more follow.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

pub(crate) fn is_on(reading: &ReadTransaction) -> Outcome<bool> {
    match reading.open_table(LOCAL) {
        Err(TableError::TableDoesNotExist(_)) => Ok(false),
        table => Ok(table?.get(BYTES)?.is_some()),
    }
}

/// Starts an empty log of the changes after this commit.
pub(crate) fn begin(writing: &WriteTransaction) -> Outcome<()> {
    writing.delete_table(CHANGES)?;
    writing.open_table(CHANGES)?;
    writing.open_table(LOCAL)?.insert(BYTES, "0")?;
    Ok(())
}

/// Appends the changes after commit `from` up to commit `to`.
pub(crate) fn append(
    writing: &WriteTransaction,
    from: u64,
    to: u64,
    changed: Changed,
) -> Outcome<()> {
    let (mut log, mut local) = (writing.open_table(CHANGES)?, writing.open_table(LOCAL)?);
    let mut bytes = match local.get(BYTES)? {
        Some(row) => row.value().parse().unwrap_or(MOST),
        None => return Ok(()),
    };
    let entry = changed.encode(from);
    bytes += entry.len() as u64;
    log.insert(to, entry.as_slice())?;
    while bytes > MOST {
        let Some((_, row)) = log.pop_first()? else { break };
        bytes = bytes.saturating_sub(row.value().len() as u64);
    }
    local.insert(BYTES, bytes.to_string().as_str())?;
    Ok(())
}

/// The changes after a commit up to the current one; `None` if the log does not reach back so far
/// or has a gap.
pub(crate) fn since(
    reading: &ReadTransaction,
    commit: u64,
    present: u64,
) -> Outcome<Option<Changed>> {
    let mut changed = Changed::default();
    if commit == present {
        return Ok(Some(changed));
    }
    let log = match reading.open_table(CHANGES) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(None),
        log => log?,
    };
    let mut reached = None;
    for row in log.range(commit + 1..=present)? {
        let (to, bytes) = row?;
        let damaged = || Fault::Damaged(format!("the log of commit {} cannot be read", to.value()));
        let (from, keys) = bytes.value().split_first_chunk().ok_or_else(damaged)?;
        let from = u64::from_le_bytes(*from);
        // An entry of several commits may begin before the requested one.
        if reached.map_or(from > commit, |reached| from != reached) {
            return Ok(None);
        }
        changed.decode(keys).ok_or_else(damaged)?;
        reached = Some(to.value());
    }
    Ok((reached == Some(present)).then_some(changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_back_sorted_and_once() {
        let mut changed = Changed::default();
        for key in [5, u64::MAX, 0, 5, 300] {
            changed.add(Part::Members, key);
        }
        changed.add(Part::Pages, 7);
        let bytes = changed.encode(3);
        let mut read = Changed::default();
        read.decode(&bytes[8..]).unwrap();
        let keys: Vec<(Part, Vec<u64>)> = read.sorted().filter(|(_, k)| !k.is_empty()).collect();
        assert_eq!(keys, [(Part::Pages, vec![7]), (Part::Members, vec![0, 5, 300, u64::MAX])]);
        for cut in 8..bytes.len() {
            assert_eq!(Changed::default().decode(&bytes[8..cut]), None);
        }
    }
}
