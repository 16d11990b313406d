//! `hapax pairs`: reads fingerprints and prints near-duplicate pairs.

use crate::commands::fingerprint_files;
use crate::corpus::or_all_cores;
use crate::failure::Failure;
use crate::output;
use crate::overwriting::ResultFile;
use crate::progress::say;
use crate::readable::{count, counted};
use clap::Args;
use hapax::fingerprint::MaxDistance;
use hapax::similarity::{MinSimilarity, Policy};
use hapax_dedup::Threads;
use hapax_dedup::stages::grouping::NamedPair;
use hapax_dedup::stages::pairing;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Find all near pairs among fingerprints
///
/// Reads what `hapax fingerprint` writes. In JSON lines, CSV and Parquet the sketches confirm pairs; plain
/// lines and .hpx files have none, and every pair within the bound is printed.
#[derive(Args, Debug)]
#[command(after_help = "\
Writes lines of distance, similarity and two names, separated by tabs, in the order of the input;
similarity is `=` for the same text and `-` without sketches, and \\t \\n \\r \\\\ in names are
escaped. If a document has an address that is not its name, the addresses of both follow. With
--json, objects of a, b, distance, similarity, exact, a_url and b_url. Exact copies are paired with
the first of them, and only that one with others. Up to 63 documents of one fingerprint are all
paired; of more, each is paired with the first.

Examples:
  hapax fingerprint crawl/ --json | hapax pairs -
  hapax pairs crawl.parquet --within 3 | hapax groups -")]
pub(crate) struct Arguments {
    /// What `hapax fingerprint` wrote, or `-` for standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,

    /// Bits in which fingerprints of a pair may differ, 0 to 16
    #[arg(long, value_name = "K", default_value_t = Policy::default().within, value_parser = super::plan::near_bound)]
    within: MaxDistance,

    /// Least similarity of their texts, 0 to 1, where there are sketches
    #[arg(long, value_name = "J", default_value_t = Policy::default().min_similarity)]
    min_similarity: MinSimilarity,

    /// One JSON object a line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    out: ResultFile,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = crate::corpus::threads)]
    threads: Option<NonZeroUsize>,

    /// No summary; errors are still printed
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.out.check([&arguments.input])?;
    let list = fingerprint_files::list(&arguments.input)?;
    let Arguments { within, min_similarity, .. } = *arguments;
    let policy = Policy { within, min_similarity };
    let threads = Threads::new(or_all_cores(arguments.threads)).map_err(anyhow::Error::new)?;
    let pairs = pairing::find(&list, policy, &threads).map_err(anyhow::Error::new)?;

    let mut output = arguments.out.open()?;
    for pair in &pairs {
        let named = NamedPair {
            a: list.ids[pair.a as usize].clone(),
            b: list.ids[pair.b as usize].clone(),
            distance: pair.distance,
            similarity: pair.similarity,
            exact: pair.exact,
            a_url: list.url(pair.a).map(str::to_owned),
            b_url: list.url(pair.b).map(str::to_owned),
        };
        output.line(&match arguments.json {
            true => output::json(&named)?,
            false => named.line(),
        })?;
    }
    output.finish()?;
    if !arguments.quiet {
        say(&format!(
            "{} among {}; {} without fingerprint, {} too short",
            counted(pairs.len() as u64, "pair"),
            counted(list.ids.len() as u64, "document"),
            count(list.without),
            count(list.too_short),
        ));
    }
    Ok(())
}
