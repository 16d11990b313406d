//! Decisions on generated pages, compared with a reference that compares all pairs.

use hapax::fingerprint::{ContentHash, Fingerprint, Fingerprinter, MaxDistance, Recipe, Sketch};
use hapax::group::{
    BatchInput, Grouping, NearPair, Outcome, PageFacts, ScopeKey, set_domain_places,
};
use hapax::join::OneThread;
use hapax::similarity::MinSimilarity;
use hapax_corpus::{Fact, FileId, Place};
use proptest::prelude::*;

use std::path::Path;

use super::decide;
use crate::against::Earlier;
use crate::options::Options;
use crate::pages::{NewPage, Pages, Status};

static NOTHING: std::sync::LazyLock<Earlier> = std::sync::LazyLock::new(Earlier::default);

fn options() -> Options {
    let recipe = Recipe::built_in("web-2").unwrap();
    let mut options = Options::new(Fingerprinter::new(recipe, None).unwrap());
    options.many = 1 << 7;
    options.confirm = crate::Confirm::No;
    options.policy.within = MaxDistance::new(6).unwrap();
    options.policy.min_similarity = MinSimilarity::new(0.8).unwrap();
    options
}

/// A page whose fingerprint and sketch have exactly these bits set.
fn page(name: usize, content: usize, fingerprint: &[u8], sketch: &[u16], scope: u64) -> NewPage {
    let mut bytes = [0; 128];
    for &bit in sketch {
        bytes[usize::from(bit) / 8] ^= 1 << (bit % 8);
    }
    NewPage {
        id: format!("http://{name:03}.test/"),
        url: format!("http://{name:03}.test/"),
        canonical: None,
        content: ContentHash::of(&content.to_string()),
        status: Status::Comparable,
        fingerprint: Fingerprint::from_bits(fingerprint.iter().fold(0, |bits, i| bits ^ 1 << i)),
        sketch: Sketch::from_bytes(&bytes),
        short: None,
        score: None,
        fetched: None,
        words: 100,
        scope: ScopeKey(scope),
        alone: false,
    }
}

fn gather(list: &[NewPage]) -> Pages {
    let mut pages = Pages::default();
    list.iter().for_each(|page| pages.push(page));
    pages
}

/// Page facts with a domain of its own for each page, so that age never decides.
fn competitors(pages: &Pages) -> Vec<PageFacts<'_>> {
    let mut facts: Vec<_> = (0..pages.len() as u32).map(|it| pages.facts(it)).collect();
    set_domain_places(&mut facts, |_| 0);
    facts
}

/// Reference implementation: compares all pairs.
fn slow_pairs(pages: &Pages, options: &Options) -> Vec<NearPair> {
    let mut pairs = Vec::new();
    for a in 0..pages.len() as u32 {
        for b in a + 1..pages.len() as u32 {
            let distance = pages.fingerprint(a).distance(pages.fingerprint(b));
            let estimate = pages.sketch(a).estimate(pages.sketch(b));
            if options.policy.within.admits(distance)
                && options.policy.min_similarity.admits(&estimate)
            {
                let similarity = estimate.jaccard as f32;
                pairs.push(NearPair { a, b, distance: distance as u8, similarity });
            }
        }
    }
    pairs
}

/// Runs of bits, so that sketches differ in 0 to 240 of 1,024 bits: similarity down to 0.53.
fn sketch_bits() -> impl Strategy<Value = Vec<u16>> {
    (0u16..4, 0u16..60).prop_map(|(base, length)| (base * 200..base * 200 + length).collect())
}

/// Content, bits of the fingerprint, bits of the sketch, scope.
type Drawn = (usize, Vec<u8>, Vec<u16>, u64);

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let one = (0usize..40, prop::collection::vec(0u8..12, 0..5), sketch_bits(), 1u64..3);
    prop::collection::vec(one, 1..60)
}

/// Pages that share no fingerprint and no content.
fn distinct_pages() -> impl Strategy<Value = Vec<NewPage>> {
    let own = |i: usize| (0..6).filter(move |bit| i >> bit & 1 == 1).map(|bit| 20 + bit);
    drawn().prop_map(move |list| {
        let make = |(i, (_, mut fingerprint, sketch, scope)): (usize, Drawn)| {
            fingerprint.extend(own(i));
            page(i, i, &fingerprint, &sketch, scope)
        };
        list.into_iter().enumerate().map(make).collect()
    })
}

/// Pages that share fingerprints and contents; equal contents have equal fingerprints and sketches.
fn alike_pages() -> impl Strategy<Value = Vec<NewPage>> {
    drawn().prop_map(|list| {
        let make = |(i, (content, fingerprint, sketch, scope)): (usize, Drawn)| {
            page(i, content, &fingerprint, &sketch, scope)
        };
        let mut list: Vec<NewPage> = list.into_iter().enumerate().map(make).collect();
        for i in 0..list.len() {
            if let Some(first) = (0..i).find(|&j| list[j].content == list[i].content) {
                list[i].fingerprint = list[first].fingerprint;
                list[i].sketch = list[first].sketch;
            }
        }
        list
    })
}

proptest! {
    #[test]
    fn without_dense_clusters_the_decision_is_that_of_grouping_all_pairs(list in distinct_pages()) {
        let (pages, options) = (gather(&list), options());
        let decision = decide(&pages, &[], &NOTHING, &options, &OneThread, Path::new("")).unwrap();
        let facts = competitors(&pages);
        let contents: Vec<_> = (0..pages.len() as u32).map(|it| pages.content(it)).collect();
        let scopes: Vec<_> = (0..pages.len() as u32).map(|it| pages.scope(it)).collect();
        let slow = Grouping::of(&options.keep, &BatchInput {
            pages: &facts,
            contents: &contents,
            scopes: &scopes,
            redirects: &[],
            pairs: &slow_pairs(&pages, &options),
        }).unwrap();
        for page in 0..pages.len() as u32 {
            let verdict = decision.verdict(page);
            prop_assert_eq!(verdict.winner, slow.winner(page), "page {}", page);
            prop_assert_eq!(verdict.outcome, slow.placements()[page as usize].outcome);
        }
    }

    #[test]
    fn a_removed_page_matches_its_winner_and_does_not_outrank_it(list in alike_pages()) {
        let (pages, options) = (gather(&list), options());
        let decision = decide(&pages, &[], &NOTHING, &options, &OneThread, Path::new("")).unwrap();
        let pairs = slow_pairs(&pages, &options);
        let mut kept = 0;
        for page in 0..pages.len() as u32 {
            let verdict = decision.verdict(page);
            let (low, high) = (page.min(verdict.winner), page.max(verdict.winner));
            match verdict.outcome {
                Outcome::Kept => {
                    kept += 1;
                    prop_assert_eq!(verdict.winner, page);
                    continue;
                }
                Outcome::Exact => {
                    prop_assert_eq!(pages.content(page), pages.content(verdict.winner));
                }
                Outcome::Near => {
                    let pair = pairs.iter().find(|pair| (pair.a, pair.b) == (low, high));
                    prop_assert_eq!(pair.map(|it| it.distance), Some(verdict.distance));
                    prop_assert_eq!(pair.map(|it| it.similarity), Some(verdict.similarity));
                }
                Outcome::Redirect => prop_assert!(false, "documents do not redirect"),
            }
            prop_assert_eq!(pages.scope(page), pages.scope(verdict.winner));
            prop_assert_eq!(decision.verdict(verdict.winner).outcome, Outcome::Kept);
            let facts = competitors(&pages);
            let [winner, loser] = [verdict.winner, page].map(|it| &facts[it as usize]);
            prop_assert!(options.keep.better(winner, loser));
            prop_assert!(decision.reason(page).is_some());
        }
        for pair in pairs.iter().filter(|it| pages.scope(it.a) == pages.scope(it.b)) {
            let both = [pair.a, pair.b].map(|it| decision.verdict(it).outcome);
            prop_assert_ne!(both, [Outcome::Kept; 2], "{:?}", pair);
        }
        let in_groups: usize = decision.groups().map(|group| group.documents().count() - 1).sum();
        prop_assert_eq!(in_groups + kept, pages.len());
    }
}

/// Families of pages, each around a centre: members differ from it in up to `bits` of the
/// fingerprint and `spread` of the sketch. All contents differ, and families are far apart.
fn families(sizes: &[usize], bits: usize, spread: u64) -> Vec<NewPage> {
    let mix = |i: u64| {
        let mixed = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 8
    };
    let mut list = Vec::new();
    for (family, &size) in (0u64..).zip(sizes) {
        let centre: Vec<u8> = (0..20).map(|i| (mix(family * 64 + i) % 64) as u8).collect();
        let text: Vec<u16> = (0..300).map(|i| (mix(family * 7919 + i) % 1024) as u16).collect();
        for member in 0..size {
            let seed = mix(family * 1_000_003 + member as u64);
            let (mut fingerprint, mut sketch) = (centre.clone(), text.clone());
            let flips = seed as usize % (bits + 1);
            fingerprint.extend((0..flips).map(|i| (mix(seed + i as u64) % 64) as u8));
            let flips = mix(seed) % (spread + 1);
            sketch.extend((0..flips).map(|i| (mix(seed * 3 + i) % 1024) as u16));
            let name = list.len();
            list.push(page(name, name, &fingerprint, &sketch, 0));
        }
    }
    // Shuffled, so that good and bad pages mix.
    list.sort_by_key(|page| mix(page.id.len() as u64 + page.fingerprint.to_bits()));
    list
}

fn slowly(pages: &Pages, options: &Options) -> Grouping {
    let all = 0..pages.len() as u32;
    let facts = competitors(pages);
    let contents: Vec<_> = all.map(|it| pages.content(it)).collect();
    let pairs = slow_pairs(pages, options);
    let input =
        BatchInput { pages: &facts, contents: &contents, pairs: &pairs, ..BatchInput::default() };
    Grouping::of(&options.keep, &input).unwrap()
}

#[test]
fn dense_clusters_of_similar_pages_are_grouped_as_by_comparing_all_pairs() {
    // Sketches differ in at most 30 + 30 of 1,024 bits, similarity at least 0.88; fingerprints in 3
    // + 3 bits.
    let list = families(&[900, 300, 70, 65, 40, 2, 1, 1], 3, 30);
    let (pages, options) = (gather(&list), options());
    let decision = decide(&pages, &[], &NOTHING, &options, &OneThread, Path::new("")).unwrap();
    let slow = slowly(&pages, &options);
    for page in 0..pages.len() as u32 {
        assert_eq!(decision.verdict(page).winner, slow.winner(page), "page {page}");
    }
    assert!(decision.effort().dense > 1000, "{:?}", decision.effort());
    assert!(decision.effort().compared < 40 * 1379, "{:?}", decision.effort());
}

#[test]
fn dense_clusters_in_which_many_do_not_match_lose_few_duplicates() {
    // Fingerprints differ in up to 10 bits and sketches in up to 160 of 1,024: many pairs do not
    // match.
    let list = families(&[900, 300, 150, 70], 5, 80);
    let (pages, mut options) = (gather(&list), options());
    // Without rules the corpus order decides; with the defaults, the middle of a family would come
    // first.
    options.keep = "".parse().unwrap();
    let decision = decide(&pages, &[], &NOTHING, &options, &OneThread, Path::new("")).unwrap();
    let slow = slowly(&pages, &options);
    let all = 0..pages.len() as u32;
    let gone = all.clone().filter(|&it| decision.verdict(it).outcome != Outcome::Kept).count();
    let slowly_gone = all.clone().filter(|&it| slow.winner(it) != it).count();
    assert!(slowly_gone < pages.len() - 200, "too many are alike: {slowly_gone}");
    assert!(gone * 100 >= slowly_gone * 96, "{gone} and {slowly_gone}");
    for page in all {
        let verdict = decision.verdict(page);
        let (one, other) = (verdict.winner, page);
        let distance = pages.fingerprint(one).distance(pages.fingerprint(other));
        let estimate = pages.sketch(one).estimate(pages.sketch(other));
        assert!(
            options.policy.within.admits(distance)
                && options.policy.min_similarity.admits(&estimate)
        );
        assert_eq!(decision.verdict(verdict.winner).outcome, Outcome::Kept);
    }
}

/// Revisions of one page: each differs from the one before in `step` bits of the sketch, and now
/// and then in a bit of the fingerprint. `rank` decides which revision is preferred.
fn history(revisions: usize, step: usize, rank: impl Fn(usize) -> usize) -> Vec<NewPage> {
    let make = |revision: usize| {
        let sketch: Vec<u16> = (0..revision * step).map(|it| (it * 389 % 1024) as u16).collect();
        let fingerprint: Vec<u8> = (0..revision / 20).map(|bit| (bit % 64) as u8).collect();
        page(rank(revision), revision, &fingerprint, &sketch, 0)
    };
    let mut list: Vec<NewPage> = (0..revisions).map(make).collect();
    list.sort_by(|one, other| one.id.cmp(&other.id));
    list
}

const RANKS: [fn(usize) -> usize; 3] = [|it| it, |it| 9999 - it, |it| it * 7919 % 9973];

#[test]
fn no_two_kept_revisions_of_a_page_match_whichever_is_preferred() {
    for (revisions, step) in [(40, 10), (148, 6), (500, 2)] {
        let mut counts = Vec::new();
        for rank in RANKS {
            let list = history(revisions, step, rank);
            let (pages, mut options) = (gather(&list), options());
            options.keep = "".parse().unwrap();
            let decision =
                decide(&pages, &[], &NOTHING, &options, &OneThread, Path::new("")).unwrap();
            let kept = |page: u32| decision.verdict(page).outcome == Outcome::Kept;
            for pair in slow_pairs(&pages, &options) {
                assert!(!(kept(pair.a) && kept(pair.b)), "{revisions} by {step}: {pair:?}");
            }
            counts.push((0..pages.len() as u32).filter(|&page| kept(page)).count());
        }
        let (few, many) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(many <= &(2 * few), "{revisions} by {step}: {counts:?}");
        assert!(*few > 1 && many * 2 < revisions, "{revisions} by {step}: {counts:?}");
    }
}

/// Unconnected members of dense clusters are not compared with each other, but they are few.
#[test]
fn few_kept_revisions_of_a_long_history_match_whichever_is_preferred() {
    for rank in RANKS {
        let (pages, mut options) = (gather(&history(3000, 1, rank)), options());
        options.keep = "".parse().unwrap();
        let decision = decide(&pages, &[], &NOTHING, &options, &OneThread, Path::new("")).unwrap();
        assert!(decision.effort().dense > 2000, "{:?}", decision.effort());
        let kept = |page: u32| decision.verdict(page).outcome == Outcome::Kept;
        let pairs = slow_pairs(&pages, &options);
        let left: Vec<_> = pairs.iter().filter(|pair| kept(pair.a) && kept(pair.b)).collect();
        assert!(left.len() <= 10, "{left:?}");
        assert!((0..3000).filter(|&page| kept(page)).count() < 100);
    }
}

#[test]
fn short_pages_match_exact_copies_only_and_empty_pages_match_nothing() {
    let list: Vec<NewPage> = [
        (Status::TooShort, 1),
        (Status::TooShort, 1),
        (Status::TooShort, 2),
        (Status::Empty, 3),
        (Status::Empty, 3),
        (Status::NotText, 4),
        (Status::NotText, 4),
    ]
    .into_iter()
    .enumerate()
    .map(|(i, (status, content))| NewPage { status, ..page(i, content, &[], &[], 0) })
    .collect();
    let (pages, options) = (gather(&list), options());
    let decision = decide(&pages, &[], &NOTHING, &options, &OneThread, Path::new("")).unwrap();
    let outcomes: Vec<Outcome> =
        (0..pages.len() as u32).map(|page| decision.verdict(page).outcome).collect();
    use Outcome::{Exact, Kept};
    assert_eq!(outcomes, [Kept, Exact, Kept, Kept, Kept, Kept, Exact]);
}

#[test]
fn addresses_that_redirect_belong_to_the_group_at_the_end_of_their_chain() {
    let list: Vec<NewPage> = (0..3).map(|i| page(i, i / 2, &[], &[], 0)).collect();
    let place = Place { file: FileId(0), number: 1, member: 0, within: 0, length: 0 };
    let redirect =
        |from: &str, to: &str| Fact::Redirect { from: from.into(), to: to.into(), place };
    let facts = [
        redirect("http://old.test/", "http://middle.test/"),
        redirect("http://middle.test/", "http://001.test/"),
        redirect("http://nowhere.test/", "http://gone.test/"),
        redirect("http://round.test/", "http://round.test/"),
        // An address that has a document of its own is not a redirect.
        redirect("http://000.test/", "http://002.test/"),
    ];
    let (pages, options) = (gather(&list), options());
    let decision = decide(&pages, &facts, &NOTHING, &options, &OneThread, Path::new("")).unwrap();
    let found: Vec<(&str, u32)> =
        decision.addresses().iter().map(|it| (it.url.as_str(), it.document)).collect();
    assert_eq!(found, [("http://old.test/", 1), ("http://middle.test/", 1)]);
    // The second document is an exact copy of the first, so the group has two documents.
    assert_eq!(decision.verdict(1).winner, 0);
    let groups: Vec<Vec<u32>> =
        decision.groups().map(|group| group.documents().collect()).collect();
    assert_eq!(groups, [vec![0, 1, 2]]);
}

/// Three copies of one text, by address and time; the fingerprint of the second differs slightly.
fn copies(list: [(&str, Option<i64>); 3]) -> Pages {
    let mut pages = Pages::default();
    for (i, (url, fetched)) in list.into_iter().enumerate() {
        let drawn = page(i, i % 2, &[i as u8 % 2], &[], 0);
        pages.push(&NewPage { id: url.to_owned(), url: url.to_owned(), fetched, ..drawn });
    }
    pages
}

fn kept_and_why(pages: &Pages) -> (String, Vec<(u32, &'static str)>) {
    let options = options();
    let decision = decide(pages, &[], &NOTHING, &options, &OneThread, Path::new("")).unwrap();
    let all = 0..pages.len() as u32;
    let kept: Vec<u32> =
        all.clone().filter(|&it| decision.verdict(it).outcome == Outcome::Kept).collect();
    assert_eq!(kept.len(), 1, "one group");
    let why = all.filter_map(|it| Some((it, decision.reason(it)?.rule))).collect();
    (pages.url(kept[0]).to_owned(), why)
}

#[test]
fn between_domains_age_decides_and_not_what_a_copier_controls() {
    let original = "http://news.example.org/article.php?id=17";
    let (short, other) = ("https://x.io/", "https://other.example/a");
    let seen = copies([(short, Some(30)), (other, Some(20)), (original, Some(10))]);
    let first = "first-domain";
    assert_eq!(kept_and_why(&seen), (original.to_owned(), vec![(0, first), (1, first)]));
    // An unknown time ranks after every known one; without times the first in the corpus is kept.
    let partly = copies([(short, None), (other, None), (original, Some(10))]);
    assert_eq!(kept_and_why(&partly).0, original);
    let unknown = copies([(original, None), (short, None), (other, None)]);
    assert_eq!(kept_and_why(&unknown).0, original);
}

#[test]
fn a_domain_is_as_old_as_its_oldest_copy_and_later_rules_choose_among_its_pages() {
    // Pairwise comparison would be cyclic here: the second page is the oldest, the first has https
    // where the second has not, and the third is older than the first.
    let [new, old] = ["https://a.org/x", "http://www.a.org/x"];
    let pages = copies([(new, Some(20)), (old, Some(10)), ("https://b.org/x", Some(15))]);
    let why = vec![(1, "https"), (2, "first-domain")];
    assert_eq!(kept_and_why(&pages), (new.to_owned(), why));
}

#[test]
fn a_page_s_canonical_link_to_itself_says_nothing() {
    let mut pages = Pages::default();
    let plain = page(0, 0, &[], &[], 0);
    pages.push(&NewPage { url: "https://a.org/b/".to_owned(), ..plain.clone() });
    let own = Some("https://a.org/a/".to_owned());
    pages.push(&NewPage { url: "https://a.org/a/".to_owned(), canonical: own, ..plain.clone() });
    pages.push(&NewPage { url: "https://a.org/c/".to_owned(), ..plain });
    assert_eq!(kept_and_why(&pages).1, [(0, "url"), (2, "url")]);
}
