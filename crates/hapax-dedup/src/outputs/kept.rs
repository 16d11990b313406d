//! Writes the kept documents to one file, to files of about one size, or to one file per input file.
//!
//! Pieces arrive in corpus order, and a file ends after the piece that fills it, so the files are the same for
//! any number of threads. Table rows count by their size in memory, so Parquet files come out smaller than
//! asked. One file is written by one thread at a time; files per input are filled in parallel by the threads
//! that made the pieces.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hapax_corpus::write::{Output, Piece};

use super::folder::OutFolder;
use crate::error::Error;
use crate::options::{KeptFormat, Layout};

/// Stands for the file number in a pattern.
const NUMBER: &str = "*";

/// The file name of the kept documents; for several files, a pattern.
pub(crate) fn kept_name(format: KeptFormat, layout: Layout) -> String {
    let number = if layout == Layout::One { String::new() } else { format!("-{NUMBER}") };
    format!("kept{number}.{}", format.ending())
}

fn numbered(pattern: &str, number: usize) -> String {
    pattern.replace(NUMBER, &format!("{number:05}"))
}

/// Appends pieces to files, in corpus order.
pub(crate) struct KeptFiles<'f> {
    folder: &'f OutFolder,
    pattern: String,
    /// Approximate maximum size of a file in bytes; `None` for one file.
    most: Option<NonZero<u64>>,
    threads: NonZero<usize>,
    open: Output,
    /// Bytes in the open file.
    bytes: u64,
    names: Vec<String>,
}

impl<'f> KeptFiles<'f> {
    pub(crate) fn create(
        folder: &'f OutFolder,
        pattern: &str,
        layout: Layout,
        threads: NonZero<usize>,
    ) -> Result<Self, Error> {
        let first = numbered(pattern, 0);
        Ok(Self {
            folder,
            pattern: pattern.to_owned(),
            most: match layout {
                Layout::Size(bytes) => Some(bytes),
                Layout::One | Layout::AsInput => None,
            },
            threads,
            open: Output::create(&folder.making(&first), threads)?,
            bytes: 0,
            names: vec![first],
        })
    }

    pub(crate) fn add(&mut self, piece: Piece) -> Result<(), Error> {
        if self.most.is_some_and(|most| self.bytes >= most.get()) && piece.bytes() > 0 {
            let name = numbered(&self.pattern, self.names.len());
            let next = Output::create(&self.folder.making(&name), self.threads)?;
            std::mem::replace(&mut self.open, next).finish()?;
            self.names.push(name);
            self.bytes = 0;
        }
        self.bytes += piece.bytes();
        Ok(self.open.add(piece)?)
    }

    pub(crate) fn finish(self) -> Result<Vec<String>, Error> {
        self.open.finish()?;
        Ok(self.names)
    }
}

/// One file per part of the input, which any thread may append to.
pub(crate) struct PartFiles<'f> {
    folder: &'f OutFolder,
    pattern: &'f str,
    open: Mutex<BTreeMap<usize, Arc<Mutex<PartFile>>>>,
}

/// The file of a part. Pieces that arrive early wait for those before them.
struct PartFile {
    /// `None` after the file is complete.
    output: Option<Output>,
    next: usize,
    early: BTreeMap<usize, Piece>,
}

impl<'f> PartFiles<'f> {
    pub(crate) fn new(folder: &'f OutFolder, pattern: &'f str) -> Self {
        Self { folder, pattern, open: Mutex::default() }
    }

    fn create(&self, part: usize) -> Result<Output, Error> {
        // One thread only: other threads encode other parts at the same time.
        let path = self.folder.making(&numbered(self.pattern, part));
        Ok(Output::create(&path, NonZero::<usize>::MIN)?)
    }

    /// Adds the piece of a batch of a part; both are numbered from 0.
    pub(crate) fn add(&self, part: usize, batch: usize, piece: Piece) -> Result<(), Error> {
        let file = {
            let mut open = held(&self.open);
            match open.get(&part) {
                Some(file) => Arc::clone(file),
                None => {
                    let output = Some(self.create(part)?);
                    let file = PartFile { output, next: 0, early: BTreeMap::new() };
                    Arc::clone(open.entry(part).or_insert(Arc::new(Mutex::new(file))))
                }
            }
        };
        let mut file = held(&file);
        let PartFile { output, next, early } = &mut *file;
        early.insert(batch, piece);
        while let Some((output, piece)) = output.as_mut().zip(early.remove(next)) {
            output.add(piece)?;
            *next += 1;
        }
        Ok(())
    }

    /// Closes the file of a part after all its batches were added, and returns its name. A part
    /// without batches has an empty file.
    pub(crate) fn end(&self, part: usize) -> Result<String, Error> {
        let file = held(&self.open).remove(&part);
        let output = file.and_then(|file| held(&file).output.take());
        match output {
            Some(output) => output.finish()?,
            None => self.create(part)?.finish()?,
        };
        Ok(numbered(self.pattern, part))
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
