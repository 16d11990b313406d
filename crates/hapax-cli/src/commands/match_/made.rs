//! A `.hpx` file as the output of another command.

use std::path::Path;

use hapax_corpus::hpx::Appender;

use super::failed;
use crate::failure::Failure;

/// A file that appears when it is complete, in place of one that was there.
pub(crate) struct Made(Appender);

impl Made {
    /// Starts a file if the name ends in `.hpx`.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn open(path: Option<&Path>, recipe: &str) -> Result<Option<Self>, Failure> {
        let wanted = path.filter(|path| path.extension().is_some_and(|ending| ending == "hpx"));
        wanted.map(|path| Appender::create(path, recipe).map(Self).map_err(failed)).transpose()
    }

    /// What [`push`](Self::push) takes: nothing for a page without a fingerprint.
    pub(crate) fn entry(fingerprint: Option<u64>, name: &Path) -> Vec<u8> {
        let name = name.as_os_str().as_encoded_bytes();
        fingerprint.map_or_else(Vec::new, |bits| [&bits.to_le_bytes(), name].concat())
    }

    /// Adds a page.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn push(&mut self, entry: &[u8]) -> Result<(), Failure> {
        let Some((bits, name)) = entry.split_first_chunk() else { return Ok(()) };
        self.0.push(u64::from_le_bytes(*bits), Some(name)).map(drop).map_err(failed)
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
