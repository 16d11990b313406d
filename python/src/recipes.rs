//! From the name of a recipe, or the file it is in, to a fingerprinter.
//!
//! A name that ends in `.toml` or has a path separator is a file, as on the command line.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use hapax::features::{Frequencies, FrequencyWeights};
use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax::page::Extent;
use pyo3::prelude::*;

use crate::errors::{of_recipe, raised, system};

/// A recipe file is a few lines.
const MAX_RECIPE_BYTES: u64 = 1 << 20;
/// A table of the greatest width with every counter at its longest.
const MAX_TABLE_BYTES: u64 = 5 << 30;

/// The names of the built-in recipes, the default first.
#[pyfunction]
pub(crate) fn built_in_recipes() -> Vec<&'static str> {
    Recipe::BUILT_IN.to_vec()
}

/// Reads what is named and makes it ready.
pub(crate) fn fingerprinter(
    recipe: &str,
    frequencies: Option<&str>,
    main_content: bool,
) -> PyResult<Fingerprinter> {
    let mut recipe = named(recipe)?;
    if main_content && recipe.extent != Extent::MainContent {
        recipe.extent = Extent::MainContent;
        recipe.name.push_str("-main");
    }
    let weights = frequencies.map(|path| table(Path::new(path))).transpose()?;
    Fingerprinter::new(recipe, weights.map(Arc::new))
        .map_err(|error| of_recipe(&error, frequencies.map(Path::new)))
}

fn named(given: &str) -> PyResult<Recipe> {
    if !given.ends_with(".toml") && !given.contains(std::path::is_separator) {
        return Recipe::built_in(given).map_err(|error| of_recipe(&error, None));
    }
    let path = Path::new(given);
    let text = String::from_utf8(read(path, MAX_RECIPE_BYTES)?)
        .map_err(|_| raised("RecipeError", "a recipe file is UTF-8 text", Some(path)))?;
    Recipe::from_toml(&text).map_err(|error| of_recipe(&error, Some(path)))
}

fn table(path: &Path) -> PyResult<FrequencyWeights> {
    let table = Frequencies::from_bytes(&read(path, MAX_TABLE_BYTES)?);
    let table = table.map_err(|error| raised("RecipeError", error.to_string(), Some(path)))?;
    Ok(table.weights())
}

fn read(path: &Path, limit: u64) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
    read.map_err(|error| system(path, &error))?;
    if bytes.len() as u64 > limit {
        let reason = format!("larger than the {limit} bytes allowed");
        return Err(raised("RecipeError", reason, Some(path)));
    }
    Ok(bytes)
}
