//! Measures a recrawl a week later, where half of the pages are known and half are new.
//!
//! First the share of updated pages that are answered in tier 1, in crawl order. Then, on a copy of the same
//! repository, the pages of each tier separately, for the cost of each.
//!
//! Source: Zhu et al. 2012, section 6.2, figure 8: about 30 percent.

use crate::pages::settings;
use crate::web::{fingerprinter, scatter, visits, web};
use anyhow::ensure;
use hapax::group::live::Tier;
use hapax_store::{Action, Effect, Repository};
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Pages in each of the two crawls
    #[arg(long, default_value_t = 200_000)]
    pages: u64,
    /// Pages per commit
    #[arg(long, default_value_t = 5_000)]
    batch: usize,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let web = web(options.pages * 3 / 2);
    let store = Repository::create(&folder.path().join("store"), settings()?)?;
    let by = fingerprinter()?.with_key(store.key());
    let first: Vec<u64> = (0..options.pages).collect();
    for batch in first.chunks(options.batch) {
        store.apply(visits(&web, &by, batch, 0)?)?;
    }
    let copy = folder.path().join("copy");
    store.snapshot(&copy)?;

    // Known and new pages in random order.
    let mut second: Vec<u64> = (options.pages / 2..options.pages * 3 / 2).collect();
    second.sort_unstable_by_key(|&n| scatter(n));
    let (mut tier_1, mut tier_2): (Vec<Action>, Vec<Action>) = (Vec::new(), Vec::new());
    let (mut known, mut same, mut updated, mut stayed) = (0u64, 0u64, 0u64, 0u64);
    println!("  processed   known   unchanged   updated   of these tier 1");
    let mut done = 0;
    for batch in second.chunks(options.batch) {
        let actions = [
            visits(&web, &by, &only(batch, |n| n < options.pages), 1)?,
            visits(&web, &by, &only(batch, |n| n >= options.pages), 0)?,
        ]
        .concat();
        let reader = store.reader();
        let mut before = Vec::with_capacity(actions.len());
        for action in &actions {
            before.push(match action {
                Action::Observe(page) => reader.page(&page.url)?,
                _ => None,
            });
        }
        drop(reader);
        let effects = store.apply(actions.clone())?;
        for ((action, effect), before) in actions.into_iter().zip(effects).zip(before) {
            let (Action::Observe(seen), Effect::Decided(decision)) = (&action, effect) else {
                continue;
            };
            let Some(before) = before else { continue };
            known += 1;
            if before.content == seen.content {
                same += 1;
                continue;
            }
            updated += 1;
            match decision.verdict.tier {
                Tier::Winner => {
                    stayed += 1;
                    tier_1.push(action);
                }
                Tier::Index => tier_2.push(action),
                Tier::None => {}
            }
        }
        done += batch.len();
        if done.is_multiple_of(options.pages as usize / 5) {
            let share = 100.0 * stayed as f64 / updated as f64;
            println!("{done:>11} {known:>7} {same:>11} {updated:>9} {share:>14.1} %");
        }
    }
    ensure!(store.verify()?.is_clean());
    drop(store);

    let store = Repository::open(&copy, None)?;
    let (mut cost, mut counts) = ([0.0; 2], [0usize; 2]);
    // Alternates between the tiers in equal pieces, so that caches and commits affect both alike.
    let piece = options.batch.min(tier_1.len()).max(1);
    let mut tiers = [tier_1.chunks_exact(piece), tier_2.chunks_exact(piece)];
    while let [Some(first), Some(second)] = [tiers[0].next(), tiers[1].next()] {
        for (tier, actions) in [first, second].into_iter().enumerate() {
            let actions = actions.to_vec();
            counts[tier] += actions.len();
            let start = Instant::now();
            store.apply(actions)?;
            cost[tier] += start.elapsed().as_secs_f64() * 1e6;
        }
    }
    for tier in 0..2 {
        cost[tier] /= counts[tier] as f64;
        let (count, each) = (counts[tier], cost[tier]);
        println!("tier {}: {count} updated pages, {each:.1} microseconds each", tier + 1);
    }
    ensure!(store.verify()?.is_clean());
    println!(
        "of {known} known pages {same} were as before and {stayed} stayed with their winner: \
         {:.1} percent without a search",
        100.0 * (same + stayed) as f64 / known as f64
    );
    let share = stayed as f64 / updated as f64;
    let with = share * cost[0] + (1.0 - share) * cost[1];
    println!(
        "updated pages a second: {:.0} with tier 1, {:.0} if all were searched for: {:+.0} percent",
        1e6 / with,
        1e6 / cost[1],
        100.0 * (cost[1] / with - 1.0)
    );
    Ok(())
}

fn only(pages: &[u64], wanted: impl Fn(u64) -> bool) -> Vec<u64> {
    pages.iter().copied().filter(|&n| wanted(n)).collect()
}
