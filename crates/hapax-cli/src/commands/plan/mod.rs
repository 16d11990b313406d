//! `hapax plan`: predicts which index to use, its size and its speed.
//!
//! The engine's planner predicts; this file gives it a clock and prints the result. Builds nothing and reads no file.

mod json;
pub(crate) mod memory;
pub(crate) mod quantity;

use crate::failure::Failure;
use crate::output;
use crate::progress::say;
use clap::Args;
use hapax::fingerprint::MaxDistance;
use hapax::index::Recall;
use hapax::index::plan::{Candidate, Engine, Machine, PlanError, Request, candidates, plan};
use std::time::Instant;

/// Plan an index: which engine, how much memory, how long a query takes
///
/// Lists the engines worth their memory, from the smallest to the fastest, and names the fastest that
/// fits into memory. Nothing is built.
#[derive(Args, Debug)]
#[command(after_help = "\
`probes` are buckets looked up and `compared` fingerprints compared for one query, on average;
times are for one thread and batches of queries. An engine is listed if no smaller one finds as
much in about the same time; --all lists the others, too. More than 4,294,967,295 pages are spread
over several indexes; the numbers are for all of them. With --first the numbers are those of a
query that has a match.

Examples:
  hapax plan --pages 10M --within 3
  hapax plan --pages 8e9 --within 3 --memory 128GB
  hapax plan --pages 8e9 --within 6 --memory 96GB --recall 0.95
  hapax plan --pages 64M --within 6 --calibrate --json")]
pub(crate) struct Arguments {
    /// Number of stored pages: 1000, 8e9, 10M
    #[arg(long, value_name = "COUNT", value_parser = quantity::count)]
    pages: u64,

    /// Bits in which a match may differ, inclusive
    #[arg(long, value_name = "K", value_parser = bound)]
    within: MaxDistance,

    /// Available memory: 64GB, 1.5TiB [default: this machine's]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes)]
    memory: Option<u64>,

    /// Share of the matches that must be found, above 0 and up to 1
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = recall)]
    recall: Recall,

    /// One match is enough
    #[arg(long)]
    first: bool,

    /// List every engine, not only those worth their memory
    #[arg(long)]
    all: bool,

    /// Measure this machine first (about a second) instead of assuming a typical server
    #[arg(long)]
    calibrate: bool,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Parses the distance of `--within`.
pub(crate) fn bound(text: &str) -> Result<MaxDistance, String> {
    let bits = text.parse().ok().and_then(MaxDistance::new);
    bits.ok_or_else(|| "a distance is 0 to 64 bits".to_owned())
}

/// Parses the distance of `--within` for near-duplicates.
pub(crate) fn near_bound(text: &str) -> Result<MaxDistance, String> {
    let bits = text.parse().ok().filter(|bits| *bits <= 16).and_then(MaxDistance::new);
    bits.ok_or_else(|| format!("{text} is not in 0..=16"))
}

/// Parses the share of `--recall`.
pub(crate) fn recall(text: &str) -> Result<Recall, String> {
    let share = text.parse().map_err(|_| "recall is a number above 0 and up to 1".to_owned())?;
    Recall::new(share)
        .ok_or_else(|| format!("recall {share} is out of range: it is above 0 and at most 1"))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut request = Request::new(arguments.pages, arguments.within).recall(arguments.recall);
    request.memory = arguments.memory.or_else(memory::of_this_machine);
    if arguments.first {
        request = request.first();
    }
    if request.pages == 0 {
        return Err(Failure::Arguments(format!("--pages: {}", PlanError::NoPages)));
    }
    let machine = if arguments.calibrate { calibrated() } else { Machine::typical() };
    let listed = candidates(&request, &machine).map_err(anyhow::Error::new)?;
    let plan = plan(&request, &machine);

    let chosen = plan.as_ref().ok();
    let mut text = table(&listed, chosen.map(|plan| plan.chosen), arguments.all);
    text.push_str(&chosen.map_or_else(String::new, |it| format!("\nChosen: {}.", it.reason)));
    let (machine, text) = (&machine, text.trim_end());
    output::answer(arguments.json, &json::document(&request, machine, &listed, &plan), text)?;
    match plan {
        Ok(_) => Ok(()),
        // Without --memory, the user may be planning for another machine.
        Err(refused) if arguments.memory.is_none() => {
            say(&format!("{refused}, as this machine has; --memory plans for another"));
            Ok(())
        }
        Err(refused) => Err(Failure::Run(refused.into())),
    }
}

/// An engine with less memory and at most this factor in time is preferred.
const AS_FAST: f64 = 1.1;

/// Whether no smaller engine has the same recall in about the same time.
fn is_worth_it(candidate: &Candidate, listed: &[Candidate]) -> bool {
    let beats = |other: &Candidate| {
        other.recall >= candidate.recall
            && other.total_bytes < candidate.total_bytes
            && other.nanoseconds_per_query <= candidate.nanoseconds_per_query * AS_FAST
    };
    !listed.iter().any(beats)
}

fn calibrated() -> Machine {
    let start = Instant::now();
    Machine::calibrate(&mut || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

fn table(listed: &[Candidate], chosen: Option<usize>, all: bool) -> String {
    let header = [
        "",
        "engine",
        "tables",
        "bytes/page",
        "total",
        "recall",
        "probes",
        "compared",
        "time/query",
        "fits",
    ];
    let shown = |(number, candidate): &(usize, &Candidate)| {
        all || chosen == Some(*number) || is_worth_it(candidate, listed)
    };
    let rows = listed.iter().enumerate().filter(shown).map(|(number, candidate)| {
        [
            if chosen == Some(number) { ">" } else { "" }.to_owned(),
            engine(&candidate.engine),
            candidate.engine.tables().to_string(),
            format!("{:.1}", candidate.bytes_per_page),
            size(candidate.total_bytes),
            format!("{}", candidate.recall),
            amount(candidate.probes),
            amount(candidate.compared),
            time(candidate.nanoseconds_per_query),
            if candidate.fits { "yes" } else { "no" }.to_owned(),
        ]
    });
    output::table(&header, rows, 2)
}

fn engine(engine: &Engine) -> String {
    match engine {
        Engine::WeakBits { prefix_bits } => format!("weak bits, p = {prefix_bits}"),
        other => other.name().to_owned(),
    }
}

/// Bytes in decimal units.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000_000 => crate::readable::bytes(bytes),
        _ => format!("{:.2} TB", bytes as f64 / 1e12),
    }
}

/// Three digits, with a power of ten for large numbers.
fn amount(value: f64) -> String {
    match value {
        v if v < 100.0 => format!("{v:.1}"),
        v if v < 1e6 => crate::readable::count(v.round() as u64),
        v => format!("{v:.2e}"),
    }
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.2} us", n / 1e3),
        n if n < 1e9 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.2} s", n / 1e9),
    }
}
