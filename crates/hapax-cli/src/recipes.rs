//! Turns `--recipe` and `--frequencies` into a ready fingerprinter.
//!
//! An invalid name or combination is a bad argument; an unusable file is bad input.

use crate::failure::{Failure, io_error};
use crate::readable;
use clap::Args;
use hapax::fingerprint::recipe::DEFAULT_RECIPE;
use hapax::fingerprint::{Fingerprinter, Recipe, RecipeError, RecipeId, Weighting};
use hapax_dedup::recipes::{self, LoadError};
use std::path::{Path, PathBuf};

/// Which recipe, with which table.
#[derive(Args, Debug)]
pub(crate) struct RecipeArguments {
    /// Built-in recipe (see `hapax recipe list`) or a .toml file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = DEFAULT_RECIPE)]
    recipe: String,

    /// Document-frequency table made by `hapax train`, for recipes that weigh by TF-IDF
    #[arg(long, value_name = "TABLE")]
    frequencies: Option<PathBuf>,
}

/// Recipes by name or file, all with the same table if they need one.
pub(crate) fn fingerprinters(
    recipes: &[String],
    frequencies: Option<&Path>,
    main_content: bool,
) -> Result<Vec<Fingerprinter>, Failure> {
    let made = recipes.iter().map(|recipe| {
        let tf_idf = named("--recipe", recipe)?.weighting == Weighting::TfIdf;
        let frequencies = frequencies.filter(|_| tf_idf || recipes.len() == 1);
        let one = RecipeArguments {
            recipe: recipe.clone(),
            frequencies: frequencies.map(Path::to_owned),
        };
        one.fingerprinter_of(main_content)
    });
    made.collect()
}

impl RecipeArguments {
    /// Equals these arguments on the command line.
    pub(crate) fn of(recipe: String, frequencies: Option<PathBuf>) -> Self {
        Self { recipe, frequencies }
    }

    /// The named files, which a result must not replace.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        files(std::slice::from_ref(&self.recipe), self.frequencies.as_deref())
    }

    /// Reads the recipe and table.
    pub(crate) fn fingerprinter(&self) -> Result<Fingerprinter, Failure> {
        self.fingerprinter_of(false)
    }

    /// Like [`fingerprinter`](Self::fingerprinter), optionally for the main content only.
    pub(crate) fn fingerprinter_of(&self, main_content: bool) -> Result<Fingerprinter, Failure> {
        let frequencies = self.frequencies.as_deref();
        recipes::fingerprinter(&self.recipe, frequencies, main_content)
            .map_err(|error| failure("--recipe", error))
    }
}

fn failure(argument: &str, error: LoadError) -> Failure {
    match error {
        LoadError::Io { path, source } => io_error("read", &path, source).into(),
        LoadError::Recipe { source: RecipeError::NeedsTable { recipe }, .. } => {
            Failure::Arguments(format!(
                "--recipe {recipe} weighs words by a frequency table: add --frequencies TABLE \
                 (`hapax train` makes one)"
            ))
        }
        LoadError::Recipe { source: RecipeError::NeedsNoTable { recipe }, .. } => {
            Failure::Arguments(format!(
                "--frequencies is of no use to --recipe {recipe}: leave it out, or use a recipe \
                 with weight = \"tf-idf\""
            ))
        }
        LoadError::Recipe { path: None, source } => {
            Failure::Arguments(format!("{argument}: {source}"))
        }
        LoadError::Recipe { path: Some(path), source } => {
            Failure::Run(anyhow::Error::new(source).context(readable::path(&path)))
        }
    }
}

/// The files among recipes, and the table.
pub(crate) fn files(recipes: &[String], frequencies: Option<&Path>) -> Vec<PathBuf> {
    let recipes = recipes.iter().filter(|given| recipes::is_file(given)).map(PathBuf::from);
    recipes.chain(frequencies.map(Path::to_owned)).collect()
}

/// The recipe that `argument` names: a built-in one, or a file.
pub(crate) fn named(argument: &str, given: &str) -> Result<Recipe, Failure> {
    recipes::named(given).map_err(|error| failure(argument, error))
}

/// The id of a recipe that needs no table.
pub(crate) fn id(given: &str) -> Result<RecipeId, Failure> {
    let fingerprinter = Fingerprinter::new(named("--recipe", given)?, None);
    Ok(fingerprinter.map_err(anyhow::Error::new)?.recipe_id().clone())
}
