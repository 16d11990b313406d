//! A `.hpx` file as the output of another command.

use std::path::Path;

use hapax_corpus::hpx::Appender;

use super::failed;
use crate::failure::Failure;

/// A file that appears when it is complete, in place of one that was there.
pub(crate) struct Made(Appender);

impl Made {
    /// Starts a file.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn create(path: &Path, recipe: &str) -> Result<Self, Failure> {
        Appender::create(path, recipe).map(Self).map_err(failed)
    }

    /// Adds a page.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn push(&mut self, fingerprint: u64, name: &[u8]) -> Result<(), Failure> {
        self.0.push(fingerprint, Some(name)).map(drop).map_err(failed)
    }

    /// Brings it to its place.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.0.finish().map(drop).map_err(failed)
    }
}
