//! Verdicts about a page: unique, exact, near or related, to which winner, and why.
//!
//! Making a verdict does not change the state. It holds for the moment of the query; only a page that matches
//! the winner itself is removable.

use super::record::{Bare, GroupId, PageId, PageRecord};
use super::redirects::place;
use super::{GroupState, Likeness, LiveError, LiveResult, Matching, Near, Operation, World};
use crate::group::facts::PageFacts;
use crate::group::reason::{DecidedBy, Reason};

/// How a page relates to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Matches no other page.
    Unique,
    /// Has the content of the winner or, for a winner, of another page of its group.
    Exact,
    /// Matches it nearly, and is confirmed.
    Near,
    /// Matches some page, but not the winner of that page's group: not removable.
    Related,
    Redirect,
    /// Redirects in or to a cycle, so there is no content.
    Cycle,
    Empty,
    /// Was never seen or was deleted, but pages redirect to it.
    Awaited,
}

/// The tier that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// No comparison was needed.
    None,
    /// Tier 1: the page stayed in its group.
    Winner,
    /// Tier 2: the index was searched.
    Index,
}

/// The verdict on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub kind: Kind,
    /// `None` only for a page that is not recorded and would form a new group.
    pub group: Option<GroupId>,
    /// The kept page of the group, which may be the page itself; `None` only for a page that is not
    /// recorded and would be kept.
    pub winner: Option<PageId>,
    /// Whether this page is the kept one.
    pub is_winner: bool,
    /// Similarity to the winner or, for a winner, to the nearest member.
    pub likeness: Option<Likeness>,
    /// Matches from the index, if it was searched.
    pub matches: Vec<Near>,
    /// Why the winner is kept rather than this page; for a winner, rather than the nearest member.
    pub reason: Option<Reason>,
    pub tier: Tier,
}

impl Verdict {
    /// Whether the page may be removed, because the winner represents it.
    pub const fn removable(&self) -> bool {
        !self.is_winner && matches!(self.kind, Kind::Exact | Kind::Near | Kind::Redirect)
    }
}

/// Members compared with a winner to find the nearest.
const SAMPLE: usize = 16;

impl<S: GroupState, W: World<Error = S::Error>> Operation<'_, S, W> {
    /// The verdict on a known page.
    pub(super) fn verdict(
        &self,
        page: PageId,
        tier: Tier,
        matches: Vec<Near>,
    ) -> LiveResult<Verdict, S> {
        self.verdict_under(page, None, tier, matches)
    }

    /// As [`verdict`](Self::verdict), if another member were the winner.
    pub(super) fn verdict_under(
        &self,
        page: PageId,
        winner: Option<PageId>,
        tier: Tier,
        matches: Vec<Near>,
    ) -> LiveResult<Verdict, S> {
        let unknown = LiveError::Broken { page, what: "has no record" };
        let (group, end) = place(self.state, page)?.ok_or(unknown)?;
        let winner = match winner {
            Some(winner) => winner,
            None => self.group(group, page)?.winner,
        };
        let mut verdict = Verdict {
            kind: Kind::Unique,
            group: Some(group),
            winner: Some(winner),
            is_winner: winner == page,
            likeness: None,
            matches,
            reason: None,
            tier,
        };
        let end_record = self.state.page(end)?;
        verdict.kind = match end_record {
            Some(PageRecord::Bare { why: Bare::Loop { .. }, .. }) => Kind::Cycle,
            _ if end != page => Kind::Redirect,
            Some(PageRecord::Bare { why: Bare::Empty, .. }) => Kind::Empty,
            Some(PageRecord::Bare { why: Bare::Awaited, .. }) => Kind::Awaited,
            Some(PageRecord::Content { .. } | PageRecord::Redirects { .. }) | None => {
                return self.content_verdict(page, group, verdict);
            }
        };
        if end != page && !verdict.is_winner {
            let rule = DecidedBy::Redirect.name(self.rules);
            verdict.reason = Some(Reason { rule, text: format!("it redirects to page {end}") });
        }
        Ok(verdict)
    }

    fn content_verdict(
        &self,
        page: PageId,
        group: GroupId,
        mut verdict: Verdict,
    ) -> LiveResult<Verdict, S> {
        let other = match verdict.winner {
            Some(winner) if winner != page => Some((winner, self.compare(page, winner)?)),
            _ => self.nearest(page, group, &verdict.matches)?,
        };
        let Some((other, likeness)) = other else {
            verdict.kind = if verdict.matches.is_empty() { Kind::Unique } else { Kind::Related };
            return Ok(verdict);
        };
        verdict.kind = kind_of(&likeness);
        verdict.likeness = Some(likeness);
        let (own, its) = (self.world.facts(page)?, self.world.facts(other)?);
        verdict.reason = Some(if verdict.is_winner {
            self.rules.reason(&own, &its)
        } else {
            self.rules.reason(&its, &own)
        });
        Ok(verdict)
    }

    /// The member most similar to the winner: among the matches, or among a few members.
    fn nearest(
        &self,
        page: PageId,
        group: GroupId,
        matches: &[Near],
    ) -> LiveResult<Option<(PageId, Likeness)>, S> {
        let mut candidates = Vec::new();
        for near in matches {
            if matches!(self.state.page(near.page)?, Some(PageRecord::Content { group: its, .. }) if its == group)
            {
                candidates.push((near.page, near.likeness));
            }
        }
        if candidates.is_empty() {
            for other in self.members(group, SAMPLE)? {
                if other != page {
                    candidates.push((other, self.compare(page, other)?));
                }
            }
        }
        Ok(candidates.into_iter().min_by(|a, b| {
            let by_similarity = b.1.similarity.total_cmp(&a.1.similarity);
            (!a.1.matches(), a.1.distance)
                .cmp(&(!b.1.matches(), b.1.distance))
                .then(by_similarity)
                .then(a.0.cmp(&b.0))
        }))
    }

    /// The verdict on a page that is not recorded, or that would replace the content of `known`.
    pub(super) fn foresee(
        &self,
        facts: &PageFacts<'_>,
        known: Option<PageId>,
        found: Vec<Near>,
    ) -> LiveResult<Verdict, S> {
        // The group with the best matching winner; otherwise the group of any match.
        let mut best: Option<(bool, PageFacts<'_>, GroupId, PageId, Near)> = None;
        for &near in found.iter().filter(|near| near.likeness.matches()) {
            let Some(PageRecord::Content { group, .. }) = self.state.page(near.page)? else {
                continue;
            };
            let mut winner = self.group(group, near.page)?.winner;
            if Some(winner) == known {
                // With its new content, the page competes with its matches.
                winner = near.page;
            }
            let chained = near.page != winner;
            let its = self.world.facts(winner)?;
            let precedes = best.as_ref().is_none_or(|(chain, other, ..)| {
                (chained, self.rules.order(&its, other).0) < (*chain, std::cmp::Ordering::Equal)
            });
            if precedes {
                best = Some((chained, its, group, winner, near));
            }
        }
        let Some((chained, its, group, winner, near)) = best else {
            return Ok(Verdict {
                kind: Kind::Unique,
                group: None,
                winner: None,
                is_winner: true,
                likeness: None,
                matches: found,
                reason: None,
                tier: Tier::Index,
            });
        };
        let is_winner = self.rules.better(facts, &its);
        let reason =
            if is_winner { self.rules.reason(facts, &its) } else { self.rules.reason(&its, facts) };
        Ok(Verdict {
            kind: if chained { Kind::Related } else { kind_of(&near.likeness) },
            group: Some(group),
            winner: (!is_winner).then_some(winner),
            is_winner,
            likeness: Some(near.likeness),
            matches: found,
            reason: Some(reason),
            tier: Tier::Index,
        })
    }
}

fn kind_of(likeness: &Likeness) -> Kind {
    match likeness.matching {
        Matching::Exact => Kind::Exact,
        Matching::Near => Kind::Near,
        Matching::No => Kind::Related,
    }
}
