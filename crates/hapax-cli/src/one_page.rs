//! A single page that a user names: a file, or `-` for standard input.
//!
//! Reads at most one byte more than the engine uses, to detect longer input.

use crate::failure::io_error;
use hapax::page::{Document, Limits};
use hapax_corpus::page_type;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The source of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Standard,
    File(PathBuf),
}

impl Source {
    /// From `-` or a path.
    pub(crate) fn new(given: PathBuf) -> Self {
        if given.as_os_str() == "-" { Self::Standard } else { Self::File(given) }
    }

    /// The name of the page in results.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Standard => Path::new("-"),
            Self::File(path) => path,
        }
    }

    /// A document from these bytes and the name.
    pub(crate) fn document<'a>(&self, bytes: &'a [u8]) -> Document<'a> {
        let content_type = match self {
            Self::Standard => None,
            Self::File(path) => page_type(path),
        };
        Document { content_type, ..Document::new(hapax::page::Body::Bytes(bytes)) }
    }

    /// The bytes, and whether there are more.
    pub(crate) fn read(&self) -> Result<(Vec<u8>, bool), anyhow::Error> {
        let limit = Limits::default().max_input_bytes;
        let most = limit as u64 + 1;
        let mut bytes = Vec::new();
        let read = match self {
            Self::Standard => std::io::stdin().lock().take(most).read_to_end(&mut bytes),
            Self::File(path) => hapax_corpus::open_file(path)
                .and_then(|file| file.take(most).read_to_end(&mut bytes)),
        };
        let length = read.map_err(|error| match self {
            Self::Standard => anyhow::Error::new(error).context("cannot read standard input"),
            Self::File(path) => io_error("read", path, error),
        })?;
        Ok((bytes, length > limit))
    }
}
