//! `hapax query-dedup`: removes duplicates where users see them first.
//!
//! - `log` opens search logs.
//! - `text` summarizes a run.
//!
//! The job is `hapax_search::clean`. This module turns arguments into its settings, and its progress into a bar.

mod log;
mod text;

use crate::commands::search;
use crate::commands::search::place::{MovedArguments, Opened, PlaceArguments};
use crate::corpus::or_all_cores;
use crate::failure::Failure;
use crate::output;
use crate::progress::{bar, say};
use crate::readable;
use crate::recipes;
use clap::{Args, Subcommand, ValueEnum};
use hapax_search::clean::folder::OutFolder;
use hapax_search::clean::{Choice, Effect, Finished, Mode, Settings, Stage, run as clean, undo};
use hapax_search::policy::Policy;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Remove duplicates from the results of the queries in a search log
///
/// Replays a query log on an index, finds near-duplicates among the results of each query, and
/// keeps the best copy of each group. Without --apply, duplicates are only marked.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
A log has a query a line, or columns: TSV or CSV with a header (query, count, user, time), JSONL;
compressed or not. Queries are normalised, counted, and ranked by how often they are asked.

The output folder holds removed.parquet (document, winner, query, distance, k, reason),
queries.parquet, summary.json, run.json, report.html, and data for the next run. Run it again when
documents or the log have changed: only affected queries are processed, and the outcome is that of
a run from scratch.

Examples:
  hapax query-dedup --index index --log queries.tsv --out cleaned
  hapax query-dedup --index index --log queries.tsv --out cleaned --apply
  hapax query-dedup --index index --log year.jsonl.zst --policy policy.toml --queries 2000 \\
      --choose overlap --scores pagerank.tsv --out cleaned
  hapax query-dedup --postgres \"host=/run/postgresql dbname=web\" --log queries.tsv --out cleaned
  hapax query-dedup undo cleaned"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<QueryDedupCommand>,

    #[command(flatten)]
    run: RunArguments,
}

#[derive(Subcommand, Debug)]
enum QueryDedupCommand {
    Undo(UndoArguments),
}

/// Restore and unmark everything that runs with an output folder removed or marked
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax query-dedup undo cleaned")]
struct UndoArguments {
    /// The output folder of the runs
    #[arg(value_name = "DIR")]
    out: PathBuf,

    #[command(flatten)]
    place: MovedArguments,

    /// No summary; errors are still printed
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Args, Debug)]
struct RunArguments {
    #[command(flatten)]
    place: PlaceArguments,

    #[command(flatten)]
    log: log::LogArguments,

    /// The folder for results: new, empty, or that of an earlier run
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    out: Option<PathBuf>,

    /// How strictly results are compared, as TOML [default: within 6 bits in the best 1000 results]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Scores of pages, as `hapax rank` writes them, in place of those of the index
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,

    /// Process this many queries [default: all]
    #[arg(long, value_name = "N")]
    queries: Option<NonZeroUsize>,

    /// Which queries, and in which order
    #[arg(long, value_enum, default_value = "frequency")]
    choose: Choose,

    /// Queries one by one as in the paper, or all at once
    #[arg(long, value_enum, default_value = "parallel")]
    mode: ModeArgument,

    /// Process queries the other way as well, and report the difference
    #[arg(long)]
    compare: bool,

    /// Leave out the table and figures for k = 0 to 3
    #[arg(long)]
    no_figures: bool,

    /// Remove duplicates from the index, instead of marking them
    #[arg(long, conflicts_with = "dry_run")]
    apply: bool,

    /// Report what would be removed; change and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Process all queries, without the results of the last run
    #[arg(long)]
    from_scratch: bool,

    /// Refuse an index whose fingerprints are of another recipe
    #[arg(long, value_name = "NAME|FILE.toml")]
    recipe: Option<String>,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = crate::corpus::threads)]
    threads: Option<NonZeroUsize>,

    /// Write the summary to standard output, as JSON
    #[arg(long)]
    json: bool,

    /// No progress and no summary; errors are still printed
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choose {
    /// The most frequent first
    Frequency,
    /// The most not yet examined documents first, weighted by frequency
    Overlap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeArgument {
    /// All at once; removals are combined at the end
    Parallel,
    /// One after the other; each sees what the earlier ones left
    Sequential,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Some(QueryDedupCommand::Undo(arguments)) => undo_run(arguments),
        None => run_job(&arguments.run),
    }
}

fn run_job(arguments: &RunArguments) -> Result<(), Failure> {
    let place = arguments.place.place()?;
    let settings = arguments.settings(place.name()?)?;
    let (log, counts) = arguments.log.read()?;
    let recipe = arguments.recipe.as_deref().map(recipes::id).transpose()?;
    let engine = place.open(recipe.as_ref())?;
    let threads = or_all_cores(arguments.threads).get();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(anyhow::Error::new)?;
    let template = "{bar:30} {human_pos}/{human_len} {msg}  {eta} left";
    let bar = bar(Some(0), arguments.quiet, template);
    let watch = |stage: Option<(Stage, u64)>| match stage {
        None => bar.inc(1),
        Some((stage, queries)) => {
            bar.set_length(queries);
            bar.set_position(0);
            bar.set_message(match stage {
                Stage::Choosing => "queries looked at",
                Stage::Asking => "queries",
                Stage::Comparing => "queries the other way",
                Stage::Changing => "documents to change",
            });
        }
    };
    let out = arguments.out.as_deref().filter(|_| !arguments.dry_run);
    let finished: Result<Finished, Failure> = pool.install(|| match engine {
        Opened::Folder(mut engine) => {
            clean(&mut *engine, &log, counts, &settings, out, &watch).map_err(search::failed)
        }
        Opened::Database(mut engine) => {
            clean(&mut *engine, &log, counts, &settings, out, &watch).map_err(search::failed)
        }
    });
    bar.finish_and_clear();
    let finished = finished?;
    if arguments.json {
        output::print_json(&finished.summary)?;
    }
    if !arguments.quiet {
        say(text::text(&finished, out).trim_end());
    }
    Ok(())
}

impl RunArguments {
    fn settings(&self, index_name: String) -> Result<Settings, Failure> {
        Ok(Settings {
            policy: match &self.policy {
                None => Policy::default(),
                Some(path) => search::policy(path)?,
            },
            mode: match self.mode {
                ModeArgument::Parallel => Mode::Parallel,
                ModeArgument::Sequential => Mode::Sequential,
            },
            choice: match self.choose {
                Choose::Frequency => Choice::Frequency,
                Choose::Overlap => Choice::Overlap,
            },
            queries: self.queries.map(NonZeroUsize::get),
            figures: !self.no_figures,
            compare: self.compare,
            effect: match (self.dry_run, self.apply) {
                (true, _) => None,
                (false, true) => Some(Effect::Removed),
                (false, false) => Some(Effect::Marked),
            },
            scores: search::scores(self.scores.as_deref())?,
            from_scratch: self.from_scratch,
            index_name,
        })
    }
}

fn undo_run(arguments: &UndoArguments) -> Result<(), Failure> {
    let state = {
        let folder = OutFolder::open_earlier(&arguments.out).map_err(anyhow::Error::new)?;
        folder.state().map_err(anyhow::Error::new)?
    };
    let place = arguments.place.place(state.as_ref().map(|state| state.index.as_str()))?;
    let name = place.name()?;
    let undone = match place.open(None)? {
        Opened::Folder(mut engine) => undo(&mut *engine, &arguments.out).map_err(search::failed)?,
        Opened::Database(mut engine) => {
            undo(&mut *engine, &arguments.out).map_err(search::failed)?
        }
    };
    if !arguments.quiet {
        say(&format!(
            "{} restored, {} unmarked in {}",
            readable::counted(undone.restored, "document"),
            readable::count(undone.unmarked),
            readable::harmless(&name),
        ));
    }
    Ok(())
}
