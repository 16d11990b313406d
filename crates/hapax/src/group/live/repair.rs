//! Repairs a group that chains of matches have stretched too far.
//!
//! The members are regrouped: the best takes every member it matches, the best of the rest does the same, until
//! none is left, as in [`batch`](crate::group::batch). The first star keeps the group's number. A new winner
//! may match winners of other groups, which a worse winner had hidden; the end of the operation searches for
//! these.
//!
//! Source: Zhu et al. 2012, section 5.2, second strategy.

use super::record::{Change, Check, FARTHEST, GroupId, GroupRecord, PageId, PageRecord};
use super::{GroupState, LiveResult, Operation, World};

/// Up to this many pages are compared one by one; larger groups use the index.
const COMPARED: usize = 256;

/// A winner and the pages that match it, with their distances.
struct NewStar {
    winner: PageId,
    others: Vec<(PageId, u8)>,
}

impl<S: GroupState, W: World<Error = S::Error>> Operation<'_, S, W> {
    /// Ends every operation on the groups it changed: compares small groups with their winner and
    /// repairs failing ones.
    pub(super) fn resolve(&mut self, group: GroupId) -> LiveResult<(), S> {
        let Some(record) = self.state.group(group)? else { return Ok(()) };
        if !record.is_verified() && record.members <= self.options.verify_at_once {
            self.verify(group)?;
        }
        self.repair_if_failing(group)
    }

    /// Compares every member with the winner.
    pub(super) fn verify(&mut self, group: GroupId) -> LiveResult<(), S> {
        let Some(mut record) = self.state.group(group)? else { return Ok(()) };
        if record.members == 1 {
            return Ok(());
        }
        (record.checked, record.failing, record.radius) = (0, 0, 0);
        for page in self.members(group, usize::MAX)? {
            if page == record.winner {
                continue;
            }
            let likeness = self.compare(page, record.winner)?;
            record.checked += 1;
            record.failing += u32::from(!likeness.matches());
            record.radius = record.radius.max(likeness.distance.min(FARTHEST));
            let term = record.term;
            let check = if likeness.matches() { Check::Matches(term) } else { Check::Fails(term) };
            self.state.put_page(page, Some(PageRecord::Content { group, check }))?;
        }
        Ok(self.state.put_group(group, Some(record))?)
    }

    /// Compares a page with its winner unless that has been done.
    pub(super) fn check_now(&mut self, page: PageId) -> LiveResult<(), S> {
        let Some(PageRecord::Content { group, check }) = self.state.page(page)? else {
            return Ok(());
        };
        let record = self.group(group, page)?;
        let known = match check {
            Check::Unchecked => false,
            Check::Matches(term) | Check::Fails(term) => term == record.term,
        };
        if known || record.winner == page {
            return Ok(());
        }
        let likeness = self.compare(page, record.winner)?;
        self.record_check(page, group, &likeness)?;
        self.repair_if_failing(group)
    }

    pub(super) fn repair_if_failing(&mut self, group: GroupId) -> LiveResult<(), S> {
        let Some(record) = self.state.group(group)? else { return Ok(()) };
        if record.failing_share() > self.options.repair_share {
            self.repair(group)?;
        }
        Ok(())
    }

    fn repair(&mut self, group: GroupId) -> LiveResult<(), S> {
        let mut stars = self.stars(group)?.into_iter();
        let Some(first) = stars.next() else { return Ok(()) };
        let former = self.group(group, first.winner)?.winner;
        for star in stars {
            self.new_winners.push(star.winner);
            let into = self.state.new_group()?;
            self.state.append(Change::Split { from: group, into })?;
            let pages = [star.winner].into_iter().chain(star.others.iter().map(|&(page, _)| page));
            for page in pages {
                self.state.append(Change::Left { page, group })?;
                self.state.append(Change::Joined { page, group: into })?;
            }
            self.write_star(into, &star)?;
        }
        self.write_star(group, &first)?;
        if first.winner != former {
            let change = Change::WinnerChanged { group, from: former, to: first.winner };
            self.state.append(change)?;
            self.new_winners.push(first.winner);
        }
        Ok(())
    }

    /// The members as stars, best winner first.
    fn stars(&self, group: GroupId) -> LiveResult<Vec<NewStar>, S> {
        let mut ranked = Vec::new();
        for page in self.members(group, usize::MAX)? {
            ranked.push((self.world.facts(page)?, page));
        }
        ranked.sort_by(|a, b| self.rules.order(&a.0, &b.0).0);
        let ranked: Vec<PageId> = ranked.into_iter().map(|(_, page)| page).collect();
        let mut rank_of: Vec<(PageId, usize)> =
            ranked.iter().enumerate().map(|(rank, &page)| (page, rank)).collect();
        rank_of.sort_unstable();

        let mut free = vec![true; ranked.len()];
        let mut left = ranked.len();
        let mut stars = Vec::new();
        for (rank, &winner) in ranked.iter().enumerate() {
            if !free[rank] {
                continue;
            }
            free[rank] = false;
            let mut others = Vec::new();
            if left <= COMPARED {
                for other in (rank + 1..ranked.len()).filter(|&other| free[other]) {
                    let likeness = self.compare(winner, ranked[other])?;
                    if likeness.matches() {
                        others.push((other, likeness.distance));
                    }
                }
            } else {
                for near in self.world.near(winner, usize::MAX)? {
                    let Ok(place) = rank_of.binary_search_by_key(&near.page, |entry| entry.0)
                    else {
                        continue;
                    };
                    let other = rank_of[place].1;
                    // Compared again, because the index ignores scopes; the distance is the same.
                    if free[other] && self.compare(winner, near.page)?.matches() {
                        others.push((other, near.likeness.distance));
                    }
                }
                others.sort_unstable();
                others.dedup_by_key(|entry| entry.0);
            }
            for &(other, _) in &others {
                free[other] = false;
            }
            left -= 1 + others.len();
            let others = others.into_iter().map(|(other, d)| (ranked[other], d)).collect();
            stars.push(NewStar { winner, others });
        }
        Ok(stars)
    }

    fn write_star(&mut self, group: GroupId, star: &NewStar) -> LiveResult<(), S> {
        let others = star.others.len() as u32;
        let radius = star.others.iter().map(|&(_, distance)| distance).max().unwrap_or(0);
        let record = GroupRecord {
            members: others + 1,
            checked: others,
            radius: radius.min(FARTHEST),
            ..GroupRecord::alone(star.winner)
        };
        let content = |check| Some(PageRecord::Content { group, check });
        self.state.put_page(star.winner, content(Check::Unchecked))?;
        for &(page, _) in &star.others {
            self.state.put_page(page, content(Check::Matches(record.term)))?;
        }
        Ok(self.state.put_group(group, Some(record))?)
    }
}
