//! Explains in words why one copy was kept and another was not.
//!
//! A decision is stored in a byte ([`DecidedBy`]); the sentence is made on request, from the facts of the two
//! pages.

use super::facts::{CanonicalStatus, PageFacts};
use super::rules::{Rule, Rules, is_below};
use std::fmt;

/// What distinguishes a winner from a loser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecidedBy {
    /// The rule at this position of the list.
    Rule(u8),
    /// All rules rank them equal; its address comes first in byte order.
    Url,
    /// The addresses are equal, too; its id is smaller.
    Id,
    /// The loser only redirects.
    Redirect,
}

impl DecidedBy {
    /// The name of the rule as the user wrote it, or `url`, `id`, `redirect`.
    pub fn name(self, rules: &Rules) -> &'static str {
        match self {
            Self::Rule(i) => rules.list().get(usize::from(i)).map_or("unknown rule", Rule::name),
            Self::Url => "url",
            Self::Id => "id",
            Self::Redirect => "redirect",
        }
    }
}

/// The deciding rule and the values it compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Name of the rule, or `url`, `id`, `redirect`.
    pub rule: &'static str,
    /// For people, such as `shorter URL (23 < 41 characters)`.
    pub text: String,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.text)
    }
}

impl Reason {
    /// Explains a decision between these two pages.
    pub fn new(
        rules: &Rules,
        by: DecidedBy,
        winner: &PageFacts<'_>,
        loser: &PageFacts<'_>,
    ) -> Self {
        let text = match by {
            DecidedBy::Rule(i) => match rules.list().get(usize::from(i)) {
                Some(rule) => sentence(rule, winner, loser),
                None => "decided under another list of rules".into(),
            },
            DecidedBy::Url => "equal by every rule, and its URL is first in order".into(),
            DecidedBy::Id => format!("equal by every rule and URL, lower id ({})", winner.id),
            DecidedBy::Redirect => "only the duplicate redirects".into(),
        };
        Self { rule: by.name(rules), text }
    }
}

fn sentence(rule: &Rule, winner: &PageFacts<'_>, loser: &PageFacts<'_>) -> String {
    match rule {
        Rule::Score => match (winner.known_score(), loser.known_score()) {
            (Some(a), Some(b)) => format!("higher score ({a} > {b})"),
            (a, _) => format!("only the kept page has a score ({})", a.unwrap_or(f64::NAN)),
        },
        Rule::PreferHost(names) => preferred("host", names, winner, loser),
        Rule::PreferTld(names) => preferred("top-level domain", names, winner, loser),
        Rule::AvoidHost(names) => avoided("host", names, loser),
        Rule::AvoidTld(names) => avoided("top-level domain", names, loser),
        // A repository knows the order of recording, but not the sets of copies.
        Rule::FirstDomain if winner.domain_place.is_none() && winner.recorded.is_some() => {
            "the kept page was recorded first".into()
        }
        Rule::FirstDomain => match (winner.first_seen, loser.first_seen) {
            (Some(a), Some(b)) if a < b => {
                format!("the kept page's domain had it first ({a} < {b})")
            }
            _ if winner.domain_place.is_some() => "the kept page's domain had it first".into(),
            (a, _) => format!("only the kept page has a time ({})", a.unwrap_or_default()),
        },
        Rule::Https => "https over http".into(),
        Rule::Canonical => match (winner.canonical_status(), loser.canonical_status()) {
            (_, CanonicalStatus::Elsewhere) if loser.canonical.as_deref() == Some(&*winner.url) => {
                "the duplicate names the kept page as canonical".into()
            }
            (CanonicalStatus::Named, _) => "a third page names the kept page as canonical".into(),
            (CanonicalStatus::Silent | CanonicalStatus::Elsewhere, _) => {
                "only the duplicate names a third page as canonical".into()
            }
        },
        Rule::Static => "static URL over a dynamic one".into(),
        Rule::ShortestUrl => format!(
            "shorter URL ({} < {} characters)",
            winner.url.chars().count(),
            loser.url.chars().count()
        ),
        Rule::FirstRecorded => "the kept page came first".into(),
        Rule::Earliest => by_time("earlier", '<', winner, loser),
        Rule::Latest => by_time("later", '>', winner, loser),
        Rule::Longest => format!("longer text ({} > {} words)", winner.words, loser.words),
        Rule::Shortest => format!("shorter text ({} < {} words)", winner.words, loser.words),
    }
}

fn preferred(
    what: &str,
    names: &[String],
    winner: &PageFacts<'_>,
    loser: &PageFacts<'_>,
) -> String {
    let listed = |page: &PageFacts<'_>| names.iter().find(|name| is_below(page.host(), name));
    match (listed(winner), listed(loser)) {
        (Some(a), Some(b)) => format!("preferred {what} ({a} before {b})"),
        (a, _) => format!("preferred {what} ({})", a.map_or("", String::as_str)),
    }
}

fn avoided(what: &str, names: &[String], loser: &PageFacts<'_>) -> String {
    let name = names.iter().find(|name| is_below(loser.host(), name));
    format!("only the duplicate is on an avoided {what} ({})", name.map_or("", String::as_str))
}

fn by_time(word: &str, sign: char, winner: &PageFacts<'_>, loser: &PageFacts<'_>) -> String {
    match (winner.first_seen, loser.first_seen) {
        (Some(a), Some(b)) => format!("first seen {word} ({a} {sign} {b})"),
        (a, _) => format!("only the kept page has a time ({})", a.unwrap_or_default()),
    }
}
