//! Ways to make groups of confirmed pairs, and who goes.
//!
//! *Closure*: whatever a chain connects is a group and its first page stays. *Star*: the page with the most
//! partners takes all of them, then the next. *Community*: pages take the name most of their partners have,
//! again and again. *Verified*: whatever a chain connects is a group, and a page goes only for the sake of
//! one that stays and that it was confirmed with.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::pages::{Set, Share};

/// For each page the representative of its group, and the page it is removed for.
struct Groups {
    representative: Vec<u32>,
    goes_for: Vec<Option<u32>>,
}

pub(crate) fn table(set: &Set) -> Value {
    println!(
        "\n{}: rules (found in one group, resolved, right, beyond 0.8, largest, gone)",
        set.name
    );
    let partners = partners(set);
    let mut rows = Vec::new();
    let rules: [(&str, Groups); 4] = [
        ("closure", closure(&partners)),
        ("star", star(&partners)),
        ("community", community(&partners)),
        ("verified", verified(&partners)),
    ];
    for (name, groups) in rules {
        let (mut found, mut resolved, mut right, mut beyond) =
            (Share::default(), Share::default(), Share::default(), Share::default());
        for &(a, b, _) in set.truth.iter().filter(|it| it.2 >= 0.9) {
            let (a, b) = (a as usize, b as usize);
            found.add(groups.representative[a] == groups.representative[b]);
            resolved.add(groups.goes_for[a].is_some() || groups.goes_for[b].is_some());
        }
        for (page, winner) in groups.goes_for.iter().enumerate() {
            let Some(winner) = *winner else { continue };
            if set.is_judged(page as u32) && set.is_judged(winner) {
                right.add(set.exact(page as u32, winner) >= 0.8);
            }
        }
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (page, representative) in groups.representative.iter().enumerate() {
            members.entry(*representative).or_default().push(page as u32);
        }
        let largest = members.values().map(Vec::len).max().unwrap_or(0);
        for group in members.values().filter(|it| it.len() > 1) {
            // Of a very large group the first pages stand for all.
            for (at, &a) in group.iter().take(300).enumerate() {
                for &b in group.iter().take(300).skip(at + 1) {
                    if set.is_judged(a) && set.is_judged(b) {
                        beyond.add(set.exact(a, b) < 0.8);
                    }
                }
            }
        }
        let gone = groups.goes_for.iter().flatten().count();
        println!(
            "  {name:<10} {found:<20} {resolved:<20} {right:<20} {beyond:<20} {largest} {gone}"
        );
        rows.push(json!({"rule": name, "found": found.value(), "resolved": resolved.value(), "right": right.value(), "member_pairs_below_0.8": beyond.value(), "largest": largest, "gone": gone}));
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

/// Everyone but the representative is removed.
fn represented_by(representative: Vec<u32>) -> Groups {
    let goes_for = representative
        .iter()
        .enumerate()
        .map(|(page, &it)| (it != page as u32).then_some(it))
        .collect();
    Groups { representative, goes_for }
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
    // A name is that of some page; the first page that has it represents the group.
    let mut first: BTreeMap<u32, u32> = BTreeMap::new();
    for (page, name) in name.iter().enumerate() {
        first.entry(*name).or_insert(page as u32);
    }
    represented_by(name.iter().map(|name| first[name]).collect())
}

/// In the order of pages: the first stays; a page goes for the first that stays and is its partner.
fn verified(partners: &[Vec<u32>]) -> Groups {
    let representative = closure(partners).representative;
    let mut goes_for: Vec<Option<u32>> = vec![None; partners.len()];
    for page in 0..partners.len() {
        let earlier = partners[page].iter().copied().filter(|&it| (it as usize) < page);
        goes_for[page] = earlier.filter(|&it| goes_for[it as usize].is_none()).min();
    }
    Groups { representative, goes_for }
}
