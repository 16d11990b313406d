//! Compares incremental with non-incremental work as the repository grows.
//!
//! At each size some more batches arrive. Incremental: the repository records them durably. Non-incremental: all
//! pages so far are joined, confirmed and grouped again, in memory. Both use one thread. Their groups must be equal.
//!
//! Source: Zhu et al. 2012, section 6.2, figure 7.

use crate::all_to_all;
use crate::pages::{page, settings};
use crate::plot::{self, Line};
use anyhow::ensure;
use hapax_store::{Observation, Repository};
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Sizes at which both are measured
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1000,10000,100000,250000,500000,1000000,2000000"
    )]
    sizes: Vec<u64>,
    /// Pages per batch
    #[arg(long, default_value_t = 1000)]
    batch: u64,
    /// Output file of a chart of the ratios
    #[arg(long)]
    svg: Option<PathBuf>,
}

/// Number of timed batches per size.
const BATCHES: u64 = 7;

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let settings = settings()?;
    let store = Repository::create(&folder.path().join("store"), settings.clone())?;
    let mut all: Vec<Observation> = Vec::new();
    let mut ratios = Vec::new();
    println!("batches of {}; seconds for one batch at each size", options.batch);
    println!("    pages   incremental   all again   ratio   groups");
    for &size in &options.sizes {
        let untimed = size.saturating_sub(BATCHES * options.batch);
        while (all.len() as u64) < untimed {
            let from = all.len() as u64;
            let piece: Vec<Observation> = (from..untimed.min(from + 20_000)).map(page).collect();
            store.observe_many(piece.clone())?;
            all.extend(piece);
        }
        // The median of several batches, because one commit may wait for the disk.
        let mut times = Vec::new();
        while (all.len() as u64) < size {
            let from = all.len() as u64;
            let batch: Vec<Observation> =
                (from..size.min(from + options.batch)).map(page).collect();
            all.extend(batch.iter().cloned());
            let start = Instant::now();
            store.observe_many(batch)?;
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let incremental = times[times.len() / 2];
        let pages: Vec<&Observation> = all.iter().collect();
        let start = Instant::now();
        let grouping = all_to_all::group(&pages, &settings)?;
        let again = start.elapsed().as_secs_f64();
        let (live, batch) = (store.stats()?.groups, grouping.stars().len() as u64);
        ensure!(live == batch, "{live} groups page by page, {batch} all at once");
        let ratio = again / incremental;
        println!("{size:>9} {incremental:>13.3} {again:>11.3} {ratio:>7.1} {live:>8}");
        ratios.push((size as f64, ratio));
        store.drop_events(store.stats()?.last_event)?;
    }
    if let Some(path) = &options.svg {
        let line = Line { name: "all again / incremental", points: ratios };
        let title = format!("time for a batch of {}: all again / incremental", options.batch);
        std::fs::write(path, plot::draw(&title, "pages in the repository", &[line]))?;
    }
    Ok(())
}
