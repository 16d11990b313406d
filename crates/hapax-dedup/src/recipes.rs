//! Loads a recipe by name or from a file and makes a fingerprinter.
//!
//! A value that ends in `.toml` or has a path separator is a file, everything else the name of a built-in
//! recipe.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hapax::features::Frequencies;
use hapax::fingerprint::{Fingerprinter, Recipe, RecipeError};
use hapax::page::Extent;

/// Limit for a recipe file, which has a few lines.
const MAX_RECIPE_BYTES: u64 = 1 << 20;
/// Size of a frequency table of the maximum width with the longest counters.
const MAX_TABLE_BYTES: u64 = 5 << 30;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// `path` is the file at fault; `None` for a recipe given by name.
    #[error("{source}")]
    Recipe { path: Option<PathBuf>, source: RecipeError },
}

/// Whether this value is a file rather than a name.
pub fn is_file(given: &str) -> bool {
    given.ends_with(".toml") || given.contains(std::path::is_separator)
}

/// Loads the recipe of this name or from this file.
///
/// # Errors
///
/// No recipe has this name, or the file is unreadable or invalid.
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

/// Makes a fingerprinter from a recipe and its frequency table; with `main_content`, from its
/// variant for the main content only.
///
/// # Errors
///
/// A file is unusable, or the table does not fit the recipe.
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
