//! The texts of pages, kept so that two can be laid side by side later.
//!
//! A cache beside the repository, in a file of its own: verdicts do not need it, it may be
//! deleted, and what was put last may be missing after a crash. Texts are packed; when there are
//! more bytes than allowed, the oldest go. Putting never waits: when the thread that
//! writes cannot keep up, a text is not kept.
//!
//! The file is `texts.redb`: `texts` from a number, which counts up, to address and packed text;
//! `numbers` from address to number.

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

const FILE: &str = "texts.redb";
const TEXTS: TableDefinition<'_, u64, (&str, &[u8])> = TableDefinition::new("texts");
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
const BYTES: TableDefinition<'_, &str, u64> = TableDefinition::new("bytes");
/// Texts that may wait to be written.
const QUEUE: usize = 128;
/// Bytes of the longest text that is kept.
const LONGEST: usize = 1 << 20;
/// Fast: a text is packed once and read seldom.
const LEVEL: i32 = 1;
/// Memory of the file's cache; texts are seldom read twice.
const CACHE_BYTES: usize = 16 << 20;

enum Change {
    Put(String, String),
    Remove(String),
}

/// The texts, and the thread that writes them.
#[derive(Debug)]
pub struct Texts {
    db: Arc<Database>,
    queue: Mutex<Option<SyncSender<Change>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Texts {
    /// Opens the file in a folder. One that cannot be read is made anew: it is a cache.
    ///
    /// # Errors
    ///
    /// The disk refuses.
    pub fn open(folder: &Path, max_bytes: u64) -> Result<Self, redb::Error> {
        let path = folder.join(FILE);
        let open = || -> Result<Database, redb::Error> {
            let db = Database::builder().set_cache_size(CACHE_BYTES).create(&path)?;
            let transaction = db.begin_write()?;
            transaction.open_table(TEXTS)?;
            transaction.open_table(NUMBERS)?;
            transaction.open_table(BYTES)?;
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
        let work = move || write(&mine, &changes, max_bytes);
        let thread = std::thread::Builder::new().name("texts".into()).spawn(work);
        let thread = thread.map_err(redb::Error::Io)?;
        Ok(Self { db, queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)) })
    }

    /// Keeps a text, if there is time for it.
    pub fn put(&self, url: &str, text: String) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(queue) = queue
            && text.len() <= LONGEST
        {
            let _ = queue.try_send(Change::Put(url.to_owned(), text));
        }
    }

    /// Forgets a text, for certain: whoever deletes a page wants it gone.
    pub fn remove(&self, url: &str) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(queue) = queue {
            let _ = queue.send(Change::Remove(url.to_owned()));
        }
    }

    /// The text of a page, if it is kept.
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

    /// Writes what waits and ends the thread.
    pub fn stop(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

fn write(db: &Database, changes: &Receiver<Change>, max_bytes: u64) {
    while let Ok(first) = changes.recv() {
        let mut together = vec![first];
        together.extend(changes.try_iter().take(QUEUE));
        // A removal must not come back after a crash; a text may be lost in one.
        let durable = together.iter().any(|change| matches!(change, Change::Remove(_)));
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
    {
        let mut texts = transaction.open_table(TEXTS)?;
        let mut numbers = transaction.open_table(NUMBERS)?;
        let mut counters = transaction.open_table(BYTES)?;
        let mut bytes = counters.get("all")?.map_or(0, |row| row.value());
        let mut next = texts.last()?.map_or(0, |(number, _)| number.value() + 1);
        for change in changes {
            let (Change::Put(url, _) | Change::Remove(url)) = change;
            let former = numbers.remove(url.as_str())?.map(|row| row.value());
            if let Some(number) = former
                && let Some(row) = texts.remove(number)?
            {
                bytes = bytes.saturating_sub(row.value().1.len() as u64);
            }
            if let Change::Put(url, text) = change {
                let packed =
                    zstd::bulk::compress(text.as_bytes(), LEVEL).map_err(redb::Error::Io)?;
                texts.insert(next, (url.as_str(), packed.as_slice()))?;
                numbers.insert(url.as_str(), next)?;
                next += 1;
                bytes += packed.len() as u64;
            }
        }
        while bytes > max_bytes {
            let Some((_, row)) = texts.pop_first()? else { break };
            let (url, packed) = row.value();
            bytes = bytes.saturating_sub(packed.len() as u64);
            numbers.remove(url)?;
        }
        counters.insert("all", bytes)?;
    }
    transaction.commit()?;
    Ok(())
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
    fn a_text_comes_back_until_it_is_removed_also_after_reopening() {
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
    fn the_oldest_go_when_there_are_too_many_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let texts = filled(folder.path(), 50, 20);
        assert_eq!(texts.get("http://a/0"), None);
        assert_eq!(texts.get("http://a/19").as_deref(), Some("text 19"));
    }

    #[test]
    fn a_file_that_is_none_of_ours_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "not a store").unwrap();
        let texts = filled(folder.path(), 1 << 20, 1);
        assert_eq!(texts.get("http://a/0").as_deref(), Some("text 0"));
    }
}
