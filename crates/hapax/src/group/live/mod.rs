//! Live groups: updated as pages are added, changed, redirected or deleted. Each known page is in one group.
//!
//! ```text
//!   page seen ──► known, and still matches its winner? ── yes ──► stays          tier 1
//!                                │ no
//!                                ▼
//!                 matches any other page? (index)                          tier 2
//!                  no │            │ yes
//!                     ▼            ▼
//!               founds a group   joins or moves; connected groups merge
//! ```
//!
//! Guarantees: a page is *removable* only if it matches the winner itself; otherwise its verdict is
//! [`Kind::Related`]. The winner is the best member by the rules in any order of arrival, and no winner is a
//! copy of another. Above [`LiveOptions::repair_share`] failing members a group is repaired as in
//! [`batch`](super::batch); with a share of 1, added pages form the same groups in any order. Pages that
//! redirect are in the group of their chain's end. State is linear in pages. Does not read contents, indexes or
//! clocks. Source: Zhu et al. 2012, 5.1 (two tiers, cases 1 to 3) and 5.2 (verification with the winner,
//! repair).

mod election;
pub mod market;
mod membership;
pub mod memory;
pub mod record;
mod redirects;
mod repair;
pub mod state;
pub mod verdict;
pub mod world;

use super::facts::PageFacts;
use super::rules::Rules;
pub use market::{Fate, MarketRow};
pub use memory::MemoryState;
pub use record::{Bare, Change, Check, Event, GroupId, GroupRecord, PageId, PageRecord};
pub use state::GroupState;
use std::collections::BTreeSet;
pub use verdict::{Kind, Tier, Verdict};
pub use world::{Likeness, Matching, Near, World};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveOptions {
    /// A group is repaired if more than this share of its members, without the winner, fail to
    /// match the winner, `0.0..=1.0`. At 1 groups are transitive closures, at 0 they are stars.
    pub repair_share: f64,
    /// Groups up to this size are compared with a new winner immediately, so all their counts are
    /// exact; members of larger ones are compared when they are queried.
    pub verify_at_once: u32,
    /// Maximum number of matches that tier 2 uses, nearest first. A page with more copies than this
    /// does not connect their group with others.
    pub max_matches: usize,
}

impl Default for LiveOptions {
    /// Small groups are stars; a group of hundreds may have some failing members before it is
    /// repaired.
    fn default() -> Self {
        Self { repair_share: 0.1, verify_at_once: 64, max_matches: 256 }
    }
}

/// The content at a page's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Words, new or different from before.
    Changed,
    /// The same words as before; facts may have changed.
    Same,
    /// A page without words.
    Empty,
}

/// An operation on live groups failed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError<E> {
    /// The state or the world failed.
    #[error(transparent)]
    Outside(#[from] E),
    /// The records contradict each other. Nothing was decided from them.
    #[error("group records are inconsistent: page {page} {what}; check and repair the store")]
    Broken {
        /// Where it was noticed.
        page: PageId,
        what: &'static str,
    },
}

/// Duplicate groups backed by a state.
#[derive(Clone, Debug)]
pub struct LiveGroups<S> {
    state: S,
    rules: Rules,
    options: LiveOptions,
}

/// The result of an operation on groups whose state is `S`.
pub type LiveResult<T, S> = Result<T, LiveError<<S as GroupState>::Error>>;

impl<S: GroupState> LiveGroups<S> {
    /// Groups from existing records, which must have been made under the same rules; see
    /// [`set_rules`](Self::set_rules) for others.
    pub const fn new(state: S, rules: Rules, options: LiveOptions) -> Self {
        Self { state, rules, options }
    }

    pub const fn state(&self) -> &S {
        &self.state
    }

    /// For committing the state or dropping events.
    pub const fn state_mut(&mut self) -> &mut S {
        &mut self.state
    }

    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    fn with<'a, W>(&'a mut self, world: &'a W) -> Operation<'a, S, W>
    where
        W: World<Error = S::Error>,
    {
        let (rules, options) = (&self.rules, self.options);
        Operation { state: &mut self.state, world, rules, options, new_winners: Vec::new() }
    }

    /// A page was seen: cases 1 and 2 of the paper.
    pub fn seen<W>(&mut self, world: &W, page: PageId, content: Content) -> LiveResult<Verdict, S>
    where
        W: World<Error = S::Error>,
    {
        let mut operation = self.with(world);
        operation.note_change(page, content)?;
        let (tier, found) = match content {
            Content::Changed => operation.seen(page)?,
            Content::Same if operation.has_content(page)? => {
                operation.facts_changed(&[page])?;
                (Tier::Winner, Vec::new())
            }
            Content::Same => operation.seen(page)?,
            Content::Empty => {
                operation.make_bare(page, Bare::Empty)?;
                (Tier::None, Vec::new())
            }
        };
        operation.reconnect()?;
        operation.verdict(page, tier, found)
    }

    /// A page redirects: case 3 of the paper. Every page that redirects to it moves with it. The
    /// target may be unknown; it is then awaited.
    pub fn redirects<W>(&mut self, world: &W, page: PageId, to: PageId) -> LiveResult<Verdict, S>
    where
        W: World<Error = S::Error>,
    {
        let mut operation = self.with(world);
        operation.redirect(page, to)?;
        operation.reconnect()?;
        operation.verdict(page, Tier::None, Vec::new())
    }

    /// Removes deleted pages from their groups; unknown pages are ignored. Elects each winner once,
    /// however many pages of its group are deleted.
    pub fn gone<W>(&mut self, world: &W, pages: &[PageId]) -> LiveResult<(), S>
    where
        W: World<Error = S::Error>,
    {
        let mut operation = self.with(world);
        operation.gone(pages)?;
        operation.reconnect()
    }

    /// Scores or other facts of these pages changed, but not their contents.
    pub fn facts_changed<W>(&mut self, world: &W, pages: &[PageId]) -> LiveResult<(), S>
    where
        W: World<Error = S::Error>,
    {
        let mut operation = self.with(world);
        operation.facts_changed(pages)?;
        operation.reconnect()
    }

    /// Changes the rules: every group elects its winner again.
    pub fn set_rules<W>(&mut self, world: &W, rules: Rules) -> LiveResult<(), S>
    where
        W: World<Error = S::Error>,
    {
        self.rules = rules;
        let mut operation = self.with(world);
        operation.elect_everywhere()?;
        operation.reconnect()
    }

    /// The verdict on a known page; `None` if it is unknown. Compares the page with its winner if
    /// necessary, which may trigger a repair.
    pub fn verdict<W>(&mut self, world: &W, page: PageId) -> LiveResult<Option<Verdict>, S>
    where
        W: World<Error = S::Error>,
    {
        if self.state.page(page)?.is_none() {
            return Ok(None);
        }
        let mut operation = self.with(world);
        operation.check_now(page)?;
        operation.reconnect()?;
        operation.verdict(page, Tier::None, Vec::new()).map(Some)
    }

    /// How a known page relates to the winner of its group, or to the member that wins under the
    /// rules of a market; `None` if it is unknown. `found` are its matches from the index, if the
    /// index was searched. Changes nothing: records no check, repairs no group.
    pub fn status<W>(
        &mut self,
        world: &W,
        page: PageId,
        winner: Option<PageId>,
        found: Vec<Near>,
    ) -> LiveResult<Option<Verdict>, S>
    where
        W: World<Error = S::Error>,
    {
        if self.state.page(page)?.is_none() {
            return Ok(None);
        }
        let tier = if found.is_empty() { Tier::None } else { Tier::Index };
        self.with(world).verdict_under(page, winner, tier, found).map(Some)
    }

    /// Regroups a page by its content; used to repair the records.
    pub fn regroup<W>(&mut self, world: &W, page: PageId) -> LiveResult<(), S>
    where
        W: World<Error = S::Error>,
    {
        let mut operation = self.with(world);
        operation.seen(page)?;
        operation.reconnect()
    }

    /// Compares every member of a group with its winner, tightens its diameter, and repairs it if
    /// too many fail.
    pub fn verify<W>(&mut self, world: &W, group: GroupId) -> LiveResult<(), S>
    where
        W: World<Error = S::Error>,
    {
        let mut operation = self.with(world);
        if operation.state.group(group)?.is_some() {
            operation.verify(group)?;
            operation.repair_if_failing(group)?;
        }
        operation.reconnect()
    }

    /// The verdict that a page would get if it were recorded, or if the page `known` had new
    /// content, given its facts and its matches from the index. Changes nothing.
    pub fn check<W>(
        &mut self,
        world: &W,
        facts: &PageFacts<'_>,
        known: Option<PageId>,
        found: Vec<Near>,
    ) -> LiveResult<Verdict, S>
    where
        W: World<Error = S::Error>,
    {
        self.with(world).foresee(facts, known, found)
    }

    /// The group of a page, and the page at the end of its redirects, itself if it does not
    /// redirect. `None` if the page is unknown.
    pub fn place(&self, page: PageId) -> LiveResult<Option<(GroupId, PageId)>, S> {
        redirects::place(&self.state, page)
    }

    /// All pages of a group, including those that redirect to its members, ascending.
    pub fn pages(&self, group: GroupId) -> LiveResult<Vec<PageId>, S> {
        redirects::pages(&self.state, group)
    }
}

/// One operation with everything it borrows.
struct Operation<'a, S, W> {
    state: &'a mut S,
    world: &'a W,
    rules: &'a Rules,
    options: LiveOptions,
    /// Pages that became winners in this operation and were not searched for yet.
    new_winners: Vec<PageId>,
}

impl<S: GroupState, W: World<Error = S::Error>> Operation<'_, S, W> {
    fn has_content(&self, page: PageId) -> LiveResult<bool, S> {
        Ok(matches!(self.state.page(page)?, Some(PageRecord::Content { .. })))
    }

    /// Logs that the content of a known page changed.
    fn note_change(&mut self, page: PageId, content: Content) -> LiveResult<(), S> {
        let changed = match self.state.page(page)? {
            Some(PageRecord::Content { .. }) => content != Content::Same,
            Some(PageRecord::Bare { why: Bare::Empty, .. }) => content != Content::Empty,
            Some(PageRecord::Bare { .. } | PageRecord::Redirects { .. }) | None => false,
        };
        if changed { Ok(self.state.append(Change::Changed { page })?) } else { Ok(()) }
    }

    /// Tier 1 if that suffices, else tier 2. The page must have content that the world knows.
    fn seen(&mut self, page: PageId) -> LiveResult<(Tier, Vec<Near>), S> {
        if let Some(PageRecord::Content { group, .. }) = self.state.page(page)?
            && self.still_belongs(page, group)?
        {
            self.resolve(group)?;
            return Ok((Tier::Winner, Vec::new()));
        }
        let found = self.near(page)?;
        self.place_by_content(page, &found)?;
        Ok((Tier::Index, found))
    }

    /// Tier 2: matches from the index, without invalid ones.
    fn near(&self, page: PageId) -> LiveResult<Vec<Near>, S> {
        let scope = self.world.scope(page)?;
        let mut found = self.world.near(page, self.options.max_matches)?;
        let mut kept = Vec::with_capacity(found.len());
        for near in found.drain(..) {
            let counts = near.page != page
                && near.likeness.matches()
                && self.has_content(near.page)?
                && self.world.scope(near.page)? == scope;
            if counts {
                kept.push(near);
            }
        }
        Ok(kept)
    }

    /// Contents of different scopes never match.
    fn compare(&self, a: PageId, b: PageId) -> LiveResult<Likeness, S> {
        let likeness = self.world.compare(a, b)?;
        if likeness.matches() && self.world.scope(a)? != self.world.scope(b)? {
            return Ok(Likeness { matching: Matching::No, ..likeness });
        }
        Ok(likeness)
    }

    fn better(&self, a: PageId, b: PageId) -> LiveResult<bool, S> {
        Ok(self.rules.better(&self.world.facts(a)?, &self.world.facts(b)?))
    }

    fn group(&self, group: GroupId, page: PageId) -> LiveResult<GroupRecord, S> {
        let broken = LiveError::Broken { page, what: "is in a group that does not exist" };
        self.state.group(group)?.ok_or(broken)
    }

    fn members(&self, group: GroupId, limit: usize) -> LiveResult<Vec<PageId>, S> {
        Ok(state::collect(limit, |visit| self.state.members(group, visit))?)
    }

    fn gone(&mut self, pages: &[PageId]) -> LiveResult<(), S> {
        let mut headless = BTreeSet::new();
        for &page in pages {
            headless.extend(self.remove(page)?);
        }
        // Elect everywhere before repairing, because a repair looks at the winners of other groups.
        for &group in &headless {
            self.elect(group)?;
        }
        for group in headless {
            self.resolve(group)?;
        }
        Ok(())
    }
}
