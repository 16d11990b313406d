//! `hapax partition learn`: learns a mapping from a sample of pages.

use super::pages::PageArguments;
use super::{BoundArguments, refused};
use crate::failure::Failure;
use crate::output::Output;
use crate::overwriting;
use crate::progress::{Progress, say};
use crate::readable;
use clap::Args;
use hapax_partition::quality::imbalance;
use hapax_partition::{Mapping, MappingSettings};
use std::path::PathBuf;

/// Learn which machine stores pages of which lengths
#[derive(Args, Debug)]
#[command(after_help = "\
The mapping is a small TOML file: version, recipe, thresholds, languages, where lengths are cut and
the first cell of each machine. It is the same for any number of threads.

Examples:
  hapax partition learn crawl/*.warc.gz --machines 16 --out mapping.toml
  hapax partition learn pages.parquet --machines 64 --dimensions 2 --tau 0.9 --out mapping.toml")]
pub(super) struct Arguments {
    #[command(flatten)]
    pages: PageArguments,

    /// Number of machines
    #[arg(long, value_name = "M")]
    machines: u32,

    /// Lengths of a page, 1 to 4
    #[arg(long, value_name = "N", default_value_t = 3)]
    dimensions: usize,

    #[command(flatten)]
    bounds: BoundArguments,

    /// Learn from this many pages, spread evenly over all
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    sample: usize,

    /// File to write; it appears when it is complete
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    #[command(flatten)]
    replacing: overwriting::Replacing,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let settings = MappingSettings {
        dimensions: arguments.dimensions,
        machines: arguments.machines,
        tau: arguments.bounds.tau,
        rho: arguments.bounds.rho,
        by_language: !arguments.bounds.one_language,
    };
    settings.check().map_err(refused)?;
    arguments.pages.spare("--out", Some(&arguments.out))?;
    arguments.replacing.check("--out", Some(&arguments.out))?;
    let fingerprinter = arguments.pages.fingerprinter()?;
    let mut output = Output::open(Some(&arguments.out))?;
    let quiet = arguments.pages.reading.quiet;
    let mut progress = Progress::start(None, quiet, false);
    let sample = arguments.pages.sample(&fingerprinter, &mut progress, arguments.sample)?;
    let recipe = fingerprinter.recipe_id().to_string();
    let mapping = Mapping::learn(&sample, &recipe, &settings).map_err(refused)?;
    output.write(mapping.to_toml().as_bytes())?;
    output.finish()?;
    progress.finish(&hapax_corpus::Ignored::default());
    if !quiet {
        let placed: Vec<_> = sample.iter().map(|page| mapping.place(page)).collect();
        say(&facts(arguments, &mapping, imbalance(&mapping, &placed), sample.len()));
    }
    Ok(())
}

fn facts(arguments: &Arguments, mapping: &Mapping, imbalance: f64, sample: usize) -> String {
    let languages: Vec<String> = mapping
        .parts()
        .iter()
        .filter(|part| part.pages > 0)
        .map(|part| {
            let name = if part.language.is_empty() { "other" } else { &part.language };
            format!("{name} {}", readable::count(part.pages))
        })
        .collect();
    format!(
        "{}: {} from {}; the fullest has {imbalance:.2} times the average\n\
         languages: {}\nrho {:.3} (sampled: delta {:.3}, epsilon {:.3})",
        readable::path(&arguments.out),
        readable::counted(u64::from(arguments.machines), "machine"),
        readable::counted(sample as u64, "page"),
        languages.join(", "),
        mapping.bounds().rho(),
        mapping.deviations().delta,
        mapping.deviations().epsilon,
    )
}
