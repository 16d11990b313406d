//! Measures the time to open a large repository, with and without its index file.
//!
//! Preparation takes most of the time; `--folder` keeps the repository for another run, which continues an
//! interrupted preparation.

use crate::pages::{page, settings};
use anyhow::ensure;
use hapax_store::{IndexOrigin, Observation, Repository};
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Pages
    #[arg(long, default_value_t = 10_000_000)]
    pages: u64,
    /// Pages per commit
    #[arg(long, default_value_t = 100_000)]
    batch: u64,
    /// Folder of the repository, which is created if needed [default: a temporary folder]
    #[arg(long)]
    folder: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let temporary = tempfile::tempdir()?;
    let folder = options.folder.clone().unwrap_or_else(|| temporary.path().join("store"));
    let per_page = |bytes: u64| bytes as f64 / options.pages as f64;
    let file = folder.join("pages.redb");
    let there = file.exists();
    let store = if there {
        Repository::open(&folder, None)?
    } else {
        Repository::create(&folder, settings()?)?
    };
    // Continues with the pages of an interrupted run.
    let start = Instant::now();
    let made = store.stats()?.pages;
    for from in (made..options.pages).step_by(options.batch as usize) {
        let to = options.pages.min(from + options.batch);
        let batch: Vec<Observation> = (from..to).map(page).collect();
        store.observe_many(batch)?;
        store.drop_events(store.stats()?.last_event)?;
    }
    if made < options.pages {
        let seconds = start.elapsed().as_secs_f64();
        println!("{} pages in {seconds:.0} s", options.pages - made);
    }
    drop(store);
    for _ in 0..2 {
        let start = Instant::now();
        let store = Repository::open(&folder, None)?;
        let seconds = start.elapsed().as_secs_f64();
        let stats = store.stats()?;
        ensure!(stats.pages == options.pages && stats.with_content == options.pages);
        println!(
            "opened in {seconds:.2} s, index {}; {:.1} bytes of memory and {:.0} of file a page",
            if *store.index_origin() == IndexOrigin::File { "from its file" } else { "rebuilt" },
            per_page(stats.index_bytes),
            per_page(stats.file_bytes)
        );
        let copy = page(options.pages - 1 - (options.pages - 1 - 2) % 3);
        let start = Instant::now();
        let asked = store.check(&Observation { url: "https://new.example/".into(), ..copy })?;
        ensure!(asked.winner_url.is_some() || asked.verdict.is_winner);
        println!("first question after it: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
        drop(store);
        std::fs::remove_file(folder.join("index.segment"))?;
    }
    Ok(())
}
