//! A file of lines, or standard input, for commands that read what another command wrote.

use crate::failure::Failure;
use crate::readable;
use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;

/// Opens it, and says how it is called in errors.
///
/// # Errors
///
/// It cannot be opened.
pub(crate) fn open(input: &Path) -> Result<(Box<dyn BufRead>, String), Failure> {
    if input.as_os_str() == "-" {
        return Ok((Box::new(stdin().lock()), "standard input".to_owned()));
    }
    let file = File::open(input).map_err(|error| Failure::io("read", input, error))?;
    Ok((Box::new(BufReader::with_capacity(1 << 16, file)), readable::path(input)))
}
