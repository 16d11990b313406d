//! Golden values. If a test here fails, earlier measurements on synthetic webs are no longer comparable.

use hapax_synth::{Page, Scratch, Visit, Web, WebOptions, Weighting, planted};

use crate::jaccard::fnv;

const PAGES: [u64; 5] = [
    18204027459930439873,
    4898833049296827975,
    11209356821690164839,
    10327167639080513206,
    6611379347735216648,
];
const FIVE_HUNDRED_PAGES: u64 = 17274143778915975722;
const OTHERS: [u64; 5] = [
    13600663668278725199,
    10596753418841445925,
    15202017886959368716,
    349515555688734207,
    9653362943080984099,
];

fn web() -> Web {
    Web::new(WebOptions::new(42, 200_000))
}

#[test]
fn pages_have_the_recorded_bytes() {
    let web = web();
    let sum = |page: &Page| fnv(page.url.bytes().chain(page.html.bytes()));
    let seen = [0, 1, 2, 77_777, 199_999].map(|index| sum(&web.page(index)));
    assert_eq!(seen, PAGES);
    let many = web.pages(1_000..1_500).fold(0u64, |all, page| all.rotate_left(1) ^ sum(&page));
    assert_eq!(many, FIVE_HUNDRED_PAGES);
}

#[test]
fn everything_else_has_the_recorded_values() {
    let web = web();
    let mut scratch = Scratch::default();
    let mut bag = Vec::new();
    web.bag(5, Weighting::FrequencyRarity, &mut scratch, &mut bag);
    let bag = bag.iter().fold(0u64, |all, (hash, weight)| {
        all.rotate_left(1) ^ hash.wrapping_mul(u64::from(*weight))
    });
    let links = fnv((0..500).flat_map(|page| web.links(page)).flat_map(u64::to_le_bytes));
    let queries = fnv((0..500).flat_map(|entry| web.query(entry).text.into_bytes()));
    let revisits = fnv((0..200).flat_map(|page| match web.revisit(page, 6) {
        Visit::Page(page) => page.html.into_bytes(),
        Visit::Moved(to) => to.to_le_bytes().to_vec(),
        Visit::Gone => vec![],
    }));
    let set = planted(1, 10_000, 0.1, 3);
    let fingerprints = fnv(set.fingerprints.iter().copied().flat_map(u64::to_le_bytes));
    assert_eq!([bag, links, queries, revisits, fingerprints], OTHERS);
}

#[test]
fn a_page_does_not_depend_on_earlier_calls_or_threads() {
    let (one, two) = (web(), web());
    let mut scratch = Scratch::default();
    let mut page = Page::default();
    let backwards: Vec<Page> = (0..300)
        .rev()
        .map(|index| {
            two.page_into(index * 661, &mut page, &mut scratch);
            page.clone()
        })
        .collect();
    let shared = &one;
    let halves = std::thread::scope(|scope| {
        [0..150u64, 150..300]
            .map(|half| {
                scope.spawn(move || half.map(|index| shared.page(index * 661)).collect::<Vec<_>>())
            })
            .map(|handle| handle.join().unwrap())
    });
    let forwards: Vec<Page> = halves.into_iter().flatten().collect();
    assert!(forwards.iter().eq(backwards.iter().rev()));
}

#[test]
fn another_seed_is_another_web() {
    let other = Web::new(WebOptions::new(43, 200_000));
    let same = (0..200).filter(|&index| web().text(index) == other.text(index)).count();
    assert_eq!(same, 0);
}
