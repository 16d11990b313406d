//! Makes inputs readable twice.
//!
//! Documents are read once to decide and once to write, so standard input is first copied to a file in the
//! hidden part of the output folder. Ids and file names that contain the path of the copy are shown as standard
//! input.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::num::NonZero;
use std::path::Path;

use hapax_corpus::{ReadOptions, Source};

use crate::error::Error;

/// The name shown for the copy of standard input.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// Path of the copy of standard input, to be replaced in names; `None` without a copy.
#[derive(Debug, Default)]
pub(crate) struct StreamName(Option<String>);

impl StreamName {
    /// Whether nothing was copied.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// A file name or id as shown to users.
    pub(crate) fn clean<'n>(&self, name: &'n str) -> Cow<'n, str> {
        match self.0.as_deref().and_then(|copy| name.strip_prefix(copy)) {
            Some(rest) => Cow::Owned(format!("{STANDARD_INPUT}{rest}")),
            None => Cow::Borrowed(name),
        }
    }
}

/// Opens inputs; copies standard input to `copy` first if it is among them.
pub(crate) fn open(
    inputs: &[String],
    options: &ReadOptions,
    threads: NonZero<usize>,
    copy: impl FnOnce() -> std::path::PathBuf,
) -> Result<(Source, StreamName), Error> {
    if !inputs.iter().any(|input| input == "-") {
        return Ok((Source::open(inputs, options.clone())?, StreamName::default()));
    }
    let path = copy();
    spool(&path)?;
    let name = path.display().to_string();
    let inputs: Vec<&str> =
        inputs.iter().map(|input| if input == "-" { &name } else { input.as_str() }).collect();
    // The caller could not check the fields before the copy existed.
    hapax_corpus::check_fields(&inputs, options, threads)?;
    Ok((Source::open(&inputs, options.clone())?, StreamName(Some(name.clone()))))
}

fn spool(path: &Path) -> Result<(), Error> {
    let mut file = File::create(path).map_err(|e| Error::io("create", path, e))?;
    io::copy(&mut io::stdin().lock(), &mut file)
        .map_err(|e| Error::io("copy standard input to", path, e))?;
    Ok(())
}
