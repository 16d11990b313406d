//! Members find a winner that they match themselves.
//!
//! A member was compared with its representative only. If the representative stays, that is enough; otherwise the
//! page that stays in the representative's place is asked, then other winners near the representative. Members of
//! one representative that match none of them choose among themselves.

use std::collections::BTreeMap;

use hapax::group::{Grouping, NearPair};

use super::linked::Linked;
use crate::facts::FactTable;
use crate::near::{Judge, Member, lead};

/// How often those that match no winner choose among themselves.
pub(super) const ROUNDS: usize = 16;

/// A pair for every member: with the winner of its representative's group, with another winner its representative
/// matches, or with one of those that were left over like it.
pub(super) fn attach(
    members: &[Member],
    pairs: &[NearPair],
    linked: &Linked<'_>,
    grouping: &Grouping,
    judge: &Judge<'_>,
    table: &FactTable<'_>,
) -> Vec<NearPair> {
    let mut representative_of: Vec<(u32, u32)> =
        members.iter().map(|it| (it.page, it.representative)).collect();
    representative_of.sort_unstable();
    let root = |mut page: u32| {
        while let Ok(at) = representative_of.binary_search_by_key(&page, |(member, _)| *member) {
            page = representative_of[at].1;
        }
        page
    };
    let mut neighbours: Vec<(u32, u32)> =
        pairs.iter().flat_map(|pair| [(pair.a, pair.b), (pair.b, pair.a)]).collect();
    neighbours.sort_unstable();

    let mut attached = Vec::with_capacity(members.len());
    let mut left: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for member in members {
        let root = root(member.representative);
        let winner = linked.winner(grouping, root);
        if winner == member.representative {
            attached.push(member.pair());
            continue;
        }
        let from = neighbours.partition_point(|(page, _)| *page < root);
        let others = neighbours[from..].iter().take_while(|(page, _)| *page == root);
        let winners =
            others.map(|(_, other)| *other).filter(|&it| linked.winner(grouping, it) == it);
        let mut winners = std::iter::once(winner).chain(winners.take(ROUNDS));
        match winners.find_map(|winner| judge.confirm(winner, member.page)) {
            Some(pair) => attached.push(pair),
            None => left.entry(root).or_default().push(member.page),
        }
    }
    for alike in left.into_values() {
        let chosen = lead(alike, 2, ROUNDS, judge, table);
        attached.extend(chosen.members.iter().map(Member::pair));
    }
    attached
}
