//! `hapax page`: records pages and their changes in a repository, and queries it.
//!
//! - `add` records pages or a whole corpus; `check` queries without recording.
//! - `fetch` fetches pages from the web and records or checks them.
//! - `observing` turns bytes and documents into observations.
//! - `rest` has the short ones: `show`, `forget`, `redirect`, `score`, `expire`, `recheck`.

pub(crate) mod add;
mod fetch;
mod observing;
mod rest;

use crate::failure::Failure;
use crate::repositories::PageQuestion;
use clap::{Args, Subcommand};

/// Record pages in a repository, and ask about them
///
/// A repository remembers every page: what it duplicates, which copy is kept, and why. Commands
/// return when the change is on disk. With --server a service answers instead of a folder, with the
/// same output.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax page add seen https://example.org/tea tea.html --create
  curl -s URL | hapax page add seen URL
  hapax page add seen --from crawl/*.warc.gz
  hapax page check seen https://example.org/new new.html
  hapax page show seen https://example.org/tea
  hapax page show clean https://example.org/tea       why `hapax dedup --out clean` removed it
  hapax page show --server http://127.0.0.1:8017 https://example.org/tea
  hapax page redirect seen http://example.org/tea https://example.org/tea
  hapax page fetch --store seen --from addresses.txt --progress done.txt
  hapax page forget seen https://example.org/tea")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: PageCommand,
}

#[derive(Subcommand, Debug)]
enum PageCommand {
    Add(Box<add::Arguments>),
    Check(add::CheckArguments),
    Fetch(fetch::Arguments),
    /// Show a page: its group, whether it is removed, for which page, and why
    ///
    /// STORE can be an output folder of `hapax dedup`, too, and URL the id or address of a document
    /// that it read.
    #[command(after_help = "\
Examples:
  hapax page show seen https://example.org/tea
  hapax page show clean https://example.org/tea       why `hapax dedup --out clean` removed it
  hapax page show --server http://127.0.0.1:8017 https://example.org/tea")]
    Show(PageQuestion),
    Forget(rest::Forget),
    Redirect(rest::Redirect),
    Score(rest::Score),
    Expire(rest::Expire),
    Recheck(rest::Recheck),
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        PageCommand::Add(arguments) => add::run(arguments),
        PageCommand::Check(arguments) => add::check(arguments),
        PageCommand::Fetch(arguments) => fetch::run(arguments),
        PageCommand::Show(arguments) => rest::show(arguments),
        PageCommand::Forget(arguments) => rest::forget(arguments),
        PageCommand::Redirect(arguments) => rest::redirect(arguments),
        PageCommand::Score(arguments) => rest::score(arguments),
        PageCommand::Expire(arguments) => rest::expire(arguments),
        PageCommand::Recheck(arguments) => rest::recheck(arguments),
    }
}

/// Parses a score.
fn score(text: &str) -> Result<f64, String> {
    let finite = text.trim().parse().ok().filter(|score: &f64| score.is_finite());
    finite.ok_or_else(|| "a score is a finite number such as 0.7".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_finite() {
        assert_eq!(score("-0.5"), Ok(-0.5));
        for bad in ["nan", "inf", "-inf", "1e999", "", "much"] {
            assert!(score(bad).is_err(), "{bad}");
        }
    }
}
