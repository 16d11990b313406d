//! Adds, replaces and deletes pages of an index.
//!
//! A new index is built next to its place and renamed when it is complete. An existing one changes with
//! [`commit`](Writer::commit), atomically for everything since the last one. Of pages with the same name the
//! last one counts. A killed process leaves the state of the last commit, or an unfinished folder under another
//! name; data written since is removed when the index is next opened for changes.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hapax::fingerprint::RecipeId;
use tantivy::merge_policy::{LogMergePolicy, NoMergePolicy};
use tantivy::{IndexWriter, TantivyDocument, Term};

use super::claims::{check_files, check_segments};
use super::delete::Named;
use super::error::Error;
use super::manifest::Manifest;
use super::schema::{self, Fields};
use super::status::Status;
use crate::engine::Change;
use crate::page::{SearchPage, short_hash};

/// Minimum memory per thread that Tantivy needs.
const LEAST_MEMORY: usize = 15_000_000;
/// Segments with at least this share of deleted documents are rewritten.
const MOST_DELETED: f32 = 0.2;

/// Resources of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Threads that split texts into words and sort them.
    pub threads: usize,
    /// Memory of all of them together in bytes, before they write to disk.
    pub memory: usize,
}

impl WriterOptions {
    /// For a few changes.
    pub fn smallest() -> Self {
        Self { threads: 1, memory: LEAST_MEMORY }
    }
}

/// Changes an index; one at a time.
pub struct Writer {
    folder: PathBuf,
    /// The place of a new index.
    destination: Option<PathBuf>,
    fields: Fields,
    /// `None` when everything is written.
    writer: Option<IndexWriter>,
    status: Status,
    payload: Option<String>,
    /// Hashes of the names in a new index, because most pages replace none.
    seen: BTreeSet<u64>,
}

impl Writer {
    /// Makes a new index of fingerprints of this recipe. It exists once [`finish`](Self::finish)
    /// has returned.
    ///
    /// # Errors
    ///
    /// The name is taken, or it cannot be written.
    pub fn create(
        path: impl AsRef<Path>,
        recipe: RecipeId,
        options: WriterOptions,
    ) -> Result<Self, Error> {
        let destination = path.as_ref().to_owned();
        let exists = || Error::Exists { path: destination.clone() };
        if destination.exists() {
            return Err(exists());
        }
        let folder = folder_beside(&destination).ok_or_else(exists)?;
        let folder = folder.map_err(|error| Error::io(&destination, error))?;
        let made = || {
            Manifest::new(recipe).write(&folder)?;
            let (index, fields) = schema::create(&folder)?;
            Ok((writer(&folder, &index, options)?, fields))
        };
        let (writer, fields) = made().inspect_err(|_| {
            let _ = fs::remove_dir_all(&folder);
        })?;
        Ok(Self {
            folder,
            destination: Some(destination),
            fields,
            writer: Some(writer),
            status: Status::default(),
            payload: None,
            seen: BTreeSet::new(),
        })
    }

    /// The temporary folder of a new index; `None` for an existing one.
    pub fn temporary(&self) -> Option<&Path> {
        self.destination.as_ref().map(|_| self.folder.as_path())
    }

    /// Opens an index for changes.
    ///
    /// # Errors
    ///
    /// There is none, it is damaged, of another release, or another process is changing it.
    pub fn open(path: impl AsRef<Path>, options: WriterOptions) -> Result<Self, Error> {
        let folder = path.as_ref().to_owned();
        Manifest::read(&folder)?;
        Error::guarded(&folder, || {
            let (index, fields) = schema::open(&folder)?;
            check_files(&folder, &index)?;
            check_segments(&index, fields).map_err(|source| Error::tantivy(&folder, source))?;
            let writer = writer(&folder, &index, options)?;
            let metas = index.load_metas().map_err(|source| Error::tantivy(&folder, source))?;
            let status = Status::read(&folder, metas.payload.as_deref())?;
            Status::sweep(&folder, metas.payload.as_deref());
            // Left behind by a killed writer or a full disk; the next opening tries again.
            let _ = writer.garbage_collect_files().wait();
            Ok(Self {
                folder: folder.clone(),
                destination: None,
                fields,
                writer: Some(writer),
                status,
                payload: metas.payload,
                seen: BTreeSet::new(),
            })
        })
    }

    /// Opens an index for pages with fingerprints of this recipe.
    pub fn open_for(
        path: impl AsRef<Path>,
        recipe: &RecipeId,
        options: WriterOptions,
    ) -> Result<Self, Error> {
        Manifest::read(path.as_ref())?.must_be_of(path.as_ref(), recipe)?;
        Self::open(path, options)
    }

    /// Adds a page, replacing one with the same name. The new one is neither removed nor marked.
    ///
    /// # Errors
    ///
    /// The disk is full, or an earlier write failed.
    pub fn put(&mut self, page: &SearchPage) -> Result<(), Error> {
        let known = match self.destination {
            Some(_) => !self.seen.insert(short_hash(&page.name)),
            None => true,
        };
        if known {
            self.delete(&page.name);
        }
        let document = self.fields.document(page);
        if let Some(writer) = &self.writer {
            writer.add_document(document).map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    /// Deletes a page permanently. Ignores an unknown name.
    pub fn delete(&mut self, name: &str) {
        self.status.forget(name);
        if let Some(writer) = &self.writer {
            let named = Named(Term::from_field_text(self.fields.name, name));
            // Fails only for fields that are not indexed.
            let _ = writer.delete_query(Box::new(named));
        }
    }

    /// Removes, restores, marks or unmarks documents; returns the number of changes.
    pub fn change(&mut self, change: Change, names: &[String], operation: &str) -> u64 {
        self.status.change(change, names, operation)
    }

    /// Makes all changes since the last commit take effect.
    ///
    /// # Errors
    ///
    /// Nothing took effect.
    pub fn commit(&mut self) -> Result<(), Error> {
        let folder = self.folder.clone();
        Error::guarded(&folder, || self.commit_all())
    }

    fn commit_all(&mut self) -> Result<(), Error> {
        if self.payload.is_some() || self.status != Status::default() {
            self.payload = Some(self.status.write(&self.folder)?);
        }
        let failed = |source| Error::tantivy(&self.folder, source);
        if let Some(writer) = &mut self.writer {
            let mut prepared = writer.prepare_commit().map_err(failed)?;
            if let Some(payload) = &self.payload {
                prepared.set_payload(payload);
            }
            prepared.commit().map_err(failed)?;
        }
        Status::sweep(&self.folder, self.payload.as_deref());
        Ok(())
    }

    /// Commits, waits for merges of segments, and renames a new index.
    ///
    /// # Errors
    ///
    /// The disk is full or the name is taken. Then a new index does not exist; an existing one is
    /// as last committed.
    pub fn finish(mut self) -> Result<(), Error> {
        self.commit()?;
        if let Some(writer) = self.writer.take() {
            let waited = || writer.wait_merging_threads().map_err(|source| self.failed(source));
            Error::guarded(&self.folder, waited)?;
        }
        if let Some(destination) = self.destination.clone() {
            if destination.exists() {
                return Err(Error::Exists { path: destination });
            }
            fs::rename(&self.folder, &destination)
                .map_err(|error| Error::io(&destination, error))?;
            self.destination = None;
        }
        Ok(())
    }

    /// Permanently deletes the removed documents, with their space, and merges all segments into
    /// one. Returns the number of deleted documents.
    ///
    /// # Errors
    ///
    /// The index is unchanged, or already smaller.
    pub fn compact(mut self) -> Result<u64, Error> {
        let removed: Vec<String> = self.status.removed.iter().cloned().collect();
        for name in &removed {
            self.delete(name);
        }
        // Merges chosen by Tantivy would take segments away from the one below.
        if let Some(writer) = &self.writer {
            writer.set_merge_policy(Box::new(NoMergePolicy));
        }
        self.commit()?;
        if let Some(writer) = &mut self.writer {
            let failed = |source| Error::tantivy(&self.folder, source);
            Error::guarded(&self.folder, || {
                let segments = writer.index().searchable_segment_ids().map_err(failed)?;
                if !segments.is_empty() {
                    writer.merge(&segments).wait().map_err(failed)?;
                }
                writer.garbage_collect_files().wait().map_err(failed)?;
                Ok(())
            })?;
        }
        self.finish()?;
        Ok(removed.len() as u64)
    }

    fn failed(&self, source: tantivy::TantivyError) -> Error {
        Error::tantivy(&self.folder, source)
    }

    /// Writes what a commit would, and stops.
    #[cfg(test)]
    pub(super) fn stop_before_commit(mut self) -> Result<(), Error> {
        let failed = |source| Error::tantivy(&self.folder, source);
        self.writer.as_mut().map_or(Ok(()), |it| it.prepare_commit().map(drop).map_err(failed))
    }
}

impl Drop for Writer {
    /// Deletes an unfinished index.
    fn drop(&mut self) {
        if self.destination.is_some() {
            self.writer = None;
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// A new folder with an unpredictable name, in the same place as `destination`; `None` if that has
/// no name. Never uses an existing folder.
fn folder_beside(destination: &Path) -> Option<io::Result<PathBuf>> {
    let mut prefix = destination.file_name()?.to_owned();
    prefix.push(".building-");
    let parent = match destination.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // With the permissions of any new folder, because it will be the index.
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    let made = fs::create_dir_all(parent).and_then(|()| builder.tempdir_in(parent));
    Some(made.map(tempfile::TempDir::keep))
}

fn writer(
    folder: &Path,
    index: &tantivy::Index,
    options: WriterOptions,
) -> Result<IndexWriter<TantivyDocument>, Error> {
    // Tantivy catches these panics and turns them into errors.
    hapax_guard::silence_threads("merge_thread_");
    let threads = options.threads.max(1);
    let memory = options.memory.max(threads * LEAST_MEMORY);
    let writer = index
        .writer_with_num_threads(threads, memory)
        .map_err(|source| Error::tantivy(folder, source))?;
    if options == WriterOptions::smallest() {
        writer.set_merge_policy(Box::new(NoMergePolicy));
    } else {
        let mut policy = LogMergePolicy::default();
        policy.set_del_docs_ratio_before_merge(MOST_DELETED);
        writer.set_merge_policy(Box::new(policy));
    }
    Ok(writer)
}
