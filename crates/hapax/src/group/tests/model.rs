//! The paper's rules over plain sets: a slow reference implementation.
//!
//! Groups of pages with content are sets in a list, redirects a map; everything else is computed on request.
//! Does not repair: groups are transitive closures. Unlike in the paper, new winners are searched for.

use super::line::Line;
use crate::group::Rules;
use crate::group::live::{PageId, World};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    groups: Vec<BTreeSet<PageId>>,
    redirects: BTreeMap<PageId, PageId>,
    /// Pages that were seen and have no words.
    empty: BTreeSet<PageId>,
    /// The winners after the last step, with their content.
    winners: BTreeSet<(PageId, i32)>,
}

impl Model {
    /// Cases 1 and 2.
    pub(super) fn seen(&mut self, line: &Line, rules: &Rules, page: PageId) {
        self.redirects.remove(&page);
        self.empty.remove(&page);
        if let Some(group) = self.groups.iter().find(|group| group.contains(&page)) {
            let others: Vec<PageId> = group.iter().copied().filter(|&p| p != page).collect();
            let winner = best(line, rules, group);
            let matching = others.iter().filter(|&&p| line.matches(page, p)).count();
            let stays = if winner == page {
                2 * matching >= others.len()
            } else {
                line.matches(page, winner)
            };
            if stays && !others.is_empty() {
                return;
            }
        }
        self.leave(page);
        self.groups.push(BTreeSet::from([page]));
        self.merge(line, page);
    }

    /// Ends every step: winners that are new or have new content merge the groups they match.
    pub(super) fn reconnect(&mut self, line: &Line, rules: &Rules) {
        let best_of = |group: &BTreeSet<PageId>| best(line, rules, group);
        let present = |page: PageId| (page, line.contents[&page]);
        let winners: Vec<PageId> = self.groups.iter().map(best_of).collect();
        for page in winners {
            if !self.winners.contains(&present(page)) {
                self.merge(line, page);
            }
        }
        self.winners = self.groups.iter().map(best_of).map(present).collect();
    }

    /// Merges a page's group with every group that has a match of the page.
    fn merge(&mut self, line: &Line, page: PageId) {
        let (joined, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.groups)
            .into_iter()
            .partition(|group| group.iter().any(|&p| p == page || line.matches(page, p)));
        self.groups = others;
        self.groups.push(joined.into_iter().flatten().collect());
    }

    pub(super) fn seen_empty(&mut self, page: PageId) {
        self.gone(page);
        self.empty.insert(page);
    }

    /// Case 3.
    pub(super) fn redirect(&mut self, page: PageId, to: PageId) {
        self.gone(page);
        self.redirects.insert(page, to);
    }

    pub(super) fn gone(&mut self, page: PageId) {
        self.leave(page);
        self.redirects.remove(&page);
        self.empty.remove(&page);
    }

    fn leave(&mut self, page: PageId) {
        for group in &mut self.groups {
            group.remove(&page);
        }
        self.groups.retain(|group| !group.is_empty());
    }

    /// The end of a chain of redirects; for a cycle, its page with the smallest address.
    pub(super) fn end(&self, page: PageId) -> PageId {
        let mut path = vec![page];
        while let Some(&to) = self.redirects.get(&path[path.len() - 1]) {
            if let Some(start) = path.iter().position(|&p| p == to) {
                let cycle = path[start..].iter().copied();
                return cycle.min_by_key(|&p| (Line::url(p), p)).unwrap();
            }
            path.push(to);
        }
        path[path.len() - 1]
    }

    /// All pages by group, with the winner of each.
    pub(super) fn partition(
        &self,
        line: &Line,
        rules: &Rules,
    ) -> BTreeSet<(PageId, BTreeSet<PageId>)> {
        let mut ends: BTreeMap<PageId, BTreeSet<PageId>> = BTreeMap::new();
        let content = self.groups.iter().flatten();
        let targets = self.redirects.values();
        for &page in content.chain(&self.empty).chain(self.redirects.keys()).chain(targets) {
            ends.entry(self.end(page)).or_default().insert(page);
        }
        let mut partition = BTreeSet::new();
        for group in &self.groups {
            let pages = group.iter().flat_map(|end| ends.remove(end).unwrap()).collect();
            partition.insert((best(line, rules, group), pages));
        }
        partition.extend(ends);
        partition
    }

    /// The content pages of a page's group.
    pub(super) fn group(&self, page: PageId) -> Option<&BTreeSet<PageId>> {
        self.groups.iter().find(|group| group.contains(&page))
    }
}

fn best(line: &Line, rules: &Rules, group: &BTreeSet<PageId>) -> PageId {
    let facts = |page: &PageId| line.facts(*page).unwrap();
    *group.iter().min_by(|a, b| rules.order(&facts(a), &facts(b)).0).unwrap()
}
