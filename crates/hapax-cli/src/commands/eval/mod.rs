//! `hapax eval`: measures precision and recall.
//!
//! The crate `hapax-eval` runs the job and measures it. This module turns arguments into an evaluation and its report
//! into a table, JSON, or a page.

mod table;

use crate::commands::dedup::similarity;
use crate::commands::plan::near_bound;
use crate::corpus::ReadArguments;
use crate::failure::Failure;
use crate::output::{self, write_file};
use crate::overwriting;
use crate::progress::{Progress, say};
use crate::reading;
use crate::recipes;
use clap::Args;
use hapax::fingerprint::MaxDistance;
use hapax::fingerprint::recipe::DEFAULT_RECIPE;
use hapax::similarity::MinSimilarity;
use hapax_dedup::{Frames, Watch};
use hapax_eval::truth::known::Meaning;
use hapax_eval::truth::{core2020, news_copy};
use hapax_eval::{Evaluation, Report, Truth, TruthKind, page};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Measure precision and recall against labels or exact similarities
///
/// Reads and decides as `hapax dedup` does, once for every recipe, distance and similarity named,
/// and compares the groups with the truth: precision, recall and F1 of pairs, adjusted Rand index
/// and B-cubed of groups, sets that are exactly right, and the exact similarity of removed
/// documents; with intervals.
#[derive(Args, Debug)]
#[command(after_help = "\
Kinds of truth, found by the header of the file unless --truth-kind names one:
  pairs      id1, id2, label [, jaccard]; labels such as same_page, dup, diff_page, nondup
  graded     id1, id2, jaccard: all pairs from some similarity up
  groups     id, group
  lists      id, duplicates: all duplicates of a document, separated by commas
  core2020   the CORE deduplication dataset of 2020; name its file as DOCS and as --truth
  news-copy  NEWS-COPY: the articles as DOCS, the pairs as --truth
Without --truth, rel=canonical and addresses that differ only in scheme, `www.`, fragment, trailing
slash or index file are the labels.

Examples:
  hapax eval docs.jsonl --truth pairs.tsv
  hapax eval docs.jsonl --truth refpairs.tsv.zst --within 3,6,8 --min-similarity 0.8,0.84,0.9
  hapax eval docs.jsonl --truth pairs.tsv --recipe web-2 --recipe zhu-shingles --html report.html
  hapax eval docs.jsonl --truth pairs.tsv --other minhash=groups.tsv
  hapax eval crawl/*.warc.gz --html report.html --no-text")]
pub(crate) struct Arguments {
    /// Files, folders, globs, or @lists of files
    #[arg(required = true, value_name = "DOCS")]
    inputs: Vec<String>,

    /// Known duplicates to compare with
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,

    /// Its format: pairs, graded, groups, lists, core2020 or news-copy
    #[arg(long, value_name = "KIND", requires = "truth")]
    truth_kind: Option<TruthKind>,

    /// Labels that mean duplicates, separated by commas
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    positive: Vec<String>,

    /// Labels that mean different documents, separated by commas
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    negative: Vec<String>,

    /// Graded pairs from this similarity up are duplicates
    #[arg(long, value_name = "J", default_value_t = 0.9, value_parser = similarity)]
    alike: f64,

    /// Built-in recipe or a .toml file; may be given several times
    #[arg(long, value_name = "NAME|FILE.toml", default_value = DEFAULT_RECIPE)]
    recipe: Vec<String>,

    /// Document-frequency table made by `hapax train`, for recipes that weigh by TF-IDF
    #[arg(long, value_name = "TABLE")]
    frequencies: Option<PathBuf>,

    /// Compare the main content of pages
    #[arg(long)]
    main_content: bool,

    /// Compare pages beyond the frames of their hosts, as `hapax dedup` does: on, off or own
    /// [default: on]
    #[arg(long, value_name = "WHETHER")]
    frames: Option<Frames>,

    /// Bits that may differ, 0 to 16; several separated by commas [default: as for dedup]
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = near_bound)]
    within: Vec<MaxDistance>,

    /// Least similarity of texts, 0 to 1; several separated by commas [default: as for dedup]
    #[arg(long, value_name = "J", value_delimiter = ',')]
    min_similarity: Vec<MinSimilarity>,

    /// Groups made by another program, lines of id and group; may be given several times
    #[arg(long, value_name = "NAME=FILE", value_parser = other)]
    other: Vec<(String, PathBuf)>,

    /// Do not compute the exact similarity of removed documents
    #[arg(long)]
    no_exact: bool,

    /// Write a page with curves, distances and the worst errors
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    replacing: overwriting::Replacing,

    /// Leave texts of documents out of the page
    #[arg(long, requires = "html")]
    no_text: bool,

    #[command(flatten)]
    reading: ReadArguments,

    /// Write the report to standard output, as JSON
    #[arg(long)]
    json: bool,
}

fn other(text: &str) -> Result<(String, PathBuf), String> {
    let named = text.split_once('=').filter(|(name, file)| !name.is_empty() && !file.is_empty());
    named
        .map(|(name, file)| (name.to_owned(), PathBuf::from(file)))
        .ok_or_else(|| "write NAME=FILE".to_owned())
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let html = arguments.html.as_deref();
    let others = arguments.other.iter().map(|(_, file)| file);
    overwriting::refuse("--html", html, arguments.truth.iter().chain(others))?;
    let files = recipes::files(&arguments.recipe, arguments.frequencies.as_deref());
    overwriting::refuse("--html", html, files)?;
    arguments.reading.spare("--html", html, &arguments.inputs)?;
    arguments.replacing.check("--html", html)?;
    let recipes = recipes::fingerprinters(
        &arguments.recipe,
        arguments.frequencies.as_deref(),
        arguments.main_content,
    )?;
    let Some(first) = recipes.first().cloned() else {
        return Err(Failure::Arguments("--recipe names nothing".to_owned()));
    };
    let scratch = tempfile::tempdir().map_err(anyhow::Error::new)?;
    let inputs = documents(arguments, scratch.path())?;
    let read = arguments.reading.options();
    hapax_corpus::check_fields(&inputs, &read, arguments.reading.threads())?;
    let mut evaluation = Evaluation::new(inputs.clone(), first.clone());
    evaluation.recipes = recipes;
    evaluation.truth = match &arguments.truth {
        Some(path) => {
            let truth = Truth::read(path, arguments.truth_kind).map_err(failure)?;
            Some((truth, path.display().to_string()))
        }
        None => None,
    };
    let Meaning { positive, negative } = Meaning::default();
    let or = |given: &Vec<String>, default| if given.is_empty() { default } else { given.clone() };
    evaluation.meaning = Meaning {
        positive: or(&arguments.positive, positive),
        negative: or(&arguments.negative, negative),
    };
    evaluation.alike = arguments.alike;
    if let Some(frames) = arguments.frames {
        evaluation.use_frames(frames);
    }
    if !arguments.within.is_empty() {
        evaluation.within.clone_from(&arguments.within);
    }
    if !arguments.min_similarity.is_empty() {
        evaluation.min_similarity.clone_from(&arguments.min_similarity);
    }
    evaluation.others = arguments.other.clone();
    evaluation.exact = !arguments.no_exact;
    evaluation.options.read = read.clone();
    if let Some(threads) = arguments.reading.threads {
        evaluation.options.threads = threads;
    }
    let mut shown = Shown(Progress::start(None, arguments.reading.quiet, false));
    let report = evaluation.run(&mut shown);
    shown.0.clear();
    let report = report.map_err(failure)?;
    if let Some(path) = &arguments.html {
        let texts = match arguments.no_text {
            true => page::Texts::default(),
            false => page::Texts::of(&report, &inputs, &read, &first).map_err(failure)?,
        };
        write_file(path, page::page(&report, &texts, &first).as_bytes())?;
    }
    print_report(arguments, &report)?;
    warn(&report);
    if !arguments.reading.quiet
        && let Some(line) =
            reading::ignored_line(&reading::ignored(&arguments.inputs, arguments.reading.options()))
    {
        say(&line);
    }
    Ok(())
}

/// Converts the documents of a benchmark with its own format.
fn documents(arguments: &Arguments, scratch: &Path) -> Result<Vec<String>, Failure> {
    let convert = match arguments.truth_kind {
        Some(TruthKind::Core2020) => core2020::documents,
        Some(TruthKind::NewsCopy) => news_copy::documents,
        _ => return Ok(arguments.inputs.clone()),
    };
    let converted = arguments.inputs.iter().enumerate().map(|(number, input)| {
        let out = scratch.join(format!("{number}.jsonl"));
        convert(Path::new(input), &out).map_err(failure)?;
        Ok(out.display().to_string())
    });
    converted.collect()
}

fn failure(error: hapax_eval::Error) -> Failure {
    match error {
        hapax_eval::Error::Dedup(error) => super::dedup::failure(error),
        hapax_eval::Error::Corpus(error) => error.into(),
        other => Failure::Run(anyhow::Error::new(other)),
    }
}

fn print_report(arguments: &Arguments, report: &Report) -> Result<(), Failure> {
    match arguments.json {
        true => output::print_json(&json!({ "report": report })),
        false => output::print(&table::table(report)),
    }
}

/// Warns of labels that were given a meaning but occur in no pair, which is probably a typing
/// error.
fn warn(report: &Report) {
    let truth = &report.truth;
    if !truth.unmatched_labels.is_empty() {
        let there = match truth.labels.is_empty() {
            true => "pairs have no labels here".to_owned(),
            false => format!("labels there: {}", truth.labels.join(", ")),
        };
        let named = truth.unmatched_labels.join(", ");
        say(&format!("warning: no pair has the label {named}; {there}"));
    }
}

struct Shown(Progress);

impl Watch for Shown {
    fn progress(&mut self, documents: u64, _input_bytes: u64) {
        self.0.pages(documents);
    }
}
