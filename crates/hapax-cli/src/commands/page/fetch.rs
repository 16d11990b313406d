//! `hapax page fetch`: fetches pages and judges them, fit for a cron job.
//!
//! Safe and polite as the service is: `hapax_server::fetch` does it. An address that is done is
//! noted in the progress file after its page is on the disk; a run that was stopped goes on
//! from there. An address that cannot be fetched or answered is done; a repository that does not
//! take pages ends the run, and what it did not take is not done. One line for each address, as it
//! comes.

use crate::commands::serve;
use crate::failure::{Failure, io_error};
use crate::output::Output;
use crate::overwriting;
use crate::progress::say;
use crate::readable;
use crate::recipes::RecipeArguments;
use crate::repositories::{local, remote};
use clap::Args;
use hapax::fingerprint::Fingerprinter;
use hapax_client::client::{Client, ClientError};
use hapax_client::local as asked;
use hapax_client::prepare;
use hapax_client::wire::{PageInput, Verdict};
use hapax_server::fetch::{FetchError, Fetched, Fetcher, list};
use hapax_store::{Observation, Repository, StoreError};
use serde_json::json;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Fetch pages, safely and politely, and record them in a repository
///
/// Only public http and https addresses, one connection and a pause per host, robots.txt
/// obeyed. Prints a line for each address: verdict, address, and the copy that stays.
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

    /// A file with an address a line; blank lines and lines that begin with # are passed over
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// The repository's folder; made if it is not there
    #[arg(long, value_name = "DIR", required_unless_present = "server")]
    store: Option<PathBuf>,

    /// A service that has the repository, instead of a folder; pages are fetched by this program
    #[arg(long, value_name = "URL", conflicts_with = "store")]
    server: Option<String>,

    /// Bearer token for the service; visible in the list of processes [default: $HAPAX_TOKEN]
    #[arg(long, value_name = "TOKEN", requires = "server")]
    token: Option<String>,

    /// Notes what is done, and goes on from there the next time
    #[arg(long, value_name = "FILE")]
    progress: Option<PathBuf>,

    /// Only say what would be said, record nothing
    #[arg(long)]
    check: bool,

    /// Do not ask robots.txt: for sites of your own
    #[arg(long)]
    ignore_robots: bool,

    /// Settings, a TOML file: its `fetch` part counts
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

/// Runs the command.
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
    let store = match (&arguments.server, &arguments.store) {
        (Some(server), _) => {
            let client = remote::client(server, arguments.token.as_deref());
            let theirs = client.settings().map_err(remote::failure)?.repository.recipe.id;
            let ours = fingerprinter.recipe_id();
            if theirs != ours.to_string() {
                return Err(Failure::Run(anyhow::anyhow!(
                    "the service holds fingerprints of recipe {theirs}, not {ours}; give --recipe as \
                     its repository was made with"
                )));
            }
            Target::Service(client)
        }
        // Nothing is recorded, so nothing is made.
        (None, Some(folder)) if arguments.check => {
            let opened = Repository::open(folder, Some(fingerprinter.recipe_id()));
            let store = OnceCell::from(opened.map_err(local::failure)?);
            Target::Folder(Box::new(Folder { path: folder.clone(), store, fingerprinter: None }))
        }
        (None, folder) => {
            let path = folder.clone().unwrap_or_default();
            let folder =
                Folder { path, store: OnceCell::new(), fingerprinter: Some(fingerprinter.clone()) };
            // One that is there is opened before anything is fetched.
            if folder.path.join("pages.redb").exists() {
                folder.store()?;
            }
            Target::Folder(Box::new(folder))
        }
    };
    let mut output = Output::open(None)?;
    let (mut good, mut failed) = (0u64, 0u64);
    let finished = done.finished.clone();
    list::fetch_all(&fetcher, urls, &finished, arguments.hosts, |url, fetched| {
        let answered = match fetched {
            Ok(fetched) => record(&store, &mut fingerprinter, &fetched, arguments.check)?,
            Err(error) => Err(FetchError::to_string(&error)),
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
        output.write(format!("{line}\n").as_bytes())?;
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

/// A line for people, and for `cut`.
fn fields(of: [&str; 3]) -> String {
    of.map(readable::harmless).join("\t")
}

/// Where pages are recorded.
enum Target {
    Folder(Box<Folder>),
    Service(Client),
}

/// A repository that is made when there is a page to record: an address that cannot be fetched
/// leaves none behind.
struct Folder {
    path: PathBuf,
    store: OnceCell<Repository>,
    /// For making it.
    fingerprinter: Option<Fingerprinter>,
}

impl Folder {
    fn store(&self) -> Result<&Repository, Failure> {
        if let (None, Some(fingerprinter)) = (self.store.get(), &self.fingerprinter) {
            let opened = serve::open(&self.path, fingerprinter, hapax_store::CACHE_BYTES)?;
            // Just seen to be empty.
            let _ = self.store.set(opened);
        }
        let missing = || Failure::Run(anyhow::anyhow!("the repository is not open"));
        self.store.get().ok_or_else(missing)
    }
}

impl Target {
    fn redirect(&self, from: &str, to: &str, fetched: u64) -> Result<Answered<()>, Failure> {
        match self {
            Self::Folder(folder) => {
                of_folder(folder.store()?.redirect(from, to, Some(fetched)).map(drop))
            }
            Self::Service(client) => of_service(client.redirect(from, to, Some(fetched)).map(drop)),
        }
    }

    /// Gives the fingerprinter what confirms matches in a folder, unless it has it. Whether it did.
    fn give_key(&self, by: &mut Fingerprinter) -> Result<bool, Failure> {
        match self {
            Self::Folder(folder) if by.key().is_none() => {
                *by = by.clone().with_key(folder.store()?.key());
                Ok(true)
            }
            Self::Folder(_) | Self::Service(_) => Ok(false),
        }
    }

    fn record(
        &self,
        (seen, text): (Observation, String),
        only_check: bool,
    ) -> Result<Answered<Verdict>, Failure> {
        match self {
            Self::Folder(folder) => {
                let store = folder.store()?;
                of_folder(match only_check {
                    true => asked::check(store, &seen),
                    false => asked::observe(store, seen),
                })
            }
            Self::Service(client) => {
                let page = PageInput::read(&seen, text);
                of_service(if only_check { client.check(&page) } else { client.observe(&page) })
            }
        }
    }
}

/// What came of one address, or why it cannot be answered.
type Answered<T> = Result<T, String>;

/// An address that no repository takes is that address's trouble; all else is the run's.
fn of_folder<T>(said: Result<T, StoreError>) -> Result<Answered<T>, Failure> {
    match said {
        Err(error @ (StoreError::BadUrl { .. } | StoreError::SelfRedirect { .. })) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(local::failure(error)),
        Ok(said) => Ok(Ok(said)),
    }
}

fn of_service<T>(said: Result<T, ClientError>) -> Result<Answered<T>, Failure> {
    match said {
        Err(ref error @ ClientError::Refused { status: 400 | 413 | 422, .. }) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(remote::failure(error)),
        Ok(said) => Ok(Ok(said)),
    }
}

fn record(
    store: &Target,
    fingerprinter: &mut Fingerprinter,
    fetched: &Fetched,
    only_check: bool,
) -> Result<Answered<Verdict>, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let content_type = fetched.content_type.as_deref();
    let read = |by: &mut _| prepare::fetched(by, &fetched.url, content_type, &fetched.body);
    // What is no page leaves no repository behind: the first one is read before there is a key.
    let first = match read(fingerprinter) {
        Ok(_) if store.give_key(fingerprinter)? => read(fingerprinter),
        first => first,
    };
    let (mut seen, text) = match first {
        Ok(page) => page,
        Err(error) => return Ok(Err(error.to_string())),
    };
    seen.fetched = Some(now);
    if !only_check {
        for (from, to) in fetched.redirects.iter().filter(|(from, to)| from != to) {
            if let Err(why) = store.redirect(from, to, now)? {
                return Ok(Err(why));
            }
        }
    }
    store.record((seen, text), only_check)
}

fn lines(path: &Path) -> Result<Vec<String>, Failure> {
    let file = File::open(path).map_err(|error| io_error("read", path, error))?;
    let read = BufReader::new(file).lines().map(|line| line.map(|line| line.trim().to_owned()));
    let read: std::io::Result<Vec<String>> = read.collect();
    let read = read.map_err(|error| io_error("read", path, error))?;
    Ok(read.into_iter().filter(|line| !line.is_empty()).collect())
}

/// What is done, in a file that only grows.
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
