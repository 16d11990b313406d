//! From the name of a recipe, or the file it is in, to a fingerprinter.
//!
//! What ends in `.toml` or has a path separator is a file, everything else the name of a built-in recipe.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hapax::features::Frequencies;
use hapax::fingerprint::{Fingerprinter, Recipe, RecipeError};
use hapax::page::Extent;

/// A recipe file is a few lines.
const MAX_RECIPE_BYTES: u64 = 1 << 20;
/// A table of the greatest width with every counter at its longest.
const MAX_TABLE_BYTES: u64 = 5 << 30;

/// Why a recipe cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// `path` is the file at fault; `None` where only a name was given.
    #[error("{source}")]
    Recipe { path: Option<PathBuf>, source: RecipeError },
}

/// Is this a file rather than a name?
pub fn is_file(given: &str) -> bool {
    given.ends_with(".toml") || given.contains(std::path::is_separator)
}

/// The recipe of this name or in this file.
///
/// # Errors
///
/// There is none of this name, or the file cannot be used.
pub fn named(given: &str) -> Result<Recipe, LoadError> {
    if !is_file(given) {
        return Recipe::built_in(given).map_err(|source| LoadError::Recipe { path: None, source });
    }
    let path = Path::new(given);
    let text = String::from_utf8(read(path, MAX_RECIPE_BYTES)?)
        .map_err(|_| RecipeError::File { reason: "it is not UTF-8 text".to_owned() });
    text.and_then(|text| Recipe::from_toml(&text))
        .map_err(|source| LoadError::Recipe { path: Some(path.to_owned()), source })
}

/// A recipe made ready, with its table of frequencies; with `main_content`, its variant that looks at the
/// main content only.
///
/// # Errors
///
/// A file cannot be used, or the recipe and the table do not go together.
pub fn fingerprinter(
    recipe: &str,
    frequencies: Option<&Path>,
    main_content: bool,
) -> Result<Fingerprinter, LoadError> {
    let file = frequencies.or_else(|| is_file(recipe).then(|| Path::new(recipe)));
    let wrong = |source| LoadError::Recipe { path: file.map(Path::to_owned), source };
    let mut recipe = named(recipe)?;
    if main_content && recipe.extent != Extent::MainContent {
        recipe.extent = Extent::MainContent;
        recipe.name.push_str("-main");
    }
    let bytes = frequencies.map(|path| read(path, MAX_TABLE_BYTES)).transpose()?;
    let table = bytes.map(|bytes| Frequencies::from_bytes(&bytes)).transpose();
    let weights = table.map_err(|error| wrong(error.into()))?.map(|table| table.weights());
    Fingerprinter::new(recipe, weights.map(Arc::new)).map_err(wrong)
}

fn read(path: &Path, limit: u64) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    let read =
        hapax_corpus::open_file(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
    let read = read.and_then(|length| match length as u64 > limit {
        true => Err(io::Error::other(format!("it is larger than {limit} bytes"))),
        false => Ok(bytes),
    });
    read.map_err(|source| LoadError::Io { path: path.to_owned(), source })
}
