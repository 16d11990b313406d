//! Who writes: pages crawled again and again, and what was acknowledged of each.
//!
//! Each connection has pages of its own, so the last answer about a page is its state. A page's
//! version is its number of words, which the service gives back. A request that a kill cut short
//! may have been done or not: until the next answer both are right.

use super::{JSON, Shared};
use crate::pages;
use crate::wire::request;
use anyhow::{Result, bail, ensure};
use hapax_client::client::encoded;
use std::sync::atomic::Ordering;

/// What is known of a page: its version, or that it is not there.
#[derive(Clone, Debug)]
pub(super) struct Known {
    acknowledged: Option<u64>,
    /// What was sent since, while no answer has come.
    perhaps: Vec<Option<u64>>,
}

impl Known {
    pub(super) fn may_be(&self, found: Option<u64>) -> bool {
        found == self.acknowledged || self.perhaps.contains(&found)
    }
}

/// The pages of one connection.
pub(super) struct Crawled {
    pages: Vec<(u64, Known)>,
}

impl Crawled {
    pub(super) fn new(pages: impl Iterator<Item = u64>) -> Self {
        let first = Known { acknowledged: Some(pages::WORDS.into()), perhaps: Vec::new() };
        Self { pages: pages.map(|n| (n, first.clone())).collect() }
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = &(u64, Known)> {
        self.pages.iter()
    }
}

/// Pages of one batch.
const BATCH: usize = 3;

/// Writes until the end.
pub(super) fn crawl(shared: &Shared, mut crawled: Crawled, recipe: &str) -> Result<Crawled> {
    let mut turn = 0u64;
    let mut place = 0;
    shared.keep_asking(|connection| {
        turn += 1;
        let count = if turn.is_multiple_of(2) { BATCH } else { 1 };
        place = if place + count > crawled.pages.len() { 0 } else { place };
        let here = &mut crawled.pages[place..place + count];
        place += count;
        // Every fifth page alone is deleted; it comes back when its turn is next.
        let delete = count == 1 && here[0].0 % 5 == 4 && here[0].1.acknowledged.is_some();
        let version = u64::from(pages::WORDS) + turn;
        let mut lines = Vec::new();
        for (n, known) in here.iter_mut() {
            known.perhaps.push((!delete).then_some(version));
            // One in four has another content now, which moves it to another group and back.
            let content = if turn.is_multiple_of(4) { *n ^ 1 } else { *n };
            lines.push(pages::version(*n, content, version as u32, recipe)?);
        }
        let path = format!("/v1/pages/{}", encoded(&pages::url(here[0].0)));
        let asked = match (delete, count) {
            (true, _) => request("DELETE", &path, JSON, ""),
            (false, 1) => request("POST", "/v1/pages", JSON, &lines[0]),
            (false, _) => {
                request("POST", "/v1/pages/batch", "application/x-ndjson", &lines.join("\n"))
            }
        };
        let Ok(status) = connection.ask(&asked) else { return Ok(None) };
        let body = String::from_utf8_lossy(&connection.body);
        // Deleted before a kill, and the answer did not arrive.
        let gone = delete && status == 404;
        ensure!(
            gone || status == 200 && !body.contains("\"error\""),
            "a write was answered {status}: {body}"
        );
        // A stream may be cut off between lines; those that came count.
        let answered = match count {
            1 => 1,
            _ => body.matches("\"recorded\":true").count(),
        };
        if answered > count {
            bail!("{answered} answers to {count} lines: {body}");
        }
        for (_, known) in &mut here[..answered] {
            known.acknowledged = (!delete).then_some(version);
            known.perhaps.clear();
        }
        shared.written.fetch_add(answered as u64, Ordering::Relaxed);
        Ok(Some(status))
    })?;
    Ok(crawled)
}
