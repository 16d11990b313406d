//! Measures query-biased dedup and PageRank; asserts every answer before it prints a number.
//!
//! ```text
//!   rank  [--pages N] [--links N] [--tsv FILE]          PageRank of a synthetic graph
//!   build INPUT... --out DIR [--scores FILE]            an index of corpora
//!   log   INPUT... --like LOG --out FILE [--queries N]  queries out of the corpora's own words
//!   job   --index DIR --log FILE [--full GROUPS] [--queries N] [--time-only N]
//! ```
//!
//! `job` prints the paper's Table I and Figures 4 to 6, time, threads, and quality compared with a full dedup.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

mod arguments;
mod build;
mod job;
mod log;
mod quality;
mod rank;

use arguments::Arguments;

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let arguments = Arguments::parse(words)?;
    match command.as_str() {
        "rank" => rank::run(arguments),
        "build" => build::run(arguments),
        "log" => log::run(arguments),
        "job" => job::run(arguments),
        other => anyhow::bail!("`{other}` is none of rank, build, log, job"),
    }
}
