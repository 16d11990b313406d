//! `hapax rank`: computes the authority of pages from links.
//!
//! Scores appear atomically. Reports how much input was skipped, and whether the scores converged.
//! `hapax_search::rank` computes the scores; this file opens files and prints results.

use crate::corpus::ReadArguments;
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::overwriting;
use crate::progress::{Progress, say};
use crate::readable::{self, counted};
use crate::reading;
use clap::{Args, ValueEnum};
use hapax_corpus::Unpacked;
use hapax_search::rank::names::{LinksError, NamedLinks, read_tsv};
use hapax_search::rank::scores::{ranking, write_parquet, write_tsv};
use hapax_search::rank::table::{MAGIC, read_parquet};
use hapax_search::rank::web::{Web, WebBuilder, WebCounts, WebError, WebOptions};
use hapax_search::rank::{
    DEFAULT_DAMPING, DEFAULT_MOST_ITERATIONS, DEFAULT_TOLERANCE, GraphError, RankSettings, Ranks,
    pagerank,
};
use serde::Serialize;
use std::io::BufRead;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Compute PageRank from the links of pages, or from a list of links
///
/// The links of the pages of a corpus are extracted and resolved; a list of links has a line for
/// each link, two names with a tab between them, or is a Parquet table.
#[derive(Args, Debug)]
#[command(after_help = "\
Writes a line for each page, the best first: its address or name, a tab, and the score. Scores add
up to 1 over the pages of the graph. Addresses that differ only in scheme, fragment, case of the
host or one slash at the end are one page; each of them gets its score. Links of a page to itself
and repeated ones do not count; a reader of a page without links continues at any page. With
--links and INPUT, the list adds links between the pages of the corpus.

Examples:
  hapax rank crawl/*.warc.gz --out scores.tsv
  hapax rank --links links.tsv.zst --tolerance 1e-13 > scores.tsv
  hapax rank pages.parquet --links more.parquet --out scores.parquet --json")]
pub(crate) struct Arguments {
    /// Corpora with pages: files, folders, globs, @lists of files, or `-` for standard input
    #[arg(value_name = "INPUT", required_unless_present = "links")]
    inputs: Vec<String>,

    /// Links: lines of two names with a tab between them, compressed or not, or a Parquet table with
    /// columns src and dst, from and to, or source and target
    #[arg(long, value_name = "FILE")]
    links: Vec<PathBuf>,

    /// Write scores to this file, which appears when it is complete
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    replacing: overwriting::Replacing,

    /// How scores are written [default: parquet if --out ends in .parquet, else tsv]
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<ScoreFormat>,

    /// Probability that a reader follows a link, from 0 to below 1
    #[arg(long, value_name = "D", default_value_t = DEFAULT_DAMPING)]
    damping: f64,

    /// Largest error, summed over all pages
    #[arg(long, value_name = "E", default_value_t = DEFAULT_TOLERANCE)]
    tolerance: f64,

    /// Stop after this many iterations
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MOST_ITERATIONS,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_rounds: u32,

    /// Addresses that pages link to count as pages, even if the corpus does not have them
    #[arg(long, requires = "inputs")]
    outside: bool,

    /// Links that say rel=nofollow do not count
    #[arg(long, requires = "inputs")]
    drop_nofollow: bool,

    #[command(flatten)]
    reading: ReadArguments,

    /// Write what was read and found to standard output, as JSON; scores go to --out
    #[arg(long, requires = "out")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScoreFormat {
    /// Lines of address, tab and score
    Tsv,
    /// A table with the columns url and score
    Parquet,
}

#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: WebCounts,
    damping: f64,
    tolerance: f64,
    rounds: u32,
    error: f64,
    converged: bool,
    reading_seconds: f64,
    ranking_seconds: f64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let settings = RankSettings {
        damping: arguments.damping,
        tolerance: arguments.tolerance,
        most_iterations: arguments.max_rounds,
    };
    settings.check().map_err(|error| Failure::Arguments(error.to_string()))?;
    overwriting::refuse("--out", arguments.out.as_deref(), &arguments.links)?;
    arguments.reading.spare("--out", arguments.out.as_deref(), &arguments.inputs)?;
    arguments.replacing.check("--out", arguments.out.as_deref())?;
    let mut output = Output::open(arguments.out.as_deref())?;
    let threads = arguments.reading.threads();

    let started = Instant::now();
    let web = if arguments.inputs.is_empty() {
        web_of_links(&arguments.links)?
    } else {
        web_of_pages(arguments, threads)?
    };
    let reading_seconds = started.elapsed().as_secs_f64();

    let started = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build();
    let pool = pool.map_err(anyhow::Error::new)?;
    let ranks = pool.install(|| pagerank(&web.graph, &settings, None));
    let ranks = ranks.map_err(anyhow::Error::new)?;
    let ranking_seconds = started.elapsed().as_secs_f64();

    let rows = ranking(&web, &ranks.scores);
    let mut bytes = Vec::new();
    let written = match arguments.format() {
        ScoreFormat::Tsv => write_tsv(&rows, &mut bytes),
        ScoreFormat::Parquet => write_parquet(&rows, &mut bytes),
    };
    written.map_err(anyhow::Error::new)?;
    output.write(&bytes)?;
    output.finish()?;

    let summary = Summary {
        counts: web.counts,
        damping: settings.damping,
        tolerance: settings.tolerance,
        rounds: ranks.iterations,
        error: ranks.error,
        converged: ranks.converged,
        reading_seconds,
        ranking_seconds,
    };
    if arguments.json {
        output::print_json(&summary)?;
    }
    if !arguments.reading.quiet {
        say(&summary_text(&summary));
    }
    if !ranks.converged {
        say(&not_converged(&ranks, arguments));
    }
    Ok(())
}

impl Arguments {
    fn format(&self) -> ScoreFormat {
        let table = |out: &PathBuf| out.extension().is_some_and(|it| it == "parquet");
        self.format.unwrap_or(match self.out.as_ref().is_some_and(table) {
            true => ScoreFormat::Parquet,
            false => ScoreFormat::Tsv,
        })
    }
}

fn web_of_links(files: &[PathBuf]) -> Result<Web, Failure> {
    let mut links = NamedLinks::new();
    for file in files {
        read_links(file, |from, to| links.link(from, to))?;
    }
    Ok(Web::of_links(&links).map_err(anyhow::Error::new)?)
}

fn web_of_pages(arguments: &Arguments, threads: NonZeroUsize) -> Result<Web, Failure> {
    let options = WebOptions { outside: arguments.outside, drop_nofollow: arguments.drop_nofollow };
    let source = arguments.reading.open(&arguments.inputs)?;
    let mut builder = WebBuilder::new(options);
    let mut progress = Progress::start(None, arguments.reading.quiet, false);
    let found = builder.corpus(&source, threads, |documents, bad| {
        progress.pages(documents);
        bad.iter().for_each(|bad| progress.skip(bad));
    });
    progress.clear();
    found.map_err(web_failure)?;
    if let Some(line) = reading::ignored_line(source.ignored()).filter(|_| !arguments.reading.quiet)
    {
        say(&line);
    }
    for file in &arguments.links {
        read_links(file, |from, to| builder.link(from, to))?;
    }
    builder.finish().map_err(web_failure)
}

fn web_failure(error: WebError) -> Failure {
    match error {
        WebError::Corpus(error) => error.into(),
        other => Failure::Run(anyhow::Error::new(other)),
    }
}

fn read_links(
    path: &Path,
    link: impl FnMut(&str, &str) -> Result<(), GraphError>,
) -> Result<(), Failure> {
    let named = |error: anyhow::Error| Failure::Run(error.context(readable::path(path)));
    let mut text = Unpacked::open(path).map_err(anyhow::Error::new)?;
    let first = text.fill_buf().map_err(|error| Failure::io("read", path, error))?;
    let read: Result<(), LinksError> = match first.starts_with(MAGIC) {
        true => {
            let file =
                hapax_corpus::open_file(path).map_err(|error| Failure::io("read", path, error))?;
            read_parquet(file, link)
        }
        false => read_tsv(text, link),
    };
    read.map_err(|error| named(anyhow::Error::new(error)))
}

fn summary_text(summary: &Summary) -> String {
    let counts = &summary.counts;
    let mut line = format!(
        "{}, {} between them; {} without links",
        counted(counts.pages, "page"),
        counted(counts.links, "link"),
        readable::count(counts.dangling),
    );
    let left_out = [
        (counts.repeated, "repeated"),
        (counts.to_itself, "of pages to themselves"),
        (counts.unknown, "to or from pages that are not there"),
        (counts.nofollow, "with rel=nofollow"),
    ];
    let left_out: Vec<String> = left_out
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", readable::count(*count)))
        .collect();
    if !left_out.is_empty() {
        line.push_str(&format!("; links left out: {}", left_out.join(", ")));
    }
    if counts.same_page + counts.without_address + counts.unreadable > 0 {
        line.push_str(&format!(
            "\n{}: {} of a page another one is, too, {} without an address, {} neither HTML nor text",
            counted(counts.documents, "document"),
            readable::count(counts.same_page),
            readable::count(counts.without_address),
            readable::count(counts.unreadable),
        ));
    }
    line.push_str(&format!(
        "\n{} after {}: at most {:.1e} from the true scores, {:.1e} was asked; {:.2} s reading, \
         {:.2} s ranking",
        if summary.converged { "converged" } else { "stopped" },
        counted(u64::from(summary.rounds), "round"),
        summary.error,
        summary.tolerance,
        summary.reading_seconds,
        summary.ranking_seconds,
    ));
    line
}

fn not_converged(ranks: &Ranks, arguments: &Arguments) -> String {
    format!(
        "warning: not converged in {}: scores are up to {:.1e} from the true ones; more \
         --max-rounds or a larger --tolerance than {} would do",
        counted(u64::from(ranks.iterations), "round"),
        ranks.error,
        arguments.tolerance,
    )
}
