//! Adds documents to an `.hpx` file, or creates one.
//!
//! New entries are sorted in memory and written after the existing runs. Runs are merged while the last one is
//! not larger than the data after it, so an entry is written about `log2(n / b)` times while batches of `b`
//! grow to `n`. The directory is written last and then, when everything is on disk, the slot that refers to it.
//! A file whose runs are all merged, or with more dead than live bytes, is rewritten and renamed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use super::HpxError;
use super::block::LONGEST_NAME;
use super::layout::{DATA, Directory, MOST_RECIPE, Slot, empty_head};
use super::read::Hpx;
use super::run::{Cursor, NamesWriter, RunWriter, merge, merge_names};

/// Bytes per waiting entry.
const ENTRY: usize = 16;

/// Default memory for waiting entries.
const MEMORY: usize = 256 << 20;

/// Fewer dead bytes than this do not justify rewriting the file.
const DEAD_IS_FINE: u64 = 1 << 20;

/// Adds documents to a file; they become visible with [`finish`](Self::finish).
#[derive(Debug)]
pub struct Appender {
    target: PathBuf,
    /// The target, or a hidden file that will replace it.
    writing: PathBuf,
    /// Locked as long as this value exists.
    locked: File,
    recipe: String,
    /// The previous state, and where it ends.
    before: Directory,
    before_end: u64,
    directory: Directory,
    end: u64,
    waiting: Vec<(u64, u64)>,
    name_ends: Vec<usize>,
    text: Vec<u8>,
    memory: usize,
    finished: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    pub added: u64,
    /// Number of documents; also the next id.
    pub documents: u64,
    /// Number of sorted runs.
    pub runs: usize,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of entries rewritten by merging runs.
    pub merged: u64,
}

impl Appender {
    /// Opens or creates a file. `recipe` may be empty if it is unknown.
    ///
    /// # Errors
    ///
    /// The file has another format or recipe, is damaged, or is being written by another process.
    pub fn open(target: impl AsRef<Path>, recipe: &str) -> Result<Self, HpxError> {
        let target = target.as_ref();
        if target.exists() { Self::existing(target, recipe) } else { Self::create(target, recipe) }
    }

    fn existing(target: &Path, recipe: &str) -> Result<Self, HpxError> {
        let io = |error| HpxError::io("append to", target, error);
        let mut locked = OpenOptions::new().read(true).write(true).open(target).map_err(io)?;
        lock(&locked, target)?;
        let hpx = Hpx::of(&locked, target)?;
        let known = |recipe: &str| !recipe.is_empty();
        if known(recipe) && known(&hpx.recipe) && recipe != hpx.recipe {
            let (path, stored) = (target.display().to_string(), hpx.recipe);
            return Err(HpxError::Recipe { path, stored, given: recipe.to_owned() });
        }
        // Left behind by a killed append.
        locked.set_len(hpx.slot.end()).map_err(io)?;
        if let Some(slot) = hpx.repaired() {
            write_slot(target, &slot.encode(), slot.place(), &mut locked)?;
        }
        Ok(Self::new(target, target.to_owned(), locked, hpx.recipe, hpx.directory, hpx.slot.end()))
    }

    /// Creates a new file, which replaces an existing one when it is finished. `recipe` may be
    /// empty if it is unknown.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or the recipe is too long.
    pub fn create(target: impl AsRef<Path>, recipe: &str) -> Result<Self, HpxError> {
        let target = target.as_ref();
        if target.metadata().is_ok_and(|there| !there.is_file()) {
            return Err(HpxError::NotAFile { path: target.display().to_string() });
        }
        if recipe.len() > MOST_RECIPE {
            let (what, given, most) = ("a recipe", recipe.len(), MOST_RECIPE);
            return Err(HpxError::TooLong { what, given, most });
        }
        let hidden = hidden(target, "partial")?;
        let locked = new_file(&hidden, recipe)?;
        Ok(Self::new(target, hidden, locked, recipe.to_owned(), Directory::default(), DATA))
    }

    fn new(
        target: &Path,
        writing: PathBuf,
        locked: File,
        recipe: String,
        directory: Directory,
        end: u64,
    ) -> Self {
        Self {
            target: target.to_owned(),
            writing,
            locked,
            recipe,
            before: directory.clone(),
            before_end: end,
            directory,
            end,
            waiting: Vec::new(),
            name_ends: Vec::new(),
            text: Vec::new(),
            memory: MEMORY,
            finished: false,
        }
    }

    /// The id of the file's recipe; empty if it states none.
    pub fn recipe(&self) -> &str {
        &self.recipe
    }

    /// Temporary files that may be deleted if the appender was not finished.
    pub fn temporaries(&self) -> Vec<PathBuf> {
        ["partial", "rewritten"].iter().filter_map(|it| hidden(&self.target, it).ok()).collect()
    }

    /// Sets the memory for waiting entries in bytes.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes.max(1 << 10);
        self
    }

    /// Adds a document and returns its id.
    ///
    /// # Errors
    ///
    /// The name is too long, or the file cannot be written.
    pub fn push(&mut self, fingerprint: u64, name: Option<&[u8]>) -> Result<u64, HpxError> {
        let name = name.unwrap_or_default();
        if name.len() > LONGEST_NAME {
            let (what, given, most) = ("a name", name.len(), LONGEST_NAME);
            return Err(HpxError::TooLong { what, given, most });
        }
        let held = self.waiting.len() * (ENTRY + size_of::<usize>()) + self.text.len();
        if held + ENTRY + name.len() > self.memory && !self.waiting.is_empty() {
            self.flush()?;
        }
        let id = self.directory.documents + self.waiting.len() as u64;
        self.waiting.push((fingerprint, id));
        self.text.extend_from_slice(name);
        self.name_ends.push(self.text.len());
        Ok(id)
    }

    /// Writes the waiting entries as a run.
    fn flush(&mut self) -> Result<(), HpxError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let first_id = self.directory.documents;
        let entries = self.waiting.len() as u64;
        self.directory.documents += entries;
        self.waiting.sort_unstable();
        let documents = self.directory.documents;
        let mut writer = RunWriter::new(&self.writing, self.end, entries, documents)?;
        self.waiting.drain(..).try_for_each(|(fingerprint, id)| writer.push(fingerprint, id))?;
        let (run, end) = writer.finish()?;
        self.directory.runs.push(run);
        self.end = end;
        if !self.text.is_empty() {
            let mut writer = NamesWriter::new(&self.writing, self.end, first_id)?;
            let mut start = 0;
            for &end in &self.name_ends {
                writer.push(&self.text[start..end])?;
                start = end;
            }
            let (names, end) = writer.finish()?;
            self.directory.names.extend(names);
            self.end = end;
        }
        self.name_ends.clear();
        self.text.clear();
        Ok(())
    }

    /// Merges runs as needed, and makes all changes visible at once.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or a run to be merged is damaged; the previous state stays
    /// valid.
    pub fn finish(mut self) -> Result<Appended, HpxError> {
        self.flush()?;
        let added = self.directory.documents - self.before.documents;
        let is_new = self.writing != self.target;
        if added == 0 && !is_new {
            return Ok(self.appended(0, 0));
        }
        let from = merge_from(&self.directory.runs, self.before.runs.len());
        let merges = self.directory.runs.len() - from > 1;
        let dead = self.end.saturating_sub(DATA + self.directory.live_bytes());
        let wasteful = dead > self.directory.live_bytes() && dead > DEAD_IS_FINE;
        let merged =
            if merges && from == 0 || wasteful { self.rewrite()? } else { self.extend(from)? };
        Ok(self.appended(added, merged))
    }

    fn appended(&self, added: u64, merged: u64) -> Appended {
        let Directory { documents, runs, .. } = &self.directory;
        Appended { added, documents: *documents, runs: runs.len(), bytes: self.end, merged }
    }

    /// In place: merges the runs from number `from` on.
    fn extend(&mut self, from: usize) -> Result<u64, HpxError> {
        let path = self.writing.clone();
        let documents = self.directory.documents;
        let mut merged = 0;
        if self.directory.runs.len() - from > 1 {
            let (run, end) =
                merge(&path, &self.directory.runs[from..], &path, self.end, documents)?;
            self.directory.runs.truncate(from);
            self.directory.runs.push(run);
            self.end = end;
            merged = run.entries;
        }
        let from = merge_names_from(&self.directory, self.before.names.len());
        if self.directory.names.len() - from > 1 {
            let sections = &self.directory.names[from..];
            let (names, end) = merge_names(&path, &self.directory, sections, &path, self.end)?;
            self.directory.names.truncate(from);
            self.directory.names.extend(names);
            self.end = end;
        }
        self.directory.sequence += 1;
        self.end = commit(&path, &self.directory, self.end, &mut self.locked)?;
        self.finished = true;
        if path != self.target {
            rename(&path, &self.target)?;
        }
        Ok(merged)
    }

    /// Rewrites the file with one run and as few sections of names as possible.
    fn rewrite(&mut self) -> Result<u64, HpxError> {
        let path = hidden(&self.target, "rewritten")?;
        let mut file = new_file(&path, &self.recipe)?;
        let written = self.write_anew(&path, &mut file);
        match written {
            Ok(()) => {
                self.finished = true;
                rename(&path, &self.target)?;
                if self.writing != self.target {
                    let _ = fs::remove_file(&self.writing);
                }
                Ok(self.directory.documents)
            }
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    fn write_anew(&mut self, path: &Path, file: &mut File) -> Result<(), HpxError> {
        let old = &self.directory;
        let documents = old.documents;
        let mut new = Directory { sequence: 1, documents, ..Directory::default() };
        let mut end = DATA;
        if documents > 0 {
            let (run, after) = merge(&self.writing, &old.runs, path, end, documents)?;
            new.runs.push(run);
            end = after;
        }
        let neighbours =
            |a: &super::layout::Names, b: &super::layout::Names| a.first_id + a.count == b.first_id;
        for sections in old.names.chunk_by(neighbours) {
            let (names, after) = merge_names(&self.writing, old, sections, path, end)?;
            new.names.extend(names);
            end = after;
        }
        self.end = commit(path, &new, end, file)?;
        self.directory = new;
        Ok(())
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // Nothing of it is valid, whether this succeeds or not.
        if self.writing == self.target {
            let _ = self.locked.set_len(self.before_end);
        } else {
            let _ = fs::remove_file(&self.writing);
        }
    }
}

/// The first run to merge: a run is merged if it is not larger than the data after it.
fn merge_from(runs: &[super::layout::Run], before: usize) -> usize {
    let mut from = before;
    let mut behind: u64 = runs[before..].iter().map(|run| run.entries).sum();
    while from > 0 && runs[from - 1].entries <= behind {
        from -= 1;
        behind += runs[from].entries;
    }
    from
}

/// The same for names, provided that no documents without names are in between.
fn merge_names_from(directory: &Directory, before: usize) -> usize {
    let names = &directory.names;
    let mut from = names.len().saturating_sub(1);
    let mut behind = names.last().map_or(0, |last| last.count);
    while from > 0 {
        let earlier = &names[from - 1];
        let touches = earlier.first_id + earlier.count == names[from].first_id;
        if !touches || (from <= before && earlier.count > behind) {
            break;
        }
        from -= 1;
        behind += earlier.count;
    }
    from
}

/// Writes the directory, then the slot; returns the end of the file.
fn commit(path: &Path, directory: &Directory, at: u64, file: &mut File) -> Result<u64, HpxError> {
    let io = |error| HpxError::io("write", path, error);
    let bytes = directory.encode(at);
    let mut cursor = Cursor::new(path, at)?;
    cursor.write(&bytes)?;
    let end = cursor.finish()?;
    file.set_len(end).map_err(io)?;
    file.sync_all().map_err(io)?;
    let slot = Slot { sequence: directory.sequence, at, bytes: bytes.len() as u64 };
    write_slot(path, &slot.encode(), slot.place(), file)?;
    Ok(end)
}

fn write_slot(path: &Path, bytes: &[u8], place: u64, file: &mut File) -> Result<(), HpxError> {
    let mut cursor = Cursor::new(path, place)?;
    cursor.write(bytes)?;
    cursor.finish()?;
    file.sync_all().map_err(|error| HpxError::io("write", path, error))
}

fn new_file(path: &Path, recipe: &str) -> Result<File, HpxError> {
    let io = |error| HpxError::io("create", path, error);
    // A link under the hidden name is not ours and must not be followed.
    if path.symlink_metadata().is_ok_and(|there| there.is_symlink()) {
        fs::remove_file(path).map_err(io)?;
    }
    let mut options = OpenOptions::new();
    let file =
        options.read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
    lock(&file, path)?;
    file.set_len(0).map_err(io)?;
    let mut cursor = Cursor::new(path, 0)?;
    cursor.write(&empty_head(recipe))?;
    cursor.finish()?;
    Ok(file)
}

fn lock(file: &File, path: &Path) -> Result<(), HpxError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(HpxError::Locked { path: path.display().to_string() }),
        // A file system without locks: the user must ensure a single writer.
        Err(TryLockError::Error(_)) => Ok(()),
    }
}

fn hidden(target: &Path, ending: &str) -> Result<PathBuf, HpxError> {
    let no_name = || std::io::Error::from(std::io::ErrorKind::InvalidFilename);
    let name = target.file_name().ok_or_else(|| HpxError::io("write", target, no_name()))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".");
    hidden.push(ending);
    Ok(target.with_file_name(hidden))
}

fn rename(from: &Path, to: &Path) -> Result<(), HpxError> {
    fs::rename(from, to).map_err(|error| HpxError::io("rename a finished file to", to, error))?;
    let folder = to.parent().filter(|it| !it.as_os_str().is_empty());
    // Not every system can sync a folder.
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        let _ = folder.sync_all();
    }
    Ok(())
}
