//! Pi, Fu, Zou, Guo and Han, "Query-biased near duplicate web document detecting", 2009: duplicates inside the
//! results of logged queries.
//!
//! `library` contains the index and the log. `removed` is Table I with Figures 4, 5 and 6; `parallel` is the paper's
//! unimplemented proposal to process queries concurrently; `overlap` is its Figure 7, queries chosen to show
//! different documents. The job, the order of queries and the table are the engine's (`hapax-search`).

mod library;
mod overlap;
mod parallel;
mod removed;

use anyhow::Result;

use crate::Paper;
use crate::bench::Bench;

pub(crate) const PAPER: Paper = Paper {
    key: "pi",
    title: "Pi et al. 2009: Query-biased near duplicate web document detecting",
    run,
};

fn run(bench: &Bench<'_>) -> Result<()> {
    let names =
        ["pi-table-1", "pi-figure-4", "pi-figure-5", "pi-figure-6", "pi-parallel", "pi-figure-7"];
    if !names.iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let library = library::Library::new(bench)?;
    let sequential = removed::run(bench, &library)?;
    let found = parallel::run(bench, &library, &sequential)?;
    overlap::run(bench, &library, &found)
}
