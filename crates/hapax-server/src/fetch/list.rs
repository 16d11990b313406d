//! Fetches a list of addresses, with several hosts in parallel, resumable after a stop.
//!
//! The pages of one host are fetched one after the other. A finished address is written to the progress file
//! before its line is printed, so an interrupted run resumes where it stopped and fetches nothing twice, except
//! requests that were in progress.

use super::{FetchError, Fetched, Fetcher};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError, mpsc};

/// Fetches the addresses and passes each outcome to `done` as it arrives.
///
/// An error of `done` stops the run; outcomes of one host come in the order of the list.
///
/// # Errors
///
/// The first error of `done`.
pub fn fetch_all<E: Send>(
    fetcher: &Fetcher,
    urls: impl IntoIterator<Item = String>,
    finished: &BTreeSet<String>,
    threads: usize,
    mut done: impl FnMut(&str, Result<Fetched, FetchError>) -> Result<(), E>,
) -> Result<(), E> {
    let mut by_host: BTreeMap<String, VecDeque<String>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for url in urls {
        if !finished.contains(&url) && seen.insert(url.clone()) {
            by_host.entry(host(&url)).or_default().push_back(url);
        }
    }
    let hosts: Mutex<VecDeque<VecDeque<String>>> = Mutex::new(by_host.into_values().collect());
    let (send, outcomes) = mpsc::sync_channel(threads.max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let (hosts, send) = (&hosts, send.clone());
            scope.spawn(move || {
                let next = || hosts.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                while let Some(urls) = next() {
                    for url in urls {
                        let fetched = fetcher.fetch(&url);
                        // The receiver is gone, so stop.
                        if send.send((url, fetched)).is_err() {
                            return;
                        }
                    }
                }
            });
        }
        drop(send);
        let mut outcome = Ok(());
        for (url, fetched) in &outcomes {
            outcome = done(&url, fetched);
            if outcome.is_err() {
                break;
            }
        }
        drop(outcomes);
        outcome
    })
}

fn host(url: &str) -> String {
    url::Url::parse(url).ok().and_then(|url| Some(url.host_str()?.to_owned())).unwrap_or_default()
}
