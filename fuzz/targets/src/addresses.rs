//! Addresses of pages: their keys, hosts and domains, and the rules that choose by them.
//!
//! Spellings of one page have one key, and for any addresses the rules give a consistent total order.

use crate::{Target, choice};
use hapax::group::{PageFacts, Rules, Scope, ScopeFacts};
use hapax_search::rank::page_key;
use hapax_server::fetch::robots::Robots;
use std::cmp::Ordering;

pub const ADDRESS: Target = Target {
    name: "address",
    about: "spellings of one page have one key, and rules give one order whatever the address",
    run: address,
    seeds,
    pieces: &[
        "http://",
        "https://",
        "//",
        "/../",
        "%2e",
        "#",
        "?",
        "@",
        ":443",
        "xn--",
        ".co.uk",
        "[::1]",
        "user-agent: *\n",
        "disallow: /",
        "allow: ",
        "*",
        "$",
        "\n",
    ],
    rounds: 40_000,
};

const RULES: [&str; 4] = [
    "score, first-domain, https, canonical, static, shortest-url",
    "score, first-recorded, https, canonical, static, shortest-url, earliest",
    "prefer-host:a.org|b.org, avoid-tld:com, longest, latest",
    "prefer-tld:org|net, avoid-host:x.y, static, canonical, shortest",
];

fn facts(line: &str, at: usize) -> PageFacts<'_> {
    let (url, canonical) = line.split_once(' ').unwrap_or((line, ""));
    PageFacts {
        url: url.into(),
        id: at as u64,
        score: (at % 2 == 1)
            .then_some(f64::from_bits((line.len() as u64).wrapping_mul(0x0123_4567_89ab_cdef))),
        recorded: (line.len() % 2 == 1).then_some(line.len() as u64 / 2),
        domain_place: line.len().is_multiple_of(5).then_some(line.len() as u64 % 4),
        first_seen: (!line.len().is_multiple_of(3)).then_some(line.len() as u64),
        words: line.len() as u32 % 5,
        canonical: (!canonical.is_empty()).then(|| canonical.into()),
        named_canonical: line.len().is_multiple_of(7),
    }
}

/// Lines with an address and its canonical address.
pub fn address(data: &[u8]) {
    let (first, bytes) = choice(data);
    let text = String::from_utf8_lossy(bytes);
    let pages: Vec<PageFacts<'_>> =
        text.lines().take(6).enumerate().map(|(at, line)| facts(line, at)).collect();
    for page in &pages {
        let url = &*page.url;
        assert!(url.contains(page.host()), "a host that is not in {url:?}");
        let facts = ScopeFacts { url, language: "", field: "" };
        let under = ScopeFacts { url: "http://x.y/", language: "", field: "" };
        for scope in [Scope::None, Scope::Language] {
            assert_eq!(scope.key(&facts), scope.key(&under), "an address counts in {scope:?}");
        }
        let Some(key) = page_key(url) else { continue };
        let parsed = url::Url::parse(url.trim()).unwrap();
        assert_eq!(page_key(parsed.as_str()).as_ref(), Some(&key), "written out: {url:?}");
        let mut other = parsed.clone();
        other.set_fragment(Some("elsewhere"));
        assert_eq!(page_key(other.as_str()).as_ref(), Some(&key), "with a fragment: {url:?}");
        assert!(!key.contains('#') && !key.contains(char::is_whitespace), "{key:?}");
    }
    let rules: Rules = RULES[first % RULES.len()].parse().unwrap();
    for a in &pages {
        for b in &pages {
            let (order, by) = rules.order(a, b);
            assert_eq!(rules.order(b, a), (order.reverse(), by));
            assert_eq!(order == Ordering::Equal, a.id == b.id);
            for c in &pages {
                if order.is_lt() && rules.order(b, c).0.is_lt() {
                    assert!(rules.order(a, c).0.is_lt(), "a circle of {text:?}");
                }
            }
            if order.is_lt() {
                assert!(!rules.reason(a, b).to_string().is_empty());
            }
        }
    }
    let robots = Robots::parse(&text, "hapax");
    for page in &pages {
        assert_eq!(robots.allows(&page.url), robots.allows(&page.url));
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let lists = [
        "http://example.org/a/\nhttps://EXAMPLE.org:443/b/../a#top\nhttp://user@a.co.uk/?q=1",
        "https://a.org/x http://a.org/y\nhttp://a.org/y http://a.org/y\nhttp://b.org/y.php?x=y",
        "http://[::1]:8080/%7e%zz\nhttp://xn--bcher-kva.example/\nno address at all\n//host/x",
        "user-agent: *\ndisallow: /*.gif$\nallow: /a*b\ncrawl-delay: 3\nsitemap: http://x/y",
    ];
    crate::chosen(3, &lists)
}
