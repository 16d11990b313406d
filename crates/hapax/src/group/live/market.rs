//! Markets: the same groups with other winners, chosen by a named list of rules.
//!
//! A collection for another market prefers other hosts and so keeps other copies of the same pages. Stores
//! nothing: a list is applied to the groups when it is queried.
//!
//! Source: Zhu et al. 2012, section 5.

use super::record::{Bare, GroupId, PageId, PageRecord};
use super::state::collect;
use super::{GroupState, LiveGroups, LiveResult, World};
use crate::group::reason::DecidedBy;
use crate::group::rules::Rules;

/// The result for a page in a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// The winner of its group in this market.
    Kept,
    /// Does not match that winner, and is kept, too.
    Related,
    /// Matches that winner.
    Removed,
}

/// A page in a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarketRow {
    pub page: PageId,
    pub group: GroupId,
    pub winner: PageId,
    pub fate: Fate,
    /// The rule that chose the winner over this page; `None` for the winner.
    pub decided: Option<DecidedBy>,
}

impl<S: GroupState> LiveGroups<S> {
    /// The pages of a group under a list of rules: the winner first, then the others ascending.
    /// Leaves out pages that redirect, are awaited, or are in a cycle.
    pub fn market<W>(
        &self,
        world: &W,
        group: GroupId,
        rules: &Rules,
    ) -> LiveResult<Vec<MarketRow>, S>
    where
        W: World<Error = S::Error>,
    {
        let mut members = collect(usize::MAX, |visit| self.state().members(group, visit))?;
        members.sort_unstable();
        let mut pages = Vec::with_capacity(members.len());
        for page in members {
            match self.state().page(page)? {
                Some(PageRecord::Content { .. } | PageRecord::Bare { why: Bare::Empty, .. }) => {
                    pages.push((page, world.facts(page)?))
                }
                Some(PageRecord::Bare { .. } | PageRecord::Redirects { .. }) | None => {}
            }
        }
        let best = pages.iter().min_by(|a, b| rules.order(&a.1, &b.1).0);
        let Some((winner, best)) = best else { return Ok(Vec::new()) };
        let winner = *winner;
        let kept = MarketRow { page: winner, group, winner, fate: Fate::Kept, decided: None };
        let mut rows = vec![kept];
        for (page, facts) in pages.iter().filter(|(page, _)| *page != winner) {
            let same_scope = world.scope(*page)? == world.scope(winner)?;
            let matches = same_scope && world.compare(*page, winner)?.matches();
            let fate = if matches { Fate::Removed } else { Fate::Related };
            let decided = Some(rules.order(best, facts).1);
            rows.push(MarketRow { page: *page, fate, decided, ..kept });
        }
        Ok(rows)
    }
}
