//! The kept documents as one file, or as files of about one size.
//!
//! Pieces come in the order of the corpus, and a file ends behind the piece that fills it: the same files for any
//! number of threads. Rows of tables are counted as they lie in memory, so files of Parquet are smaller than asked.

use std::num::NonZero;
use std::path::PathBuf;

use hapax_corpus::write::{Output, Piece};

use super::folder::OutFolder;
use crate::error::Error;
use crate::options::KeptFormat;

/// What a pattern has in place of the number of a file.
const NUMBER: &str = "*";

/// The name of the file with the kept documents; of several, a pattern.
pub(crate) fn kept_name(format: KeptFormat, shard_size: Option<NonZero<u64>>) -> String {
    let number = if shard_size.is_some() { format!("-{NUMBER}") } else { String::new() };
    format!("kept{number}.{}", format.ending())
}

/// Puts pieces into files.
pub(crate) struct KeptFiles<'f> {
    folder: &'f OutFolder,
    pattern: String,
    shard_size: Option<NonZero<u64>>,
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
        shard_size: Option<NonZero<u64>>,
        threads: NonZero<usize>,
    ) -> Result<Self, Error> {
        let first = pattern.replace(NUMBER, "00000");
        Ok(Self {
            folder,
            pattern: pattern.to_owned(),
            shard_size,
            threads,
            open: Output::create(&folder.making(&first), threads)?,
            bytes: 0,
            names: vec![first],
        })
    }

    /// Any of the files: all are of one format.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.making(&self.names[0])
    }

    pub(crate) fn add(&mut self, piece: Piece) -> Result<(), Error> {
        if self.shard_size.is_some_and(|most| self.bytes >= most.get()) && piece.bytes() > 0 {
            let name = self.pattern.replace(NUMBER, &format!("{:05}", self.names.len()));
            let next = Output::create(&self.folder.making(&name), self.threads)?;
            std::mem::replace(&mut self.open, next).finish()?;
            self.names.push(name);
            self.bytes = 0;
        }
        self.bytes += piece.bytes();
        Ok(self.open.add(piece)?)
    }

    /// The names of all files.
    pub(crate) fn finish(self) -> Result<Vec<String>, Error> {
        self.open.finish()?;
        Ok(self.names)
    }
}
