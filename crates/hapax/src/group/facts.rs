//! The facts of a page that the winner rules compare.
//!
//! Every fact is a property of one page, never of a pair, so the order of pages is total and the winner does
//! not depend on the order of arrival. Does not compare contents. Addresses are split but not normalized:
//! `HTTP://Example.org` and `http://example.org/` differ.

use super::scope::domain;
use memchr::memchr_iter;
use std::borrow::Cow;

/// The facts of a page. Unknown facts lose against known ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageFacts<'a> {
    /// Address, or another name of the document.
    pub url: Cow<'a, str>,
    /// Decides between pages with equal addresses, smaller first. Must not be the order of arrival
    /// if the result is to be independent of it.
    pub id: u64,
    /// PageRank, clicks or another quality score; larger is better. NaN means unknown.
    pub score: Option<f64>,
    /// When the page was first seen with its current content, in seconds since 1970. Not the time
    /// of the last fetch, because fetching a page again must not change which copy is kept.
    pub first_seen: Option<u64>,
    /// Order in which a repository recorded the contents, or position in a batch; smaller is
    /// earlier.
    pub recorded: Option<u64>,
    /// Rank of the page's domain among the domains that have a copy; see [`set_domain_places`].
    pub domain_place: Option<u64>,
    pub words: u32,
    /// The page's own `rel=canonical`, as an absolute address.
    pub canonical: Option<Cow<'a, str>>,
    /// Whether another page names this one as canonical.
    pub named_canonical: bool,
}

/// What canonical links state about a page, best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CanonicalStatus {
    /// The page names another address as canonical.
    Elsewhere,
    /// No link, or only the page's own link to itself, which any page can have.
    Silent,
    /// Another page names it, and it does not name another one.
    Named,
}

impl PageFacts<'_> {
    /// Facts of a page with a known address and nothing else.
    pub fn at(url: &str) -> PageFacts<'_> {
        PageFacts { url: Cow::Borrowed(url), ..PageFacts::default() }
    }

    /// The page's status by canonical links.
    pub fn canonical_status(&self) -> CanonicalStatus {
        match &self.canonical {
            Some(other) if without_fragment(other) != without_fragment(&self.url) => {
                CanonicalStatus::Elsewhere
            }
            _ if self.named_canonical => CanonicalStatus::Named,
            Some(_) | None => CanonicalStatus::Silent,
        }
    }

    /// Whether the address uses TLS.
    pub fn is_https(&self) -> bool {
        self.url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"))
    }

    /// The host as written in the address, without user and port; empty without a host.
    pub fn host(&self) -> &str {
        host(&self.url)
    }

    /// Whether the address looks generated: it has a query, a session id, or a script's extension.
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
        // In `http://site.do` the last part is a host, not a script.
        SCRIPTS.iter().any(ends) && !url.ends_with(self.host())
    }

    /// The score; `None` if unknown.
    pub(super) fn known_score(&self) -> Option<f64> {
        self.score.filter(|score| !score.is_nan())
    }
}

/// Sets [`domain_place`](PageFacts::domain_place) of every page. `set_of` returns the set of copies
/// that a page belongs to; places are relative to this set.
///
/// The first domain of a set is that of its oldest page: by [`first_seen`](PageFacts::first_seen),
/// unknown times last, then by [`id`](PageFacts::id). A page whose address has no host is a domain
/// of its own. Domains are those of [`scope::domain`](super::scope::domain).
pub fn set_domain_places(pages: &mut [PageFacts<'_>], set_of: impl Fn(usize) -> u32) {
    let seen = |page: usize| (pages[page].first_seen.unwrap_or(u64::MAX), pages[page].id);
    let name = |page: usize| {
        let name = domain(pages[page].host()).to_ascii_lowercase();
        let alone = if name.is_empty() { page } else { usize::MAX };
        (alone, name)
    };
    let mut order: Vec<(u32, usize)> = (0..pages.len()).map(|page| (set_of(page), page)).collect();
    order.sort_unstable();
    // When each page's domain had the text first.
    let mut ages = Vec::with_capacity(pages.len());
    for set in order.chunk_by(|a, b| a.0 == b.0) {
        if let [(_, page)] = *set {
            ages.push((seen(page), page));
            continue;
        }
        let mut named: Vec<_> =
            set.iter().map(|&(_, page)| (name(page), seen(page), page)).collect();
        named.sort_unstable();
        for domain in named.chunk_by(|a, b| a.0 == b.0) {
            ages.extend(domain.iter().map(|&(_, _, page)| (domain[0].1, page)));
        }
    }
    ages.sort_unstable();
    for (place, equal) in (0u64..).zip(ages.chunk_by(|a, b| a.0 == b.0)) {
        for &(_, page) in equal {
            pages[page].domain_place = Some(place);
        }
    }
}

/// The host of an address; empty without a host.
pub(super) fn host(url: &str) -> &str {
    // Many times faster than `split_once("://")`, which prepares a search each time.
    let mut colons = memchr_iter(b':', url.as_bytes()).map(|at| &url[at + 1..]);
    let Some(rest) = colons.find_map(|rest| rest.strip_prefix("//")) else { return "" };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.starts_with('[') {
        // In an IPv6 address colons do not start a port.
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
    fn dynamic_addresses_are_distinguished_from_static_ones() {
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
        set_domain_places(&mut pages, |page| u32::from(page == 6));
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
