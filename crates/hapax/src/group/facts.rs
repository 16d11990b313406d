//! What is known of a page when copies compete: the input of the winner rules.
//!
//! Every fact is a property of one page, never of a pair, so the order of pages is total and the winner does not
//! depend on arrival. Does not compare contents. Addresses are only split, not resolved: `HTTP://Example.org` and
//! `http://example.org/` differ.

use super::scope::domain;
use std::borrow::Cow;

/// What the rules may look at. Unknown facts lose against known ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageFacts<'a> {
    /// The page's address, or whatever names the document.
    pub url: Cow<'a, str>,
    /// Decides between pages with equal addresses, lower first. Must not come from the
    /// order of arrival if the result is not to depend on it.
    pub id: u64,
    /// PageRank, clicks, anything of which more is better. NaN counts as unknown.
    pub score: Option<f64>,
    /// When the page was first seen with its present content, seconds since 1970. Never the last
    /// fetch: fetching a page again must not change which copy stays.
    pub first_seen: Option<u64>,
    /// Place in the order in which a repository recorded contents, or in which a batch has them, lower
    /// first.
    pub recorded: Option<u64>,
    /// Place of the page's domain among those that have a copy; see [`note_domains`].
    pub domain_place: Option<u64>,
    pub words: u32,
    /// The address in the page's own `rel=canonical`, absolute.
    pub canonical: Option<Cow<'a, str>>,
    /// Does some other page name this one as canonical?
    pub named_canonical: bool,
}

/// What canonical links say about a page, best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CanonicalStatus {
    /// It says that another address is canonical.
    Elsewhere,
    /// Nobody says anything, or only the page itself: everyone can name himself.
    Silent,
    /// Another page names it, and it does not disagree.
    Named,
}

impl PageFacts<'_> {
    /// Facts of a page of which only the address is known.
    pub fn at(url: &str) -> PageFacts<'_> {
        PageFacts { url: Cow::Borrowed(url), ..PageFacts::default() }
    }

    /// Where canonical links leave this page.
    pub fn canonical_status(&self) -> CanonicalStatus {
        match &self.canonical {
            Some(other) if without_fragment(other) != without_fragment(&self.url) => {
                CanonicalStatus::Elsewhere
            }
            _ if self.named_canonical => CanonicalStatus::Named,
            Some(_) | None => CanonicalStatus::Silent,
        }
    }

    /// Was it fetched over TLS?
    pub fn is_https(&self) -> bool {
        self.url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"))
    }

    /// The host as written in the address, without user and port; empty when there is none.
    pub fn host(&self) -> &str {
        host(&self.url)
    }

    /// Does the address look made by a program: a query, a session, a script's ending?
    pub fn is_dynamic(&self) -> bool {
        const SCRIPTS: [&str; 8] =
            [".php", ".asp", ".aspx", ".jsp", ".jspx", ".cgi", ".cfm", ".do"];
        let url = without_fragment(&self.url);
        if url.contains(['?', ';']) || url.contains("/cgi-bin/") {
            return true;
        }
        let last = url.rsplit('/').next().unwrap_or(url);
        let ends = |ending: &&str| {
            last.len() > ending.len()
                && last.as_bytes()[last.len() - ending.len()..]
                    .eq_ignore_ascii_case(ending.as_bytes())
        };
        // The last part of `http://site.do` is a host, not a script.
        !url.ends_with(self.host()) && SCRIPTS.iter().any(ends)
    }

    /// The score, unless it is unknown.
    pub(super) fn known_score(&self) -> Option<f64> {
        self.score.filter(|score| !score.is_nan())
    }
}

/// Sets [`domain_place`](PageFacts::domain_place) of every page. `set_of` names the set of copies that
/// a page belongs to; places mean something within a set only.
///
/// A domain was first in a set if one of its pages there was seen before every page of the others:
/// by [`first_seen`](PageFacts::first_seen), an unknown time after all known ones, then by
/// [`id`](PageFacts::id). A page whose address has no host is a domain of its own. Domains are those of
/// [`scope::domain`](super::scope::domain).
pub fn note_domains(pages: &mut [PageFacts<'_>], set_of: impl Fn(usize) -> u32) {
    // Numbers before names: most pages are told apart by their sets.
    let name = |page: usize| {
        let name = domain(pages[page].host()).to_ascii_lowercase();
        let alone = if name.is_empty() { page } else { usize::MAX };
        (set_of(page), alone, name)
    };
    let seen = |page: usize| (pages[page].first_seen.unwrap_or(u64::MAX), pages[page].id);
    let mut order: Vec<(_, _, usize)> =
        (0..pages.len()).map(|page| (name(page), seen(page), page)).collect();
    order.sort_unstable();
    let of_one_domain = order.chunk_by(|a, b| a.0 == b.0);
    let mut domains: Vec<_> = of_one_domain.map(|domain| (domain[0].1, domain)).collect();
    domains.sort_unstable_by_key(|(seen, _)| *seen);
    let mut places = Vec::with_capacity(pages.len());
    for (place, equal) in (0u64..).zip(domains.chunk_by(|a, b| a.0 == b.0)) {
        places.extend(equal.iter().flat_map(|it| it.1).map(|&(_, _, page)| (page, place)));
    }
    for (page, place) in places {
        pages[page].domain_place = Some(place);
    }
}

/// The host of an address; empty when it has none.
pub(super) fn host(url: &str) -> &str {
    let Some((_, rest)) = url.split_once("://") else { return "" };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.starts_with('[') {
        // An IPv6 address: its colons do not start a port.
        return host.find(']').map_or(host, |end| &host[..=end]);
    }
    host.split(':').next().unwrap_or(host).trim_end_matches('.')
}

fn without_fragment(url: &str) -> &str {
    url.split_once('#').map_or(url, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_any_address() {
        for (url, expected) in [
            ("https://example.org/a/b", "example.org"),
            ("http://user:pw@Example.org:8080/?q=1", "Example.org"),
            ("https://[2001:db8::1]:443/", "[2001:db8::1]"),
            ("https://example.org.", "example.org"),
            ("doc-17", ""),
            ("", ""),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }

    #[test]
    fn dynamic_addresses_are_reported_from_static_ones() {
        for dynamic in [
            "http://a.org/x?id=3",
            "http://a.org/index.PHP",
            "http://a.org/cgi-bin/show",
            "http://a.org/x;jsessionid=1",
        ] {
            assert!(PageFacts::at(dynamic).is_dynamic(), "{dynamic}");
        }
        for still in ["http://a.org/", "http://a.org/x.html", "http://site.do", "http://a.org/#?"] {
            assert!(!PageFacts::at(still).is_dynamic(), "{still}");
        }
    }

    #[test]
    fn a_domain_is_as_old_as_its_oldest_page_in_the_set() {
        let page =
            |url: &'static str, first_seen, id| PageFacts { first_seen, id, ..PageFacts::at(url) };
        let mut pages = [
            page("https://a.org/new", Some(20), 0),
            page("http://www.A.org/old", Some(10), 1),
            page("https://b.co.uk/", Some(15), 2),
            page("https://c.org/", None, 3),
            page("doc-2", None, 5),
            page("doc-1", None, 4),
            // In another set, so its age does not help a.org.
            page("http://b.co.uk/other", Some(1), 6),
        ];
        note_domains(&mut pages, |page| u32::from(page == 6));
        let places = pages.each_ref().map(|page| page.domain_place.unwrap());
        assert_eq!(places[0], places[1]);
        assert!(places[1] < places[2] && places[2] < places[3]);
        assert!(places[3] < places[5] && places[5] < places[4]);
    }

    #[test]
    fn canonical_links_give_pages_a_status() {
        let pages = [
            PageFacts { canonical: Some("http://a/2".into()), ..PageFacts::at("http://a/1") },
            PageFacts { named_canonical: true, ..PageFacts::at("http://a/2") },
            PageFacts { canonical: Some("http://a/3#top".into()), ..PageFacts::at("http://a/3") },
            PageFacts::at("http://a/4"),
        ];
        let status: Vec<_> = pages.iter().map(PageFacts::canonical_status).collect();
        use CanonicalStatus::*;
        assert_eq!(status, [Elsewhere, Named, Silent, Silent]);
    }
}
