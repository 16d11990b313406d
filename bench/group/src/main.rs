//! Measures grouping a million pages, compared with sorting the same pairs.
//!
//! Prints ratios and asserts answers; slowness is not a failure: `cargo run --release -p hapax-bench-group`.
//! Groups in a batch, and one page at a time with a simulated index.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement prints")]

use hapax::fingerprint::ContentHash;
use hapax::group::live::{Content, Likeness, Matching, MemoryState, Near, PageId, World};
use hapax::group::{BatchInput, Grouping, LiveGroups, LiveOptions, NearPair, PageFacts, Rules};
use std::convert::Infallible;
use std::time::Instant;

const PAGES: u32 = 1_000_000;

fn pair(a: u32, b: u32) -> NearPair {
    NearPair { a, b, distance: 3, similarity: 0.9 }
}

/// A uniformly distributed number, the same in every run.
fn scatter(i: u32) -> u32 {
    i.wrapping_mul(0x9E37_79B1) ^ (i.wrapping_mul(0x85EB_CA6B) >> 15)
}

/// Groups the pairs and sorts them, best of three each; prints both times.
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

fn a_million_pages_against_sorting_their_pairs() {
    let names: Vec<String> =
        (0..PAGES).map(|i| format!("https://example.org/{:08x}/{i}", scatter(i))).collect();
    // Pairs are in random order, as from a join.
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

/// Pages in clusters of equal content; the index is a list per cluster.
struct Clusters {
    cluster_of: Vec<u32>,
    pages_of: Vec<Vec<PageId>>,
    names: Vec<String>,
}

impl Clusters {
    fn new(clusters: u32) -> Self {
        let names = (0..PAGES).map(|i| format!("https://example.org/{:08x}", scatter(i)));
        let pages_of = vec![Vec::new(); clusters as usize];
        Self { cluster_of: Vec::new(), pages_of, names: names.collect() }
    }

    fn add(&mut self) -> PageId {
        let page = self.cluster_of.len() as u32;
        let cluster = scatter(page) % self.pages_of.len() as u32;
        self.cluster_of.push(cluster);
        self.pages_of[cluster as usize].push(PageId(page));
        PageId(page)
    }
}

impl World for Clusters {
    type Error = Infallible;

    fn facts(&self, page: PageId) -> Result<PageFacts<'_>, Infallible> {
        let first_seen = Some(u64::from(page.0));
        Ok(PageFacts { first_seen, ..PageFacts::at(&self.names[page.0 as usize]) })
    }

    fn compare(&self, a: PageId, b: PageId) -> Result<Likeness, Infallible> {
        let same = self.cluster_of[a.0 as usize] == self.cluster_of[b.0 as usize];
        Ok(if same {
            Likeness { distance: 0, similarity: 1.0, matching: Matching::Exact }
        } else {
            Likeness { distance: 32, similarity: 0.0, matching: Matching::No }
        })
    }

    fn near(&self, page: PageId, limit: usize) -> Result<Vec<Near>, Infallible> {
        let likeness = Likeness { distance: 0, similarity: 1.0, matching: Matching::Exact };
        let cluster = &self.pages_of[self.cluster_of[page.0 as usize] as usize];
        Ok(cluster.iter().take(limit).map(|&page| Near { page, likeness }).collect())
    }
}

fn a_million_pages_one_at_a_time() {
    for (name, clusters, rules) in [
        ("groups of three", PAGES / 3, "shortest-url, earliest"),
        ("one group, first wins", 1, "earliest"),
        ("one group, last wins", 1, "latest"),
    ] {
        let mut world = Clusters::new(clusters);
        let options = LiveOptions::default();
        let mut groups = LiveGroups::new(MemoryState::default(), rules.parse().unwrap(), options);
        let start = Instant::now();
        for _ in 0..PAGES {
            let page = world.add();
            groups.seen(&world, page, Content::Changed).unwrap();
            groups.state_mut().forget_events(u64::MAX);
        }
        let seen = start.elapsed().as_secs_f64();
        let bytes = groups.state().bytes() as f64 / f64::from(PAGES);
        let start = Instant::now();
        for page in (0..PAGES).map(PageId) {
            groups.seen(&world, page, Content::Same).unwrap();
            groups.state_mut().forget_events(u64::MAX);
            if clusters == 1 && page.0 == 1000 {
                break;
            }
        }
        let again = start.elapsed().as_secs_f64();
        let oldest: Vec<PageId> = (0..PAGES / 2).map(PageId).collect();
        let start = Instant::now();
        groups.gone(&world, &oldest).unwrap();
        let gone = start.elapsed().as_secs_f64();
        assert_eq!(groups.state().pages(), PAGES / 2);
        println!(
            "{name:22} seen {seen:.2} s, {bytes:.1} bytes a page, again {again:.2} s, half gone {gone:.2} s"
        );
    }
}

fn main() {
    a_million_pages_against_sorting_their_pairs();
    a_million_pages_one_at_a_time();
}
