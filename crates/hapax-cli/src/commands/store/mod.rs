//! `hapax store`: backs up, restores and promotes repositories.
//!
//! The store defines what a backup is and when it is valid; this file handles locations. A location is a folder, or
//! an address of an object store ([`place`]).

mod place;

use crate::failure::Failure;
use crate::progress::say;
use crate::readable::{self, counted};
use crate::repositories::{StoreArguments, failure, open_folder};
use clap::{Args, Subcommand};
use hapax_client::moment;
use hapax_client::repository::Service;
use hapax_store::backups::{self, Place};
use hapax_store::{Position, Texts};
use std::io::{self, BufReader, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Back up and restore a repository, and choose which copy takes writes
#[derive(Args, Debug)]
#[command(after_help = "\
A backup holds what has changed since the one before in the same place, and is checked after
writing; the first holds everything. PLACE is a folder or an address such as s3://bucket/backups.

Examples:
  hapax store backup --server http://127.0.0.1:8017 --to /backups/seen
  hapax store list /backups/seen
  hapax store restore /backups/seen --to seen
  hapax store promote http://127.0.0.1:8018     the standby takes writes from now on")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Backup(Backup),
    List(List),
    Restore(Restore),
    Promote(Promote),
}

/// Back up a repository: everything the first time, then what has changed
///
/// With --server it works while the service runs. A backup gets its name when it was written and
/// read again.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax store backup --server http://127.0.0.1:8017 --to /backups/seen
  hapax store backup seen --to s3://bucket/backups --name monday")]
struct Backup {
    #[command(flatten)]
    store: StoreArguments,

    /// Where the backups are: a folder or an address of an object store
    #[arg(long, value_name = "PLACE")]
    to: String,

    /// The backup's name [default: the time]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Copy everything, so that restoring this backup needs no earlier one
    #[arg(long)]
    whole: bool,

    /// No summary; errors are still printed
    #[arg(long, short)]
    quiet: bool,
}

/// List backups, earliest first: name, time, commit, and whether it holds everything or changes
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax store list /backups/seen")]
struct List {
    /// Where the backups are
    #[arg(value_name = "PLACE")]
    place: String,
}

/// Restore a backup into a new folder, and check it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax store restore /backups/seen --to seen
  hapax store restore s3://bucket/backups --name monday --to seen")]
struct Restore {
    /// Where the backups are
    #[arg(value_name = "PLACE")]
    place: String,

    /// The repository's folder
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    /// Which backup [default: the last]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// No summary; errors are still printed
    #[arg(long, short)]
    quiet: bool,
}

/// Let a standby, or a former primary, take writes from now on
///
/// Make sure that no other copy takes writes: services do not vote.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax store promote http://127.0.0.1:8018")]
struct Promote {
    #[command(flatten)]
    store: StoreArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Backup(arguments) => backup(arguments),
        Command::List(arguments) => list(arguments),
        Command::Restore(arguments) => restore(arguments),
        Command::Promote(arguments) => promote(arguments),
    }
}

fn backup(arguments: &Backup) -> Result<(), Failure> {
    let place = place::of(&arguments.to)?;
    let name = arguments.name.clone().unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        moment::shown(now).replace(':', "-")
    });
    let taken = match arguments.store.address() {
        Some(server) => {
            let client = Service::client(server, arguments.store.token.as_deref());
            let copy = |after: Option<&Position>, out: &mut dyn Write| {
                let after = after.map(ToString::to_string);
                let increment = client.increment(after.as_deref(), 0, None);
                let mut increment = BufReader::new(increment.map_err(io::Error::other)?);
                hapax_store::increment::copy(&mut increment, out).map(drop)
            };
            take(&*place, &name, arguments.whole, copy)?
        }
        None => {
            let store = open_folder(&arguments.store.store)?.store;
            let texts = store.folder().join(hapax_store::texts::FILE).exists();
            let texts = texts.then(|| Texts::open(store.folder(), u64::MAX)).transpose();
            let texts = texts.map_err(anyhow::Error::new)?;
            let copy = |after: Option<&Position>, out: &mut dyn Write| {
                let increment = store.increment(after, texts.as_ref()).map_err(io::Error::other)?;
                increment.write(out).map(drop).map_err(io::Error::other)
            };
            take(&*place, &name, arguments.whole, copy)?
        }
    };
    if !arguments.quiet {
        let what = match taken.header.from {
            Some(from) => format!("changes since commit {}", from.commit),
            None => "everything".into(),
        };
        let size = readable::bytes(taken.bytes);
        let commit = taken.header.to.commit;
        say(&format!("{name}: {what} up to commit {commit}, {size}, written and read again"));
    }
    Ok(())
}

fn take(
    place: &dyn Place,
    name: &str,
    whole: bool,
    mut copy: impl FnMut(Option<&Position>, &mut dyn Write) -> io::Result<()>,
) -> Result<hapax_store::increment::Summary, Failure> {
    backups::take(place, name, whole, &mut copy).map_err(failure)
}

fn list(arguments: &List) -> Result<(), Failure> {
    let mut lines = String::new();
    let found = backups::list(&*place::of(&arguments.place)?).map_err(failure)?;
    if found.is_empty() {
        say(&format!("there are no backups in {}", hapax_corpus::shown(&arguments.place)));
    }
    for backup in found {
        let what = if backup.header.from.is_some() { "changes" } else { "everything" };
        let (made, commit) = (moment::shown(backup.header.made), backup.header.to.commit);
        lines += &format!("{}\t{made}\t{commit}\t{what}\n", backup.name);
    }
    crate::output::print(&lines)
}

fn restore(arguments: &Restore) -> Result<(), Failure> {
    let place = place::of(&arguments.place)?;
    let restored = backups::restore(&*place, arguments.name.as_deref(), &arguments.to);
    let (backup, found) = restored.map_err(failure)?;
    if !arguments.quiet {
        let pages = counted(found.pages, "page");
        let folder = readable::path(&arguments.to);
        say(&format!("{pages} of backup {} restored to {folder} and checked", backup.name));
    }
    Ok(())
}

fn promote(arguments: &Promote) -> Result<(), Failure> {
    let (commit, behind) = match arguments.store.address() {
        Some(server) => {
            let client = Service::client(server, arguments.store.token.as_deref());
            let promoted = client.promote().map_err(failure)?;
            (promoted.commit, promoted.behind_seconds)
        }
        None => {
            let store = open_folder(&arguments.store.store)?.store;
            (store.promote().map_err(failure)?.commit, None)
        }
    };
    let lost = match behind {
        Some(seconds) => {
            format!("; what was written in the last {seconds:.1} s before may be lost")
        }
        None => String::new(),
    };
    say(&format!("takes writes after commit {commit}{lost}"));
    Ok(())
}
