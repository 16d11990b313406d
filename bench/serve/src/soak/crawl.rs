//! Writers: pages that are crawled again and again, and their acknowledged state.
//!
//! Each connection has its own pages, so the last answer about a page is its state. A page's version is its number of
//! words, which the service returns. A request interrupted by a kill may have been executed or not: until the next
//! answer both states are valid.

use super::{JSON, Shared};
use crate::pages;
use crate::wire::request;
use anyhow::{Result, bail, ensure};
use hapax_client::client::encoded;
use std::sync::atomic::Ordering;

/// The state of a page: its version, or `None` if deleted.
#[derive(Clone, Debug)]
pub(super) struct Known {
    acknowledged: Option<u64>,
    /// Versions sent since then without an answer.
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

/// Pages per batch.
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
        // Every fifth page that is sent alone is deleted, and recorded again in the next round.
        let delete = count == 1 && here[0].0 % 5 == 4 && here[0].1.acknowledged.is_some();
        let version = u64::from(pages::WORDS) + turn;
        let mut lines = Vec::new();
        for (n, known) in here.iter_mut() {
            known.perhaps.push((!delete).then_some(version));
            // Every fourth time the content differs, which moves the page to another group and
            // back.
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
        // Deleted before a kill whose answer did not arrive.
        let gone = delete && status == 404;
        ensure!(
            gone || status == 200 && !body.contains("\"error\""),
            "a write was answered {status}: {body}"
        );
        // A stream may be interrupted between lines; received ones count.
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
