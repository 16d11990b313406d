//! Members join, leave and move; groups merge.
//!
//! Decides whether a page still belongs to its group (tier 1), where it goes if not (tier 2), and updates the
//! records. Does not repair groups; callers do this for the groups they changed.

use super::record::{Change, Check, FARTHEST, GroupId, GroupRecord, PageId, PageRecord};
use super::{GroupState, LiveResult, Near, Operation, World};

/// Members sampled to check a group whose winner changed.
const SAMPLE: usize = 16;
const MERGE_SAMPLE: usize = 64;
/// Maximum number of new winners processed per operation, because each may create others.
const RECONNECTED: usize = 1024;

impl<S: GroupState, W: World<Error = S::Error>> Operation<'_, S, W> {
    /// Tier 1: whether a page with new content may stay in its group.
    ///
    /// A member stays if it matches the winner. A winner stays if it matches at least half of the
    /// others, or of a sample if there are many, because all members were compared with it.
    pub(super) fn still_belongs(&mut self, page: PageId, group: GroupId) -> LiveResult<bool, S> {
        let record = self.group(group, page)?;
        if record.members == 1 {
            return Ok(false);
        }
        if record.winner != page {
            let likeness = self.compare(page, record.winner)?;
            if likeness.matches() {
                self.record_check(page, group, &likeness)?;
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
            // The distance to the new version is unknown.
            record.radius = FARTHEST;
            self.begin_term(group, &mut record)?;
            self.state.put_group(group, Some(record))?;
            self.new_winners.push(page);
            self.elect(group)?;
        }
        Ok(stays)
    }

    /// Ends every operation: winners that are new or have new content find the groups they match.
    /// While they were members, or when they joined, pages may have arrived that only they match.
    pub(super) fn reconnect(&mut self) -> LiveResult<(), S> {
        let mut pages = Vec::new();
        self.new_winners.sort_unstable();
        self.new_winners.dedup();
        for page in std::mem::take(&mut self.new_winners) {
            pages.extend(self.winner_of(page)?.map(|_| page));
        }
        for _ in 0..RECONNECTED {
            let Some(page) = pages.pop() else { break };
            self.connect(page)?;
            pages.append(&mut self.new_winners);
        }
        self.new_winners.clear();
        Ok(())
    }

    /// Merges a page's group with those of its matches, where merging is allowed; afterwards no
    /// winner of these matches it. With repairs, only groups whose winners match are considered.
    fn connect(&mut self, page: PageId) -> LiveResult<(), S> {
        let found = self.near(page)?;
        for other in self.candidate_groups(page, None, &found)? {
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

    /// The group that a page is the winner of; `None` otherwise.
    fn winner_of(&self, page: PageId) -> LiveResult<Option<GroupId>, S> {
        let Some(PageRecord::Content { group, .. }) = self.state.page(page)? else {
            return Ok(None);
        };
        Ok((self.group(group, page)?.winner == page).then_some(group))
    }

    /// Tier 2: puts a page with content into the group of its matches, or into a group of its own.
    pub(super) fn place_by_content(&mut self, page: PageId, found: &[Near]) -> LiveResult<(), S> {
        let own = match self.state.page(page)? {
            Some(PageRecord::Content { group, .. }) => Some(group),
            _ => None,
        };
        let candidate_groups = self.candidate_groups(page, own, found)?;
        let Some((&target, others)) = candidate_groups.split_first() else {
            return self.stand_alone(page);
        };
        if own == Some(target) {
            self.recheck(page, target)?;
        } else {
            self.detach(page)?;
            self.join(page, target)?;
        }
        let mut target = target;
        let mut touched = vec![];
        for &other in others {
            // An earlier merge, or the page's leaving, may have removed the group.
            if self.state.group(other)?.is_some() {
                match self.merge(target, other)? {
                    Some(merged) => target = merged,
                    None => {
                        self.yield_winners(target, other)?;
                        touched.push(other);
                    }
                }
            }
        }
        touched.push(target);
        touched.extend(own);
        for group in touched {
            self.resolve(group)?;
        }
        Ok(())
    }

    /// The groups of the matches, best first: those whose winner the page matches, by rank of that
    /// winner, then its current group, then the others by rank.
    fn candidate_groups(
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
        let mut candidate_groups = Vec::with_capacity(groups.len());
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
            candidate_groups.push((class, self.world.facts(winner)?, group));
        }
        candidate_groups.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| self.rules.order(&a.1, &b.1).0));
        Ok(candidate_groups.into_iter().map(|(_, _, group)| group).collect())
    }

    /// Puts a page without matches into a group of its own, new or existing.
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

    /// A new group of one page.
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

    /// Adds a page without a record to a group.
    fn join(&mut self, page: PageId, group: GroupId) -> LiveResult<(), S> {
        let mut record = self.group(group, page)?;
        let check = Check::Unchecked;
        self.state.put_page(page, Some(PageRecord::Content { group, check }))?;
        record.members += 1;
        self.state.put_group(group, Some(record))?;
        self.state.append(Change::Joined { page, group })?;
        if self.better(page, record.winner)? {
            self.make_winner(page, group)
        } else {
            let likeness = self.compare(page, record.winner)?;
            self.record_check(page, group, &likeness)
        }
    }

    /// Removes a page's record, and lets the group it left elect a winner. Pages that redirect to
    /// it stay linked to it.
    pub(super) fn detach(&mut self, page: PageId) -> LiveResult<Option<GroupId>, S> {
        let left = self.take_out(page)?;
        if let Some(group) = left {
            self.elect(group)?;
        }
        Ok(left)
    }

    /// As [`detach`](Self::detach) without the election. Returns the group if it still exists.
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
        self.drop_check(check, &mut record);
        record.members = record.members.saturating_sub(1);
        self.state.put_page(page, None)?;
        self.state.put_group(group, (record.members > 0).then_some(record))?;
        self.state.append(Change::Left { page, group })?;
        Ok((record.members > 0).then_some(group))
    }

    /// Keeps a member whose content changed, but compares it again.
    fn recheck(&mut self, page: PageId, group: GroupId) -> LiveResult<(), S> {
        let mut record = self.group(group, page)?;
        if record.winner == page {
            record.radius = FARTHEST;
            self.begin_term(group, &mut record)?;
            self.state.put_group(group, Some(record))?;
            return self.elect(group);
        }
        let likeness = self.compare(page, record.winner)?;
        self.record_check(page, group, &likeness)?;
        self.facts_changed(&[page])
    }

    /// Merges two groups, unless most members of one would fail the winner of the other. Returns
    /// the merged group.
    fn merge(&mut self, a: GroupId, b: GroupId) -> LiveResult<Option<GroupId>, S> {
        let (first, second) = (self.state.group(a)?, self.state.group(b)?);
        let (Some(first), Some(second)) = (first, second) else { return Ok(None) };
        // Winning and losing side; the larger group keeps its number.
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
                // Checks against the winner of both stay valid.
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
        self.record_check(losing.1.winner, into.0, &likeness)?;
        Ok(Some(into.0))
    }

    /// For two groups that are not merged although their winners match: the worse winner moves to
    /// the other group, until no two winners match. Runs a bounded number of times, because every
    /// move triggers an election.
    fn yield_winners(&mut self, a: GroupId, b: GroupId) -> LiveResult<(), S> {
        for _ in 0..SAMPLE {
            let (first, second) = (self.state.group(a)?, self.state.group(b)?);
            let (Some(first), Some(second)) = (first, second) else { break };
            if !self.compare(first.winner, second.winner)?.matches() {
                break;
            }
            let (loser, target) = if self.better(first.winner, second.winner)? {
                (second.winner, a)
            } else {
                (first.winner, b)
            };
            self.detach(loser)?;
            self.join(loser, target)?;
        }
        Ok(())
    }

    /// Whether the merged group would need repair, estimated from a sample of the losing side.
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

/// A check of one term, rewritten for another.
fn in_term(check: Check, old: u16, new: u16) -> Check {
    match check {
        Check::Matches(term) if term == old => Check::Matches(new),
        Check::Fails(term) if term == old => Check::Fails(new),
        Check::Unchecked | Check::Matches(_) | Check::Fails(_) => Check::Unchecked,
    }
}
