//! Groups all pages at once: confirmed pairs in, groups verified against their winners out.
//!
//! Pages with equal content are one node, together with everything that redirects to it. The best page of a
//! connected component takes every node that it matches itself as its group, a *star*; the rest is grouped in
//! the same way.
//!
//! ```text
//!   rank          1 --- 4 --- 2 --- 5 --- 3        a family of five in a chain
//!   stars        (1)--- 4    (2)--- 5    (3)       1 takes 4; 2 takes 5; 3 is alone
//! ```
//!
//! Guarantees: every page is a winner, matches its winner directly, has the winner's content, or redirects to
//! such a page. Winners rank above all members, and no two winners match. The result depends on the set of
//! pages and pairs only. O(pages log pages + pairs) time, linear memory. Does not compare pages: a missing pair
//! is not a match. Source: Zhu et al. 2012, 5 and 5.2; here every group is repaired, not only those with many
//! failing members.

mod nodes;
mod ranking;
mod stars;
mod union_find;

use super::facts::PageFacts;
use super::reason::{DecidedBy, Reason};
use super::rules::Rules;
use super::scope::ScopeKey;
use crate::fingerprint::ContentHash;
pub use union_find::UnionFind;

/// Two pages that match and were confirmed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearPair {
    /// Position of one page.
    pub a: u32,
    /// Position of the other.
    pub b: u32,
    /// Number of differing fingerprint bits.
    pub distance: u8,
    /// The similarity that confirmed the pair, `0.0..=1.0`.
    pub similarity: f32,
}

/// Pages and their matches; pages are identified by their position in `pages`.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchInput<'a> {
    /// One entry per page.
    pub pages: &'a [PageFacts<'a>],
    /// The content of each page, `None` for an empty page, which matches nothing. An empty list if
    /// contents are unknown; then only pairs count.
    pub contents: &'a [Option<ContentHash>],
    /// The scope of each page, or an empty list if all pages are in one scope. Pairs and equal
    /// contents across scopes are ignored.
    pub scopes: &'a [ScopeKey],
    /// `(from, to)`: the first page redirects to the second. Such a page has no content of its own;
    /// pairs with it are ignored, and it joins the group of the last page of the chain.
    pub redirects: &'a [(u32, u32)],
    /// Confirmed pairs in any order and direction; repeats and self-pairs are ignored.
    pub pairs: &'a [NearPair],
}

/// Grouping failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// There are more pages than positions.
    #[error("{found} pages are more than the {max} that can be grouped at once", max = u32::MAX - 1)]
    TooManyPages { found: usize },
    /// There are more pairs than can be counted.
    #[error("{found} pairs are more than the {max} that can be grouped at once", max = u32::MAX)]
    TooManyPairs { found: usize },
    /// A list has another length than the list of pages.
    #[error("{found} {what} for {pages} pages: give one for each page, or none")]
    Lengths { what: &'static str, found: usize, pages: usize },
    /// A pair or a redirect refers to a missing page.
    #[error("{what} names page {page}, but there are only {pages} pages")]
    NoSuchPage {
        /// `a pair` or `a redirect`.
        what: &'static str,
        page: u32,
        pages: usize,
    },
    /// A page redirects to two different pages.
    #[error("page {page} redirects both to page {first} and to page {second}")]
    TwoRedirects {
        page: u32,
        /// The smaller of the two targets.
        first: u32,
        second: u32,
    },
}

/// The result for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The winner of its group; is kept.
    Kept,
    /// Has the winner's content; is removed.
    Exact,
    /// Matches the winner; is removed.
    Near,
    /// Redirects to the winner or to a removed page of its group; is removed.
    Redirect,
}

impl Outcome {
    /// Whether the page may be removed.
    pub const fn removable(self) -> bool {
        !matches!(self, Self::Kept)
    }

    /// The name in tables, reports and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Exact => "exact",
            Self::Near => "near",
            Self::Redirect => "redirect",
        }
    }
}

/// The group of a page and its relation to the winner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Index into [`Grouping::stars`].
    pub star: u32,
    pub outcome: Outcome,
    /// Distance to the winner in bits.
    pub distance: u8,
    /// Similarity to the winner, `0.0..=1.0`.
    pub similarity: f32,
    /// The rule that chose the winner over this page; `None` for the winner.
    pub decided: Option<DecidedBy>,
}

/// A group: a winner and the pages that match it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Star {
    /// Position of the kept page.
    pub winner: u32,
    /// Number of pages, including the winner.
    pub size: u32,
    /// The largest distance between the winner and another page.
    pub radius: u8,
    /// Upper bound of the distance between any two pages: the sum of the two largest distances to
    /// the winner.
    pub diameter: u8,
    /// Index into [`Grouping::families`] if its pages match pages of other groups.
    pub family: Option<u32>,
    first: u32,
}

/// Several groups connected by a chain of pairs. Transitive closure would have removed all of their
/// pages except one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// The group of the family's best page.
    pub head: u32,
    /// Number of groups in the family.
    pub stars: u32,
    pub pages: u32,
    /// Number of pages that do not match the head's winner.
    pub failing: u32,
}

impl Family {
    /// The share of pages other than the best one that do not match it, `0.0..=1.0`.
    pub fn failing_share(&self) -> f64 {
        f64::from(self.failing) / f64::from((self.pages - 1).max(1))
    }
}

/// The groups of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grouping {
    placements: Vec<Placement>,
    stars: Vec<Star>,
    families: Vec<Family>,
    members: Vec<u32>,
}

impl Grouping {
    /// Groups the pages.
    ///
    /// # Errors
    ///
    /// The lists of the input do not fit together; see [`BatchError`].
    pub fn of(rules: &Rules, input: &BatchInput<'_>) -> Result<Self, BatchError> {
        check(input)?;
        let nodes = nodes::Nodes::collapse(input)?;
        Ok(stars::build(rules, input, &nodes))
    }

    /// The placement of each page, by position.
    pub fn placements(&self) -> &[Placement] {
        &self.placements
    }

    /// All groups, ascending by position of the winner.
    pub fn stars(&self) -> &[Star] {
        &self.stars
    }

    /// Families of two or more groups, by their heads.
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// The pages of a group: the winner, then the others, best first.
    pub fn members(&self, star: &Star) -> &[u32] {
        let first = star.first as usize;
        &self.members[first..first + star.size as usize]
    }

    /// The position of the kept page of this page's group.
    pub fn winner(&self, page: u32) -> u32 {
        self.stars[self.placements[page as usize].star as usize].winner
    }

    /// Explains why the page may be removed; `None` if it is kept.
    pub fn reason(&self, rules: &Rules, pages: &[PageFacts<'_>], page: u32) -> Option<Reason> {
        let by = self.placements[page as usize].decided?;
        let winner = &pages[self.winner(page) as usize];
        Some(Reason::new(rules, by, winner, &pages[page as usize]))
    }
}

fn check(input: &BatchInput<'_>) -> Result<(), BatchError> {
    let pages = input.pages.len();
    if pages >= u32::MAX as usize {
        return Err(BatchError::TooManyPages { found: pages });
    }
    if u32::try_from(input.pairs.len()).is_err() {
        return Err(BatchError::TooManyPairs { found: input.pairs.len() });
    }
    for (what, found) in [("contents", input.contents.len()), ("scopes", input.scopes.len())] {
        if found != 0 && found != pages {
            return Err(BatchError::Lengths { what, found, pages });
        }
    }
    let pairs = input.pairs.iter().map(|pair| ("a pair", pair.a.max(pair.b)));
    let redirects = input.redirects.iter().map(|&(from, to)| ("a redirect", from.max(to)));
    match pairs.chain(redirects).find(|&(_, page)| page as usize >= pages) {
        Some((what, page)) => Err(BatchError::NoSuchPage { what, page, pages }),
        None => Ok(()),
    }
}
