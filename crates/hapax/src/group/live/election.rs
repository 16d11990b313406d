//! Elects winners and records which members match them.
//!
//! A check is valid for one term; a new winner, or a new version of it, begins the next term without touching
//! the members. Terms are counted in 16 bits; when the counter wraps, all checks are cleared so that no old
//! check is taken for a current one.

use super::record::{Change, Check, FARTHEST, GroupId, GroupRecord, PageId, PageRecord};
use super::{GroupState, Likeness, LiveResult, Operation, World};
use std::collections::BTreeSet;

impl<S: GroupState, W: World<Error = S::Error>> Operation<'_, S, W> {
    /// Makes the best member the winner.
    pub(super) fn elect(&mut self, group: GroupId) -> LiveResult<(), S> {
        let Some(record) = self.state.group(group)? else { return Ok(()) };
        if self.is_bare_in(record.winner, group)? {
            return Ok(());
        }
        let members = self.members(group, usize::MAX)?;
        let Some((&first, rest)) = members.split_first() else { return Ok(()) };
        let mut best = (first, self.world.facts(first)?);
        for &page in rest {
            let facts = self.world.facts(page)?;
            if self.rules.better(&facts, &best.1) {
                best = (page, facts);
            }
        }
        let best = best.0;
        if best == record.winner { Ok(()) } else { self.make_winner(best, group) }
    }

    /// Elects in every group, and compares the members with the result.
    pub(super) fn elect_everywhere(&mut self) -> LiveResult<(), S> {
        let groups = super::state::collect(usize::MAX, |visit| self.state.groups(visit))?;
        for &group in &groups {
            self.elect(group)?;
        }
        for group in groups {
            self.resolve(group)?;
        }
        Ok(())
    }

    /// Facts of some pages changed: re-elects in the groups of these pages.
    pub(super) fn facts_changed(&mut self, pages: &[PageId]) -> LiveResult<(), S> {
        let mut open = BTreeSet::new();
        let mut touched = BTreeSet::new();
        for &page in pages {
            let Some(PageRecord::Content { group, .. }) = self.state.page(page)? else { continue };
            let winner = self.group(group, page)?.winner;
            if winner == page {
                open.insert(group);
            } else if !open.contains(&group) && self.better(page, winner)? {
                self.make_winner(page, group)?;
                touched.insert(group);
            }
        }
        for &group in &open {
            self.elect(group)?;
        }
        for group in open.union(&touched) {
            self.resolve(*group)?;
        }
        Ok(())
    }

    /// Makes a member the winner.
    pub(super) fn make_winner(&mut self, page: PageId, group: GroupId) -> LiveResult<(), S> {
        let mut record = self.group(group, page)?;
        let former = record.winner;
        let former_stays = self.is_member(former, group)?;
        // Through the former winner, no member is farther than the sum of both distances; a winner
        // that left was no farther from the new one than its radius.
        let likeness = if former_stays { Some(self.compare(page, former)?) } else { None };
        let step = likeness.map_or(record.radius, |likeness| likeness.distance);
        record.radius = record.radius.saturating_add(step).min(FARTHEST);
        self.begin_term(group, &mut record)?;
        record.winner = page;
        let check = Check::Unchecked;
        self.state.put_page(page, Some(PageRecord::Content { group, check }))?;
        self.state.put_group(group, Some(record))?;
        self.state.append(Change::WinnerChanged { group, from: former, to: page })?;
        self.new_winners.push(page);
        likeness.map_or(Ok(()), |likeness| self.record_check(former, group, &likeness))
    }

    /// Begins the next term: no member has been compared with the winner yet.
    pub(super) fn begin_term(
        &mut self,
        group: GroupId,
        record: &mut GroupRecord,
    ) -> LiveResult<(), S> {
        (record.checked, record.failing) = (0, 0);
        record.term = match record.term.checked_add(1) {
            Some(term) => term,
            None => {
                for page in self.members(group, usize::MAX)? {
                    let check = Check::Unchecked;
                    self.state.put_page(page, Some(PageRecord::Content { group, check }))?;
                }
                1
            }
        };
        Ok(())
    }

    /// Records the result of comparing a member with the winner.
    pub(super) fn record_check(
        &mut self,
        page: PageId,
        group: GroupId,
        likeness: &Likeness,
    ) -> LiveResult<(), S> {
        let Some(PageRecord::Content { check, .. }) = self.state.page(page)? else { return Ok(()) };
        let mut record = self.group(group, page)?;
        self.drop_check(check, &mut record);
        record.checked += 1;
        record.failing += u32::from(!likeness.matches());
        record.radius = record.radius.max(likeness.distance.min(FARTHEST));
        let term = record.term;
        let check = if likeness.matches() { Check::Matches(term) } else { Check::Fails(term) };
        self.state.put_page(page, Some(PageRecord::Content { group, check }))?;
        Ok(self.state.put_group(group, Some(record))?)
    }

    /// Removes a check of the current term from the group's counts.
    pub(super) fn drop_check(&self, check: Check, record: &mut GroupRecord) {
        match check {
            Check::Matches(term) if term == record.term => {
                record.checked = record.checked.saturating_sub(1);
            }
            Check::Fails(term) if term == record.term => {
                record.checked = record.checked.saturating_sub(1);
                record.failing = record.failing.saturating_sub(1);
            }
            Check::Unchecked | Check::Matches(_) | Check::Fails(_) => {}
        }
    }

    fn is_member(&self, page: PageId, group: GroupId) -> LiveResult<bool, S> {
        Ok(
            matches!(self.state.page(page)?, Some(PageRecord::Content { group: own, .. }) if own == group),
        )
    }

    fn is_bare_in(&self, page: PageId, group: GroupId) -> LiveResult<bool, S> {
        Ok(
            matches!(self.state.page(page)?, Some(PageRecord::Bare { group: own, .. }) if own == group),
        )
    }
}
