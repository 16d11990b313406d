//! Inputs that can be read twice.
//!
//! Documents are read once to decide and once to write, so standard input is first copied to a file
//! in the output folder's hidden part. Ids and files named after that copy are shown under the name
//! of what was copied.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::num::NonZero;
use std::path::Path;

use hapax_corpus::{ReadOptions, Source};

use crate::error::Error;

/// How the copy of standard input is called.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// The name of standard input's copy, to be replaced.
#[derive(Debug, Default)]
pub(crate) struct StreamName(Option<String>);

impl StreamName {
    /// Nothing was copied.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// A file name or id as a user should see it.
    pub(crate) fn clean<'n>(&self, name: &'n str) -> Cow<'n, str> {
        match self.0.as_deref().and_then(|copy| name.strip_prefix(copy)) {
            Some(rest) => Cow::Owned(format!("{STANDARD_INPUT}{rest}")),
            None => Cow::Borrowed(name),
        }
    }
}

/// Opens inputs; standard input, if it is among them, is copied to `copy` first.
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
    // Nobody could look at it before.
    hapax_corpus::check_fields(&inputs, options, threads)?;
    Ok((Source::open(&inputs, options.clone())?, StreamName(Some(name.clone()))))
}

fn spool(path: &Path) -> Result<(), Error> {
    let mut file = File::create(path).map_err(|e| Error::io("create", path, e))?;
    io::copy(&mut io::stdin().lock(), &mut file)
        .map_err(|e| Error::io("copy standard input to", path, e))?;
    Ok(())
}
