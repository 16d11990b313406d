//! Joining, leaving, moving, merging.
//!
//! Whether a page still belongs (tier 1), where it goes when it does not (tier 2), and what
//! that does to the records. Nothing here repairs: callers resolve the groups they touched.

use super::record::{Change, Check, FARTHEST, GroupId, GroupRecord, PageId, PageRecord};
use super::{GroupState, LiveResult, Near, Operation, World};

/// How many members speak for a group whose winner changed, and for one that may be merged.
const SAMPLE: usize = 16;
const MERGE_SAMPLE: usize = 64;
/// New winners that are searched for in one operation, at most: each may make others.
const RECONNECTED: usize = 1024;

impl<S: GroupState, W: World<Error = S::Error>> Operation<'_, S, W> {
    /// Tier 1: may a page with new content stay where it is?
    ///
    /// A member stays if it matches the winner. A winner stays if it matches at least half of
    /// the others, of a sample when there are many: it is what they were measured by.
    pub(super) fn still_belongs(&mut self, page: PageId, group: GroupId) -> LiveResult<bool, S> {
        let record = self.group(group, page)?;
        if record.members == 1 {
            return Ok(false);
        }
        if record.winner != page {
            let likeness = self.compare(page, record.winner)?;
            if likeness.matches() {
                self.note_check(page, group, &likeness)?;
                self.facts_changed(&[page])?;
            }
            return Ok(likeness.matches());
        }
        let mut others = self.members(group, SAMPLE + 1)?;
        others.retain(|&other| other != page);
        others.truncate(SAMPLE);
        let mut matching = 0;
        for &other in &others {
            matching += usize::from(self.compare(page, other)?.matches());
        }
        let stays = 2 * matching >= others.len();
        if stays {
            let mut record = record;
            // Nothing is known of the distance to the new version.
            record.radius = FARTHEST;
            self.begin_term(group, &mut record)?;
            self.state.put_group(group, Some(record))?;
            self.crowned.push(page);
            self.elect(group)?;
        }
        Ok(stays)
    }

    /// What every operation does at its end: winners that are new, or whose content is, find the groups they match.
    /// While they were members, or when they joined, others may have come that only they match.
    pub(super) fn reconnect(&mut self) -> LiveResult<(), S> {
        let mut pages = Vec::new();
        self.crowned.sort_unstable();
        self.crowned.dedup();
        for page in std::mem::take(&mut self.crowned) {
            pages.extend(self.winner_of(page)?.map(|_| page));
        }
        for _ in 0..RECONNECTED {
            let Some(page) = pages.pop() else { break };
            self.connect(page)?;
            pages.append(&mut self.crowned);
        }
        self.crowned.clear();
        Ok(())
    }

    /// Merges a page's group with those of its matches, as far as they may be merged; no winner of theirs matches it
    /// then. With repairs only groups whose winners match can be meant.
    fn connect(&mut self, page: PageId) -> LiveResult<(), S> {
        let found = self.near(page)?;
        for other in self.homes(page, None, &found)? {
            let Some(PageRecord::Content { group: own, .. }) = self.state.page(page)? else {
                break;
            };
            let (Some(mine), Some(theirs)) = (self.state.group(own)?, self.state.group(other)?)
            else {
                continue;
            };
            let meant = own != other
                && (self.options.repair_share >= 1.0
                    || mine.winner == page && self.compare(page, theirs.winner)?.matches());
            if !meant {
                continue;
            }
            if self.merge(own, other)?.is_none() {
                self.yield_winners(own, other)?;
            }
            self.resolve(own)?;
            self.resolve(other)?;
        }
        Ok(())
    }

    /// The group that a page stands for.
    fn winner_of(&self, page: PageId) -> LiveResult<Option<GroupId>, S> {
        let Some(PageRecord::Content { group, .. }) = self.state.page(page)? else {
            return Ok(None);
        };
        Ok((self.group(group, page)?.winner == page).then_some(group))
    }

    /// Tier 2: puts a page with content where its matches are, or alone.
    pub(super) fn place_by_content(&mut self, page: PageId, found: &[Near]) -> LiveResult<(), S> {
        let own = match self.state.page(page)? {
            Some(PageRecord::Content { group, .. }) => Some(group),
            _ => None,
        };
        let homes = self.homes(page, own, found)?;
        let Some((&home, others)) = homes.split_first() else {
            return self.stand_alone(page);
        };
        if own == Some(home) {
            self.recheck(page, home)?;
        } else {
            self.detach(page)?;
            self.join(page, home)?;
        }
        let mut home = home;
        let mut touched = vec![];
        for &other in others {
            // An earlier merge or the page's leaving may have ended it.
            if self.state.group(other)?.is_some() {
                match self.merge(home, other)? {
                    Some(merged) => home = merged,
                    None => {
                        self.yield_winners(home, other)?;
                        touched.push(other);
                    }
                }
            }
        }
        touched.push(home);
        touched.extend(own);
        for group in touched {
            self.resolve(group)?;
        }
        Ok(())
    }

    /// The groups of the matches, the best home first: those whose winner the page matches, by
    /// the rank of that winner, then its own group, then the others by rank.
    fn homes(
        &self,
        page: PageId,
        own: Option<GroupId>,
        found: &[Near],
    ) -> LiveResult<Vec<GroupId>, S> {
        let mut groups = Vec::new();
        for near in found {
            if let Some(PageRecord::Content { group, .. }) = self.state.page(near.page)? {
                groups.push(group);
            }
        }
        groups.sort_unstable();
        groups.dedup();
        let mut homes = Vec::with_capacity(groups.len());
        for group in groups {
            let winner = self.group(group, page)?.winner;
            let like_winner = winner != page && self.compare(page, winner)?.matches();
            let class = if like_winner {
                0
            } else if own == Some(group) {
                1
            } else {
                2
            };
            homes.push((class, self.world.facts(winner)?, group));
        }
        homes.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| self.rules.order(&a.1, &b.1).0));
        Ok(homes.into_iter().map(|(_, _, group)| group).collect())
    }

    /// A page with content that nobody shares: it founds a group, or keeps one of its own.
    fn stand_alone(&mut self, page: PageId) -> LiveResult<(), S> {
        if !self.turn_content(page)? {
            let left = self.detach(page)?;
            self.found(page, |group| PageRecord::Content { group, check: Check::Unchecked })?;
            if let Some(group) = left {
                self.resolve(group)?;
            }
        }
        Ok(())
    }

    /// A new group of one.
    pub(super) fn found(
        &mut self,
        page: PageId,
        record: impl FnOnce(GroupId) -> PageRecord,
    ) -> LiveResult<GroupId, S> {
        let group = self.state.new_group()?;
        self.state.put_group(group, Some(GroupRecord::alone(page)))?;
        self.state.put_page(page, Some(record(group)))?;
        self.state.append(Change::Joined { page, group })?;
        Ok(group)
    }

    /// A page without a record becomes a member.
    fn join(&mut self, page: PageId, group: GroupId) -> LiveResult<(), S> {
        let mut record = self.group(group, page)?;
        let check = Check::Unchecked;
        self.state.put_page(page, Some(PageRecord::Content { group, check }))?;
        record.members += 1;
        self.state.put_group(group, Some(record))?;
        self.state.append(Change::Joined { page, group })?;
        if self.better(page, record.winner)? {
            self.crown(page, group)
        } else {
            let likeness = self.compare(page, record.winner)?;
            self.note_check(page, group, &likeness)
        }
    }

    /// Takes a page out of wherever it is, so that it has no record, and lets the group it left
    /// choose a winner. Pages that redirect to it stay tied to it.
    pub(super) fn detach(&mut self, page: PageId) -> LiveResult<Option<GroupId>, S> {
        let left = self.take_out(page)?;
        if let Some(group) = left {
            self.elect(group)?;
        }
        Ok(left)
    }

    /// [`detach`](Self::detach) without the choice. Gives the group if it goes on.
    pub(super) fn take_out(&mut self, page: PageId) -> LiveResult<Option<GroupId>, S> {
        let (group, check) = match self.state.page(page)? {
            None => return Ok(None),
            Some(PageRecord::Redirects { to }) => {
                self.untie(page, to)?;
                return Ok(None);
            }
            Some(PageRecord::Bare { group, why }) => {
                self.note_return(page, why)?;
                (group, Check::Unchecked)
            }
            Some(PageRecord::Content { group, check }) => (group, check),
        };
        let mut record = self.group(group, page)?;
        self.forget_check(check, &mut record);
        record.members = record.members.saturating_sub(1);
        self.state.put_page(page, None)?;
        self.state.put_group(group, (record.members > 0).then_some(record))?;
        self.state.append(Change::Left { page, group })?;
        Ok((record.members > 0).then_some(group))
    }

    /// A member whose content changed stays, but is compared again.
    fn recheck(&mut self, page: PageId, group: GroupId) -> LiveResult<(), S> {
        let mut record = self.group(group, page)?;
        if record.winner == page {
            record.radius = FARTHEST;
            self.begin_term(group, &mut record)?;
            self.state.put_group(group, Some(record))?;
            return self.elect(group);
        }
        let likeness = self.compare(page, record.winner)?;
        self.note_check(page, group, &likeness)?;
        self.facts_changed(&[page])
    }

    /// Makes one group of two, unless most of one would fail the winner of the other. Gives the
    /// group that has all pages.
    fn merge(&mut self, a: GroupId, b: GroupId) -> LiveResult<Option<GroupId>, S> {
        let (first, second) = (self.state.group(a)?, self.state.group(b)?);
        let (Some(first), Some(second)) = (first, second) else { return Ok(None) };
        // Winning and losing side; then the larger group keeps its number.
        let (winning, losing) = if self.better(first.winner, second.winner)? {
            ((a, first), (b, second))
        } else {
            ((b, second), (a, first))
        };
        if self.would_fail(winning, losing)? {
            return Ok(None);
        }
        let likeness = self.compare(winning.1.winner, losing.1.winner)?;
        let larger = |x: &(GroupId, GroupRecord), y: &(GroupId, GroupRecord)| {
            (y.1.members, x.0) < (x.1.members, y.0)
        };
        let (into, from) =
            if larger(&winning, &losing) { (winning, losing) } else { (losing, winning) };
        let mut record = into.1;
        if into.0 != winning.0 {
            self.begin_term(into.0, &mut record)?;
            (record.checked, record.failing) = (from.1.checked, from.1.failing);
        }
        record.winner = winning.1.winner;
        record.members = into.1.members.saturating_add(from.1.members);
        let reach = losing.1.radius.saturating_add(likeness.distance).min(FARTHEST);
        record.radius = winning.1.radius.max(reach);
        for page in self.members(from.0, usize::MAX)? {
            let check = match self.state.page(page)? {
                // Checks made with the winner of both stay true.
                Some(PageRecord::Content { check, .. }) if from.0 == winning.0 => {
                    in_term(check, from.1.term, record.term)
                }
                _ => Check::Unchecked,
            };
            self.state.put_page(page, Some(PageRecord::Content { group: into.0, check }))?;
        }
        self.state.put_group(from.0, None)?;
        self.state.put_group(into.0, Some(record))?;
        self.state.append(Change::Merged { from: from.0, into: into.0 })?;
        if record.winner != into.1.winner {
            let (from, to) = (into.1.winner, record.winner);
            self.state.append(Change::WinnerChanged { group: into.0, from, to })?;
        }
        self.note_check(losing.1.winner, into.0, &likeness)?;
        Ok(Some(into.0))
    }

    /// Two groups that are not merged, but whose winners match: no winner may stand for another,
    /// so the worse one moves over, until no two winners match. A bounded number of times:
    /// every move makes a group choose again.
    fn yield_winners(&mut self, a: GroupId, b: GroupId) -> LiveResult<(), S> {
        for _ in 0..SAMPLE {
            let (first, second) = (self.state.group(a)?, self.state.group(b)?);
            let (Some(first), Some(second)) = (first, second) else { break };
            if !self.compare(first.winner, second.winner)?.matches() {
                break;
            }
            let (loser, home) = if self.better(first.winner, second.winner)? {
                (second.winner, a)
            } else {
                (first.winner, b)
            };
            self.detach(loser)?;
            self.join(loser, home)?;
        }
        Ok(())
    }

    /// Would the merged group have to be repaired? Estimated from a sample of the losing side.
    fn would_fail(
        &self,
        winning: (GroupId, GroupRecord),
        losing: (GroupId, GroupRecord),
    ) -> LiveResult<bool, S> {
        if self.options.repair_share >= 1.0 {
            return Ok(false);
        }
        let sample = self.members(losing.0, MERGE_SAMPLE)?;
        let mut failing = 0u32;
        for &page in &sample {
            failing += u32::from(!self.compare(page, winning.1.winner)?.matches());
        }
        let expected = f64::from(failing) / sample.len().max(1) as f64
            * f64::from(losing.1.members)
            + f64::from(winning.1.failing);
        let others = f64::from(winning.1.members) + f64::from(losing.1.members) - 1.0;
        Ok(expected > self.options.repair_share * others)
    }
}

/// A check of one term written as one of another.
fn in_term(check: Check, old: u16, new: u16) -> Check {
    match check {
        Check::Matches(term) if term == old => Check::Matches(new),
        Check::Fails(term) if term == old => Check::Fails(new),
        Check::Unchecked | Check::Matches(_) | Check::Fails(_) => Check::Unchecked,
    }
}
