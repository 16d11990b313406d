//! From `--recipe` and `--frequencies` to a recipe that is ready to run.
//!
//! A value that ends in `.toml` or has a path separator is a file, everything else the name of
//! a built-in recipe. A name or a combination that cannot be meant is a bad argument; a file
//! that cannot be used is bad input.

use crate::failure::{Failure, io_error};
use crate::readable;
use clap::Args;
use hapax::features::{Frequencies, FrequencyWeights};
use hapax::fingerprint::recipe::DEFAULT_RECIPE;
use hapax::fingerprint::{Fingerprinter, Recipe, RecipeError, RecipeId, Weighting};
use hapax::page::Extent;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A recipe file is a few lines.
const MAX_RECIPE_BYTES: u64 = 1 << 20;
/// A table of the greatest width with every counter at its longest.
const MAX_TABLE_BYTES: u64 = 5 << 30;

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

/// Recipes by name or file, all with one table where they need it.
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
    /// As if these had been typed.
    pub(crate) fn of(recipe: String, frequencies: Option<PathBuf>) -> Self {
        Self { recipe, frequencies }
    }

    /// The files these name, which a result must not replace.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        files(std::slice::from_ref(&self.recipe), self.frequencies.as_deref())
    }

    /// Reads what is named and makes it ready.
    pub(crate) fn fingerprinter(&self) -> Result<Fingerprinter, Failure> {
        self.fingerprinter_of(false)
    }

    /// The same, or its variant that looks at the main content only.
    pub(crate) fn fingerprinter_of(&self, main_content: bool) -> Result<Fingerprinter, Failure> {
        let mut recipe = named("--recipe", &self.recipe)?;
        if main_content && recipe.extent != Extent::MainContent {
            recipe.extent = Extent::MainContent;
            recipe.name.push_str("-main");
        }
        let weights = self.frequencies.as_deref().map(read_table).transpose()?;
        Fingerprinter::new(recipe, weights.map(Arc::new)).map_err(|error| match error {
            RecipeError::NeedsTable { recipe } => Failure::Arguments(format!(
                "--recipe {recipe} weighs words by a frequency table: add --frequencies TABLE \
                 (`hapax train` makes one)"
            )),
            RecipeError::NeedsNoTable { recipe } => Failure::Arguments(format!(
                "--frequencies is of no use to --recipe {recipe}: leave it out, or use a recipe \
                 with weight = \"tf-idf\""
            )),
            other => match &self.frequencies {
                Some(path) if matches!(other, RecipeError::Table(_)) => {
                    Failure::Run(anyhow::Error::new(other).context(readable::path(path)))
                }
                _ => Failure::Run(other.into()),
            },
        })
    }
}

/// The files among recipes, and the table.
pub(crate) fn files(recipes: &[String], frequencies: Option<&Path>) -> Vec<PathBuf> {
    let recipes = recipes.iter().filter(|given| is_file(given)).map(PathBuf::from);
    recipes.chain(frequencies.map(Path::to_owned)).collect()
}

fn is_file(given: &str) -> bool {
    given.ends_with(".toml") || given.contains(std::path::is_separator)
}

/// The recipe that `argument` names: built in, or a file.
pub(crate) fn named(argument: &str, given: &str) -> Result<Recipe, Failure> {
    if !is_file(given) {
        return Recipe::built_in(given)
            .map_err(|error| Failure::Arguments(format!("{argument}: {error}")));
    }
    let path = Path::new(given);
    let bytes = read_up_to(path, MAX_RECIPE_BYTES)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| anyhow::anyhow!("{}: a recipe file is UTF-8 text", readable::path(path)))?;
    Recipe::from_toml(&text)
        .map_err(|e| Failure::Run(anyhow::Error::new(e).context(readable::path(path))))
}

/// The identity of a recipe that needs no table.
pub(crate) fn id(given: &str) -> Result<RecipeId, Failure> {
    let fingerprinter = Fingerprinter::new(named("--recipe", given)?, None);
    Ok(fingerprinter.map_err(anyhow::Error::new)?.recipe_id().clone())
}

fn read_table(path: &Path) -> Result<FrequencyWeights, Failure> {
    let bytes = read_up_to(path, MAX_TABLE_BYTES)?;
    let table = Frequencies::from_bytes(&bytes);
    let table = table.map_err(|e| anyhow::Error::new(e).context(readable::path(path)))?;
    Ok(table.weights())
}

fn read_up_to(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
    read.map_err(|e| io_error("read", path, e))?;
    if bytes.len() as u64 > limit {
        let (path, limit) = (readable::path(path), readable::count(limit));
        return Err(Failure::Run(anyhow::anyhow!(
            "{path} is larger than the {limit} bytes allowed"
        )));
    }
    Ok(bytes)
}
