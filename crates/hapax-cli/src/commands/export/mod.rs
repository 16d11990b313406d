//! `hapax export`: writes a repository as tables for other programs, or as a copy of itself.
//!
//! Exports two relations of one commit, in the byte order of addresses: all pages, and all removable pages with their
//! winners. Output appears atomically. [`rows`] defines the columns; [`jsonl`], [`parquet`] and [`sqlite`] write
//! them.
//!
//! Source: Khan and Ali 2015, the stored relation between pages.

mod jsonl;
mod parquet;
mod rows;
mod sqlite;

use crate::failure::Failure;
use crate::progress::say;
use crate::readable::{self, counted};
use crate::repositories::{StoreArguments, failure, open_folder};
use clap::{Args, ValueEnum};
use hapax_client::repository::Service;
use hapax_store::{Role, receive};
use rows::Sink;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Export a repository as Parquet, JSONL or SQLite, or copy it
///
/// Two relations: `pages` has every page, and `duplicates` has url, winner, verdict, similarity and
/// distance of every removable page.
#[derive(Args, Debug)]
#[command(after_help = "\
Parquet and JSONL are two files in a new folder, SQLite is one file. Pages come in the byte order of
their addresses. With --market, duplicates are those under the market's rules.

Examples:
  hapax export seen --format sqlite --out seen.db
  sqlite3 seen.db 'select winner, count(*) from duplicates group by 1 order by 2 desc'
  hapax export seen --format parquet --out seen-tables
  hapax export seen --snapshot backup
  hapax export --server http://127.0.0.1:8017 --snapshot backup")]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,

    /// What to write
    #[arg(long, value_enum, requires = "out", required_unless_present = "snapshot")]
    format: Option<Kind>,

    /// The folder for Parquet and JSONL, the file for SQLite; it must not exist
    #[arg(long, value_name = "PATH", requires = "format")]
    out: Option<PathBuf>,

    /// Under the rules of this market
    #[arg(long, value_name = "NAME", requires = "format")]
    market: Option<String>,

    /// Copy the repository itself to a new folder; with --server while the service runs
    #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "out"])]
    snapshot: Option<PathBuf>,

    /// No summary; errors are still printed
    #[arg(long, short)]
    quiet: bool,
}

/// A form of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// pages.parquet and duplicates.parquet
    Parquet,
    /// pages.jsonl and duplicates.jsonl
    Jsonl,
    /// One database with both tables
    Sqlite,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let (Some(server), Some(folder)) = (arguments.store.address(), &arguments.snapshot) {
        let client = Service::client(server, arguments.store.token.as_deref());
        let copy = client.increment(None, 0, None).map_err(failure)?;
        let whole: std::io::Result<Box<dyn Read>> = Ok(Box::new(BufReader::new(copy)));
        let received = receive(folder, &mut std::iter::once(whole), Role::Primary);
        let found = received.map_err(failure)?;
        if !arguments.quiet {
            let pages = counted(found.pages, "page");
            say(&format!("{pages} copied to {} and checked", readable::path(folder)));
        }
        return Ok(());
    }
    let store = open_folder(arguments.store.folder("an export of tables")?)?.store;
    if let Some(folder) = &arguments.snapshot {
        store.snapshot(folder).map_err(failure)?;
        if !arguments.quiet {
            let pages = counted(store.stats().map_err(failure)?.pages, "page");
            say(&format!("{pages} copied to {}", readable::path(folder)));
        }
        return Ok(());
    }
    let (Some(kind), Some(out)) = (arguments.format, &arguments.out) else { return Ok(()) };
    if out.symlink_metadata().is_ok() {
        return Err(Failure::Run(anyhow::anyhow!(
            "{} is there already; choose another name, or remove it",
            readable::path(out)
        )));
    }
    let reader = store.reader();
    let market = arguments.market.as_deref().map(|name| reader.market(name)).transpose();
    let market = market.map_err(failure)?;
    let pending = Pending::beside(out)?;
    let mut sink: Box<dyn Sink> = match kind {
        Kind::Parquet => Box::new(parquet::Tables::create(&pending.path)?),
        Kind::Jsonl => Box::new(jsonl::Files::create(&pending.path)?),
        Kind::Sqlite => Box::new(sqlite::Database::create(&pending.path)?),
    };
    let (pages, duplicates) = rows::pour(&reader, market.as_ref(), &mut *sink)?;
    sink.finish()?;
    pending.into_place(out)?;
    if !arguments.quiet {
        say(&format!(
            "{}, {} in {}",
            counted(pages, "page"),
            counted(duplicates, "duplicate"),
            readable::path(out)
        ));
    }
    Ok(())
}

/// A file or folder under a temporary name, deleted unless it is renamed.
struct Pending {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Pending {
    fn beside(out: &Path) -> Result<Self, Failure> {
        let folder = match out.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let made = tempfile::Builder::new().prefix(".hapax-").suffix(".part").tempdir_in(folder);
        let made = made.map_err(|error| Failure::io("write", out, error))?;
        Ok(Self { path: made.path().join("export"), _folder: made })
    }

    fn into_place(self, out: &Path) -> Result<(), Failure> {
        std::fs::rename(&self.path, out).map_err(|error| Failure::io("write", out, error))
    }
}

fn failed(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    let context = format!("cannot write {}", readable::path(path));
    Failure::Run(anyhow::Error::new(error).context(context))
}

/// Flushes a new file to disk.
fn sync(file: &std::fs::File, path: &Path) -> Result<(), Failure> {
    file.sync_all().map_err(|error| Failure::io("write", path, error))
}
