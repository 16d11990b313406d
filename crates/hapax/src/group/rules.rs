//! Chooses which copy is kept, by an ordered list of rules from the user.
//!
//! ```
//! use hapax::group::{PageFacts, Rules};
//!
//! let rules: Rules = "score, prefer-tld:uk, https, shortest-url".parse()?;
//! let long = PageFacts::at("https://example.org/tea/index.html");
//! let short = PageFacts::at("https://example.org/tea/");
//! let reason = rules.reason(&short, &long);
//! assert!(rules.better(&short, &long));
//! assert_eq!(reason.to_string(), "shortest-url: shorter URL (24 < 34 characters)");
//! # Ok::<(), hapax::group::ParseRulesError>(())
//! ```
//!
//! Guarantees a total order: each rule maps a page to a number, the first rule with different numbers decides,
//! then the address in byte order, then the id. An unknown score or time is worse than any known one.
//! `first-domain` uses what [`set_domain_places`](super::set_domain_places) computed for the set of copies;
//! after it, rules that a page's author controls decide only within one domain.
//!
//! Source: Zhu et al. 2012, section 5.
//!
//! | rule | prefers |
//! |---|---|
//! | `score` | the higher score |
//! | `prefer-host:A\|B` | a listed host (or one below), earlier ones more |
//! | `avoid-host:A\|B` | a host that is neither listed nor below a listed one |
//! | `prefer-tld:uk\|org`, `avoid-tld:..` | the same for top-level domains |
//! | `https` | https over anything else |
//! | `first-domain` | the domain that had the text first; in a repository, the page recorded first |
//! | `canonical` | a page named as canonical by another one, then one without a link, then one that names another |
//! | `static` | an address without query, session or script extension |
//! | `shortest-url` | the shorter address, in characters |
//! | `first-recorded`, or `first` | the page recorded first; in a batch, the first of the input |
//! | `earliest`, `latest` | the earlier or later time at which the content was first seen |
//! | `longest`, `shortest` | the longer or shorter text, in words |

use super::facts::PageFacts;
use super::reason::{DecidedBy, Reason};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// One rule of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `score`
    Score,
    /// `prefer-host:A|B`
    PreferHost(Vec<String>),
    /// `avoid-host:A|B`
    AvoidHost(Vec<String>),
    /// `prefer-tld:A|B`
    PreferTld(Vec<String>),
    /// `avoid-tld:A|B`
    AvoidTld(Vec<String>),
    /// `first-domain`
    FirstDomain,
    /// `https`
    Https,
    /// `canonical`
    Canonical,
    /// `static`
    Static,
    /// `shortest-url`
    ShortestUrl,
    /// `first-recorded`
    FirstRecorded,
    /// `earliest`
    Earliest,
    /// `latest`
    Latest,
    /// `longest`
    Longest,
    /// `shortest`
    Shortest,
}

/// Every rule as users write it.
pub const KNOWN_RULES: &str = "score, prefer-host:A|B, avoid-host:A|B, prefer-tld:A|B, \
     avoid-tld:A|B, first-domain, https, canonical, static, shortest-url, first-recorded, earliest, \
     latest, longest, shortest";

/// The default list. A copy on another domain can win only by a higher score or by having been seen
/// first, not by properties its author controls; the rules after `first-domain` choose among the
/// pages of one domain.
pub const DEFAULT_RULES: &str = "score, first-domain, https, canonical, static, shortest-url";

/// Maximum length of a list: a decision stores its rule in a byte.
pub const MAX_RULES: usize = 200;

/// The text is not a list of rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseRulesError {
    #[error(
        "no winner rule is called `{word}`; the rules are {KNOWN_RULES}; first is short for first-recorded"
    )]
    Unknown { word: String },
    /// A rule that needs a list has none, or has an empty name in it.
    #[error("winner rule `{word}` needs names: write {rule}:first|second")]
    NeedsNames { word: String, rule: &'static str },
    /// A rule that takes no list has one.
    #[error("winner rule `{word}` takes nothing after the colon: write {rule}")]
    NeedsNothing { word: String, rule: &'static str },
    /// The same rule twice; the second would never decide.
    #[error("winner rule `{word}` is written twice")]
    Twice { word: String },
    /// The list is longer than [`MAX_RULES`].
    #[error("{found} winner rules are more than the {MAX_RULES} a list may have")]
    TooMany { found: usize },
}

/// An ordered list of rules; if it is empty, only the address decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    list: Vec<Rule>,
}

impl Default for Rules {
    /// [`DEFAULT_RULES`].
    fn default() -> Self {
        use Rule::{Canonical, FirstDomain, Https, Score, ShortestUrl, Static};
        Self { list: vec![Score, FirstDomain, Https, Canonical, Static, ShortestUrl] }
    }
}

impl Rules {
    /// The rules, most important first.
    pub fn list(&self) -> &[Rule] {
        &self.list
    }

    /// Whether `a` wins over `b`.
    pub fn better(&self, a: &PageFacts<'_>, b: &PageFacts<'_>) -> bool {
        self.order(a, b).0 == Ordering::Less
    }

    /// Orders winners first, with the reason. Equal only if address and id are equal, too.
    pub fn order(&self, a: &PageFacts<'_>, b: &PageFacts<'_>) -> (Ordering, DecidedBy) {
        for (i, rule) in self.list.iter().enumerate() {
            let order = rule.cost(a).cmp(&rule.cost(b));
            if order.is_ne() {
                // Fits: at most MAX_RULES.
                return (order, DecidedBy::Rule(i as u8));
            }
        }
        tie_break(a, b)
    }

    /// Why `winner` is kept and `loser` is not, with the values that decided.
    ///
    /// The winner must come first; the text is about the first rule that prefers either page.
    pub fn reason(&self, winner: &PageFacts<'_>, loser: &PageFacts<'_>) -> Reason {
        let (_, by) = self.order(winner, loser);
        Reason::new(self, by, winner, loser)
    }
}

/// The order of pages that all rules rank equal.
pub(super) fn tie_break(a: &PageFacts<'_>, b: &PageFacts<'_>) -> (Ordering, DecidedBy) {
    match a.url.as_bytes().cmp(b.url.as_bytes()) {
        Ordering::Equal => (a.id.cmp(&b.id), DecidedBy::Id),
        order => (order, DecidedBy::Url),
    }
}

/// Unknown facts rank last.
const UNKNOWN: u64 = u64::MAX;

impl Rule {
    /// The page's number under this rule; smaller is better.
    pub(super) fn cost(&self, page: &PageFacts<'_>) -> u64 {
        match self {
            Self::Score => page.known_score().map_or(UNKNOWN, |score| !ordered_bits(score)),
            Self::PreferHost(names) | Self::PreferTld(names) => {
                let host = page.host();
                names.iter().position(|name| is_below(host, name)).unwrap_or(names.len()) as u64
            }
            Self::AvoidHost(names) | Self::AvoidTld(names) => {
                let host = page.host();
                u64::from(names.iter().any(|name| is_below(host, name)))
            }
            Self::Https => u64::from(!page.is_https()),
            Self::FirstDomain => first_place(page),
            Self::Canonical => 2 - page.canonical_status() as u64,
            Self::Static => u64::from(page.is_dynamic()),
            Self::ShortestUrl => page.url.chars().count() as u64,
            Self::FirstRecorded => page.recorded.map_or(UNKNOWN, |place| place.min(UNKNOWN - 1)),
            Self::Earliest => page.first_seen.map_or(UNKNOWN, |time| time.min(UNKNOWN - 1)),
            Self::Latest => {
                page.first_seen.map_or(UNKNOWN, |time| (UNKNOWN - 1).saturating_sub(time))
            }
            Self::Longest => u64::from(u32::MAX - page.words),
            Self::Shortest => u64::from(page.words),
        }
    }

    /// The rule's name, without its list.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::PreferHost(_) => "prefer-host",
            Self::AvoidHost(_) => "avoid-host",
            Self::PreferTld(_) => "prefer-tld",
            Self::AvoidTld(_) => "avoid-tld",
            Self::FirstDomain => "first-domain",
            Self::Https => "https",
            Self::Canonical => "canonical",
            Self::Static => "static",
            Self::ShortestUrl => "shortest-url",
            Self::FirstRecorded => "first-recorded",
            Self::Earliest => "earliest",
            Self::Latest => "latest",
            Self::Longest => "longest",
            Self::Shortest => "shortest",
        }
    }

    fn names(&self) -> Option<&[String]> {
        match self {
            Self::PreferHost(names)
            | Self::AvoidHost(names)
            | Self::PreferTld(names)
            | Self::AvoidTld(names) => Some(names),
            Self::Score
            | Self::FirstDomain
            | Self::Https
            | Self::Canonical
            | Self::Static
            | Self::ShortestUrl
            | Self::FirstRecorded
            | Self::Earliest
            | Self::Latest
            | Self::Longest
            | Self::Shortest => None,
        }
    }
}

/// When the page's domain first had the text; smaller is earlier. Outside of a set of copies the
/// page represents its domain: recorded pages come before unrecorded ones, then by time.
fn first_place(page: &PageFacts<'_>) -> u64 {
    const UNRECORDED: u64 = 1 << 63;
    match (page.domain_place.or(page.recorded), page.first_seen) {
        (Some(place), _) => place.min(UNRECORDED - 1),
        (None, Some(time)) => (UNRECORDED | time).min(UNKNOWN - 1),
        (None, None) => UNKNOWN,
    }
}

/// Whether the host is this name or below it: `www.example.org` is below `example.org` and `org`.
pub(super) fn is_below(host: &str, name: &str) -> bool {
    let (host, name) = (host.as_bytes(), name.as_bytes());
    let Some(rest) = host.len().checked_sub(name.len()) else { return false };
    host[rest..].eq_ignore_ascii_case(name) && (rest == 0 || host[rest - 1] == b'.')
}

/// Bits that sort like the number; both zeros are equal.
fn ordered_bits(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

impl FromStr for Rules {
    type Err = ParseRulesError;

    /// Parses rules separated by commas, most important first; an empty text is an empty list.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        if words == [""] {
            return Ok(Self { list: Vec::new() });
        }
        if words.len() > MAX_RULES {
            return Err(ParseRulesError::TooMany { found: words.len() });
        }
        let mut list = Vec::with_capacity(words.len());
        for word in words {
            let rule: Rule = word.parse()?;
            if list.contains(&rule) {
                return Err(ParseRulesError::Twice { word: word.into() });
            }
            list.push(rule);
        }
        Ok(Self { list })
    }
}

impl FromStr for Rule {
    type Err = ParseRulesError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let (name, given) = match word.split_once(':') {
            Some((name, list)) => (name.trim(), Some(list)),
            None => (word, None),
        };
        let names = given.map_or_else(Vec::new, |list| {
            // Names must not begin with a dot or space, so that they parse to the same rule when
            // written.
            let clean = |name: &str| {
                let begun = name.trim_start_matches(|c: char| c == '.' || c.is_whitespace());
                begun.trim_end().to_ascii_lowercase()
            };
            list.split('|').map(clean).collect()
        });
        let rule = match name {
            "score" => Self::Score,
            "prefer-host" => Self::PreferHost(names),
            "avoid-host" => Self::AvoidHost(names),
            "prefer-tld" => Self::PreferTld(names),
            "avoid-tld" => Self::AvoidTld(names),
            "first-domain" => Self::FirstDomain,
            "https" => Self::Https,
            "canonical" => Self::Canonical,
            "static" => Self::Static,
            "shortest-url" => Self::ShortestUrl,
            "first" | "first-recorded" => Self::FirstRecorded,
            "earliest" => Self::Earliest,
            "latest" => Self::Latest,
            "longest" => Self::Longest,
            "shortest" => Self::Shortest,
            _ => return Err(ParseRulesError::Unknown { word: word.into() }),
        };
        match rule.names() {
            Some(names) if names.is_empty() || names.iter().any(String::is_empty) => {
                Err(ParseRulesError::NeedsNames { word: word.into(), rule: rule.name() })
            }
            None if given.is_some() => {
                Err(ParseRulesError::NeedsNothing { word: word.into(), rule: rule.name() })
            }
            Some(_) | None => Ok(rule),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.names().map_or(Ok(()), |names| write!(f, ":{}", names.join("|")))
    }
}

/// The list as users write it.
impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, rule) in self.list.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{rule}")?;
        }
        Ok(())
    }
}
