//! Why the program stops, and the exit code that says so.
//!
//! 0 done, 1 bad input or a failed run, 2 bad arguments. A reader of standard output that
//! has seen enough and closed the pipe is no failure.

use std::fmt;
use std::path::Path;

/// How a command ends when it does not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was typed cannot be meant. The text names the argument.
    Arguments(String),
    /// The input is bad, or the run failed.
    Run(anyhow::Error),
    /// The repository does not take this page; the text says why.
    Refused(String),
    /// Nobody reads standard output any more.
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

    /// The operating system said no: what was tried, on which path, and why not.
    pub(crate) fn io(tried: &str, path: &Path, source: std::io::Error) -> Self {
        Self::Run(io_error(tried, path, source))
    }
}

pub(crate) fn io_error(tried: &str, path: &Path, source: std::io::Error) -> anyhow::Error {
    anyhow::Error::new(source).context(format!("cannot {tried} {}", crate::readable::path(path)))
}

/// The whole chain of causes on one line. Some errors name their cause themselves; it is printed once.
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
    fn a_cause_that_an_error_names_itself_is_printed_once() {
        let cause = || std::io::Error::other("the disk is full");
        let twice = anyhow::Error::new(cause()).context("cannot write x: the disk is full");
        assert_eq!(Failure::Run(twice).to_string(), "cannot write x: the disk is full");
        let chain = anyhow::Error::new(cause()).context("cannot write x");
        assert_eq!(Failure::Run(chain).to_string(), "cannot write x: the disk is full");
    }
}
