//! Merges pages with the same content into nodes.
//!
//! Pages with equal content in one scope are a node; a page that redirects belongs to the node of the page at
//! the end of its chain. Chains are followed once, in linear time. A chain that runs into a cycle ends at the
//! cycle's page with the smallest address (then id), which is treated as a page without content.

use super::{BatchError, BatchInput};
use crate::group::scope::ScopeKey;

const NONE: u32 = u32::MAX;

/// Pages collapsed to nodes.
pub(super) struct Nodes {
    /// The node of each page, `0..count`.
    pub(super) of_page: Vec<u32>,
    /// Whether each page only redirects to another one.
    pub(super) redirects: Vec<bool>,
    /// Whether each page has content of its own, so that its pairs count.
    pub(super) comparable: Vec<bool>,
    /// Number of nodes.
    pub(super) count: u32,
}

impl Nodes {
    pub(super) fn collapse(input: &BatchInput<'_>) -> Result<Self, BatchError> {
        let target = targets(input)?;
        let end = chain_ends(input, &target);
        let pages = input.pages.len();
        let redirects: Vec<bool> =
            end.iter().enumerate().map(|(page, &end)| end as usize != page).collect();
        let filled = |page: usize| input.contents.get(page).is_none_or(Option::is_some);
        let comparable = (0..pages).map(|page| target[page] == NONE && filled(page)).collect();

        let mut of_page = vec![NONE; pages];
        let mut count = 0;
        for class in content_classes(input, &target) {
            for page in class {
                of_page[page as usize] = count;
            }
            count += 1;
        }
        for page in 0..pages {
            if !redirects[page] && of_page[page] == NONE {
                of_page[page] = count;
                count += 1;
            }
        }
        for page in 0..pages {
            if redirects[page] {
                of_page[page] = of_page[end[page] as usize];
            }
        }
        Ok(Self { of_page, redirects, comparable, count })
    }
}

fn targets(input: &BatchInput<'_>) -> Result<Vec<u32>, BatchError> {
    let mut target = vec![NONE; input.pages.len()];
    for &(page, to) in input.redirects {
        let known = &mut target[page as usize];
        if *known != NONE && *known != to {
            let (first, second) = (to.min(*known), to.max(*known));
            return Err(BatchError::TwoRedirects { page, first, second });
        }
        *known = to;
    }
    Ok(target)
}

/// The end of each page's chain; its own position for a page that does not redirect.
fn chain_ends(input: &BatchInput<'_>, target: &[u32]) -> Vec<u32> {
    /// Marks a page on the current path; larger than any position.
    const OPEN: u32 = NONE - 1;
    let mut end = vec![NONE; target.len()];
    let mut path = Vec::new();
    for start in 0..target.len() as u32 {
        let mut page = start;
        while end[page as usize] == NONE && target[page as usize] != NONE {
            end[page as usize] = OPEN;
            path.push(page);
            page = target[page as usize];
        }
        let last = match end[page as usize] {
            NONE => {
                end[page as usize] = page;
                page
            }
            OPEN => {
                let cycle = path.iter().rposition(|&p| p == page).unwrap_or(0);
                path[cycle..].iter().copied().min_by_key(|&p| address(input, p)).unwrap_or(page)
            }
            known => known,
        };
        for page in path.drain(..) {
            end[page as usize] = last;
        }
    }
    end
}

fn address<'a>(input: &'a BatchInput<'_>, page: u32) -> (&'a [u8], u64) {
    let facts = &input.pages[page as usize];
    (facts.url.as_bytes(), facts.id)
}

/// Pages with equal content, each as a list.
fn content_classes(input: &BatchInput<'_>, target: &[u32]) -> Vec<Vec<u32>> {
    let mut keyed: Vec<(u128, ScopeKey, u32)> = input
        .contents
        .iter()
        .enumerate()
        .filter(|&(page, _)| target[page] == NONE)
        .filter_map(|(page, content)| {
            let scope = input.scopes.get(page).copied().unwrap_or_default();
            content.map(|c| (u128::from_le_bytes(c.to_bytes()), scope, page as u32))
        })
        .collect();
    keyed.sort_unstable();
    keyed
        .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .filter(|class| class.len() > 1)
        .map(|class| class.iter().map(|&(_, _, page)| page).collect())
        .collect()
}
