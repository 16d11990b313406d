//! Ways to form groups from confirmed pairs and to choose removed pages.
//!
//! *Closure*: a group is a connected component, and its first page is kept. *Star*: the page with the most partners
//! takes all of them, then the next. *Community*: pages repeatedly adopt the most frequent name among their partners.
//! *Verified*: a group is a connected component, and a page is removed only for a kept page that it was confirmed
//! with.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::pages::{Set, Share};

/// The representative of each page's group, and the page it is removed for.
struct Groups {
    representative: Vec<u32>,
    removed_for: Vec<Option<u32>>,
}

pub(crate) fn table(set: &Set) -> Value {
    println!("\n{}: rules (recall, resolved, precision, beyond 0.8, largest, removed)", set.name);
    let partners = partners(set);
    let mut rows = Vec::new();
    let rules: [(&str, Groups); 4] = [
        ("closure", closure(&partners)),
        ("star", star(&partners)),
        ("community", community(&partners)),
        ("verified", verified(&partners)),
    ];
    for (name, groups) in rules {
        let (mut recall, mut resolved, mut precision, mut beyond) =
            (Share::default(), Share::default(), Share::default(), Share::default());
        for &(a, b, _) in set.truth.iter().filter(|it| it.2 >= 0.9) {
            let (a, b) = (a as usize, b as usize);
            recall.add(groups.representative[a] == groups.representative[b]);
            resolved.add(groups.removed_for[a].is_some() || groups.removed_for[b].is_some());
        }
        for (page, winner) in groups.removed_for.iter().enumerate() {
            let Some(winner) = *winner else { continue };
            if set.is_covered(page as u32) && set.is_covered(winner) {
                precision.add(set.exact(page as u32, winner) >= 0.8);
            }
        }
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (page, representative) in groups.representative.iter().enumerate() {
            members.entry(*representative).or_default().push(page as u32);
        }
        let largest = members.values().map(Vec::len).max().unwrap_or(0);
        for group in members.values().filter(|it| it.len() > 1) {
            // The first pages of a very large group are its sample.
            for (at, &a) in group.iter().take(300).enumerate() {
                for &b in group.iter().take(300).skip(at + 1) {
                    if set.is_covered(a) && set.is_covered(b) {
                        beyond.add(set.exact(a, b) < 0.8);
                    }
                }
            }
        }
        let removed = groups.removed_for.iter().flatten().count();
        println!(
            "  {name:<10} {recall:<20} {resolved:<20} {precision:<20} {beyond:<20} {largest} {removed}"
        );
        rows.push(json!({"rule": name, "recall": recall.value(), "resolved": resolved.value(), "precision": precision.value(), "member_pairs_below_0.8": beyond.value(), "largest": largest, "removed": removed}));
    }
    Value::Array(rows)
}

fn partners(set: &Set) -> Vec<Vec<u32>> {
    let mut partners = vec![Vec::new(); set.len()];
    for &(a, b) in &set.confirmed {
        partners[a as usize].push(b);
        partners[b as usize].push(a);
    }
    partners
}

fn closure(partners: &[Vec<u32>]) -> Groups {
    let mut representative: Vec<u32> = (0..partners.len() as u32).collect();
    let mut seen = vec![false; partners.len()];
    for first in 0..partners.len() {
        let mut open = vec![first as u32];
        while let Some(page) = open.pop() {
            if !std::mem::replace(&mut seen[page as usize], true) {
                representative[page as usize] = first as u32;
                open.extend(&partners[page as usize]);
            }
        }
    }
    represented_by(representative)
}

/// Removes every page but its representative.
fn represented_by(representative: Vec<u32>) -> Groups {
    let removed_for = representative
        .iter()
        .enumerate()
        .map(|(page, &it)| (it != page as u32).then_some(it))
        .collect();
    Groups { representative, removed_for }
}

fn star(partners: &[Vec<u32>]) -> Groups {
    let mut order: Vec<u32> = (0..partners.len() as u32).collect();
    order.sort_by_key(|&page| (std::cmp::Reverse(partners[page as usize].len()), page));
    let mut representative: Vec<Option<u32>> = vec![None; partners.len()];
    for centre in order {
        if representative[centre as usize].is_none() {
            representative[centre as usize] = Some(centre);
            for &page in &partners[centre as usize] {
                representative[page as usize].get_or_insert(centre);
            }
        }
    }
    represented_by(
        representative
            .into_iter()
            .enumerate()
            .map(|(page, it)| it.unwrap_or(page as u32))
            .collect(),
    )
}

fn community(partners: &[Vec<u32>]) -> Groups {
    let mut name: Vec<u32> = (0..partners.len() as u32).collect();
    for _ in 0..20 {
        let mut changed = false;
        for page in 0..partners.len() {
            let mut votes: BTreeMap<u32, u32> = BTreeMap::new();
            for &other in &partners[page] {
                *votes.entry(name[other as usize]).or_default() += 1;
            }
            let most =
                votes.iter().max_by_key(|(name, votes)| (**votes, std::cmp::Reverse(**name)));
            if let Some((&most, _)) = most
                && most != name[page]
            {
                name[page] = most;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    // A name is the position of some page; the first page with it represents the group.
    let mut first: BTreeMap<u32, u32> = BTreeMap::new();
    for (page, name) in name.iter().enumerate() {
        first.entry(*name).or_insert(page as u32);
    }
    represented_by(name.iter().map(|name| first[name]).collect())
}

/// In page order: the first page is kept; each other page is removed for its first kept partner.
fn verified(partners: &[Vec<u32>]) -> Groups {
    let representative = closure(partners).representative;
    let mut removed_for: Vec<Option<u32>> = vec![None; partners.len()];
    for page in 0..partners.len() {
        let earlier = partners[page].iter().copied().filter(|&it| (it as usize) < page);
        removed_for[page] = earlier.filter(|&it| removed_for[it as usize].is_none()).min();
    }
    Groups { representative, removed_for }
}
