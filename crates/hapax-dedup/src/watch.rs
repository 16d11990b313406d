//! Progress callbacks of a running job.

use hapax_corpus::Bad;

use crate::decide::Decision;

/// The steps of a job, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reads and fingerprints documents.
    Reading,
    /// Finds and confirms pairs, makes groups and chooses winners.
    Deciding,
    /// Writes kept documents, tables and the report.
    Writing,
}

/// Callbacks about the progress of a job. Every method may do nothing.
pub trait Watch {
    /// A step begins.
    fn stage(&mut self, stage: Stage) {
        let _ = stage;
    }

    /// The inputs of the following reading: number of files or objects, and their total size in
    /// bytes; `None` if one is a stream.
    fn inputs(&mut self, files: u64, bytes: Option<u64>) {
        let _ = (files, bytes);
    }

    /// The first `files` files or objects have been read completely.
    fn files_done(&mut self, files: u64) {
        let _ = files;
    }

    /// This many more documents, and bytes of input files, have been read (or, while writing, read
    /// again).
    fn progress(&mut self, documents: u64, input_bytes: u64) {
        let _ = (documents, input_bytes);
    }

    /// This many documents were loaded from the checkpoint of an interrupted job.
    fn resumed(&mut self, documents: u64) {
        let _ = documents;
    }

    /// Whether the caller wants to stop. Polled after every progress call.
    fn stopped(&self) -> bool {
        false
    }

    /// The decision, before anything is written.
    fn decided(&mut self, decision: &Decision<'_>) {
        let _ = decision;
    }

    /// All results are made and are about to appear. With `false` they do not, and the job can be
    /// resumed.
    fn made(&mut self) -> bool {
        true
    }

    /// Damaged records were skipped.
    fn skipped(&mut self, bad: &Bad) {
        let _ = bad;
    }
}

impl Watch for () {}
