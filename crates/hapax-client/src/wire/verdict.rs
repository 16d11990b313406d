//! Verdicts on pages: what a page duplicates, how similar they are, and why.
//!
//! All front ends describe the store's decisions with this module. It has the only list of names of verdicts
//! and tiers, which metrics and tables use, too. Does not decide anything.

use hapax::group::live::{Kind, Likeness, Matching, PageId, Tier};
use hapax_store::{Decision, Observation, Repository, Seen, StoreError};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alike {
    /// Distance of the fingerprints in bits.
    pub distance: u8,
    /// Estimated Jaccard similarity of the texts, 0 to 1.
    pub similarity: f32,
    pub exact: bool,
    /// Whether it is a confirmed duplicate.
    pub matches: bool,
}

impl From<&Likeness> for Alike {
    fn from(likeness: &Likeness) -> Self {
        Self {
            distance: likeness.distance,
            similarity: likeness.similarity,
            exact: likeness.matching == Matching::Exact,
            matches: likeness.matches(),
        }
    }
}

/// The deciding rule and the values it compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Because {
    pub rule: String,
    pub text: String,
}

impl From<&hapax::group::Reason> for Because {
    fn from(reason: &hapax::group::Reason) -> Self {
        Self { rule: reason.rule.to_owned(), text: reason.text.clone() }
    }
}

/// A page found by the index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Match {
    pub url: String,
    #[serde(flatten)]
    pub alike: Alike,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub url: String,
    /// `exact`, `near`, `related`, `redirect`, `cycle`, `empty` or `awaited`. A page without a
    /// match is `new`, `unchanged` or `changed`, according to `seen`, and `unique` if it was looked
    /// up.
    pub verdict: String,
    /// Whether its address was known: `first`, `unchanged` or `changed`; null if the page was
    /// looked up.
    pub seen: Option<String>,
    /// Whether it is the kept page of its group.
    pub is_winner: bool,
    /// Whether the page may be removed, because the winner represents it.
    pub removable: bool,
    /// Its group; null for a page that is not recorded and would form a new one.
    pub group: Option<u32>,
    /// The address of the kept page; its own if it is the kept one.
    pub winner: String,
    /// Similarity to the winner or, for the winner, to the nearest member.
    pub alike: Option<Alike>,
    /// The known page most similar to it, other than itself, whether it matches or not; null if no
    /// similar page is known. For pages in batches and pages looked up, it is a match or null,
    /// because nothing is searched.
    pub nearest: Option<Nearest>,
    /// Its own text, beyond the frame of its host; null without a frame.
    #[serde(default)]
    pub own: Option<OwnText>,
    pub reason: Option<Because>,
    /// `none`, `winner` (tier 1: still matches its group's winner) or `index` (tier 2: searched).
    pub tier: String,
    /// The nearest pages found by the index, at most [`MATCHES`].
    pub matches: Vec<Match>,
    pub found: usize,
    pub recorded: bool,
}

/// The own text of a page, beyond the frame of its host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnText {
    /// Number of words without a digit, at most 65,535.
    pub words: u16,
    /// The shared part of the smaller own text with that of the winner, 0 to 1; null for the winner
    /// and for a winner on another host.
    pub similarity: Option<f32>,
    /// The version of the frame under which the page was compared, from 1.
    pub frame: u16,
}

impl From<hapax_store::OwnShown> for OwnText {
    fn from(own: hapax_store::OwnShown) -> Self {
        let hapax_store::OwnShown { words, similarity, frame } = own;
        Self { words, similarity, frame }
    }
}

/// The known page most similar to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nearest {
    pub url: String,
    /// Distance of the fingerprints in bits.
    pub distance: u8,
    /// Estimated Jaccard similarity of the texts, 0 to 1.
    pub similarity: f32,
}

impl From<hapax_store::Nearest> for Nearest {
    fn from(nearest: hapax_store::Nearest) -> Self {
        let Likeness { distance, similarity, .. } = nearest.likeness;
        Self { url: nearest.url, distance, similarity }
    }
}

/// The most similar match.
fn nearest_of(matches: &[Match]) -> Option<Nearest> {
    let best = matches.iter().max_by(|a, b| {
        let order = a.alike.similarity.total_cmp(&b.alike.similarity);
        order.then(b.alike.distance.cmp(&a.alike.distance)).then_with(|| b.url.cmp(&a.url))
    })?;
    let Alike { distance, similarity, .. } = best.alike;
    Some(Nearest { url: best.url.clone(), distance, similarity })
}

/// Maximum number of matches in a verdict.
pub const MATCHES: usize = 20;

/// All verdicts of recorded or checked pages, in the order of lists.
pub const VERDICTS: [&str; 10] = [
    "new",
    "unchanged",
    "changed",
    "exact",
    "near",
    "related",
    "redirect",
    "cycle",
    "empty",
    "awaited",
];

pub const fn verdict_name(kind: Kind, seen: Option<Seen>) -> &'static str {
    match kind {
        Kind::Unique => match seen {
            Some(Seen::First) => "new",
            Some(Seen::Unchanged) => "unchanged",
            Some(Seen::Changed) => "changed",
            None => "unique",
        },
        Kind::Exact => "exact",
        Kind::Near => "near",
        Kind::Related => "related",
        Kind::Redirect => "redirect",
        Kind::Cycle => "cycle",
        Kind::Empty => "empty",
        Kind::Awaited => "awaited",
    }
}

pub const fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::None => "none",
        Tier::Winner => "winner",
        Tier::Index => "index",
    }
}

impl Verdict {
    /// The verdict on a page that was looked up.
    pub fn known(url: String, decision: &Decision) -> Self {
        Self::new(url, decision, Vec::new(), true)
    }

    /// The verdict for a decision of this repository.
    pub fn of(
        store: &Repository,
        url: String,
        decision: &Decision,
        recorded: bool,
    ) -> Result<Self, StoreError> {
        let shown = decision.verdict.matches.iter().take(MATCHES);
        let shown: Vec<PageId> = shown.map(|near| near.page).collect();
        let names = match (&shown[..], decision.verdict.winner) {
            ([], _) => Vec::new(),
            // Usually the winner is the only match, and its address is known already.
            ([only], Some(winner)) if *only == winner && decision.winner_url.is_some() => {
                vec![decision.winner_url.clone()]
            }
            _ => store.addresses(&shown)?,
        };
        Ok(Self::new(url, decision, names, recorded))
    }

    /// Adds the known page most similar to this one, unless it has one. Compares with all pages.
    pub fn find_nearest(
        &mut self,
        store: &Repository,
        page: &Observation,
    ) -> Result<(), StoreError> {
        if self.nearest.is_none() {
            self.nearest = store.nearest(page)?.map(Into::into);
        }
        Ok(())
    }

    /// From a decision; `names` are the addresses of its first matches.
    pub fn new(
        url: String,
        decision: &Decision,
        names: Vec<Option<String>>,
        recorded: bool,
    ) -> Self {
        let verdict = &decision.verdict;
        let shown = verdict.matches.iter().zip(names);
        let matches: Vec<Match> = shown
            .filter_map(|(near, url)| Some(Match { url: url?, alike: (&near.likeness).into() }))
            .collect();
        let duplicate = verdict.likeness.filter(Likeness::matches);
        Self {
            verdict: verdict_name(verdict.kind, decision.seen).into(),
            seen: decision.seen.map(|seen| seen.name().into()),
            nearest: nearest_of(&matches).or_else(|| {
                let (url, alike) = (decision.winner_url.clone()?, duplicate?);
                Some(hapax_store::Nearest { url, likeness: alike }.into())
            }),
            is_winner: verdict.is_winner,
            removable: verdict.removable(),
            group: verdict.group.map(|group| group.0),
            winner: decision.winner_url.clone().unwrap_or_else(|| url.clone()),
            alike: verdict.likeness.as_ref().map(Alike::from),
            own: decision.own.map(OwnText::from),
            reason: verdict.reason.as_ref().map(Because::from),
            tier: tier_name(verdict.tier).into(),
            matches,
            found: verdict.matches.len(),
            recorded,
            url,
        }
    }
}
