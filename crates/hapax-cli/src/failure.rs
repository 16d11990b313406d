//! Failures of the program and their exit codes.
//!
//! 0 for success, 1 for bad input or a failed run, 2 for bad arguments. A closed pipe on standard output is not a
//! failure.

use std::fmt;
use std::path::Path;

/// The reasons why a command fails.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments are invalid. The text names the argument.
    Arguments(String),
    /// The input is bad, or the run failed.
    Run(anyhow::Error),
    /// The repository refuses this page; the text says why.
    Refused(String),
    /// Standard output is closed.
    ClosedPipe,
}

impl Failure {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Run(_) | Self::Refused(_) => 1,
            Self::Arguments(_) => 2,
        }
    }

    /// An I/O error: what was attempted, on which path, and the cause.
    pub(crate) fn io(tried: &str, path: &Path, source: std::io::Error) -> Self {
        Self::Run(io_error(tried, path, source))
    }
}

pub(crate) fn io_error(tried: &str, path: &Path, source: std::io::Error) -> anyhow::Error {
    anyhow::Error::new(source).context(format!("cannot {tried} {}", crate::readable::path(path)))
}

/// The chain of causes on one line. Some errors contain the text of their cause, which is printed
/// once.
fn causes(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if line.is_empty() {
            line = text;
        } else if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
    }
    line
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Run(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments(text) | Self::Refused(text) => f.write_str(text),
            Self::Run(error) => f.write_str(&causes(error)),
            Self::ClosedPipe => f.write_str("standard output was closed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_inside_the_text_of_an_error_is_printed_once() {
        let cause = || std::io::Error::other("the disk is full");
        let twice = anyhow::Error::new(cause()).context("cannot write x: the disk is full");
        assert_eq!(Failure::Run(twice).to_string(), "cannot write x: the disk is full");
        let chain = anyhow::Error::new(cause()).context("cannot write x");
        assert_eq!(Failure::Run(chain).to_string(), "cannot write x: the disk is full");
    }
}
