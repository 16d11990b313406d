//! The same work without HTTP: the library on all cores.

use crate::fetchers::{Kind, LINES};
use crate::pages;
use anyhow::Result;
use hapax::page::{ExtractOptions, Extractor, Hints};
use hapax_store::{Observation, Repository};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Calls `work(thread, n)` on all cores for some time; returns calls per second.
fn on_all_cores<W: FnMut(u64) -> Result<()>>(
    time: Duration,
    make: impl Fn(usize) -> Result<W> + Sync,
) -> Result<f64> {
    on_threads(cores(), time, make)
}

fn on_threads<W: FnMut(u64) -> Result<()>>(
    threads: usize,
    time: Duration,
    make: impl Fn(usize) -> Result<W> + Sync,
) -> Result<f64> {
    let done = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    let start = Instant::now();
    std::thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..threads)
            .map(|thread| {
                let (done, over, make) = (&done, &over, &make);
                scope.spawn(move || -> Result<()> {
                    let mut work = make(thread)?;
                    let mut n = thread as u64 * 1_000_003;
                    while !over.load(Ordering::Relaxed) {
                        work(n)?;
                        n += 1;
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        std::thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result,
            Err(_) => anyhow::bail!("a thread panicked"),
        })
    })?;
    Ok(done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64())
}

/// Checks of ready fingerprints per second.
pub(crate) fn check_ready(store: &Repository, pages: u64, time: Duration) -> Result<f64> {
    on_all_cores(time, |_| {
        Ok(move |n: u64| {
            let mut page = pages::observation(n % pages);
            page.url.push('x');
            let decision = store.check(&page)?;
            anyhow::ensure!(decision.verdict.likeness.is_some(), "page {n} is not recognised");
            Ok(())
        })
    })
}

/// Real pages that are extracted, fingerprinted and checked per second.
pub(crate) fn check_real(store: &Repository, html: &[String], time: Duration) -> Result<f64> {
    on_all_cores(time, |_| {
        let mut by = pages::fingerprinter()?;
        let extent = by.recipe().extent;
        let options = ExtractOptions { extent, collect_links: false, ..ExtractOptions::default() };
        let mut extractor = Extractor::new(options);
        let hints = Hints { url: Some("https://example.org/page"), content_type: None };
        Ok(move |n: u64| {
            let page = extractor.extract_html(&html[n as usize % html.len()], &hints)?;
            let signature = by.extracted(page);
            store.check(&Observation::new("https://example.org/page", &signature))?;
            Ok(())
        })
    })
}

/// Requests per second of the mix of many crawlers, on 64 threads that share commits like those of
/// the service.
pub(crate) fn mix(store: &Repository, pages: u64, time: Duration) -> Result<f64> {
    on_threads(64, time, |thread| {
        let mut turn = thread as u64;
        Ok(move |n: u64| {
            turn += 1;
            let page = |n: u64| pages::observation(n % pages);
            match Kind::of_mix(turn) {
                Kind::Record => drop(store.observe(page(n * 7919))?),
                Kind::Batch => {
                    let first = n * 7919;
                    drop(store.observe_many((first..first + LINES).map(page).collect())?);
                }
                Kind::Check | Kind::Health | Kind::Page => drop(store.check(&page(n * 7919))?),
            }
            Ok(())
        })
    })
}

/// New pages recorded durably per second, in commits as large as those of the service.
pub(crate) fn observe(store: &Repository, pages: Range<u64>) -> Result<f64> {
    let count = pages.end - pages.start;
    let start = Instant::now();
    let mut n = pages.start;
    while n < pages.end {
        let end = pages.end.min(n + pages::BATCH);
        store.observe_many((n..end).map(pages::observation).collect())?;
        n = end;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}
