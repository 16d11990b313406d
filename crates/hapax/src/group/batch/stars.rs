//! Makes stars of connected components in one pass, best node first.
//!
//! Only linked pages are ranked; a page without a match costs only its entry. Pairs are stored at their better
//! end (an adjacency array), because a node that is still free when it is processed can only take worse ones: a
//! better free neighbour would have been a winner earlier and would have taken it.

use super::nodes::Nodes;
use super::ranking::Costs;
use super::union_find::UnionFind;
use super::{BatchInput, DecidedBy, Family, Grouping, NearPair, Outcome, Placement, Star};
use crate::group::rules::Rules;
use std::cmp::Ordering;

const NONE: u32 = u32::MAX;

pub(super) fn build(rules: &Rules, input: &BatchInput<'_>, nodes: &Nodes) -> Grouping {
    let edges = Edges::between(input, nodes);
    let ranking = Ranking::of(rules, input, nodes, &edges);
    let taken = edges.stars(nodes.count, &ranking, input.pairs);
    let mut grouping = place(input, nodes, &ranking, &taken);
    find_families(&mut grouping, nodes, &edges, &ranking);
    grouping
}

/// The valid pairs, between nodes.
struct Edges {
    /// Index of the pair, and the nodes of its ends.
    list: Vec<(u32, u32, u32)>,
}

impl Edges {
    fn between(input: &BatchInput<'_>, nodes: &Nodes) -> Self {
        let scope = |page: u32| input.scopes.get(page as usize);
        let list = (0u32..)
            .zip(input.pairs)
            .filter(|(_, p)| nodes.comparable[p.a as usize] && nodes.comparable[p.b as usize])
            .filter(|(_, p)| scope(p.a) == scope(p.b))
            .map(|(i, p)| (i, nodes.of_page[p.a as usize], nodes.of_page[p.b as usize]))
            .filter(|(_, a, b)| a != b)
            .collect();
        Self { list }
    }

    /// For each linked node, the winner that took it and its distance.
    fn stars(&self, count: u32, ranking: &Ranking, pairs: &[NearPair]) -> Vec<Taken> {
        let rank = |node: u32| ranking.of_node[node as usize];
        let ordered = |a: u32, b: u32| if rank(a) < rank(b) { (a, b) } else { (b, a) };
        let mut starts = vec![0u32; count as usize + 1];
        for &(_, a, b) in &self.list {
            starts[ordered(a, b).0 as usize + 1] += 1;
        }
        for node in 0..count as usize {
            starts[node + 1] += starts[node];
        }
        let mut filled = starts.clone();
        let mut worse = vec![(0, 0); self.list.len()];
        for &(pair, a, b) in &self.list {
            let (better, other) = ordered(a, b);
            let at = &mut filled[better as usize];
            worse[*at as usize] = (other, pair);
            *at += 1;
        }

        let mut taken = vec![Taken::FREE; count as usize];
        for &node in &ranking.nodes {
            if taken[node as usize].winner != NONE {
                continue;
            }
            taken[node as usize] = Taken { winner: node, distance: 0, similarity: 1.0 };
            let (from, to) = (starts[node as usize], starts[node as usize + 1]);
            for &(other, pair) in &worse[from as usize..to as usize] {
                let pair = &pairs[pair as usize];
                let offer =
                    Taken { winner: node, distance: pair.distance, similarity: pair.similarity };
                let known = &mut taken[other as usize];
                // Copies of one text may have several pairs; the nearest counts.
                if known.winner == NONE || known.winner == node && offer.nearer(known) {
                    *known = offer;
                }
            }
        }
        taken
    }
}

#[derive(Clone, Copy)]
struct Taken {
    winner: u32,
    distance: u8,
    similarity: f32,
}

impl Taken {
    const FREE: Self = Self { winner: NONE, distance: 0, similarity: 1.0 };

    fn nearer(&self, other: &Self) -> bool {
        let by_similarity = other.similarity.total_cmp(&self.similarity);
        self.distance.cmp(&other.distance).then(by_similarity) == Ordering::Less
    }
}

/// Linked pages, best first, and the best page of each node.
struct Ranking {
    pages: Vec<u32>,
    costs: Costs,
    nodes: Vec<u32>,
    of_node: Vec<u32>,
    /// Index in `pages` of each node's best page.
    best: Vec<u32>,
}

impl Ranking {
    fn of(rules: &Rules, input: &BatchInput<'_>, nodes: &Nodes, edges: &Edges) -> Self {
        let mut linked = vec![0u8; nodes.count as usize];
        for &node in &nodes.of_page {
            let pages = &mut linked[node as usize];
            *pages = pages.saturating_add(1);
        }
        for &(_, a, b) in &edges.list {
            linked[a as usize] = 2;
            linked[b as usize] = 2;
        }
        let is_linked = |page: &u32| linked[nodes.of_page[*page as usize] as usize] > 1;
        let mut pages: Vec<u32> = (0..input.pages.len() as u32).filter(is_linked).collect();
        let costs = Costs::of(rules, input, nodes, &pages);
        costs.sort(input, &mut pages);

        let mut ranking = Self {
            pages,
            costs,
            nodes: Vec::new(),
            of_node: vec![NONE; nodes.count as usize],
            best: vec![NONE; nodes.count as usize],
        };
        for (place, &page) in (0u32..).zip(&ranking.pages) {
            let node = nodes.of_page[page as usize] as usize;
            if ranking.best[node] == NONE {
                ranking.best[node] = place;
                ranking.of_node[node] = ranking.nodes.len() as u32;
                ranking.nodes.push(node as u32);
            }
        }
        ranking
    }
}

fn place(input: &BatchInput<'_>, nodes: &Nodes, ranking: &Ranking, taken: &[Taken]) -> Grouping {
    let pages = input.pages.len();
    // The winner of every page: initially itself.
    let mut winner_of: Vec<u32> = (0..pages as u32).collect();
    for &page in &ranking.pages {
        let star = taken[nodes.of_page[page as usize] as usize].winner;
        winner_of[page as usize] = ranking.pages[ranking.best[star as usize] as usize];
    }

    let mut stars: Vec<Star> = Vec::new();
    let mut star_of_winner = vec![NONE; pages];
    for page in (0..pages as u32).filter(|&page| winner_of[page as usize] == page) {
        star_of_winner[page as usize] = stars.len() as u32;
        stars.push(Star { winner: page, size: 0, radius: 0, diameter: 0, family: None, first: 0 });
    }
    let alone = |star: u32| Placement {
        star,
        outcome: Outcome::Kept,
        distance: 0,
        similarity: 1.0,
        decided: None,
    };
    let mut placements: Vec<Placement> =
        winner_of.iter().map(|&winner| alone(star_of_winner[winner as usize])).collect();

    for page in 0..pages as u32 {
        let winner = winner_of[page as usize];
        if winner == page {
            continue;
        }
        let node = nodes.of_page[page as usize];
        let with = &taken[node as usize];
        let target = &mut placements[page as usize];
        target.distance = with.distance;
        target.similarity = with.similarity;
        (target.outcome, target.decided) = if nodes.redirects[page as usize] {
            (Outcome::Redirect, Some(DecidedBy::Redirect))
        } else {
            let outcome = if with.winner == node { Outcome::Exact } else { Outcome::Near };
            (outcome, Some(ranking.costs.decided(input, winner, page)))
        };
    }
    for &node in &ranking.nodes {
        let with = &taken[node as usize];
        let winner = ranking.pages[ranking.best[with.winner as usize] as usize];
        let star = &mut stars[star_of_winner[winner as usize] as usize];
        // The two largest distances bound the diameter; `diameter` holds the smaller of them until
        // all are known.
        let (far, second) = (with.distance.max(star.radius), with.distance.min(star.radius));
        star.radius = far;
        star.diameter = star.diameter.max(second);
    }
    for star in &mut stars {
        star.diameter = star.diameter.saturating_add(star.radius).min(64);
    }
    let members = list_members(&mut stars, &placements, ranking);
    Grouping { placements, stars, families: Vec::new(), members }
}

/// All pages by star, best first within each star.
fn list_members(stars: &mut [Star], placements: &[Placement], ranking: &Ranking) -> Vec<u32> {
    for placement in placements {
        stars[placement.star as usize].size += 1;
    }
    let mut members = vec![0; placements.len()];
    let mut first = 0;
    for star in &mut *stars {
        star.first = first;
        // Correct for single pages and for every winner, which is the best of its star.
        members[first as usize] = star.winner;
        first += star.size;
    }
    let mut filled = vec![0u32; stars.len()];
    for &page in &ranking.pages {
        let star = placements[page as usize].star as usize;
        members[(stars[star].first + filled[star]) as usize] = page;
        filled[star] += 1;
    }
    members
}

fn find_families(grouping: &mut Grouping, nodes: &Nodes, edges: &Edges, ranking: &Ranking) {
    let mut sets = UnionFind::new(nodes.count);
    for &(_, a, b) in &edges.list {
        sets.union(a, b);
    }
    // Nodes are processed best first, so the first one of a set is its head.
    let mut family_of_set = vec![NONE; nodes.count as usize];
    let mut families: Vec<Family> = Vec::new();
    let mut members: Vec<(u32, u32)> = Vec::new();
    for &node in &ranking.nodes {
        let page = ranking.pages[ranking.best[node as usize] as usize];
        let placement = grouping.placements[page as usize];
        if placement.outcome != Outcome::Kept {
            continue;
        }
        let star = grouping.stars[placement.star as usize];
        let family = &mut family_of_set[sets.find(node) as usize];
        if *family == NONE {
            *family = families.len() as u32;
            families.push(Family { head: placement.star, stars: 0, pages: 0, failing: 0 });
        } else {
            families[*family as usize].failing += star.size;
        }
        families[*family as usize].stars += 1;
        families[*family as usize].pages += star.size;
        members.push((*family, placement.star));
    }
    let mut order: Vec<u32> = (0..families.len() as u32).collect();
    order.retain(|&i| families[i as usize].stars > 1);
    order.sort_unstable_by_key(|&i| families[i as usize].head);
    let mut renumbered = vec![None; families.len()];
    for (new, &old) in (0u32..).zip(&order) {
        renumbered[old as usize] = Some(new);
    }
    for (family, star) in members {
        grouping.stars[star as usize].family = renumbered[family as usize];
    }
    grouping.families = order.iter().map(|&i| families[i as usize]).collect();
}
