//! Compares the pairs found by sketches with those found by fingerprints, on generated texts.

use hapax::fingerprint::Fingerprinter;
use hapax::group::ScopeKey;
use hapax::join::OneThread;
use hapax_synth::{Language, LanguageMix, Length, Scratch, Web, WebOptions};

use super::*;
use crate::options::{Confirm, Options};
use crate::pages::{NewPage, Status};

/// Short texts, a third of them near-duplicates.
fn pages(count: u64) -> Pages {
    let length = Length { mu: 80f64.ln(), sigma: 0.0, least: 80, most: 80 };
    let languages = LanguageMix::only(Language::Latin);
    let options =
        WebOptions { length, languages, ..WebOptions::new(7, count).with_copy_share(0.33) };
    let (web, mut fingerprinter) = (Web::new(options), Fingerprinter::default());
    let (mut text, mut scratch) = (String::new(), Scratch::default());
    let mut pages = Pages::default();
    for index in 0..count {
        text.clear();
        web.text_into(index, &mut text, &mut scratch);
        let signature = fingerprinter.text(&text).unwrap();
        let comparable = signature.comparable.unwrap();
        pages.push(&NewPage {
            id: index.to_string(),
            url: String::new(),
            canonical: None,
            content: signature.content,
            status: Status::Comparable,
            fingerprint: comparable.fingerprint,
            sketch: comparable.sketch,
            short: None,
            score: None,
            fetched: None,
            words: 80,
            scope: ScopeKey::ALL,
            alone: false,
        });
    }
    pages
}

#[test]
fn sketches_find_nearly_every_pair_that_fingerprints_find_and_no_other() {
    let pages = pages(60_000);
    let mut options = Options::new(Fingerprinter::default());
    options.confirm = Confirm::No;
    let matcher = Matcher::new(&pages, &options);
    let table = FactTable::new(&pages, &options.keep);
    let copies = crate::exact::classes(&pages, &table, |_| true);
    let set = dense::thin_out(&copies.representatives, &pages, &matcher, &table, dense::MANY);
    let set = set.representatives;
    let scratch = tempfile::tempdir().unwrap();
    let joiner = Joiner { executor: &OneThread, memory: 1 << 30, scratch: scratch.path() };
    let mut exact = Near::default();
    exact.propose(&set, &pages, &matcher, options.policy.within, &joiner).unwrap();
    assert_eq!(exact.chance, None, "fingerprints should have proposed");
    let mut sketched = Near::default();
    sketched.propose_by_sketch(&set, &pages, &matcher, &OneThread);
    let named = |near: &Near| -> std::collections::BTreeSet<(u32, u32)> {
        near.pairs.iter().map(|pair| (pair.a.min(pair.b), pair.a.max(pair.b))).collect()
    };
    let (exact, sketched) = (named(&exact), named(&sketched));
    assert!(exact.len() > 1_000, "{}", exact.len());
    assert!(sketched.is_subset(&exact));
    let share = sketched.len() as f64 / exact.len() as f64;
    let promised = bands::chance(matcher.least());
    assert!(share >= promised, "{} of {}", sketched.len(), exact.len());
}
