//! Forged signatures remove nothing, and true near-duplicates are still removed.

use std::collections::BTreeSet;
use std::num::NonZero;

use hapax::fingerprint::{Fingerprinter, Key, MaxDistance, Recipe, Signature};
use hapax::similarity::{DEFAULT_MIN_SIMILARITY, MinSimilarity};
use hapax_dedup::{Confirm, Options, Summary};
use hapax_synth::forge;

use crate::folder::{Folder, options, quoted, words};

/// Victims, each with a forgery.
const VICTIMS: usize = 6;

fn signature(text: &str) -> Signature {
    Fingerprinter::default().text(text).unwrap()
}

fn victim(number: usize) -> String {
    words(257, number)
}

fn forged(victim: &str, seed: u64) -> String {
    let comparable = signature(victim).comparable.unwrap();
    forge(comparable.fingerprint.to_bits(), &comparable.sketch.to_bytes(), victim, None, seed).text
}

fn line(url: &str, fetched: usize, text: &str) -> String {
    let (url, text) = (quoted(url), quoted(text));
    format!("{{\"id\": {url}, \"url\": {url}, \"fetched\": {fetched}, \"text\": {text}}}\n")
}

/// A victim, its forgery, which was seen first, and a copy of the victim with one more word.
fn pages(i: usize, forger: &str) -> [String; 3] {
    let text = victim(i);
    [
        line(&format!("https://victim{i}.test/"), 2_000, &text),
        line(forger, 1_000, &forged(&text, i as u64)),
        line(&format!("https://copier{i}.test/"), 3_000, &format!("{text} indeed")),
    ]
}

/// Forgers have their own domains.
fn corpus() -> String {
    (0..VICTIMS).flat_map(|i| pages(i, &format!("https://forger{i}.test/"))).collect()
}

fn clean(folder: &Folder, input: &str, out: &str, change: impl Fn(&mut Options)) -> Summary {
    folder.dedup(&[input], out, |options| change(options)).unwrap().summary
}

#[test]
fn a_forgery_has_the_victim_s_public_signature_and_none_of_its_words() {
    let text = victim(0);
    let forgery = forged(&text, 7);
    let (victim, forger) =
        (signature(&text).comparable.unwrap(), signature(&forgery).comparable.unwrap());
    assert_eq!(victim.fingerprint, forger.fingerprint);
    assert!(victim.sketch.estimate(&forger.sketch).jaccard > 0.99);
    let words = |text: &str| -> BTreeSet<String> { text.split(' ').map(str::to_owned).collect() };
    assert!(words(&text).is_disjoint(&words(&forgery)));
}

/// Comparing lengths would not distinguish it from the victim.
#[test]
fn a_forgery_can_be_as_long_as_its_victim() {
    for i in 0..VICTIMS {
        let text = victim(i);
        let comparable = signature(&text).comparable.unwrap();
        let (bits, sketch) = (comparable.fingerprint.to_bits(), comparable.sketch.to_bytes());
        let forged = signature(&forge(bits, &sketch, &text, Some(257), 1).text);
        assert_eq!(forged.words, 257);
        let forged = forged.comparable.unwrap();
        assert!(forged.fingerprint.distance(comparable.fingerprint) <= 2);
        let estimate = forged.sketch.estimate(&comparable.sketch).jaccard;
        println!("victim {i}: estimate {estimate:.3}");
        assert!(estimate > DEFAULT_MIN_SIMILARITY + 0.05, "{estimate}");
    }
}

#[test]
fn a_thousand_forgeries_of_one_page_do_not_remove_it() {
    let folder = Folder::new();
    let text = victim(0);
    // Variants: one more word leaves the public signature close enough.
    let forgeries: Vec<String> = (0..20).map(|seed| forged(&text, seed)).collect();
    let mut lines = line("https://victim.test/", 9_999, &text);
    for i in 0..1000 {
        let forgery = format!("{} variant{i}", forgeries[i % forgeries.len()]);
        lines += &line(&format!("https://forger{i}.test/"), i, &forgery);
    }
    let input = folder.write("pages.jsonl", lines);
    let public = clean(&folder, &input, "public", |options| options.confirm = Confirm::No);
    assert_eq!(public.kept, 1, "one group: {public:?}");
    clean(&folder, &input, "keyed", |_| {});
    assert_eq!(folder.table("keyed/groups.parquet")["https://victim.test/"].outcome, "kept");
}

#[test]
fn forged_signatures_remove_victims_only_if_nothing_is_confirmed() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", corpus());
    // Even under strict bounds.
    let strict = |options: &mut Options| {
        options.confirm = Confirm::No;
        options.policy.within = MaxDistance::new(0).unwrap();
        options.policy.min_similarity = MinSimilarity::new(0.99).unwrap();
    };
    clean(&folder, &input, "public", strict);
    let rows = folder.table("public/groups.parquet");
    for i in 0..VICTIMS {
        let victim = &rows[&format!("https://victim{i}.test/")];
        assert_eq!(victim.winner, format!("https://forger{i}.test/"), "{rows:?}");
    }
    for (confirm, out) in [(Confirm::Keyed, "keyed"), (Confirm::Exact, "exact")] {
        let summary = clean(&folder, &input, out, |options| options.confirm = confirm);
        let rows = folder.table(&format!("{out}/groups.parquet"));
        for i in 0..VICTIMS {
            let row = |who: &str| &rows[&format!("https://{who}{i}.test/")];
            assert_eq!(row("victim").outcome, "kept", "{confirm:?}: {rows:?}");
            assert_eq!(row("forger").outcome, "kept");
            // A true copy is still removed, as a duplicate of its original.
            assert_eq!(row("copier").outcome, "near");
            assert_eq!(row("copier").winner, format!("https://victim{i}.test/"));
        }
        assert_eq!(summary.near, VICTIMS as u64);
    }
}

/// A page of a tenant, and a page forged by another tenant, for services that give tenants a host (on
/// the public suffix list, or not), a path, or a host below an authority that others share.
const TENANTS: [[&str; 2]; 7] = [
    ["https://alice{}.github.io/", "https://m{}.github.io/"],
    ["https://alice{}.blogspot.com/", "https://m{}.blogspot.com/"],
    ["https://alice{}.pages.dev/", "https://m{}.pages.dev/"],
    ["https://alice{}.substack.com/", "https://m{}.substack.com/"],
    ["https://agency{}.nsw.gov.au/", "https://m{}.nsw.gov.au/"],
    ["https://medium.com/@alice{}", "https://medium.com/@m{}"],
    ["https://alice{}.hosting.test/", "https://m{}.hosting.test/"],
];

#[test]
fn no_tenant_of_a_service_removes_the_page_of_another_by_a_forged_text() {
    for [alice, mallory] in TENANTS {
        let folder = Folder::new();
        let at = |pattern: &str, i: usize| pattern.replace("{}", &i.to_string());
        let all = (0..VICTIMS).flat_map(|i| {
            let text = victim(i);
            [
                line(&at(alice, i), 2_000, &text),
                line(&at(mallory, i), 1_000, &forged(&text, i as u64)),
                line(&at("https://copier{}.test/", i), 3_000, &format!("{text} indeed")),
            ]
        });
        let input = folder.write("pages.jsonl", all.collect::<String>());
        for (confirm, lost) in [(Confirm::No, VICTIMS), (Confirm::Keyed, 0), (Confirm::Exact, 0)] {
            let out = format!("{confirm:?}");
            clean(&folder, &input, &out, |options| options.confirm = confirm);
            let rows = folder.table(&format!("{out}/groups.parquet"));
            let gone = (0..VICTIMS).filter(|&i| rows[&at(alice, i)].winner == at(mallory, i));
            assert_eq!(gone.count(), lost, "{alice} {confirm:?}");
            let copies =
                (0..VICTIMS).filter(|&i| rows[&at("https://copier{}.test/", i)].outcome == "near");
            assert_eq!(copies.count(), VICTIMS, "{alice} {confirm:?}");
        }
    }
}

/// Ten months later, under a shorter address.
#[test]
fn a_plain_copy_under_a_shorter_address_of_a_tenant_does_not_win() {
    for [alice, mallory] in &TENANTS[..5] {
        let folder = Folder::new();
        let [alice, mallory] = [alice, mallory].map(|it| it.replace("{}", ""));
        let text = victim(0);
        let lines = line(&mallory, 26_000_000, &text) + &line(&alice, 0, &text);
        let input = folder.write("pages.jsonl", lines);
        clean(&folder, &input, "out", |_| {});
        let rows = folder.table("out/groups.parquet");
        assert_eq!(rows[&mallory].winner, alice, "{rows:?}");
    }
}

#[test]
fn below_half_forged_matches_are_refused_as_above() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", corpus());
    for bound in [0.0, 0.2, 0.4] {
        let out = format!("out-{bound}");
        let set = |options: &mut Options| {
            options.policy.min_similarity = MinSimilarity::new(bound).unwrap();
        };
        clean(&folder, &input, &out, set);
        let rows = folder.table(&format!("{out}/groups.parquet"));
        for i in 0..VICTIMS {
            assert_eq!(rows[&format!("https://victim{i}.test/")].outcome, "kept", "{bound}");
            assert_eq!(rows[&format!("https://copier{i}.test/")].outcome, "near", "{bound}");
        }
    }
}

#[test]
fn the_key_of_a_job_is_random_and_changes_no_verdict() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", corpus());
    let read = |out: &str| {
        clean(&folder, &input, out, |options| options.key = None);
        let signatures = folder.read(&format!("{out}/kept.signatures"));
        (signatures, folder.read(&format!("{out}/groups.parquet")))
    };
    let (one, two) = (read("one"), read("two"));
    assert_ne!(one.0, two.0);
    assert_eq!(one.1, two.1);
    // The key of a run gives its bytes again.
    let key = hapax_dedup::key::of_run(&folder.path("one")).unwrap();
    clean(&folder, &input, "again", |options| options.key = Some(key.clone()));
    assert_eq!(folder.read("again/kept.signatures"), one.0);
}

/// Runs a job on a part of the corpus against what `first` kept; returns how many of `who` it
/// removed.
#[test]
fn below_half_the_key_changes_no_verdict_if_both_texts_are_read() {
    // Two texts of a pair have 160 of 400 words in common: a Jaccard similarity near 0.24.
    let folder = Folder::new();
    let pages: String = (0..600)
        .flat_map(|i| {
            let common = words(160, i);
            ["a", "b"].map(|domain| {
                let own = words(240, 1000 + 2 * i + usize::from(domain == "b"));
                let url = quoted(&format!("https://{domain}{i}.test/"));
                format!(
                    "{{\"id\": {url}, \"url\": {url}, \"text\": {}}}\n",
                    quoted(&format!("{common} {own}"))
                )
            })
        })
        .collect();
    let input = folder.write("pages.jsonl", pages);
    let groups = |confirm: Confirm| {
        [1u8, 2, 3].map(|key| {
            let out = format!("{confirm:?}-{key}");
            let summary = clean(&folder, &input, &out, |options| {
                options.confirm = confirm;
                options.key = Some(Key::new(&[key; 32]));
                options.policy.within = MaxDistance::new(16).unwrap();
                options.policy.min_similarity = MinSimilarity::new(0.1).unwrap();
            });
            (summary.near, folder.read(&format!("{out}/groups.parquet")))
        })
    };
    let [keyed, exact] = [Confirm::Keyed, Confirm::Exact].map(groups);
    assert!(keyed[0] != keyed[1], "there are matches that the sketches refute: {}", keyed[0].0);
    assert!(exact[0].0 > keyed[0].0, "{} of {}", keyed[0].0, exact[0].0);
    assert!(exact.iter().all(|it| *it == exact[0]));
}

fn against(runs: [(&[&str], Confirm); 2], who: &str) -> usize {
    let (folder, all) = (Folder::new(), corpus());
    let mut earlier: Option<String> = None;
    for (at, (names, confirm)) in runs.into_iter().enumerate() {
        let lines =
            all.lines().filter(|line| names.iter().any(|name| line.contains(&format!("//{name}"))));
        let name = format!("run{at}");
        let input = folder.write(&format!("{name}.jsonl"), lines.collect::<Vec<_>>().join("\n"));
        clean(&folder, &input, &name, |options| {
            options.confirm = confirm;
            options.against = earlier.iter().map(|it| folder.path(it)).collect();
        });
        earlier = Some(name);
    }
    let rows = folder.table(&format!("{}/groups.parquet", earlier.unwrap()));
    (0..VICTIMS).filter(|i| rows[&format!("https://{who}{i}.test/")].outcome != "kept").count()
}

#[test]
fn against_an_earlier_run_forgeries_remove_nothing_and_copies_are_removed() {
    let [forgers, victims, copiers] = ["forger", "victim", "copier"];
    let (no, keyed) = (Confirm::No, Confirm::Keyed);
    let next = [victims, copiers];
    assert_eq!(against([(&[forgers], no), (&next, no)], "victim"), VICTIMS);
    assert_eq!(against([(&[forgers], keyed), (&next, keyed)], "victim"), 0);
    assert_eq!(against([(&[victims], keyed), (&[copiers], keyed)], "copier"), VICTIMS);
    // Without sketches under one key there is no match between domains.
    assert_eq!(against([(&[victims], no), (&[copiers], keyed)], "copier"), 0);
    assert_eq!(against([(&[forgers], no), (&next, keyed)], "victim"), 0);
}

#[test]
fn what_is_confirmed_does_not_depend_on_threads() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", corpus());
    for confirm in [Confirm::Keyed, Confirm::Exact] {
        let bytes = [1, 3].map(|threads| {
            let out = format!("{confirm:?}-{threads}");
            clean(&folder, &input, &out, |options| {
                options.threads = NonZero::new(threads).unwrap();
                options.confirm = confirm;
            });
            ["groups.parquet", "removed.parquet", "kept.jsonl", "summary.json"]
                .map(|name| folder.read(&format!("{out}/{name}")))
        });
        assert_eq!(bytes[0], bytes[1]);
    }
}

#[test]
fn nothing_is_lost_by_confirming_when_nobody_forges() {
    // Similarities from far above the bound to just above it, where estimates err.
    let folder = Folder::new();
    let pages: String = (0..60)
        .flat_map(|i| {
            let text = words(400, i);
            let changed = format!("{} {}", words(400, i), words(i, 1000 + i));
            [("a", text), ("b", changed)].map(|(domain, text)| {
                let url = quoted(&format!("https://{domain}{i}.test/"));
                format!("{{\"id\": {url}, \"url\": {url}, \"text\": {}}}\n", quoted(&text))
            })
        })
        .collect();
    let input = folder.write("pages.jsonl", pages);
    let [no, keyed] = [Confirm::No, Confirm::Keyed].map(|confirm| {
        clean(&folder, &input, &format!("{confirm:?}"), |options| options.confirm = confirm)
    });
    assert!(no.near > 40, "{no:?}");
    assert_eq!((no.near, no.exact, keyed.unconfirmed), (keyed.near, keyed.exact, 0));
    let exact = clean(&folder, &input, "exact", |options| options.confirm = Confirm::Exact);
    assert!(exact.near + exact.unconfirmed == no.near, "{exact:?}");
    assert_eq!(options(|_| {}).confirm, Confirm::Keyed, "by default");
}

/// Without a key, a secret recipe protects instead.
#[test]
fn where_only_signatures_decide_a_recipe_with_a_secret_seed_protects() {
    let folder = Folder::new();
    let all = corpus();
    let (forged, others): (Vec<&str>, Vec<&str>) =
        all.lines().partition(|line| line.contains("https://forger"));
    let whole = folder.write("whole.jsonl", &all);
    let first = folder.write("first.jsonl", forged.join("\n"));
    let next = folder.write("next.jsonl", others.join("\n"));
    let recipe = Recipe { seed: 0x5EC2_E71E_5EED_0001, ..Recipe::built_in("web-2").unwrap() };
    let secret = Fingerprinter::new(recipe, None).unwrap();
    for (name, by, lost) in [("public", None, VICTIMS), ("secret", Some(secret), 0)] {
        let change = |options: &mut Options| {
            options.confirm = Confirm::No;
            if let Some(by) = &by {
                options.fingerprinter = by.clone();
            }
        };
        clean(&folder, &whole, &format!("{name}-whole"), change);
        clean(&folder, &first, &format!("{name}-first"), change);
        let earlier = folder.path(&format!("{name}-first"));
        clean(&folder, &next, &format!("{name}-next"), |options| {
            change(options);
            options.against = vec![earlier.clone()];
        });
        for run in ["whole", "next"] {
            let rows = folder.table(&format!("{name}-{run}/groups.parquet"));
            let row = |who: &str, i: usize| &rows[&format!("https://{who}{i}.test/")];
            let gone = (0..VICTIMS).filter(|&i| row("victim", i).outcome != "kept").count();
            assert_eq!(gone, lost, "{name}, {run}");
            // A true copy is removed either way.
            assert!((0..VICTIMS).all(|i| row("copier", i).outcome == "near"), "{name}, {run}");
        }
    }
}
