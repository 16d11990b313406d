//! Where duplicates come from: hosts, or folders for documents without an address.

use std::collections::BTreeMap;

use hapax::group::{Outcome, PageFacts};

use crate::decide::Decision;
use crate::pages::Pages;

/// One host or folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) name: String,
    pub(super) documents: u64,
    pub(super) exact: u64,
    pub(super) near: u64,
}

impl Origin {
    pub(super) fn removed(&self) -> u64 {
        self.exact + self.near
    }
}

/// All origins, those that lose most first.
pub(super) fn origins(decision: &Decision<'_>) -> Vec<Origin> {
    let pages = decision.pages();
    let common = common_folder(pages);
    let mut found: BTreeMap<&str, Origin> = BTreeMap::new();
    for page in 0..pages.len() as u32 {
        let origin = found.entry(origin(pages, page, common)).or_default();
        origin.documents += 1;
        match decision.verdict(page).outcome {
            Outcome::Exact => origin.exact += 1,
            Outcome::Near => origin.near += 1,
            Outcome::Kept | Outcome::Redirect => {}
        }
    }
    let named = |(name, origin): (&str, Origin)| Origin { name: name.to_owned(), ..origin };
    let mut origins: Vec<Origin> = found.into_iter().map(named).collect();
    origins.sort_by(|a, b| b.removed().cmp(&a.removed()).then_with(|| a.name.cmp(&b.name)));
    origins
}

fn origin<'p>(pages: &'p Pages, page: u32, common: &str) -> &'p str {
    let url = pages.url(page);
    if url.contains("://") {
        let start = url.find("://").map_or(0, |at| at + 3);
        let host = PageFacts::at(url).host().len();
        let authority = &url[start..];
        let from = authority.find('@').filter(|at| !authority[..*at].contains('/'));
        let start = start + from.map_or(0, |at| at + 1);
        return url.get(start..start + host).unwrap_or(url);
    }
    let id = pages.id(page);
    let rest = id.strip_prefix(common).unwrap_or(id);
    rest.split_once('/').map_or("", |(first, _)| first)
}

/// The longest path that all documents without an address are below, with its last slash.
fn common_folder(pages: &Pages) -> &str {
    let mut ids = (0..pages.len() as u32)
        .filter(|&page| !pages.url(page).contains("://"))
        .map(|page| pages.id(page));
    let Some(first) = ids.next() else { return "" };
    let mut common = first.rfind('/').map_or("", |slash| &first[..=slash]);
    for id in ids {
        while !id.starts_with(common) {
            let shorter = common.trim_end_matches('/').rfind('/');
            common = shorter.map_or("", |slash| &common[..=slash]);
        }
    }
    common
}
