//! Counts duplicates by host, or by folder for documents without an address.
//!
//! Counts are merged in document order, so they do not depend on the number of threads. Decides nothing.

use std::collections::BTreeMap;

use hapax::group::{Outcome, PageFacts};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{documents, split};
use crate::decide::Decision;
use crate::pages::Pages;
use hapax_report::{escape, grouped};

/// Origins shown.
pub(crate) const MOST: usize = 20;
/// Minimum number of documents per thread.
const BATCH_SIZE: usize = 1 << 14;

/// The origins with most removed documents, and totals of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Origins {
    shown: Vec<Origin>,
    more: u64,
    more_removed: u64,
}

/// A host or folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) name: String,
    pub(crate) documents: u64,
    pub(crate) exact: u64,
    pub(crate) near: u64,
}

impl Origin {
    fn removed(&self) -> u64 {
        self.exact + self.near
    }
}

impl Origins {
    pub(super) fn of(decision: &Decision<'_>) -> Self {
        let mut shown = origins(decision);
        let rest = shown.split_off(shown.len().min(MOST));
        let more_removed = rest.iter().map(Origin::removed).sum();
        Self { shown, more: rest.len() as u64, more_removed }
    }

    /// Empty if all documents have one origin.
    pub(super) fn section(&self, out: &mut String) {
        if self.shown.len() < 2 {
            return;
        }
        out.push_str(
            "<section>\n<h2>Documents by host or folder</h2>\n<div class=\"scroll card\"><table><thead><tr>\
             <th class=\"text\">host or folder</th><th>documents</th><th>kept</th><th>exact</th>\
             <th>near</th><th class=\"share\"></th></tr></thead><tbody>\n",
        );
        for origin in &self.shown {
            let kept = origin.documents.saturating_sub(origin.removed());
            let name = if origin.name.is_empty() { "(none)" } else { &origin.name };
            out.push_str(&format!(
                "<tr><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
                 <td class=\"share\">{}</td></tr>\n",
                escape(name),
                grouped(origin.documents),
                grouped(kept),
                grouped(origin.exact),
                grouped(origin.near),
                split(&[("kept", kept), ("exact", origin.exact), ("near", origin.near)]),
            ));
        }
        out.push_str("</tbody></table></div>\n");
        if self.more > 0 {
            out.push_str(&format!(
                "<p class=\"facts\">and {} more, with {} removed from them.</p>\n",
                grouped(self.more),
                documents(self.more_removed)
            ));
        }
        out.push_str("</section>\n");
    }
}

/// All origins, most removed documents first.
fn origins(decision: &Decision<'_>) -> Vec<Origin> {
    let pages = decision.pages();
    let common = common_folder(pages);
    let count = |mut found: BTreeMap<_, Origin>, page: u32| {
        let origin = found.entry(origin(pages.id(page), pages.url(page), common)).or_default();
        origin.documents += 1;
        match decision.verdict(page).outcome {
            Outcome::Exact => origin.exact += 1,
            Outcome::Near => origin.near += 1,
            Outcome::Kept | Outcome::Redirect => {}
        }
        found
    };
    let pages = (0..pages.len() as u32).into_par_iter().with_min_len(BATCH_SIZE);
    let found: BTreeMap<&str, Origin> = pages.fold(BTreeMap::new, count).reduce(BTreeMap::new, sum);
    let named = |(name, origin): (&str, Origin)| Origin { name: name.to_owned(), ..origin };
    let mut origins: Vec<Origin> = found.into_iter().map(named).collect();
    origins.sort_by(|a, b| b.removed().cmp(&a.removed()).then_with(|| a.name.cmp(&b.name)));
    origins
}

fn sum<'p>(
    mut all: BTreeMap<&'p str, Origin>,
    more: BTreeMap<&'p str, Origin>,
) -> BTreeMap<&'p str, Origin> {
    for (name, more) in more {
        let origin = all.entry(name).or_default();
        origin.documents += more.documents;
        origin.exact += more.exact;
        origin.near += more.near;
    }
    all
}

/// The host of an address; for a document without an address, the first folder below the common
/// one.
pub(crate) fn origin<'p>(id: &'p str, url: &'p str, common: &str) -> &'p str {
    if is_address(url) {
        let start = url.find("://").map_or(0, |at| at + 3);
        let host = PageFacts::at(url).host().len();
        let authority = &url[start..];
        let from = authority.find('@').filter(|at| !authority[..*at].contains('/'));
        let start = start + from.map_or(0, |at| at + 1);
        return url.get(start..start + host).unwrap_or(url);
    }
    let rest = id.strip_prefix(common).unwrap_or(id);
    rest.split_once('/').map_or("", |(first, _)| first)
}

/// Whether `url` is a web address.
pub(crate) fn is_address(url: &str) -> bool {
    url.contains("://")
}

/// The longest folder path above all documents without an address, with its last slash.
fn common_folder(pages: &Pages) -> &str {
    let all: Vec<u32> = (0..pages.len() as u32).collect();
    let common = |some: &[u32]| {
        let without = some.iter().filter(|&&page| !is_address(pages.url(page)));
        common_of(without.map(|&page| pages.id(page)))
    };
    let commons: Vec<&str> = all.par_chunks(BATCH_SIZE).filter_map(common).collect();
    common_of(commons.into_iter()).unwrap_or("")
}

/// The longest folder path above all ids, with its last slash; `None` without ids. Applied to the
/// paths of parts of a set, it gives that of the set.
pub(crate) fn common_of<'p>(mut ids: impl Iterator<Item = &'p str>) -> Option<&'p str> {
    let first = ids.next()?;
    let mut common = first.rfind('/').map_or("", |slash| &first[..=slash]);
    for id in ids {
        while !id.starts_with(common) {
            let shorter = common.trim_end_matches('/').rfind('/');
            common = shorter.map_or("", |slash| &common[..=slash]);
        }
    }
    Some(common)
}
