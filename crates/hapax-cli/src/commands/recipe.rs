//! `hapax recipe`: lists recipes and shows the settings of one.
//!
//! The output of `show` is a recipe file: give it another name to change and use it. `docs/reference/fingerprint.md`
//! explains the effect of the settings.

use crate::failure::Failure;
use crate::output;
use crate::recipes;
use clap::{Args, Subcommand};
use hapax::fingerprint::{Recipe, Tie, Weighting};
use hapax::page::Extent;

/// List the built-in recipes, or show one
///
/// A recipe is the whole way from a page's bytes to its fingerprint. Fingerprints of
/// different recipes cannot be compared.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax recipe list
  hapax recipe show web-2 > mine.toml     then change its name and settings
  hapax fingerprint crawl/ --recipe mine.toml")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: RecipeCommand,
}

#[derive(Subcommand, Debug)]
enum RecipeCommand {
    /// List the built-in recipes, the default first
    #[command(after_help = "Example:\n  hapax recipe list")]
    List,
    /// Print the settings of a recipe, as a recipe file
    #[command(
        after_help = "Example:\n  hapax recipe show web-2 > mine.toml     then change its name and settings"
    )]
    Show {
        /// Built-in recipe or a .toml file
        #[arg(value_name = "NAME|FILE.toml")]
        recipe: String,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let text = match &arguments.command {
        RecipeCommand::List => list()?,
        RecipeCommand::Show { recipe } => settings(&recipes::named("recipe show", recipe)?),
    };
    output::print(&text)
}

fn list() -> Result<String, Failure> {
    let mut text = String::new();
    for name in Recipe::BUILT_IN {
        let recipe = Recipe::built_in(name).map_err(anyhow::Error::new)?;
        text.push_str(&format!("{name:<14} {}\n", sentence(&recipe)));
    }
    Ok(text)
}

fn sentence(recipe: &Recipe) -> String {
    let features = match recipe.shingle.words() {
        1 => "words".to_owned(),
        n => format!("shingles of {n} words"),
    };
    let weights = match recipe.weighting {
        Weighting::Presence => "each counted once",
        Weighting::Count => "counted as often as they occur",
        Weighting::TfIdf => "weighed by TF-IDF (needs --frequencies)",
    };
    let mut text = format!("{features}, {weights}");
    if let Some(code) = &recipe.stop_words {
        text.push_str(&format!(", without stop words ({code})"));
    }
    if let Some(name) = &recipe.stemming {
        text.push_str(&format!(", stemmed ({name})"));
    }
    match recipe.extent {
        Extent::Body => {}
        Extent::Page => text.push_str(", title included"),
        Extent::MainContent => text.push_str(", main content only"),
    }
    match recipe.tie {
        Tie::Zero => {}
        Tie::One => text.push_str(", ties are 1"),
    }
    text
}

fn settings(recipe: &Recipe) -> String {
    let identity = match recipe.weighting {
        Weighting::Presence | Weighting::Count => recipe.id(None).to_string(),
        // The id depends on the table.
        Weighting::TfIdf => format!("{} with a table made by `hapax train`", recipe.name),
    };
    format!("# {identity}\n{}", recipe.to_toml())
}
