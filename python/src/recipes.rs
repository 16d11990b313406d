//! From the name of a recipe, or the file it is in, to a fingerprinter.
//!
//! A name that ends in `.toml` or has a path separator is a file, as on the command line.

use std::path::Path;

use hapax::fingerprint::{Fingerprinter, Recipe};
use pyo3::prelude::*;

use crate::errors::of_recipe;

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
    hapax_dedup::recipes::fingerprinter(recipe, frequencies.map(Path::new), main_content)
        .map_err(|error| of_recipe(&error))
}
