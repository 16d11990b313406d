//! The kept documents as one file, as files of about one size, or as a file for each input file.
//!
//! Pieces come in the order of the corpus, and a file ends behind the piece that fills it: the same files for any
//! number of threads. Rows of tables are counted as they lie in memory, so files of Parquet are smaller than asked.
//!
//! A system copies into one file on one thread at a time. Files for each input file are filled by the threads that
//! made the pieces, several at once.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hapax_corpus::write::{Output, Piece};

use super::folder::OutFolder;
use crate::error::Error;
use crate::options::{KeptFormat, Layout};

/// What a pattern has in place of the number of a file.
const NUMBER: &str = "*";

/// The name of the file with the kept documents; of several, a pattern.
pub(crate) fn kept_name(format: KeptFormat, layout: Layout) -> String {
    let number = if layout == Layout::One { String::new() } else { format!("-{NUMBER}") };
    format!("kept{number}.{}", format.ending())
}

fn numbered(pattern: &str, number: usize) -> String {
    pattern.replace(NUMBER, &format!("{number:05}"))
}

/// Puts pieces into files, in the order of the corpus.
pub(crate) struct KeptFiles<'f> {
    folder: &'f OutFolder,
    pattern: String,
    /// How many bytes a file has, about.
    most: Option<NonZero<u64>>,
    threads: NonZero<usize>,
    open: Output,
    /// In the open file.
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

/// A file for each part of the input, which any thread may add to.
pub(crate) struct PartFiles<'f> {
    folder: &'f OutFolder,
    pattern: &'f str,
    open: Mutex<BTreeMap<usize, Arc<Mutex<PartFile>>>>,
}

/// Pieces of a part may come early; they wait for those before them.
struct PartFile {
    /// `None` when it is complete.
    output: Option<Output>,
    next: usize,
    early: BTreeMap<usize, Piece>,
}

impl<'f> PartFiles<'f> {
    pub(crate) fn new(folder: &'f OutFolder, pattern: &'f str) -> Self {
        Self { folder, pattern, open: Mutex::default() }
    }

    fn create(&self, part: usize) -> Result<Output, Error> {
        // Other threads encode the rows of other parts meanwhile.
        let path = self.folder.making(&numbered(self.pattern, part));
        Ok(Output::create(&path, NonZero::<usize>::MIN)?)
    }

    /// The piece of a batch of a part, both counted from 0.
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

    /// Ends the file of a part whose batches have all been added; one without any has an empty file. Its name.
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
