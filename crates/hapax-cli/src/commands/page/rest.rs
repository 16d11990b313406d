//! `hapax page show`, `forget`, `redirect`, `score` and `expire`.
//!
//! One query or one commit each. An unknown page is an error; of several pages to forget, only if all are unknown.
//! Works on a folder and through a service alike.

use crate::failure::Failure;
use crate::output;
use crate::readable::{self, counted, harmless};
use crate::repositories::answers::{decided, rows, sentence};
use crate::repositories::{Done, PageQuestion, StoreArguments};
use clap::Args;
use hapax_client::moment;
use hapax_client::wire::{Changed, Forgotten};
use hapax_dedup::Decided;
use hapax_store::Action;
use std::collections::BTreeSet;

/// Record that pages no longer exist; they leave their groups
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax page forget seen https://example.org/tea")]
pub(crate) struct Forget {
    #[command(flatten)]
    store: StoreArguments,

    /// The pages' addresses
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,

    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Record that a page redirects to another, known or not
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax page redirect seen http://example.org/tea https://example.org/tea")]
pub(crate) struct Redirect {
    #[command(flatten)]
    store: StoreArguments,

    /// The page
    #[arg(value_name = "FROM")]
    from: String,

    /// The target of the redirect
    #[arg(value_name = "TO")]
    to: String,

    /// When the redirect was seen
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    fetched: Option<u64>,

    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Change the score of a page, which may change the winner
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax page score seen https://example.org/tea 0.7")]
pub(crate) struct Score {
    #[command(flatten)]
    store: StoreArguments,

    /// The page's address
    #[arg(value_name = "URL")]
    url: String,

    /// The score; without it, the score becomes unknown
    #[arg(value_name = "NUMBER", allow_negative_numbers = true, value_parser = super::score)]
    score: Option<f64>,

    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Forget pages that were not fetched since a time
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax page expire seen --before 2026-01-01")]
pub(crate) struct Expire {
    #[command(flatten)]
    store: StoreArguments,

    /// Pages last fetched before this are forgotten; pages without a time are kept
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    before: u64,

    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Compare pages again that were compared under an older frame of their host
///
/// A repository learns the frame of a host as its pages arrive, and compares a page under the frame
/// of its arrival. While the page's text is among the last 64 of the host, its own text is renewed
/// with each frame, and this command compares it again.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax page recheck seen")]
pub(crate) struct Recheck {
    #[command(flatten)]
    store: StoreArguments,

    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn show(arguments: &PageQuestion) -> Result<(), Failure> {
    if arguments.store.address().is_none() && Decided::is_in(&arguments.store.store) {
        return show_decided(arguments);
    }
    let store = arguments.store.open()?;
    let page = store.page(&arguments.url, arguments.market.as_deref())?;
    let page = page.ok_or_else(|| arguments.store.unknown(&arguments.url))?;
    output::answer(arguments.json, &page, &output::columns(&rows(&page)))
}

/// Prints the decision of `hapax dedup` from its output folder.
fn show_decided(arguments: &PageQuestion) -> Result<(), Failure> {
    let (folder, name) = (&arguments.store.store, &arguments.url);
    if arguments.market.is_some() {
        let shown = readable::path(folder);
        let why = "a job has no markets; --market asks a repository";
        return Err(Failure::Arguments(format!("{shown} is the output of a job: {why}")));
    }
    let rows = Decided::about(folder, name).map_err(anyhow::Error::from)?;
    if rows.is_empty() {
        return Err(Failure::Run(anyhow::anyhow!(
            "{} has no document {}; give its id or address exactly as groups.parquet there has it",
            readable::path(folder),
            harmless(name)
        )));
    }
    let text: Vec<String> = rows.iter().map(|row| output::columns(&decided(row))).collect();
    output::answer(arguments.json, &rows, &text.join("\n\n"))
}

pub(super) fn forget(arguments: &Forget) -> Result<(), Failure> {
    let mut store = arguments.store.open()?;
    let mut once = BTreeSet::new();
    let urls: Vec<&String> = arguments.urls.iter().filter(|url| once.insert(*url)).collect();
    let forget = |url: &&String| Action::Forget { url: (*url).clone() }.into();
    let done = store.apply(urls.iter().map(forget).collect())?;
    let mut answer = Forgotten { pages: 0, unknown: Vec::new() };
    for (url, done) in urls.into_iter().zip(done) {
        match done {
            Done::Known(false) => answer.unknown.push(url.clone()),
            Done::Known(true) | Done::Verdict(_) => answer.pages += 1,
        }
    }
    if let Some(url) = answer.unknown.first()
        && answer.pages == 0
    {
        return Err(arguments.store.unknown(url));
    }
    let mut text = format!("{} forgotten", counted(answer.pages, "page"));
    for url in &answer.unknown {
        text.push_str(&format!("\n{} was not known", harmless(url)));
    }
    output::answer(arguments.json, &answer, &text)
}

pub(super) fn redirect(arguments: &Redirect) -> Result<(), Failure> {
    let mut store = arguments.store.open()?;
    let Redirect { from, to, fetched, .. } = arguments;
    let action = Action::Redirect { from: from.clone(), to: to.clone(), fetched: *fetched };
    match store.apply(vec![action.into()])?.pop() {
        Some(Done::Verdict(answer)) => output::answer(arguments.json, &*answer, &sentence(&answer)),
        Some(Done::Known(_)) | None => Ok(()),
    }
}

pub(super) fn score(arguments: &Score) -> Result<(), Failure> {
    let mut store = arguments.store.open()?;
    let (url, score) = (arguments.url.clone(), arguments.score);
    let done = store.apply(vec![Action::Score { url, score }.into()])?.pop();
    if matches!(done, Some(Done::Known(false))) {
        return Err(arguments.store.unknown(&arguments.url));
    }
    let page = store.page(&arguments.url, None)?;
    let page = page.ok_or_else(|| arguments.store.unknown(&arguments.url))?;
    output::answer(arguments.json, &page.status, &sentence(&page.status))
}

pub(super) fn expire(arguments: &Expire) -> Result<(), Failure> {
    let pages = arguments.store.open()?.expire(arguments.before)?;
    let text = format!("{} forgotten", counted(pages, "page"));
    output::answer(arguments.json, &Changed { pages }, &text)
}

pub(super) fn recheck(arguments: &Recheck) -> Result<(), Failure> {
    let pages = arguments.store.open()?.recheck()?;
    let text = format!("{} decided anew", counted(pages, "page"));
    output::answer(arguments.json, &Changed { pages }, &text)
}
