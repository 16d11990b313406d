//! Queries, recrawls, bags.

use std::collections::{BTreeMap, BTreeSet};

use hapax_synth::{EditKind, Length, Page, Scratch, Temper, Visit, Web, WebOptions, Weighting};

use crate::jaccard::{jaccard, shingles, tokens, visible_text};

fn web() -> Web {
    Web::new(WebOptions::new(6, 20_000))
}

#[test]
fn queries_are_words_of_their_page_and_clicks_stay_in_its_family() {
    let web = web();
    let mut frequencies: BTreeMap<u64, u32> = BTreeMap::new();
    let (mut words, mut clicks) = (0usize, 0usize);
    for entry in 0..4_000 {
        let query = web.query(entry);
        *frequencies.entry(query.id).or_default() += 1;
        assert_eq!((query.text.clone(), query.about), web.distinct_query(query.id));
        let truth = web.truth(query.about);
        let original = web.members(truth.family).next().unwrap();
        if truth.language.has_spaces() {
            let content: BTreeSet<String> = tokens(&web.text(original)).into_iter().collect();
            assert!(tokens(&query.text).iter().all(|word| content.contains(word)), "{query:?}");
            words += query.text.split(' ').count();
        }
        let members: BTreeSet<u64> = web.members(truth.family).collect();
        assert!(query.clicks.iter().all(|page| members.contains(page)));
        clicks += usize::from(!query.clicks.is_empty());
    }
    assert!((6_500..9_500).contains(&words), "{words}");
    assert!((2_650..2_950).contains(&clicks), "{clicks}");
    // Under a Zipf distribution some queries are frequent, and most occur once or twice.
    let often = frequencies.values().max().copied().unwrap_or(0);
    let seldom = frequencies.values().filter(|&&n| n <= 2).count();
    assert!(often > 50 && seldom * 2 > frequencies.len(), "{often}, {seldom}");
    assert_eq!(frequencies.keys().next(), Some(&0));
}

fn page(visit: Visit) -> Option<Page> {
    match visit {
        Visit::Page(page) => Some(page),
        Visit::Moved(_) | Visit::Gone => None,
    }
}

#[test]
fn week_zero_is_the_first_crawl() {
    let web = web();
    for index in 0..100 {
        assert_eq!(web.revisit(index, 0), Visit::Page(web.page(index)));
    }
}

#[test]
fn pages_change_according_to_their_temper() {
    let web = web();
    let mut tempers = [0u32; 4];
    for index in 0..1_200 {
        let temper = web.temper(index);
        tempers[temper as usize] += 1;
        let Some(later) = page(web.revisit(index, 10)) else { continue };
        let now = web.page(index);
        assert_eq!((&later.url, later.truth), (&now.url, now.truth));
        assert_eq!(later.fetched, now.fetched + 10 * 604_800);
        let similarity =
            jaccard(&shingles(&visible_text(&now.html)), &shingles(&visible_text(&later.html)));
        match temper {
            Temper::Still => assert_eq!(later.html, now.html),
            Temper::Ticking => {
                assert_ne!(later.html, now.html);
                assert_eq!(later.title, now.title);
            }
            Temper::Tended => {}
            Temper::Lively => assert!(similarity < 0.95, "page {index}: {similarity}"),
        }
    }
    for (count, percent) in tempers.into_iter().zip([50.0, 20.0, 22.0, 8.0]) {
        let seen = f64::from(count) / 12.0;
        assert!((seen - percent).abs() < 5.0, "{tempers:?}");
    }
}

#[test]
fn deleted_pages_stay_deleted_and_only_copies_redirect() {
    let web = web();
    let (mut gone, mut moved) = (0, 0);
    for index in 0..3_000 {
        let truth = web.truth(index);
        match web.revisit(index, 8) {
            Visit::Page(_) => {}
            Visit::Gone => {
                gone += 1;
                assert_eq!(web.revisit(index, 30), Visit::Gone);
            }
            Visit::Moved(to) => {
                moved += 1;
                assert_eq!(web.revisit(index, 30), Visit::Moved(to));
                assert!(truth.copy > 0);
                assert_eq!(web.truth(to).family, truth.family);
                assert_eq!(web.truth(to).kind, EditKind::Original);
            }
        }
    }
    // 1 - 0.985^8 of 3,000 is 342; 1.6 % of the quarter that are copies is about 12.
    assert!((270..420).contains(&gone), "{gone}");
    assert!((2..40).contains(&moved), "{moved}");
}

/// SimHash by its definition.
fn simhash(bag: &[(u64, u32)]) -> u64 {
    (0..64).fold(0, |bits, bit| {
        let sum: i64 = bag
            .iter()
            .map(|&(hash, w)| if hash >> bit & 1 == 1 { i64::from(w) } else { -i64::from(w) })
            .sum();
        bits | u64::from(sum > 0) << bit
    })
}

#[test]
fn bags_count_the_words_of_the_text() {
    let web = web();
    let (mut scratch, mut bag) = (Scratch::default(), Vec::new());
    for index in 0..300 {
        let truth = web.truth(index);
        if !truth.language.has_spaces() {
            continue;
        }
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        tokens(&web.text(index)).into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
        web.bag(index, Weighting::Frequency, &mut scratch, &mut bag);
        let mut ours: Vec<u32> = bag.iter().map(|&(_, weight)| weight).collect();
        let mut theirs: Vec<u32> = counts.into_values().collect();
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs);
        let hashes: BTreeSet<u64> = bag.iter().map(|&(hash, _)| hash).collect();
        assert_eq!(hashes.len(), bag.len());
    }
}

#[test]
fn fingerprints_of_bags_are_near_in_a_family_and_far_outside() {
    let web = Web::new(WebOptions {
        length: Length { most: 2_000, ..Length::default() },
        ..WebOptions::new(6, 20_000)
    });
    let (mut scratch, mut bag) = (Scratch::default(), Vec::new());
    let mut fingerprint = |index| {
        web.bag(index, Weighting::FrequencyRarity, &mut scratch, &mut bag);
        simhash(&bag)
    };
    let (mut light, mut exact, mut unrelated) = (vec![], 0, vec![]);
    for index in 0..6_000 {
        let truth = web.truth(index);
        let original = web.members(truth.family).next().unwrap();
        let mine = fingerprint(index);
        match truth.kind {
            EditKind::Exact => {
                assert_eq!(mine, fingerprint(original));
                exact += 1;
            }
            EditKind::LightEdit => light.push((mine ^ fingerprint(original)).count_ones()),
            _ => {
                let other = (index + 1) % 6_000;
                if web.truth(other).family != truth.family {
                    unrelated.push((mine ^ fingerprint(other)).count_ones());
                }
            }
        }
    }
    light.sort_unstable();
    unrelated.sort_unstable();
    assert!(exact > 200 && light.len() > 350 && unrelated.len() > 3_000);
    let (near, far) = (light[light.len() / 2], unrelated[unrelated.len() / 2]);
    assert!(near <= 3, "median {near} after a light edit");
    assert!(far >= 20, "median {far} between unrelated");
}
