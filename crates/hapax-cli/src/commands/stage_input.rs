//! What another command wrote: a file of lines, a table, or standard input.

use crate::failure::Failure;
use crate::readable;
use hapax_dedup::stages::fingerprints::Fingerprints;
use hapax_dedup::stages::table;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, stdin};
use std::path::Path;

/// Opens lines, and says how they are called in errors.
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

/// Reads what `hapax fingerprint` wrote, whichever way.
///
/// # Errors
///
/// It cannot be read, or is something else.
pub(crate) fn fingerprints(input: &Path) -> Result<Fingerprints, Failure> {
    let (mut reader, name) = open(input)?;
    let first = reader.fill_buf().map_err(|error| Failure::io("read", input, error))?;
    let list = if !first.starts_with(table::MAGIC) {
        Fingerprints::read(&mut reader)
    } else if input.as_os_str() == "-" {
        // The end of a table says where everything is.
        let mut copy = tempfile::tempfile().map_err(|e| Failure::io("copy", input, e))?;
        std::io::copy(&mut reader, &mut copy)
            .and_then(|_| copy.rewind())
            .map_err(|e| Failure::io("copy", input, e))?;
        table::read(copy)
    } else {
        table::read(File::open(input).map_err(|error| Failure::io("read", input, error))?)
    };
    Ok(list.map_err(|error| anyhow::Error::new(error).context(name))?)
}
