//! Follows chains of redirects, finds their ends, and handles cycles.
//!
//! A page that redirects is in the group of the end of its chain. When the end moves, the records of the others
//! do not change (cases 1 and 3 of the paper). In a cycle, the page with the smallest address is the end
//! ([`Bare::Loop`]) until a page of the cycle stops redirecting or redirects elsewhere. An unknown or deleted
//! target is [awaited](Bare::Awaited) as long as something redirects to it.

use super::record::{Bare, Change, Check, GroupId, GroupRecord, PageId, PageRecord};
use super::state::collect;
use super::{GroupState, LiveError, LiveResult, Operation, World};

/// See [`LiveGroups::place`](super::LiveGroups::place).
pub(super) fn place<S: GroupState>(
    state: &S,
    page: PageId,
) -> LiveResult<Option<(GroupId, PageId)>, S> {
    let end = chain_end(state, page, None)?;
    match state.page(end)? {
        Some(PageRecord::Content { group, .. } | PageRecord::Bare { group, .. }) => {
            Ok(Some((group, end)))
        }
        None if end == page => Ok(None),
        None | Some(PageRecord::Redirects { .. }) => {
            Err(LiveError::Broken { page, what: "redirects to a page without a record" })
        }
    }
}

/// See [`LiveGroups::pages`](super::LiveGroups::pages).
pub(super) fn pages<S: GroupState>(state: &S, group: GroupId) -> LiveResult<Vec<PageId>, S> {
    let mut pages = collect(usize::MAX, |visit| state.members(group, visit))?;
    let mut next = 0;
    while let Some(&page) = pages.get(next) {
        pages.extend(collect(usize::MAX, |visit| state.sources(page, visit))?);
        next += 1;
    }
    pages.sort_unstable();
    Ok(pages)
}

/// The last page of a chain: one that does not redirect, or `stop`.
///
/// Records contain no cycle; Brent's method detects one in a damaged store.
fn chain_end<S: GroupState>(
    state: &S,
    page: PageId,
    stop: Option<PageId>,
) -> LiveResult<PageId, S> {
    let (mut at, mut mark, mut steps, mut limit) = (page, page, 0u64, 64u64);
    while Some(at) != stop
        && let Some(PageRecord::Redirects { to }) = state.page(at)?
    {
        at = to;
        if at == mark {
            return Err(LiveError::Broken { page, what: "redirects in an unmarked cycle" });
        }
        steps += 1;
        if steps == limit {
            (mark, limit) = (at, limit * 2);
        }
    }
    Ok(at)
}

impl<S: GroupState, W: World<Error = S::Error>> Operation<'_, S, W> {
    /// Case 3: the page redirects from now on.
    pub(super) fn redirect(&mut self, page: PageId, to: PageId) -> LiveResult<(), S> {
        match self.state.page(page)? {
            Some(PageRecord::Redirects { to: old })
            | Some(PageRecord::Bare { why: Bare::Loop { to: old }, .. })
                if old == to =>
            {
                return Ok(());
            }
            Some(_) | None => {}
        }
        let left = self.detach(page)?;
        self.state.append(Change::Redirected { page, to })?;
        if to != page && self.state.page(to)?.is_none() {
            self.found(to, |group| PageRecord::Bare { group, why: Bare::Awaited })?;
        }
        if chain_end(self.state, to, Some(page))? == page {
            self.close_cycle(page, to)?;
        } else {
            self.state.put_page(page, Some(PageRecord::Redirects { to }))?;
        }
        left.map_or(Ok(()), |group| self.resolve(group))
    }

    /// Lets a page without a record redirect to a chain that ends at the page itself.
    fn close_cycle(&mut self, page: PageId, to: PageId) -> LiveResult<(), S> {
        let (mut least, mut next) = (self.world.facts(page)?, to);
        let (mut end, mut end_to) = (page, to);
        while next != page {
            let Some(PageRecord::Redirects { to }) = self.state.page(next)? else {
                return Err(LiveError::Broken { page: next, what: "left a cycle it is part of" });
            };
            let facts = self.world.facts(next)?;
            if (facts.url.as_bytes(), facts.id) < (least.url.as_bytes(), least.id) {
                (least, end, end_to) = (facts, next, to);
            }
            next = to;
        }
        if end != page {
            self.state.put_page(page, Some(PageRecord::Redirects { to }))?;
        }
        let why = Bare::Loop { to: end_to };
        self.found(end, |group| PageRecord::Bare { group, why })?;
        Ok(())
    }

    /// Removes a page's redirect, so that it has no record.
    pub(super) fn untie(&mut self, page: PageId, to: PageId) -> LiveResult<(), S> {
        let end = chain_end(self.state, to, None)?;
        self.state.put_page(page, None)?;
        self.state.append(Change::Returned { page })?;
        match self.state.page(end)? {
            Some(PageRecord::Bare { group, why: Bare::Loop { to } })
                if chain_end(self.state, to, Some(end))? != end =>
            {
                // The cycle went through the page and is now open.
                self.state.append(Change::Left { page: end, group })?;
                self.state.put_page(end, Some(PageRecord::Redirects { to }))?;
                self.state.put_group(group, None)?;
            }
            Some(PageRecord::Bare { why: Bare::Awaited, .. }) if !self.has_sources(end)? => {
                self.take_out(end)?;
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// The page has no content, or has lost it.
    pub(super) fn make_bare(&mut self, page: PageId, why: Bare) -> LiveResult<(), S> {
        if !self.turn_bare(page, why)? {
            let left = self.detach(page)?;
            self.found(page, |group| PageRecord::Bare { group, why })?;
            if let Some(group) = left {
                self.resolve(group)?;
            }
        }
        Ok(())
    }

    /// Makes a page that is alone in its group bare in place; returns whether it was alone.
    fn turn_bare(&mut self, page: PageId, why: Bare) -> LiveResult<bool, S> {
        let group = match self.state.page(page)? {
            Some(PageRecord::Content { group, .. }) if self.is_alone(page, group)? => group,
            Some(PageRecord::Bare { group, why: old }) => {
                self.note_return(page, old)?;
                group
            }
            Some(_) | None => return Ok(false),
        };
        self.state.put_page(page, Some(PageRecord::Bare { group, why }))?;
        Ok(true)
    }

    /// Gives content to a page that is alone in its group, bare or not, in place; returns whether
    /// it was alone.
    pub(super) fn turn_content(&mut self, page: PageId) -> LiveResult<bool, S> {
        let group = match self.state.page(page)? {
            Some(PageRecord::Content { group, .. }) if self.is_alone(page, group)? => group,
            Some(PageRecord::Bare { group, why }) => {
                self.note_return(page, why)?;
                group
            }
            Some(_) | None => return Ok(false),
        };
        let check = Check::Unchecked;
        self.state.put_page(page, Some(PageRecord::Content { group, check }))?;
        self.state.put_group(group, Some(GroupRecord::alone(page)))?;
        Ok(true)
    }

    /// Logs that the end of a cycle no longer redirects; the rest of the cycle now leads to it.
    pub(super) fn note_return(&mut self, page: PageId, old: Bare) -> LiveResult<(), S> {
        match old {
            Bare::Loop { .. } => Ok(self.state.append(Change::Returned { page })?),
            Bare::Empty | Bare::Awaited => Ok(()),
        }
    }

    /// Deletes the page. Returns the group it left, which may lack its winner.
    pub(super) fn remove(&mut self, page: PageId) -> LiveResult<Option<GroupId>, S> {
        match self.state.page(page)? {
            None | Some(PageRecord::Bare { why: Bare::Awaited, .. }) => return Ok(None),
            Some(_) => {}
        }
        if self.has_sources(page)? && self.turn_bare(page, Bare::Awaited)? {
            self.state.append(Change::Gone { page })?;
            return Ok(None);
        }
        let left = self.take_out(page)?;
        self.state.append(Change::Gone { page })?;
        // Checked only here, because a cycle through the page has been opened and ends here.
        if self.has_sources(page)? {
            self.found(page, |group| PageRecord::Bare { group, why: Bare::Awaited })?;
        }
        Ok(left)
    }

    /// Whether it is the only member. A group that has lost its winner does not count.
    fn is_alone(&self, page: PageId, group: GroupId) -> LiveResult<bool, S> {
        let record = self.group(group, page)?;
        Ok(record.members == 1 && record.winner == page)
    }

    fn has_sources(&self, page: PageId) -> LiveResult<bool, S> {
        Ok(!collect(1, |visit| self.state.sources(page, visit))?.is_empty())
    }
}
