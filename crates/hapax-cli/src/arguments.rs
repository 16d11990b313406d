//! The command-line arguments. Each command interprets its own.

use crate::commands::{
    apply, compare, completions, dedup, eval, events, export, fingerprint, group, groups, inspect,
    man, near, page, pairs, partition, plan, query_dedup, rank, recipe, search, serve, store,
    train,
};
use clap::{Parser, Subcommand};

/// Find and remove near-duplicate web pages
///
/// Results go to standard output or to --out, everything else to standard error. The exit
/// code is 0 when the work is done, 1 for bad input or a failed run, 2 for bad arguments.
#[derive(Parser, Debug)]
#[command(
    name = "hapax",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  hapax dedup crawl/*.warc.gz --out clean      keep every page once; groups and report
  hapax fingerprint crawl/ --out crawl.txt     all pages in a folder
  curl -s URL | hapax fingerprint - --json     one page, as JSON
  hapax compare old.html new.html              similarity, and what changed
  hapax near find new.txt --index crawl.hpx    stored fingerprints near these
  hapax page add seen URL page.html            record a page: is it a duplicate?
  hapax query-dedup --index I --log Q --out D  remove duplicates from search results
  hapax eval docs.jsonl --truth pairs.tsv      precision and recall
  hapax plan --pages 8e9 --within 3            engine and memory for that many pages
  hapax serve --store seen                     the service and its web page
  hapax help fingerprint                       more about a command"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One variant and one file under `commands` each.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Dedup(Box<dedup::Arguments>),
    Apply(Box<apply::Arguments>),
    Eval(Box<eval::Arguments>),
    Fingerprint(fingerprint::Arguments),
    Pairs(pairs::Arguments),
    Groups(groups::Arguments),
    Compare(compare::Arguments),
    Near(near::Arguments),
    Page(page::Arguments),
    Group(group::Arguments),
    Events(events::Arguments),
    Inspect(inspect::Arguments),
    Export(export::Arguments),
    Partition(Box<partition::Arguments>),
    Plan(plan::Arguments),
    QueryDedup(Box<query_dedup::Arguments>),
    Rank(Box<rank::Arguments>),
    Train(train::Arguments),
    Recipe(recipe::Arguments),
    Search(search::Arguments),
    Serve(serve::Arguments),
    Store(store::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}
