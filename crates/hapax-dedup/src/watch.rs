//! Progress callbacks of a running job.

use hapax_corpus::Error;

use crate::decide::Decision;

/// The steps of a job, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Documents are read and fingerprinted.
    Reading,
    /// Pairs are searched and confirmed, groups made and winners chosen.
    Deciding,
    /// Kept documents, tables and the report are written.
    Writing,
}

/// Callbacks about the progress of a job. Every method may do nothing.
pub trait Watch {
    /// A step begins.
    fn stage(&mut self, stage: Stage) {
        let _ = stage;
    }

    /// The inputs that are read from now on: how many files or objects, and how many bytes they have; `None` where one
    /// is a stream.
    fn inputs(&mut self, files: u64, bytes: Option<u64>) {
        let _ = (files, bytes);
    }

    /// So many files or objects from the first on have been read to their end.
    fn files_done(&mut self, files: u64) {
        let _ = files;
    }

    /// So many documents, and bytes of input files, more have been read (or, when writing, read
    /// again).
    fn progress(&mut self, documents: u64, input_bytes: u64) {
        let _ = (documents, input_bytes);
    }

    /// So many documents were taken over from an interrupted job.
    fn resumed(&mut self, documents: u64) {
        let _ = documents;
    }

    /// Does the caller want no more? Asked after every progress.
    fn stopped(&self) -> bool {
        false
    }

    /// What becomes of every document, before anything is written.
    fn decided(&mut self, decision: &Decision<'_>) {
        let _ = decision;
    }

    /// Something damaged was passed.
    fn skipped(&mut self, why: &Error) {
        let _ = why;
    }
}

impl Watch for () {}
