//! `hapax search query`: prints the best results, with copies folded under the one that the policy keeps.
//!
//! Results go to standard output, as text or as the JSON of the service; the numbers of results and of folded copies
//! go to standard error.

use std::path::PathBuf;

use clap::Args;
use hapax_search::Showing;
use hapax_search::collapse::{Hit, Listing, Request, Shown, collapse};
use hapax_search::policy::Policy;
use hapax_search::snippet::Snippet;
use hapax_search::wire::ListingRecord;

use super::place::{Opened, PlaceArguments};
use super::{failed, policy, scores};
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::progress::say;
use crate::readable;

/// Maximum length of a displayed title in characters.
const LINE: usize = 160;

/// Query an index
///
/// Put a word with a minus into quotes together with others, or after `--`; otherwise it is read as a flag.
///
/// With --collapse, results that are near-duplicates of each other are shown under the one that the
/// policy would keep. The bounds may depend on the number of results and, with --rank, on the
/// popularity of the query.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax search query --index index harbour crane
  hapax search query --index index --collapse \"harbour crane\" site:example.org
  hapax search query --index index --json --limit 50 harbour -- -crane")]
pub(crate) struct Arguments {
    /// Words, "phrases", +word, -word, site:HOST, lang:CODE
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,

    #[command(flatten)]
    place: PlaceArguments,

    /// Fold near-duplicates under the best of them
    #[arg(long)]
    collapse: bool,

    /// How they are compared: a policy file as for `hapax query-dedup`; means --collapse
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// The query's rank in the search log, for policies that use it [default: not in it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rank: Option<u64>,

    /// Scores of pages, as `hapax rank` writes them, in place of those of the index
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,

    /// Hide documents that are marked as duplicates
    #[arg(long)]
    hide_marked: bool,

    /// Number of results
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,

    /// Skip this many results
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u32,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let policy = arguments.policy()?;
    let scores = scores(arguments.scores.as_deref())?;
    let query = arguments.words.join(" ");
    let request = Request {
        query: &query,
        offset: arguments.offset as usize,
        limit: arguments.limit as usize,
        policy: policy.as_ref(),
        rank: arguments.rank,
        hide_marked: arguments.hide_marked,
        scores: scores.as_ref(),
    };
    let listing = match arguments.place.place()?.open(None)? {
        Opened::Folder(index) => asked(&*index, &request),
        Opened::Database(index) => asked(&*index, &request),
    }?;
    if arguments.json {
        return output::answer(true, &ListingRecord::of(&query, &listing), "");
    }
    let mut output = Output::open(None)?;
    let bold = output.on_screen() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    for hit in &listing.hits {
        output.write(lines(hit, bold).as_bytes())?;
    }
    output.finish()?;
    say(&summary(&listing, arguments.offset));
    Ok(())
}

fn asked<E: Showing>(engine: &E, request: &Request<'_>) -> Result<Listing, Failure> {
    collapse(engine, request).map_err(failed)
}

impl Arguments {
    fn policy(&self) -> Result<Option<Policy>, Failure> {
        match &self.policy {
            Some(path) => policy(path).map(Some),
            None => Ok(self.collapse.then(Policy::default)),
        }
    }
}

fn lines(hit: &Hit, bold: bool) -> String {
    let shown = &hit.document;
    let title = match shown.excerpt.title.as_str() {
        "" => "(no title)",
        title => title,
    };
    let mut text = format!("{:>3}. {}\n", shown.rank, cut(title));
    text.push_str(&format!("     {}\n     {}\n", address(shown), passage(&shown.snippet, bold)));
    for copy in &hit.copies {
        text.push_str(&format!(
            "     + {} ({}, {:.0} % alike; {})\n",
            address(&copy.document),
            readable::counted(u64::from(copy.distance), "bit"),
            copy.similarity * 100.0,
            readable::harmless(&copy.reason),
        ));
    }
    text
}

/// The passage with the words of the query, in bold on a terminal.
fn passage(snippet: &Snippet, bold: bool) -> String {
    let piece = |(marked, piece): (bool, String)| match marked && bold {
        true => format!("\x1b[1m{}\x1b[0m", readable::harmless(&piece)),
        false => readable::harmless(&piece).into_owned(),
    };
    snippet.pieces().map(piece).collect()
}

fn address(shown: &Shown) -> String {
    let name = match shown.facts.url.as_str() {
        "" => &shown.facts.name,
        url => url,
    };
    let marked = if shown.marked { " [marked]" } else { "" };
    format!("{}{marked}", readable::harmless(name))
}

fn cut(text: &str) -> String {
    let end = text.char_indices().nth(LINE).map_or(text.len(), |(end, _)| end);
    let dots = if end < text.len() { "…" } else { "" };
    format!("{}{dots}", readable::harmless(&text[..end]))
}

fn summary(listing: &Listing, offset: u32) -> String {
    let mut line = match listing.hits.len() {
        0 => format!("{}, none to show", readable::counted(listing.results, "result")),
        shown => format!(
            "{}, {} to {} shown",
            readable::counted(listing.results, "result"),
            offset + 1,
            offset as usize + shown,
        ),
    };
    if listing.examined > 0 {
        line.push_str(&format!(
            "; {} of the first {} folded",
            readable::count(listing.folded),
            readable::count(listing.examined),
        ));
    }
    line
}
