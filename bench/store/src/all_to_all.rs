//! Groups all pages at once: join, confirmation, and batch grouping. The reference for speed and answers of
//! incremental work.

use hapax::fingerprint::ContentHash;
use hapax::group::{BatchInput, Grouping, NearPair, PageFacts, Rules};
use hapax::join::{OneThread, PairOptions, Record, pairs};
use hapax_store::{Observation, Settings, StoredComparable};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The groups of all pages, by position.
pub(crate) fn group(pages: &[&Observation], settings: &Settings) -> anyhow::Result<Grouping> {
    let near = near_pairs(pages, settings)?;
    let facts: Vec<PageFacts<'_>> = pages.iter().map(|page| facts(page)).collect();
    let contents: Vec<Option<ContentHash>> =
        pages.iter().map(|page| page.comparable.as_ref().map(|_| page.content)).collect();
    let input =
        BatchInput { pages: &facts, contents: &contents, pairs: &near, ..BatchInput::default() };
    let rules: &Rules = &settings.rules;
    Ok(Grouping::of(rules, &input)?)
}

fn facts(page: &Observation) -> PageFacts<'_> {
    PageFacts {
        url: Cow::Borrowed(&page.url),
        id: 0,
        score: page.score,
        first_seen: page.fetched,
        recorded: None,
        domain_place: None,
        words: page.words,
        canonical: page.canonical.as_deref().map(Cow::Borrowed),
        named_canonical: page.named_canonical,
    }
}

/// All confirmed pairs of different contents; one page represents each content.
fn near_pairs(pages: &[&Observation], settings: &Settings) -> anyhow::Result<Vec<NearPair>> {
    let mut first: Vec<(ContentHash, u32, &StoredComparable)> = (0u32..)
        .zip(pages)
        .filter_map(|(n, page)| page.comparable.as_ref().map(|its| (page.content, n, its)))
        .filter(|(_, _, contents)| !contents.too_short)
        .collect();
    first.sort_unstable_by_key(|&(content, n, _)| (content.to_bytes(), n));
    first.dedup_by_key(|entry| entry.0);
    let record = |&(_, id, its): &(ContentHash, u32, &StoredComparable)| Record {
        fingerprint: its.fingerprint.to_bits(),
        id,
    };
    let joined = pairs(
        first.iter().map(record).collect(),
        &PairOptions::within(settings.policy.within)?,
        &OneThread,
    );
    let mut class: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for twin in joined.twins() {
        class.entry(twin.a).or_insert_with(|| vec![twin.a]).push(twin.b);
    }
    let contents = |n: u32| pages[n as usize].comparable.as_ref();
    let mut near = Vec::new();
    let mut compare = |a: u32, b: u32, distance: u8| {
        let (Some(one), Some(other)) = (contents(a), contents(b)) else { return };
        let sketches = Some((&one.sketch, &other.sketch));
        let likeness = settings.policy.compare_signatures(u32::from(distance), sketches);
        if likeness.matches() {
            near.push(NearPair { a, b, distance, similarity: likeness.similarity });
        }
    };
    for members in class.values() {
        for (i, &a) in members.iter().enumerate() {
            members[i + 1..].iter().for_each(|&b| compare(a, b, 0));
        }
    }
    let of = |n: &u32| class.get(n).cloned().unwrap_or_else(|| vec![*n]);
    for pair in joined.pairs() {
        for a in of(&pair.a) {
            of(&pair.b).into_iter().for_each(|b| compare(a, b, pair.distance));
        }
    }
    Ok(near)
}
