//! Parsing, formatting and applying rule lists.

use crate::group::{DecidedBy, PageFacts, ParseRulesError, Rules, rules};
use proptest::prelude::*;
use std::cmp::Ordering;

fn rules(text: &str) -> Rules {
    text.parse().unwrap()
}

#[test]
fn a_list_is_written_as_it_was_read() {
    let text = "score, prefer-host:example.org|example.com, avoid-host:m.example.org, \
                prefer-tld:uk, avoid-tld:biz, https, canonical, static, shortest-url, earliest, \
                latest, longest, shortest";
    assert_eq!(rules(text).to_string(), text);
    assert_eq!(
        rules(" prefer-host: A.org | .B.org ,https").to_string(),
        "prefer-host:a.org|b.org, https"
    );
    // A repository stores rules as text, so they must parse to the same rules.
    for odd in ["prefer-host:a|. b", "avoid-tld:. . x .", "prefer-host:\u{c}.\ry"] {
        assert_eq!(rules(&rules(odd).to_string()), rules(odd), "{odd:?}");
    }
    assert_eq!(rules(rules::DEFAULT_RULES), Rules::default());
    assert_eq!(rules("").list(), []);
}

#[test]
fn a_bad_list_names_the_word_and_the_way_out() {
    let error = |text: &str| text.parse::<Rules>().unwrap_err().to_string();
    assert!(error("score, sortest-url").contains("`sortest-url`"));
    for rule in rules::KNOWN_RULES.split(", ") {
        assert!(error("nonsense").contains(rule));
        assert!(rule.parse::<crate::group::Rule>().is_ok(), "{rule}");
    }
    assert!(error("prefer-host").contains("prefer-host:first|second"));
    assert!(error("prefer-host:a||b").contains("needs names"));
    assert!(error("https:a").contains("write https"));
    assert!(error("https, score, https").contains("twice"));
    assert!(error("score,,https").contains("``"));
    let many = vec!["score"; rules::MAX_RULES + 1].join(",");
    assert_eq!(many.parse::<Rules>(), Err(ParseRulesError::TooMany { found: 201 }));
}

#[test]
fn each_rule_prefers_what_it_says_and_gives_the_reason() {
    let at = |url: &'static str| PageFacts::at(url);
    let scored = |score| PageFacts { score, ..at("http://a/") };
    let fetched = |first_seen| PageFacts { first_seen, ..at("http://a/") };
    let recorded = |recorded| PageFacts { recorded, ..at("http://a/") };
    let placed = |place| PageFacts { domain_place: Some(place), ..at("http://a/") };
    let words = |words| PageFacts { words, ..at("http://a/") };
    let self_named = PageFacts { canonical: Some("http://a/".into()), ..at("http://a/") };
    let naming_a = PageFacts { canonical: Some("http://a/".into()), ..at("http://b/") };
    for (list, winner, loser, text) in [
        ("score", scored(Some(0.5)), scored(Some(-1.0)), "higher score (0.5 > -1)"),
        (
            "score",
            scored(Some(-9.0)),
            scored(Some(f64::NAN)),
            "only the kept page has a score (-9)",
        ),
        ("score", scored(Some(0.0)), scored(None), "only the kept page has a score (0)"),
        ("earliest", fetched(Some(3)), fetched(Some(4)), "first seen earlier (3 < 4)"),
        ("earliest", fetched(Some(3)), fetched(None), "only the kept page has a time (3)"),
        ("latest", fetched(Some(4)), fetched(Some(3)), "first seen later (4 > 3)"),
        ("latest", fetched(Some(0)), fetched(None), "only the kept page has a time (0)"),
        ("first-recorded", recorded(Some(3)), recorded(Some(4)), "the kept page came first"),
        ("first", recorded(Some(3)), recorded(None), "the kept page came first"),
        ("longest", words(9), words(8), "longer text (9 > 8 words)"),
        ("shortest", words(8), words(9), "shorter text (8 < 9 words)"),
        ("https", at("HTTPS://z/"), at("http://a/"), "https over http"),
        ("static", at("http://z/"), at("http://a/?x"), "static URL over a dynamic one"),
        ("first-domain", placed(0), placed(1), "the kept page's domain had it first"),
        ("first-domain", recorded(Some(3)), recorded(None), "the kept page was recorded first"),
        ("first-domain", recorded(Some(3)), fetched(Some(1)), "the kept page was recorded first"),
        (
            "first-domain",
            fetched(Some(3)),
            fetched(Some(4)),
            "the kept page's domain had it first (3 < 4)",
        ),
        ("first-domain", fetched(Some(3)), fetched(None), "only the kept page has a time (3)"),
        (
            "canonical",
            at("http://c/"),
            naming_a.clone(),
            "only the duplicate names a third page as canonical",
        ),
        ("canonical", at("http://a/"), naming_a, "the duplicate names the kept page as canonical"),
        (
            "canonical",
            PageFacts { named_canonical: true, ..at("http://z/") },
            self_named,
            "a third page names the kept page as canonical",
        ),
        (
            "prefer-tld:uk|org",
            at("http://z.co.uk/"),
            at("http://a.org/"),
            "preferred top-level domain (uk before org)",
        ),
        (
            "prefer-host:b.org",
            at("http://www.B.org/"),
            at("http://ab.org/"),
            "preferred host (b.org)",
        ),
        (
            "avoid-host:b.org",
            at("http://c.org/"),
            at("http://b.org/"),
            "only the duplicate is on an avoided host (b.org)",
        ),
        (
            "shortest-url",
            at("http://ü.org/"),
            at("http://abc.org/"),
            "shorter URL (13 < 15 characters)",
        ),
        (
            "",
            at("http://a/"),
            at("http://b/"),
            "equal by every rule, and its URL is first in order",
        ),
    ] {
        let list = rules(list);
        assert!(list.better(&winner, &loser), "{list}: {winner:?} {loser:?}");
        assert!(!list.better(&loser, &winner), "{list}");
        assert_eq!(list.reason(&winner, &loser).text, text);
    }
    let (order, by) = rules("https, score").order(&at("http://a/"), &scored(Some(1.0)));
    assert_eq!((order, by), (Ordering::Greater, DecidedBy::Rule(1)));
}

fn facts() -> impl Strategy<Value = PageFacts<'static>> {
    let urls = ["http://a.org/", "https://a.org/", "http://b.uk/?q", "https://b.uk/x.php", "doc"];
    (
        prop::sample::select(urls.to_vec()),
        0..4u64,
        prop::option::of(prop::sample::select(vec![0.0, -0.0, 1.5, -2.0, f64::NAN])),
        (prop::option::of(0..3u64), prop::option::of(0..3u64)),
        0..3u32,
        prop::option::of(prop::sample::select(urls.to_vec())),
        any::<bool>(),
    )
        .prop_map(
            |(url, id, score, (first_seen, recorded), words, canonical, named_canonical)| {
                PageFacts {
                    url: url.into(),
                    id,
                    score,
                    first_seen,
                    recorded,
                    domain_place: None,
                    words,
                    canonical: canonical.map(Into::into),
                    named_canonical,
                }
            },
        )
}

proptest! {
    #[test]
    fn pages_are_totally_ordered(
        pages in prop::collection::vec(facts(), 3),
        list in prop::sample::subsequence(
            rules::KNOWN_RULES.replace("A|B", "b.uk|org").split(", ").map(String::from).collect::<Vec<_>>(),
            0..15,
        ),
    ) {
        let list = rules(&list.join(","));
        let (a, b, c) = (&pages[0], &pages[1], &pages[2]);
        prop_assert_eq!(list.order(a, b).0, list.order(b, a).0.reverse());
        prop_assert_eq!(list.order(a, b).0.is_eq(), (&a.url, a.id) == (&b.url, b.id) && list.order(a, b).1 == DecidedBy::Id);
        if list.better(a, b) && list.better(b, c) {
            prop_assert!(list.better(a, c));
        }
    }
}
