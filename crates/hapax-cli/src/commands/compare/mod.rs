//! `hapax compare`: shows two pages side by side and explains their similarity.
//!
//! The engine explains the pair; this module only displays it. [`abbreviate`] shortens equal passages. [`terminal`],
//! [`html`] and [`json`] are the output formats.

mod abbreviate;
mod html;
mod json;
mod terminal;

use crate::failure::Failure;
use crate::one_page::Source;
use crate::output::{self, Output};
use crate::overwriting;
use crate::progress::say;
use crate::readable;
use crate::recipes::RecipeArguments;
use clap::{Args, ValueEnum};
use hapax::fingerprint::side_by_side::{self, Row};
use hapax::fingerprint::{Comparison, Recipe, compare};
use hapax::page::{ExtractOptions, Extractor};
use std::path::PathBuf;

/// Compare two pages: similarity, shared passages, differences
///
/// Shows the share of agreeing fingerprint bits, the sketch's estimate, the exact similarity
/// of the texts, the bits that differ, and both texts side by side.
///
/// Compares whole pages, because two pages do not show what belongs to the frame of a site. The
/// report and `groups.parquet` of `hapax dedup`, and `own` in a repository's verdict (`hapax page
/// show`), compare pages beyond the frame.
#[derive(Args, Debug)]
#[command(after_help = "\
Signs between the columns: ≠ different, ‹ only in A, › only in B, ~ in both, but elsewhere. Long
shared passages are abbreviated with …; --full shows everything.

Examples:
  hapax compare old.html new.html
  hapax compare old.html new.html --html report.html
  curl -s https://example.org/ | hapax compare saved.html - --json")]
pub(crate) struct Arguments {
    /// The first page, A: a file, or `-` for standard input
    #[arg(value_name = "A")]
    left: PathBuf,

    /// The second page, B: a file, or `-` for standard input
    #[arg(value_name = "B")]
    right: PathBuf,

    #[command(flatten)]
    recipe: RecipeArguments,

    /// One JSON object, with both texts and the places of shared passages
    #[arg(long)]
    json: bool,

    /// Also write a self-contained web page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    replacing: overwriting::Replacing,

    /// Do not abbreviate texts or tables
    #[arg(long)]
    full: bool,

    /// Mark differences in colour
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Colour::Auto)]
    color: Colour,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Also into a pipe.
    Always,
    /// Never use colour.
    Never,
}

struct Shown {
    source: Source,
    /// The displayed name of the page.
    name: String,
    title: Option<String>,
    text: String,
}

/// Two pages with their comparison.
struct Pair {
    left: Shown,
    right: Shown,
    recipe: Recipe,
    recipe_id: String,
    comparison: Comparison,
    rows: Vec<Row>,
}

impl Pair {
    fn sentence(&self) -> String {
        self.comparison.sentence(self.recipe.sketch_shingle.words())
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let [left, right] = [&arguments.left, &arguments.right].map(|p| Source::new(p.clone()));
    if left == Source::Standard && right == Source::Standard {
        return Err(Failure::Arguments(
            "A and B are both `-`: standard input is one page".to_owned(),
        ));
    }
    let html = arguments.html.as_deref();
    overwriting::refuse("--html", html, [&arguments.left, &arguments.right])?;
    overwriting::refuse("--html", html, arguments.recipe.files())?;
    arguments.replacing.check("--html", html)?;
    let mut fingerprinter = arguments.recipe.fingerprinter()?;
    let recipe = fingerprinter.recipe().clone();
    let options = ExtractOptions { extent: recipe.extent, ..ExtractOptions::default() };
    let mut extractor = Extractor::new(options);
    let [left, right] = [read(&mut extractor, left)?, read(&mut extractor, right)?];
    let comparison = compare(&mut fingerprinter, &left.text, &right.text);
    let rows = side_by_side::lay_out(&comparison, &left.text, &right.text);
    let recipe_id = fingerprinter.recipe_id().to_string();
    let pair = Pair { left, right, recipe, recipe_id, comparison, rows };

    if let Some(path) = &arguments.html {
        output::write_file(path, html::page(&pair).as_bytes())?;
    }
    if arguments.json {
        return output::answer(true, &json::object(&pair), "");
    }
    let mut output = Output::open(None)?;
    // The terminal view has already removed control characters of the pages.
    let screen = terminal::Screen::new(arguments.color, arguments.full);
    output.write_styled(terminal::text(&pair, &screen).as_bytes())?;
    output.finish()
}

fn read(extractor: &mut Extractor, source: Source) -> Result<Shown, Failure> {
    let name = readable::path(source.path());
    if source != Source::Standard && source.path().is_dir() {
        return Err(Failure::Run(anyhow::anyhow!("{name} is a folder; compare takes two pages")));
    }
    let (bytes, more) = source.read()?;
    if more {
        say(&format!(
            "note: only the first {} of {name} are read",
            readable::bytes(bytes.len() as u64)
        ));
    }
    let page = extractor
        .document(&source.document(&bytes))
        .map_err(|e| anyhow::Error::new(e).context(name.clone()))?;
    Ok(Shown { source, name, title: page.title.clone(), text: page.text.clone() })
}
