//! `hapax search remove`, `restore` and `compact`: hide documents of an index, show them again, and delete them
//! permanently.
//!
//! Documents are named on the command line or in a file, one per line. A change applies to all of them or none: an
//! unknown name is refused.

use std::io::BufRead;
use std::path::PathBuf;

use clap::Args;
use hapax_search::tantivy::{Writer, WriterOptions};
use hapax_search::{Change, Removing};

use super::failed;
use super::place::{Opened, PlaceArguments};
use crate::commands::fingerprint_files::open;
use crate::failure::Failure;
use crate::progress::say;
use crate::readable;

/// Remove documents from all results
///
/// They stay in the index until it is compacted; `search restore` restores them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax search remove --index index http://example.org/old
  hapax search remove --index index --names removed.txt --mark")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,

    #[command(flatten)]
    names: Names,

    /// Only mark them as duplicates: queries still find them, unless --hide-marked is given
    #[arg(long)]
    mark: bool,
}

/// Restore removed documents
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax search restore --index index http://example.org/old
  hapax search restore --index index --all")]
pub(crate) struct RestoreArguments {
    #[command(flatten)]
    place: PlaceArguments,

    #[command(flatten)]
    names: Names,

    /// All removed documents
    #[arg(long, conflicts_with_all = ["name", "names"])]
    all: bool,

    /// Remove their marks instead
    #[arg(long)]
    mark: bool,
}

/// Delete removed documents and free their space
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax search compact --index index")]
pub(crate) struct CompactArguments {
    /// Folder of the index
    #[arg(long, value_name = "DIR")]
    index: PathBuf,
}

#[derive(Args, Debug)]
struct Names {
    /// Ids or addresses of documents
    #[arg(value_name = "NAME")]
    name: Vec<String>,

    /// A file with a name a line, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
}

/// Removes or marks documents.
pub(super) fn remove(arguments: &Arguments) -> Result<(), Failure> {
    let names = arguments.names.read()?;
    let (change, done) = match arguments.mark {
        true => (Change::Mark, "marked"),
        false => (Change::Remove, "removed"),
    };
    apply(arguments.place.place()?.open(None)?, change, &names, done)
}

/// Restores or unmarks documents.
pub(super) fn restore(arguments: &RestoreArguments) -> Result<(), Failure> {
    let (change, done) = match arguments.mark {
        true => (Change::Unmark, "no longer marked"),
        false => (Change::Restore, "restored"),
    };
    let index = arguments.place.place()?.open(None)?;
    let names = match arguments.all {
        true => {
            let (removed, marked) = match &index {
                Opened::Folder(index) => index.status(),
                Opened::Database(index) => index.status().map_err(failed)?,
            };
            if arguments.mark { marked } else { removed }
        }
        false => arguments.names.read()?,
    };
    apply(index, change, &names, done)
}

pub(super) fn compact(arguments: &CompactArguments) -> Result<(), Failure> {
    let options = WriterOptions { threads: 1, memory: 64_000_000 };
    let writer = Writer::open(&arguments.index, options).map_err(failed)?;
    let gone = writer.compact().map_err(failed)?;
    say(&format!("{} given up", readable::counted(gone, "removed document")));
    Ok(())
}

fn apply(index: Opened, change: Change, names: &[String], done: &str) -> Result<(), Failure> {
    const OPERATION: &str = "hapax search";
    let unknown = match &index {
        Opened::Folder(index) => index.unknown(names).map_err(failed)?,
        Opened::Database(index) => index.unknown(names).map_err(failed)?,
    };
    if let Some(first) = unknown.first() {
        let others = match unknown.len() - 1 {
            0 => String::new(),
            others => format!(", nor {}", readable::counted(others as u64, "other name")),
        };
        return Err(Failure::Run(anyhow::anyhow!(
            "no document has the name {}{others}; nothing was changed",
            readable::harmless(first)
        )));
    }
    let changed = match index {
        Opened::Folder(mut index) => index.change(change, names, OPERATION).map_err(failed)?,
        Opened::Database(mut index) => index.change(change, names, OPERATION).map_err(failed)?,
    };
    let given = readable::count(names.len() as u64);
    say(&format!("{} {done}, {given} named", readable::counted(changed, "document")));
    Ok(())
}

impl Names {
    fn read(&self) -> Result<Vec<String>, Failure> {
        let mut names = self.name.clone();
        if let Some(path) = &self.names {
            for line in open(path)?.lines() {
                let line = line.map_err(|e| Failure::io("read", path, e))?;
                if !line.is_empty() {
                    names.push(line);
                }
            }
        }
        if names.is_empty() {
            return Err(Failure::Arguments(
                "no document is named: give NAME or --names".to_owned(),
            ));
        }
        Ok(names)
    }
}
