//! Restricts which pages are compared: one partition per host, domain, language or category.
//!
//! Pages of different scopes never share a group by content; redirects cross scopes. The *domain* of a host is
//! what one owner registers, by the public suffix list with its private section ([`hapax_suffixes`]): tenants of
//! `github.io` are owners. Authors below one host (`medium.com/@name`) cannot be told apart by address.
//!
//! Source: Khan and Ali 2015, future work A.

pub use hapax_suffixes::LIST as SUFFIXES;

use super::facts::host;
use std::fmt;
use std::str::FromStr;
use xxhash_rust::xxh3::xxh3_64;

/// Pages are compared only with pages that have the same key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeKey(pub u64);

impl ScopeKey {
    /// The key of all pages in an unrestricted collection.
    pub const ALL: Self = Self(0);

    fn of(name: &str) -> Self {
        // Zero is [`Self::ALL`].
        Self(xxh3_64(name.to_ascii_lowercase().as_bytes()).max(1))
    }
}

/// How the collection is partitioned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// `none`: all pages are compared.
    #[default]
    None,
    /// `host`: pages of one host.
    Host,
    /// `domain`: pages of one domain.
    Domain,
    /// `language`: pages of one language.
    Language,
    /// `field:NAME`: pages with the same value of a field that the caller provides.
    Field(String),
}

/// The properties that a scope may use.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScopeFacts<'a> {
    pub url: &'a str,
    /// The page's language; empty if unknown.
    pub language: &'a str,
    /// The value of the field named by [`Scope::Field`]; empty without one.
    pub field: &'a str,
}

impl Scope {
    /// The partition that a page belongs to. Pages without the property share one partition.
    pub fn key(&self, facts: &ScopeFacts<'_>) -> ScopeKey {
        match self {
            Self::None => ScopeKey::ALL,
            Self::Host => ScopeKey::of(host(facts.url)),
            Self::Domain => ScopeKey::of(domain(host(facts.url))),
            Self::Language => ScopeKey::of(facts.language),
            Self::Field(_) => ScopeKey::of(facts.field),
        }
    }
}

/// The registrable domain of a host name; an IP address, a public suffix and a name without a dot are
/// returned whole.
pub fn domain(host: &str) -> &str {
    if host.starts_with('[') || host.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return host;
    }
    hapax_suffixes::domain(host)
}

/// The registrable domain of an address; empty without a host.
pub fn domain_of(url: &str) -> &str {
    domain(host(url))
}

/// Whether both addresses are of one domain. An address without a host belongs to no domain.
pub fn same_domain(a: &str, b: &str) -> bool {
    let (a, b) = (domain_of(a), domain_of(b));
    !a.is_empty() && a.eq_ignore_ascii_case(b)
}

/// The text is not a scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no scope is called `{given}`; the scopes are none, host, domain, language, field:NAME")]
pub struct ParseScopeError {
    pub given: String,
}

impl FromStr for Scope {
    type Err = ParseScopeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "none" => Ok(Self::None),
            "host" => Ok(Self::Host),
            "domain" => Ok(Self::Domain),
            "language" => Ok(Self::Language),
            other => match other.strip_prefix("field:").map(str::trim) {
                Some(name) if !name.is_empty() => Ok(Self::Field(name.into())),
                Some(_) | None => Err(ParseScopeError { given: text.into() }),
            },
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Host => f.write_str("host"),
            Self::Domain => f.write_str("domain"),
            Self::Language => f.write_str("language"),
            Self::Field(name) => write!(f, "field:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_what_one_owner_registers() {
        for (host, expected) in [
            ("www.example.org", "example.org"),
            ("example.org", "example.org"),
            ("a.b.example.co.uk", "example.co.uk"),
            ("co.uk", "co.uk"),
            ("news.bbc.de", "bbc.de"),
            ("alice.github.io", "alice.github.io"),
            ("www.bob.blogspot.com", "bob.blogspot.com"),
            ("127.0.0.1", "127.0.0.1"),
            ("localhost", "localhost"),
            ("", ""),
        ] {
            assert_eq!(domain(host), expected, "{host}");
        }
    }

    #[test]
    fn scopes_are_read_and_written_alike() {
        for text in ["none", "host", "domain", "language", "field:topic"] {
            assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
        }
        assert!("field:".parse::<Scope>().is_err());
        assert!("site".parse::<Scope>().unwrap_err().to_string().contains("`site`"));
    }

    #[test]
    fn keys_follow_the_scope() {
        let at = |url| ScopeFacts { url, language: "en", field: "" };
        let (a, b) = (at("http://www.a.org/x"), at("https://A.org/y"));
        assert_eq!(Scope::Domain.key(&a), Scope::Domain.key(&b));
        assert_ne!(Scope::Host.key(&a), Scope::Host.key(&b));
        assert_eq!(Scope::Language.key(&a), Scope::Language.key(&b));
        assert_eq!(Scope::None.key(&a), ScopeKey::ALL);
        assert!(same_domain(a.url, b.url));
        assert!(!same_domain("https://alice.github.io/", "https://bob.github.io/"));
    }
}
