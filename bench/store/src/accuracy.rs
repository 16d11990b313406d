//! Compares a repository, filled page by page with recrawls, with one all-to-all run over the same contents.
//!
//! The collection grows in steps; at each a tenth of the known pages is crawled again, some changed, moved or
//! deleted. Relative error in precision is the share of the repository's removals that the all-to-all run keeps; in
//! recall, the share of the all-to-all run's removals that the repository keeps. Redirects have no content and are
//! excluded.
//!
//! Source: Zhu et al. 2012, sections 5.2 and 6.3, table 1: at most 1.3 and 1.74 percent.

use crate::all_to_all;
use crate::pages::settings;
use crate::web::{fingerprinter, scatter, visits, web};
use anyhow::ensure;
use hapax_store::{Action, Observation, Reader, Repository};
use std::collections::BTreeMap;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Sizes at which both are compared
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "100000,200000,300000,500000,750000,1000000"
    )]
    sizes: Vec<u64>,
    /// Pages per commit
    #[arg(long, default_value_t = 10_000)]
    batch: usize,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let largest = options.sizes.iter().copied().max().unwrap_or(1);
    let (web, settings) = (web(largest), settings()?);
    let store = Repository::create(&folder.path().join("store"), settings.clone())?;
    let by = fingerprinter()?.with_key(store.key());
    let mut present: BTreeMap<String, Box<Observation>> = BTreeMap::new();
    let (mut size, mut week) = (0, 0);
    println!("    pages   recrawled   removed   at once   precision error   recall error");
    for &next in &options.sizes {
        week += 1;
        let again: Vec<u64> = (0..size).filter(|&n| scatter(n ^ next).is_multiple_of(10)).collect();
        let new: Vec<u64> = (size..next).collect();
        for (pages, week) in [(&again, week), (&new, 0)] {
            for batch in pages.chunks(options.batch) {
                let actions = visits(&web, &by, batch, week)?;
                for action in &actions {
                    match action {
                        Action::Observe(page) => {
                            present.insert(page.url.clone(), page.clone());
                        }
                        Action::Redirect { from: url, .. } | Action::Forget { url } => {
                            present.remove(url);
                        }
                        Action::Score { .. } => {}
                    }
                }
                store.apply(actions)?;
            }
        }
        size = next;
        let reader = store.reader();
        let (live, pages) = (removed(&reader)?, present.values());
        let pages: Vec<&Observation> = pages.map(|page| &**page).collect();
        let grouping = all_to_all::group(&pages, &settings)?;
        let (mut ours, mut theirs, mut too_many, mut too_few) = (0u64, 0u64, 0u64, 0u64);
        for (page, placement) in pages.iter().zip(grouping.placements()) {
            let Some(&live) = live.get(&page.url) else { anyhow::bail!("{} is lost", page.url) };
            let batch = placement.outcome.removable();
            ours += u64::from(live);
            theirs += u64::from(batch);
            too_many += u64::from(live && !batch);
            too_few += u64::from(batch && !live);
        }
        let precision = 100.0 * too_many as f64 / ours as f64;
        let recall = 100.0 * too_few as f64 / theirs as f64;
        println!(
            "{size:>9} {:>11} {ours:>9} {theirs:>9} {precision:>15.3} % {recall:>12.3} %",
            again.len()
        );
        ensure!(precision <= 1.3 && recall <= 1.74, "worse than the paper");
        store.drop_events(store.stats()?.last_event)?;
    }
    ensure!(store.verify()?.is_clean());
    Ok(())
}

/// Whether each page with content is removable.
fn removed(reader: &Reader) -> anyhow::Result<BTreeMap<String, bool>> {
    let mut fates = BTreeMap::new();
    let mut after: Option<String> = None;
    loop {
        let piece = reader.pages(after.as_deref(), 10_000, None)?;
        let Some((last, _)) = piece.last() else { return Ok(fates) };
        after = Some(last.url.clone());
        for (page, decision) in piece {
            fates.insert(page.url, decision.verdict.removable());
        }
    }
}
