//! `hapax page fetch`: fetches pages and records them, suitable for a cron job.
//!
//! Uses `hapax_server::fetch`, so it is as safe and polite as the service. A finished address is written to the
//! progress file after its page is on disk; an interrupted run continues there. An address that cannot be fetched or
//! recorded counts as finished; a failing repository ends the run, and the address stays open. Prints one line per
//! address as soon as it is finished.

use crate::commands::serve;
use crate::failure::{Failure, io_error};
use crate::output::Output;
use crate::overwriting;
use crate::progress::say;
use crate::readable;
use crate::recipes::RecipeArguments;
use crate::repositories::{Done, failure};
use clap::Args;
use hapax::fingerprint::Fingerprinter;
use hapax_client::prepare::{self, Prepared};
use hapax_client::repository::{Folder, Pages, Service};
use hapax_client::wire::Verdict;
use hapax_server::fetch::{FetchError, Fetched, Fetcher, list};
use hapax_store::{Action, Repository};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Fetch pages, safely and politely, and record them in a repository
///
/// Fetches only public http and https addresses, with one connection and a pause per host, and
/// obeys robots.txt. Prints a line for each address: verdict, address, and the kept copy.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax page fetch --store seen https://example.org/
  hapax page fetch --store seen --from addresses.txt --progress done.txt
  hapax page fetch --server http://127.0.0.1:8017 https://example.org/")]
pub(crate) struct Arguments {
    /// Addresses
    #[arg(value_name = "URL", required_unless_present = "from")]
    urls: Vec<String>,

    /// A file with an address a line; blank lines and lines that begin with # are skipped
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// The repository's folder; created if it does not exist
    #[arg(long, value_name = "DIR", required_unless_present = "server")]
    store: Option<PathBuf>,

    /// A service that has the repository, instead of a folder; pages are fetched by this program
    #[arg(long, value_name = "URL", conflicts_with = "store")]
    server: Option<String>,

    /// Bearer token for the service; visible in the list of processes [default: $HAPAX_TOKEN]
    #[arg(long, value_name = "TOKEN", requires = "server")]
    token: Option<String>,

    /// Record finished addresses in this file, and skip them the next time
    #[arg(long, value_name = "FILE")]
    progress: Option<PathBuf>,

    /// Print the verdicts, but record nothing
    #[arg(long)]
    check: bool,

    /// Ignore robots.txt, on your own sites
    #[arg(long)]
    ignore_robots: bool,

    /// Settings, a TOML file; only its section `fetch` is used
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Hosts visited at once
    #[arg(long, value_name = "N", default_value_t = 8)]
    hosts: usize,

    /// One JSON object a line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    recipe: RecipeArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut config = serve::settings(arguments.config.as_deref(), None)?;
    config.fetch.robots &= !arguments.ignore_robots;
    let fetcher =
        Fetcher::new(&config.fetch).map_err(|error| Failure::Arguments(error.to_string()))?;
    let mut urls = arguments.urls.clone();
    if let Some(path) = &arguments.from {
        urls.extend(lines(path)?.into_iter().filter(|line| !line.starts_with('#')));
    }
    overwriting::refuse("--progress", arguments.progress.as_deref(), &arguments.from)?;
    let mut done = Progress::open(arguments.progress.as_deref())?;
    let mut fingerprinter = arguments.recipe.fingerprinter()?;
    let mut target = Target::open(arguments, &fingerprinter)?;
    let mut output = Output::open(None)?;
    let (mut good, mut failed) = (0u64, 0u64);
    let finished = done.finished.clone();
    list::fetch_all(&fetcher, urls, &finished, arguments.hosts, |url, fetched| {
        let answered = match fetched {
            Ok(fetched) => record(&mut target, &mut fingerprinter, &fetched, arguments.check),
            Err(error) => Err(Failure::Refused(FetchError::to_string(&error))),
        };
        // If a repository refuses the address itself, continue with the next one; all other errors
        // end the run.
        let answered = match answered {
            Ok(verdict) => Ok(verdict),
            Err(Failure::Refused(why)) => Err(why),
            Err(failure) => return Err(failure),
        };
        let line = match &answered {
            Ok(verdict) if arguments.json => {
                json!({ "asked": url, "verdict": verdict }).to_string()
            }
            Ok(verdict) => fields([&verdict.verdict, &verdict.url, &verdict.winner]),
            Err(why) if arguments.json => json!({ "asked": url, "error": why }).to_string(),
            Err(why) => fields(["failed", url, why]),
        };
        (good, failed) = match answered {
            Ok(_) => (good + 1, failed),
            Err(_) => (good, failed + 1),
        };
        output.line(&line)?;
        done.note(url)
    })?;
    output.finish()?;
    let (good, bad) = (readable::counted(good, "page"), readable::counted(failed, "address"));
    say(&format!("{good} fetched, {bad} failed"));
    if failed > 0 {
        return Err(Failure::Run(anyhow::anyhow!("{bad} could not be fetched; the lines say why")));
    }
    Ok(())
}

/// A line of tab-separated fields.
fn fields(of: [&str; 3]) -> String {
    of.map(readable::harmless).join("\t")
}

/// The repository that pages are recorded in. Creates a folder only when there is a page to record,
/// so that a failed fetch leaves none behind.
struct Target {
    folder: PathBuf,
    pages: Option<Box<dyn Pages>>,
}

impl Target {
    /// Opens an existing repository before anything is fetched.
    fn open(arguments: &Arguments, by: &Fingerprinter) -> Result<Self, Failure> {
        let folder = arguments.store.clone().unwrap_or_default();
        let pages: Option<Box<dyn Pages>> = match &arguments.server {
            Some(server) => {
                let service = Service::open(server, arguments.token.as_deref())?;
                let (theirs, ours) = (service.recipe()?, by.recipe_id());
                if theirs != *ours {
                    return Err(Failure::Run(anyhow::anyhow!(
                        "the service holds fingerprints of recipe {theirs}, not {ours}; give --recipe \
                         as its repository was made with"
                    )));
                }
                Some(Box::new(service))
            }
            // Nothing is recorded, so no repository is created.
            None if arguments.check => {
                let store = Repository::open(&folder, Some(by.recipe_id()));
                Some(Box::new(Folder { store: store.map_err(failure)? }))
            }
            None => None,
        };
        let there = pages.is_none() && folder.join("pages.redb").exists();
        let mut target = Self { folder, pages };
        if there {
            target.pages(by)?;
        }
        Ok(target)
    }

    fn pages(&mut self, by: &Fingerprinter) -> Result<&mut dyn Pages, Failure> {
        let pages = match self.pages.take() {
            Some(pages) => pages,
            None => {
                let store = serve::open(&self.folder, by, hapax_store::CACHE_BYTES)?;
                Box::new(Folder { store })
            }
        };
        Ok(&mut **self.pages.insert(pages))
    }
}

fn record(
    target: &mut Target,
    fingerprinter: &mut Fingerprinter,
    fetched: &Fetched,
    only_check: bool,
) -> Result<Verdict, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let content_type = fetched.content_type.as_deref();
    let read = |by: &mut _| {
        let read = prepare::fetched(by, &fetched.url, content_type, &fetched.body);
        read.map_err(|error| Failure::Refused(error.to_string()))
    };
    // Content that is not a page must not create a repository, so the first page is read before
    // there is a key.
    let (mut seen, mut text) = read(fingerprinter)?;
    let pages = target.pages(fingerprinter)?;
    if let (None, Some(key)) = (fingerprinter.key(), pages.key()) {
        *fingerprinter = fingerprinter.clone().with_key(key);
        (seen, text) = read(fingerprinter)?;
    }
    seen.fetched = Some(now);
    let page = Prepared { text: Some(text), ..Action::Observe(Box::new(seen)).into() };
    if only_check {
        return Ok(pages.check(page)?);
    }
    for (from, to) in fetched.redirects.iter().filter(|(from, to)| from != to) {
        let (from, to) = (from.clone(), to.clone());
        pages.apply(vec![Action::Redirect { from, to, fetched: Some(now) }.into()])?;
    }
    match pages.apply(vec![page])?.pop() {
        Some(Done::Verdict(verdict)) => Ok(*verdict),
        Some(Done::Known(_)) | None => {
            Err(Failure::Run(anyhow::anyhow!("the repository did not answer")))
        }
    }
}

fn lines(path: &Path) -> Result<Vec<String>, Failure> {
    let file = File::open(path).map_err(|error| io_error("read", path, error))?;
    let read = BufReader::new(file).lines().map(|line| line.map(|line| line.trim().to_owned()));
    let read: std::io::Result<Vec<String>> = read.collect();
    let read = read.map_err(|error| io_error("read", path, error))?;
    Ok(read.into_iter().filter(|line| !line.is_empty()).collect())
}

/// The finished addresses, in an append-only file.
struct Progress {
    finished: BTreeSet<String>,
    file: Option<(PathBuf, File)>,
}

impl Progress {
    fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self { finished: BTreeSet::new(), file: None });
        };
        let finished =
            if path.exists() { lines(path)?.into_iter().collect() } else { BTreeSet::new() };
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let file = opened.map_err(|error| io_error("write", path, error))?;
        Ok(Self { finished, file: Some((path.to_owned(), file)) })
    }

    fn note(&mut self, url: &str) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        writeln!(file, "{url}").map_err(|error| Failure::io("write", path, error))
    }
}
