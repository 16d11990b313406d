//! What grouping a million pages costs, next to sorting the same pairs.
//!
//! Ratios are printed, answers asserted; nothing fails for being slow:
//! `cargo test --release -p hapax --test group_cost -- --ignored --nocapture`.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement prints")]

use hapax::fingerprint::ContentHash;
use hapax::group::{BatchInput, Grouping, NearPair, PageFacts, Rules};
use std::time::Instant;

const PAGES: u32 = 1_000_000;

fn pair(a: u32, b: u32) -> NearPair {
    NearPair { a, b, distance: 3, similarity: 0.9 }
}

/// A number that is spread evenly and the same in every run.
fn scatter(i: u32) -> u32 {
    i.wrapping_mul(0x9E37_79B1) ^ (i.wrapping_mul(0x85EB_CA6B) >> 15)
}

/// Groups the pairs and sorts them, best of three each; prints both.
fn measure(
    name: &str,
    names: &[String],
    contents: &[Option<ContentHash>],
    pairs: &[NearPair],
) -> usize {
    let rules = Rules::default();
    let pages: Vec<PageFacts<'_>> = names.iter().map(|name| PageFacts::at(name)).collect();
    let input = BatchInput { pages: &pages, contents, pairs, ..BatchInput::default() };
    let mut stars = 0;
    let (mut grouping, mut sorting) = (f64::MAX, f64::MAX);
    for _ in 0..3 {
        let start = Instant::now();
        stars = Grouping::of(&rules, &input).unwrap().stars().len();
        grouping = grouping.min(start.elapsed().as_secs_f64());
        let mut copy: Vec<(u32, u32, u8)> = pairs.iter().map(|p| (p.a, p.b, p.distance)).collect();
        let start = Instant::now();
        copy.sort_unstable();
        sorting = sorting.min(start.elapsed().as_secs_f64());
        assert!(copy.is_sorted());
    }
    println!(
        "{name:22} {:8} pages {:8} pairs: group {grouping:.3} s, sort pairs {sorting:.3} s, ratio {:.1}",
        names.len(),
        pairs.len(),
        grouping / sorting,
    );
    stars
}

#[test]
#[ignore = "a measurement, not a test"]
fn a_million_pages_against_sorting_their_pairs() {
    let names: Vec<String> =
        (0..PAGES).map(|i| format!("https://example.org/{:08x}/{i}", scatter(i))).collect();
    // Pairs come in no order, as from a join.
    let mut order: Vec<u32> = (1..PAGES).collect();
    order.sort_unstable_by_key(|&i| scatter(i));

    let chain: Vec<NearPair> = order.iter().map(|&i| pair(i - 1, i)).collect();
    assert!(measure("chain", &names, &[], &chain) >= PAGES as usize / 3);

    let middle = (0..PAGES).min_by_key(|&i| (names[i as usize].len(), &names[i as usize])).unwrap();
    let star: Vec<NearPair> =
        order.iter().chain(&[0]).filter(|&&i| i != middle).map(|&i| pair(i, middle)).collect();
    assert_eq!(measure("star, best in middle", &names, &[], &star), 1);

    let clique: Vec<NearPair> = (0..3000).flat_map(|a| (0..a).map(move |b| pair(a, b))).collect();
    assert_eq!(measure("clique of 3000", &names[..3000], &[], &clique), 1);

    let same = vec![Some(ContentHash::of("once")); PAGES as usize];
    assert_eq!(measure("identical", &names, &same, &star), 1);

    let triples: Vec<NearPair> = (0..PAGES / 3)
        .flat_map(|i| [pair(3 * i, 3 * i + 1), pair(3 * i + 1, 3 * i + 2), pair(3 * i, 3 * i + 2)])
        .collect();
    assert_eq!(measure("triples", &names, &[], &triples), PAGES as usize / 3 + 1);
}
