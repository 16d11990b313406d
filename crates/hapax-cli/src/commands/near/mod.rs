//! `hapax near`: the Hamming index on its own, without pages.
//!
//! - `records` reads fingerprints in the forms people have them.
//! - `names` is the file beside an index that says what its ids are called.
//! - `index_file` opens an index and its names.
//! - `engine` chooses what answers queries, and builds it.
//! - `build`, `find` and `info` are the commands.

mod build;
mod engine;
mod find;
mod index_file;
mod info;
mod names;
mod records;

use crate::failure::Failure;
use clap::{Args, Subcommand};

/// Build, search and describe an index of fingerprints
///
/// An index answers which stored fingerprints are within K bits of a query, and by how many
/// bits each differs.
#[derive(Args, Debug)]
#[command(after_help = "\
FINGERPRINTS and QUERIES are text, one fingerprint a line, or what `hapax fingerprint` writes:
  9c1d5a0e00ff1234                  16 hexadecimal digits
  0x12ab                            hexadecimal with 0x
  11249563819283456052              a decimal number (16 digits are taken as hexadecimal)
  9c1d5a0e00ff1234  a/page.html     with a name behind spaces or a tab
  {\"fingerprint\":\"9c1d5a0e00ff1234\",\"id\":\"a/page.html\",\"recipe\":\"web-1:...\"}
or, with --binary, 8 bytes each, little-endian. Empty lines and pages without a fingerprint are
left out. Fingerprints of different recipes are refused. `sums` in an object, 64 whole numbers,
are what the bits were cut from; `near find --recall` makes use of them.

Examples:
  hapax fingerprint crawl/ --json --out crawl.jsonl
  hapax near build crawl.jsonl --out crawl.seg
  hapax near find new.jsonl --index crawl.seg --within 6
  hapax near info crawl.seg
  hapax fingerprint new/ --json --sums | hapax near find - --index crawl.seg --recall 0.95")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Build(build::Arguments),
    Find(find::Arguments),
    Info(info::Arguments),
}

/// Runs the command.
///
/// # Errors
///
/// See [`Failure`].
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.what {
        What::Build(arguments) => build::run(arguments),
        What::Find(arguments) => find::run(arguments),
        What::Info(arguments) => info::run(arguments),
    }
}
