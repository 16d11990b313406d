//! Files of fingerprints and pairs as arguments of commands. Errors name the file, and a missing recipe causes a
//! warning.

use crate::failure::Failure;
use crate::progress::say;
use crate::readable;
use hapax_corpus::open_file;
use hapax_dedup::stages::LinesError;
use hapax_dedup::stages::fingerprints::{self, Fingerprints, Form, Take};
use hapax_dedup::stages::searching::Queries;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;

pub(crate) fn open(input: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if input.as_os_str() == "-" {
        return Ok(Box::new(stdin().lock()));
    }
    let file = open_file(input).map_err(|error| Failure::io("read", input, error))?;
    Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
}

/// The name of a file in messages.
pub(crate) fn called(input: &Path) -> String {
    if input.as_os_str() == "-" { "standard input".to_owned() } else { readable::path(input) }
}

/// Adds the name of the file to an error.
pub(crate) fn failed(input: &Path, error: LinesError) -> Failure {
    match error {
        LinesError::Io { line: 0, source } => Failure::io("read", input, source),
        LinesError::Stored(error) => Failure::Run(error.into()),
        error => Failure::Run(anyhow::Error::new(error).context(called(input))),
    }
}

/// Reads all fingerprints of a file in any format.
pub(crate) fn list(input: &Path) -> Result<Fingerprints, Failure> {
    Fingerprints::open(input).map_err(|error| failed(input, error))
}

/// Reads all queries of a file in any format.
pub(crate) fn queries(input: &Path, form: Form, keep_sums: bool) -> Result<Queries, Failure> {
    Queries::read(input, form, keep_sums).map_err(|error| failed(input, error))
}

/// Calls `take` with the recipe and each document of a file in any format.
pub(crate) fn each(input: &Path, form: Form, take: Take<'_, Failure>) -> Result<(), Failure> {
    enum Stop {
        Bad(LinesError),
        Failed(Failure),
    }
    impl From<LinesError> for Stop {
        fn from(error: LinesError) -> Self {
            Self::Bad(error)
        }
    }
    let read = fingerprints::each(input, form, &mut |recipe, listed| {
        take(recipe, listed).map_err(Stop::Failed)
    });
    read.map_err(|stop| match stop {
        Stop::Bad(error) => failed(input, error),
        Stop::Failed(failure) => failure,
    })
}

/// Warns about fingerprints without a recipe.
pub(crate) fn warn_unlabelled(called: &str) {
    say(&format!(
        "warning: {called} does not state the recipe of its fingerprints, so a comparison with those of \
         another recipe goes unnoticed; JSON lines, CSV, Parquet and .hpx of hapax fingerprint state it"
    ));
}
