//! Metadata of an index: a small JSON file that is written once.
//!
//! An index is read only by releases with the same fields and the same splitting into words; its fingerprints
//! are compared only with those of the same recipe.

use std::fs;
use std::io;
use std::path::Path;

use hapax::fingerprint::RecipeId;
use serde::{Deserialize, Serialize};

use super::error::Error;
use crate::words;

const FILE: &str = "hapax-search.json";
const FORMAT: u32 = 1;

/// Metadata of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    recipe: RecipeId,
}

#[derive(Serialize, Deserialize)]
struct File {
    format: u32,
    words: String,
    recipe: String,
    made_by: String,
}

impl Manifest {
    /// For a new index with fingerprints of this recipe.
    pub fn new(recipe: RecipeId) -> Self {
        Self { recipe }
    }

    pub fn recipe(&self) -> &RecipeId {
        &self.recipe
    }

    /// The version of the folder's format.
    pub fn format(&self) -> u32 {
        FORMAT
    }

    pub(super) fn must_be_of(&self, path: &Path, asked: &RecipeId) -> Result<(), Error> {
        match self.recipe.must_be(asked) {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::Recipe {
                path: path.to_owned(),
                stored: self.recipe.clone(),
                asked: asked.clone(),
            }),
        }
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), Error> {
        let file = File {
            format: FORMAT,
            words: words::VERSION.to_owned(),
            recipe: self.recipe.to_string(),
            made_by: format!("hapax {}", env!("CARGO_PKG_VERSION")),
        };
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(&file)
            .map_err(|error| Error::io(&path, io::Error::other(error)))?;
        super::status::write_durably(&path, text.as_bytes())
    }

    pub(super) fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Err(Error::Missing { path: folder.to_owned() });
            }
            Err(error) => return Err(Error::io(&path, error)),
        };
        let damaged = |what: String| Error::Damaged { path: path.clone(), what };
        // The format is checked first, because a later one may have other fields.
        #[derive(Deserialize)]
        struct Versions {
            format: u32,
        }
        let versions: Versions =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        let unreadable = |found: String, readable: String| {
            Err(Error::Format { path: folder.to_owned(), found, readable })
        };
        if versions.format != FORMAT {
            return unreadable(versions.format.to_string(), FORMAT.to_string());
        }
        let file: File =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if file.words != words::VERSION {
            return unreadable(
                format!("{FORMAT} with words {}", file.words),
                format!("words {}", words::VERSION),
            );
        }
        let recipe = file.recipe.parse().map_err(|error| damaged(format!("{error}")))?;
        Ok(Self { recipe })
    }
}
