//! Stores texts of pages in `texts.redb`, to show two of them next to each other later.
//!
//! A cache: verdicts do not need it, it may be deleted, and the last texts may be missing after a crash. Texts
//! are compressed; above the size limit the oldest are dropped. Writing never waits: a text is dropped if the
//! writing thread cannot keep up. The table `texts` maps ascending numbers to address and compressed text
//! (empty for a removed text), `numbers` addresses to numbers; copies take the numbers above their own.

use crate::error::Outcome;
use crate::increment::Part;
use redb::{
    Database, Durability, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// File name in the folder.
pub const FILE: &str = "texts.redb";
const TEXTS: TableDefinition<'_, u64, (&str, &[u8])> = TableDefinition::new("texts");
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
const BYTES: TableDefinition<'_, &str, u64> = TableDefinition::new("bytes");
/// In `bytes`: the total size of all texts, and the random id of the file.
const ALL: &str = "all";
const ID: &str = "id";
/// Maximum number of texts waiting to be written.
const QUEUE: usize = 128;
/// Maximum size of a stored text in bytes.
const LONGEST: usize = 1 << 20;
/// Fast, because a text is compressed once and rarely read.
const LEVEL: i32 = 1;
/// Interval of syncs. Until a sync, redb keeps track of every written page, and a crash loses the
/// texts.
const SYNC_EVERY: Duration = Duration::from_secs(10);
/// Size of the file cache in bytes; texts are rarely read twice.
const CACHE_BYTES: usize = 16 << 20;

enum Change {
    Put(String, String),
    Remove(String),
}

/// The texts, and the thread that writes them.
#[derive(Debug)]
pub struct Texts {
    db: Arc<Database>,
    max_bytes: u64,
    queue: Mutex<Option<SyncSender<Change>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Texts {
    /// Opens the file in a folder. An unreadable file is replaced, because it is a cache.
    pub fn open(folder: &Path, max_bytes: u64) -> Result<Self, redb::Error> {
        Self::open_synced(folder, max_bytes, SYNC_EVERY)
    }

    fn open_synced(folder: &Path, max_bytes: u64, every: Duration) -> Result<Self, redb::Error> {
        let path = folder.join(FILE);
        let open = || -> Result<Database, redb::Error> {
            let db = Database::builder().set_cache_size(CACHE_BYTES).create(&path)?;
            let transaction = db.begin_write()?;
            transaction.open_table(TEXTS)?;
            transaction.open_table(NUMBERS)?;
            identify(&transaction)?;
            transaction.commit()?;
            Ok(db)
        };
        let db = match open() {
            Ok(db) => db,
            Err(error) => {
                tracing::warn!("the texts in {} are made anew: {error}", path.display());
                std::fs::remove_file(&path).map_err(redb::Error::Io)?;
                open()?
            }
        };
        let db = Arc::new(db);
        let (queue, changes) = sync_channel(QUEUE);
        let mine = db.clone();
        let work = move || write(&mine, &changes, max_bytes, every);
        let thread = std::thread::Builder::new().name("texts".into()).spawn(work);
        let thread = thread.map_err(redb::Error::Io)?;
        Ok(Self { db, max_bytes, queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)) })
    }

    /// Stores a text, unless the queue is full.
    pub fn put(&self, url: &str, text: String) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(queue) = queue
            && text.len() <= LONGEST
        {
            let _ = queue.try_send(Change::Put(url.to_owned(), text));
        }
    }

    /// Removes a text, durably, because whoever deletes a page wants it gone.
    pub fn remove(&self, url: &str) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(queue) = queue {
            let _ = queue.send(Change::Remove(url.to_owned()));
        }
    }

    /// The text of a page; `None` if it is not stored.
    pub fn get(&self, url: &str) -> Option<String> {
        let read = || -> Result<Option<Vec<u8>>, redb::Error> {
            let transaction = self.db.begin_read()?;
            let Some(number) = transaction.open_table(NUMBERS)?.get(url)?.map(|row| row.value())
            else {
                return Ok(None);
            };
            let texts = transaction.open_table(TEXTS)?;
            Ok(texts.get(number)?.map(|row| row.value().1.to_vec()))
        };
        let packed = read().inspect_err(|error| tracing::warn!("a text was not read: {error}"));
        let bytes = zstd::bulk::decompress(&packed.ok()??, LONGEST).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// Memory of the file cache in bytes.
    pub fn cached_bytes(&self) -> u64 {
        self.db.cache_stats().used_bytes() as u64
    }

    /// Id of the file, and number of its last text.
    pub(crate) fn position(&self) -> Option<(u64, u64)> {
        position(&self.db.begin_read().ok()?).ok()
    }

    /// The texts that a copy at this position lacks. `None` if the texts cannot be read; the copy
    /// then has none.
    pub(crate) fn since(&self, copied: Option<(u64, u64)>) -> Option<TextsSince> {
        let read = || -> Result<TextsSince, redb::Error> {
            let reading = self.db.begin_read()?;
            // Synced first, because a number in the copy must not be assigned again after a crash.
            self.db.begin_write()?.commit()?;
            let to = position(&reading)?;
            let after = copied.filter(|copied| copied.0 == to.0).map(|copied| copied.1);
            Ok(TextsSince { reading, after, to })
        };
        read().inspect_err(|error| tracing::warn!("texts are not copied: {error}")).ok()
    }

    /// Prepares to store the texts of a copy.
    pub(crate) fn applying(&self) -> Result<TextsApplied<'_>, redb::Error> {
        Ok(TextsApplied { writing: self.db.begin_write()?, texts: self })
    }

    /// Writes waiting texts and ends the thread.
    pub fn stop(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

fn write(db: &Database, changes: &Receiver<Change>, max_bytes: u64, every: Duration) {
    let mut synced = Instant::now();
    while let Ok(first) = changes.recv() {
        let mut together = vec![first];
        together.extend(changes.try_iter().take(QUEUE));
        // A removal must survive a crash; texts need not.
        let durable = together.iter().any(|change| matches!(change, Change::Remove(_)))
            || synced.elapsed() >= every;
        if durable {
            synced = Instant::now();
        }
        if let Err(error) = apply(db, &together, max_bytes, durable) {
            tracing::warn!("{} texts were not kept: {error}", together.len());
        }
    }
    if let Err(error) = apply(db, &[], max_bytes, true) {
        tracing::warn!("the last texts were not kept: {error}");
    }
}

fn apply(
    db: &Database,
    changes: &[Change],
    max_bytes: u64,
    durable: bool,
) -> Result<(), redb::Error> {
    let mut transaction = db.begin_write()?;
    transaction.set_durability(if durable { Durability::Immediate } else { Durability::None })?;
    change(&transaction, max_bytes, |put| {
        for change in changes {
            let packed = match change {
                Change::Put(_, text) => zstd::bulk::compress(text.as_bytes(), LEVEL)?,
                Change::Remove(_) => Vec::new(),
            };
            let (Change::Put(url, _) | Change::Remove(url)) = change;
            put(None, url, &packed)?;
        }
        Ok(())
    })?;
    transaction.commit()?;
    Ok(())
}

/// Stores a compressed text under a number or the next one; an empty one removes the text of the
/// address.
type Put<'p> = &'p mut dyn FnMut(Option<u64>, &str, &[u8]) -> Result<(), redb::Error>;

fn change(
    transaction: &WriteTransaction,
    max_bytes: u64,
    changes: impl FnOnce(Put<'_>) -> Result<(), redb::Error>,
) -> Result<(), redb::Error> {
    let mut texts = transaction.open_table(TEXTS)?;
    let mut numbers = transaction.open_table(NUMBERS)?;
    let mut counters = transaction.open_table(BYTES)?;
    let mut bytes = counters.get(ALL)?.map_or(0, |row| row.value());
    let mut next = texts.last()?.map_or(0, |(number, _)| number.value() + 1);
    changes(&mut |number, url, packed| {
        if number.is_some_and(|number| number < next) {
            // Present already.
            return Ok(());
        }
        let former = numbers.remove(url)?.map(|row| row.value());
        if let Some(number) = former
            && let Some(row) = texts.remove(number)?
        {
            bytes = bytes.saturating_sub(size(row.value()));
        }
        if former.is_none() && packed.is_empty() && number.is_none() {
            return Ok(());
        }
        let number = number.unwrap_or(next);
        texts.insert(number, (url, packed))?;
        bytes += size((url, packed));
        next = number + 1;
        if !packed.is_empty() {
            numbers.insert(url, number)?;
        }
        Ok(())
    })?;
    while bytes > max_bytes {
        let Some((number, row)) = texts.pop_first()? else { break };
        bytes = bytes.saturating_sub(size(row.value()));
        let url = row.value().0;
        if numbers.get(url)?.is_some_and(|row| row.value() == number.value()) {
            numbers.remove(url)?;
        }
    }
    counters.insert(ALL, bytes)?;
    Ok(())
}

/// Counted size of a text in bytes; a removed text counts its address.
fn size((url, packed): (&str, &[u8])) -> u64 {
    if packed.is_empty() { url.len() as u64 } else { packed.len() as u64 }
}

/// Assigns a new file its id.
fn identify(writing: &WriteTransaction) -> Result<(), redb::Error> {
    let mut table = writing.open_table(BYTES)?;
    if table.get(ID)?.is_some() {
        return Ok(());
    }
    let mut id = [0; 8];
    getrandom::getrandom(&mut id).map_err(|error| redb::Error::Io(error.into()))?;
    table.insert(ID, u64::from_le_bytes(id))?;
    Ok(())
}

fn position(reading: &ReadTransaction) -> Result<(u64, u64), redb::Error> {
    let id = reading.open_table(BYTES)?.get(ID)?.map_or(0, |row| row.value());
    let last = reading.open_table(TEXTS)?.last()?.map_or(0, |(number, _)| number.value());
    Ok((id, last))
}

/// Receives part, key and value of a row.
pub(crate) type PutRow<'p> = &'p mut dyn FnMut(Part, u64, &[&[u8]]) -> Outcome<()>;

/// The texts that a copy lacks, as of one moment.
pub(crate) struct TextsSince {
    reading: ReadTransaction,
    /// The last text of the copy; `None` if it has none of these.
    after: Option<u64>,
    to: (u64, u64),
}

impl TextsSince {
    pub(crate) const fn position(&self) -> (u64, u64) {
        self.to
    }

    /// Calls `put` with part, key and value for every row.
    pub(crate) fn write(&self, put: PutRow<'_>) -> Outcome<()> {
        if self.after.is_none() {
            put(Part::Clear, self.to.0, &[])?;
        }
        let texts = self.reading.open_table(TEXTS)?;
        let rows = match self.after {
            Some(after) => texts.range(after + 1..)?,
            None => texts.iter()?,
        };
        for row in rows {
            let (number, row) = row?;
            let (url, packed) = row.value();
            let len = (url.len() as u32).to_le_bytes();
            put(Part::Texts, number.value(), &[&len, url.as_bytes(), packed])?;
        }
        Ok(())
    }
}

/// Stores the texts of a copy.
pub(crate) struct TextsApplied<'t> {
    writing: WriteTransaction,
    texts: &'t Texts,
}

impl TextsApplied<'_> {
    /// Removes all texts, to store those of this file.
    pub(crate) fn clear(&mut self, id: u64) -> Result<(), redb::Error> {
        self.writing.open_table(TEXTS)?.retain(|_, _| false)?;
        self.writing.open_table(NUMBERS)?.retain(|_, _| false)?;
        let mut table = self.writing.open_table(BYTES)?;
        table.insert(ALL, 0)?;
        table.insert(ID, id)?;
        Ok(())
    }

    pub(crate) fn put(&mut self, number: u64, value: &[u8]) -> Result<(), redb::Error> {
        let wrong = || {
            let what = format!("text {number} cannot be read");
            redb::Error::Io(std::io::Error::new(std::io::ErrorKind::InvalidData, what))
        };
        let (len, rest) = value.split_first_chunk().ok_or_else(wrong)?;
        let split = rest.split_at_checked(u32::from_le_bytes(*len) as usize);
        let (url, packed) = split.ok_or_else(wrong)?;
        let url = str::from_utf8(url).map_err(|_| wrong())?;
        change(&self.writing, self.texts.max_bytes, |put| put(Some(number), url, packed))
    }

    pub(crate) fn commit(self) -> Result<(), redb::Error> {
        Ok(self.writing.commit()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(folder: &Path, max_bytes: u64, pages: u32) -> Texts {
        let texts = Texts::open(folder, max_bytes).unwrap();
        (0..pages).for_each(|n| texts.put(&format!("http://a/{n}"), format!("text {n}")));
        texts.stop();
        texts
    }

    #[test]
    fn a_text_is_read_back_until_it_is_removed_even_after_reopening() {
        let folder = tempfile::tempdir().unwrap();
        drop(filled(folder.path(), 1 << 20, 3));
        let texts = Texts::open(folder.path(), 1 << 20).unwrap();
        assert_eq!(texts.get("http://a/2").as_deref(), Some("text 2"));
        texts.put("http://a/2", "another".into());
        texts.remove("http://a/1");
        texts.stop();
        assert_eq!(texts.get("http://a/2").as_deref(), Some("another"));
        assert_eq!(texts.get("http://a/1"), None);
        assert_eq!(texts.get("http://b"), None);
    }

    #[test]
    fn texts_reach_the_disk_while_more_are_put() {
        let folder = tempfile::tempdir().unwrap();
        let texts = Texts::open_synced(folder.path(), 1 << 20, Duration::ZERO).unwrap();
        texts.put("http://a/1", "text".into());
        for _ in 0..2000 {
            if texts.get("http://a/1").is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // As after a crash: unsynced data is missing when the file is opened.
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(folder.path().join(FILE), copy.path().join(FILE)).unwrap();
        let found = Texts::open(copy.path(), 1 << 20).unwrap().get("http://a/1");
        assert_eq!(found.as_deref(), Some("text"));
        texts.stop();
    }

    #[test]
    fn the_oldest_texts_are_dropped_above_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let texts = filled(folder.path(), 50, 20);
        assert_eq!(texts.get("http://a/0"), None);
        assert_eq!(texts.get("http://a/19").as_deref(), Some("text 19"));
    }

    #[test]
    fn a_foreign_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "not a store").unwrap();
        let texts = filled(folder.path(), 1 << 20, 1);
        assert_eq!(texts.get("http://a/0").as_deref(), Some("text 0"));
    }
}
