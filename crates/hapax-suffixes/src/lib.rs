//! The registrable domain of a host name: what one owner holds.
//!
//! Follows the public suffix list, with its private section, and [`TENANTS`]: services that give each tenant a host
//! and are not on the list. Guarantees a suffix of the given name, in its letters. A name that is itself a public
//! suffix is a domain of its own. Does not know owners below one host, such as the authors of `medium.com/@name`.
//!
//! Source: <https://publicsuffix.org/list/>.

use std::borrow::Cow;

use psl::Psl;

/// The library whose list is compiled in; its last number counts the versions of the list.
pub const LIST: &str = "psl 2.1.246";

/// Suffixes below which each host has an owner of its own, although the list does not have them.
pub const TENANTS: [&str; 108] = [
    "act.gov.au",
    "bandcamp.com",
    "beehiiv.com",
    "blog.fc2.com",
    "blog.hu",
    "blogg.se",
    "blogspot.ae",
    "blogspot.al",
    "blogspot.am",
    "blogspot.ba",
    "blogspot.be",
    "blogspot.bg",
    "blogspot.bj",
    "blogspot.ca",
    "blogspot.cf",
    "blogspot.ch",
    "blogspot.cl",
    "blogspot.co.at",
    "blogspot.co.id",
    "blogspot.co.il",
    "blogspot.co.ke",
    "blogspot.co.nz",
    "blogspot.co.uk",
    "blogspot.co.za",
    "blogspot.com.ar",
    "blogspot.com.au",
    "blogspot.com.br",
    "blogspot.com.by",
    "blogspot.com.co",
    "blogspot.com.cy",
    "blogspot.com.ee",
    "blogspot.com.eg",
    "blogspot.com.es",
    "blogspot.com.mt",
    "blogspot.com.ng",
    "blogspot.com.tr",
    "blogspot.com.uy",
    "blogspot.cv",
    "blogspot.cz",
    "blogspot.de",
    "blogspot.dk",
    "blogspot.es",
    "blogspot.fi",
    "blogspot.fr",
    "blogspot.gr",
    "blogspot.hk",
    "blogspot.hr",
    "blogspot.hu",
    "blogspot.ie",
    "blogspot.in",
    "blogspot.is",
    "blogspot.it",
    "blogspot.jp",
    "blogspot.kr",
    "blogspot.li",
    "blogspot.lt",
    "blogspot.lu",
    "blogspot.md",
    "blogspot.mk",
    "blogspot.mr",
    "blogspot.mx",
    "blogspot.my",
    "blogspot.nl",
    "blogspot.no",
    "blogspot.pe",
    "blogspot.pt",
    "blogspot.qa",
    "blogspot.re",
    "blogspot.ro",
    "blogspot.rs",
    "blogspot.ru",
    "blogspot.se",
    "blogspot.sg",
    "blogspot.si",
    "blogspot.sk",
    "blogspot.sn",
    "blogspot.td",
    "blogspot.tw",
    "blogspot.ug",
    "blogspot.vn",
    "bravejournal.net",
    "canalblog.com",
    "deviantart.com",
    "dreamwidth.org",
    "exblog.jp",
    "fandom.com",
    "fc2.com",
    "free.fr",
    "itch.io",
    "livejournal.com",
    "medium.com",
    "mystrikingly.com",
    "narod.ru",
    "nsw.gov.au",
    "nt.gov.au",
    "over-blog.com",
    "pixnet.net",
    "seesaa.net",
    "skyrock.com",
    "substack.com",
    "tistory.com",
    "tumblr.com",
    "typepad.com",
    "ucoz.ru",
    "web.fc2.com",
    "weebly.com",
    "wikidot.com",
    "wordpress.com",
];

/// The registrable domain of a host name without a trailing dot. A name without one (a public suffix, or a name
/// without a dot) is returned whole.
pub fn domain(host: &str) -> &str {
    let lower = match host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(host.to_ascii_lowercase()),
        false => Cow::Borrowed(host),
    };
    let tenant = lower.match_indices('.').find_map(|(dot, _)| {
        TENANTS.binary_search(&&lower[dot + 1..]).ok()?;
        let first = lower[..dot].rfind('.').map_or(0, |dot| dot + 1);
        Some(lower.len() - first)
    });
    let length = tenant.or_else(|| Some(psl::List.domain(lower.as_bytes())?.as_bytes().len()));
    // Lower case has the same length.
    length.and_then(|length| host.get(host.len() - length..)).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_of_a_service_are_owners() {
        for (host, expected) in [
            ("www.example.org", "example.org"),
            ("a.b.Example.co.uk", "Example.co.uk"),
            ("co.uk", "co.uk"),
            ("blog.alice.github.io", "alice.github.io"),
            ("Alice.GitHub.IO", "Alice.GitHub.IO"),
            ("github.io", "github.io"),
            ("www.alice.substack.com", "alice.substack.com"),
            ("substack.com", "substack.com"),
            ("www.alice.blogspot.de", "alice.blogspot.de"),
            ("alice.blogspot.co.uk", "alice.blogspot.co.uk"),
            ("alice.blogspot.com", "alice.blogspot.com"),
            ("blogspot.co.uk", "blogspot.co.uk"),
            ("alice.blog.fc2.com", "alice.blog.fc2.com"),
            ("alice.blog7.fc2.com", "blog7.fc2.com"),
            ("www.alice.free.fr", "alice.free.fr"),
            ("www.health.nsw.gov.au", "health.nsw.gov.au"),
            ("a.b.unlisted-tld", "b.unlisted-tld"),
            ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
            ("notsubstack.com", "notsubstack.com"),
            ("localhost", "localhost"),
            ("", ""),
            (".", "."),
            (".substack.com", ".substack.com"),
        ] {
            assert_eq!(domain(host), expected, "{host}");
        }
    }

    #[test]
    fn services_are_listed_once() {
        // `domain` searches it so.
        assert!(TENANTS.is_sorted());
        for suffix in TENANTS {
            let host = format!("alice.{suffix}");
            let listed = psl::List
                .domain(host.as_bytes())
                .is_some_and(|it| it.as_bytes() == host.as_bytes());
            assert!(!listed, "{suffix} is on the public suffix list now: remove it here");
        }
    }

    #[test]
    fn the_stated_version_is_the_compiled_one() {
        let lock =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"))
                .unwrap();
        let (name, version) = LIST.split_once(' ').unwrap();
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&entry), "{entry}");
    }
}
