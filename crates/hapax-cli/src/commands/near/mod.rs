//! `hapax near`: collections of fingerprints in one file, and searches in them.
//!
//! - `build` creates a file or adds to it, `info` checks and describes it.
//! - `find` looks up the matches of queries; `results` writes them.

mod build;
mod find;
mod info;
mod results;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use hapax_corpus::hpx::HpxError;

/// Build, extend, search and describe a collection of fingerprints
///
/// A collection is one .hpx file with fingerprints, names and the recipe. A search returns the
/// stored fingerprints within K bits of each query, with their distances.
#[derive(Args, Debug)]
#[command(after_help = "\
FINGERPRINTS and QUERIES are what `hapax fingerprint` writes (lines, JSON lines, CSV, Parquet,
.hpx), or lines of other 64-bit fingerprints:
  9c1d5a0e00ff1234                  16 hexadecimal digits
  0x12ab                            hexadecimal with 0x
  11249563819283456052              a decimal number (16 digits are taken as hexadecimal)
  9c1d5a0e00ff1234  a/page.html     with a name after spaces or a tab
  {\"fingerprint\":\"9c1d5a0e00ff1234\",\"id\":\"a/page.html\",\"recipe\":\"web-2:...\"}
or, with --binary, 8 bytes each, little-endian. Empty lines and pages without a fingerprint are
skipped. Fingerprints of different recipes are refused; a missing recipe gives a warning.

Examples:
  hapax fingerprint crawl/ --out crawl.hpx
  hapax near build day1.jsonl --out crawl.hpx
  hapax near find new.jsonl --index crawl.hpx --within 3
  hapax near find day2.parquet --index crawl.hpx --add
  hapax near info crawl.hpx
  hapax fingerprint new/ --json --sums | hapax near find - --index crawl.hpx --recall 0.95")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Build(build::Build),
    Add(build::Add),
    Find(find::Arguments),
    Info(info::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Build(arguments) => build::build(arguments),
        Command::Add(arguments) => build::add(arguments),
        Command::Find(arguments) => find::run(arguments),
        Command::Info(arguments) => info::run(arguments),
    }
}

/// The error of a collection, with advice for a file of version 0.1.
pub(crate) fn failed(error: HpxError) -> Failure {
    match &error {
        HpxError::Foreign { path } if begins(path, b"hapaxSEG") => Failure::Run(anyhow::anyhow!(
            "{path} is an index of version 0.1; convert it: hapax near build {path} --out {path}.hpx"
        )),
        _ => Failure::Run(anyhow::Error::new(error)),
    }
}

fn begins(path: &str, with: &[u8; 8]) -> bool {
    let mut first = [0; 8];
    let read = hapax_corpus::open_file(std::path::Path::new(path))
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut first));
    read.is_ok() && first == *with
}
