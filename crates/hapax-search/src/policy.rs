//! A policy of the engine's owner: how strictly the results of a query are compared.
//!
//! ```
//! use hapax_search::policy::Policy;
//!
//! let policy = Policy::from_toml(r#"
//!     within = 3
//!     always-keep = ["example.org"]
//!     [[by-rank]]
//!     to = 100
//!     within = 6
//!     [[by-results]]
//!     to = 9
//!     remove = false
//! "#)?;
//! let limits = policy.for_query(1, 5_000);
//! assert_eq!((limits.within.bits(), limits.remove), (6, true));
//! assert!(!policy.for_query(500, 7).remove);
//! # Ok::<(), hapax_search::policy::PolicyError>(())
//! ```
//!
//! A range has an inclusive `from` and `to`, each optional. If a query is in a range of both kinds, the
//! stricter value applies: fewer bits, fewer results, no removal.
//!
//! Source: Pi et al. 2009, II.C and III.D.
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `within` | maximum distance of two results in bits | 6 |
//! | `results` | number of best results to examine | 1000 |
//! | `share` | or this share of all results, if that is more | 0 |
//! | `confirm`, `min-similarity` | whether sketches must confirm, and the minimum similarity | true, 0.84 |
//! | `keep` | rules that choose the kept copy | `score` first |
//! | `least-left` | minimum number of results to keep | 0 |
//! | `score-below` | only documents with a lower score, or none, may be removed | any |
//! | `always-keep` | hosts (and all below them) whose documents are never removed | none |
//! | `[[by-rank]]`, `[[by-results]]` | other values for queries of these ranks, or with this many results | |

use hapax::fingerprint::MaxDistance;
use hapax::group::{ParseRulesError, Rules};
use hapax::similarity::{DEFAULT_MIN_SIMILARITY, DEFAULT_WITHIN, MinSimilarity};
use serde::Deserialize;

/// Default number of results to examine.
pub const DEFAULT_RESULTS: u64 = 1000;
/// Maximum bound of a policy in bits.
pub const MOST_WITHIN: u32 = 16;

#[derive(Clone, Debug)]
pub struct Policy {
    base: QueryLimits,
    share: f64,
    min_similarity: MinSimilarity,
    /// Whether sketches must confirm matches of fingerprints.
    pub confirm: bool,
    pub keep: Rules,
    /// Minimum number of results to keep per query.
    pub least_left: usize,
    /// Only documents below this score may be removed.
    pub score_below: Option<f64>,
    always_keep: Vec<String>,
    by_rank: Vec<Range>,
    by_results: Vec<Range>,
}

/// The limits for one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    /// Maximum distance of two results.
    pub within: MaxDistance,
    /// Number of results to examine.
    pub results: u64,
    pub remove: bool,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Not TOML, or unknown keys.
    #[error("the policy cannot be understood")]
    Toml(#[from] Box<toml::de::Error>),
    /// Invalid rules for the kept copy.
    #[error("`keep` in the policy")]
    Rules(#[from] ParseRulesError),
    #[error("`{key} = {given}` in the policy: must be {wanted}")]
    Value { key: &'static str, given: String, wanted: &'static str },
    /// An empty range.
    #[error("`[[{table}]]` number {number} in the policy: from {from} to {to} is not a range")]
    Impossible {
        /// `by-rank` or `by-results`.
        table: &'static str,
        /// From 1.
        number: usize,
        from: u64,
        to: u64,
    },
    /// Two ranges include the same query.
    #[error("`[[{table}]]` in the policy: numbers {first} and {second} overlap at {at}")]
    Overlap {
        /// `by-rank` or `by-results`.
        table: &'static str,
        /// From 1.
        first: usize,
        /// From 1.
        second: usize,
        /// A value in both.
        at: u64,
    },
}

/// Other values for some queries.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: u64,
    to: u64,
    within: Option<MaxDistance>,
    results: Option<u64>,
    remove: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct File {
    within: u32,
    results: u64,
    share: f64,
    confirm: bool,
    min_similarity: f64,
    keep: Option<String>,
    least_left: usize,
    score_below: Option<f64>,
    always_keep: Vec<String>,
    by_rank: Vec<FileRange>,
    by_results: Vec<FileRange>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct FileRange {
    from: Option<u64>,
    to: Option<u64>,
    within: Option<u32>,
    results: Option<u64>,
    remove: Option<bool>,
}

impl Default for File {
    fn default() -> Self {
        Self {
            within: u32::from(DEFAULT_WITHIN),
            results: DEFAULT_RESULTS,
            share: 0.0,
            confirm: true,
            min_similarity: DEFAULT_MIN_SIMILARITY,
            keep: None,
            least_left: 0,
            score_below: None,
            always_keep: Vec::new(),
            by_rank: Vec::new(),
            by_results: Vec::new(),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::checked(File::default()).expect("defaults are in range")
    }
}

impl Policy {
    /// Parses a policy file.
    ///
    /// # Errors
    ///
    /// Something is unknown, out of range or contradictory.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        Self::checked(toml::from_str(text).map_err(Box::new)?)
    }

    fn checked(file: File) -> Result<Self, PolicyError> {
        let outside = |key, given: f64| {
            let wanted = "from 0 to 1";
            PolicyError::Value { key, given: given.to_string(), wanted }
        };
        if !(0.0..=1.0).contains(&file.share) {
            return Err(outside("share", file.share));
        }
        let min_similarity = MinSimilarity::new(file.min_similarity)
            .ok_or_else(|| outside("min-similarity", file.min_similarity))?;
        if file.score_below.is_some_and(f64::is_nan) {
            let (given, wanted) = ("nan".to_owned(), "a number");
            return Err(PolicyError::Value { key: "score-below", given, wanted });
        }
        Ok(Self {
            base: QueryLimits {
                within: bits(file.within)?,
                results: at_least_one(file.results)?,
                remove: true,
            },
            share: file.share,
            min_similarity,
            confirm: file.confirm,
            keep: file.keep.as_deref().map(str::parse).transpose()?.unwrap_or_default(),
            least_left: file.least_left,
            score_below: file.score_below,
            always_keep: file.always_keep.iter().map(|host| host.to_ascii_lowercase()).collect(),
            by_rank: ranges("by-rank", 1, &file.by_rank)?,
            by_results: ranges("by-results", 0, &file.by_results)?,
        })
    }

    /// The limits for the query of this rank, from 1, with this total number of results.
    pub fn for_query(&self, rank: u64, results: u64) -> QueryLimits {
        let mut limits = self.base;
        limits.results = limits.results.max((self.share * results as f64) as u64);
        let by_rank = find(&self.by_rank, rank);
        let by_results = find(&self.by_results, results);
        let stricter = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let of = |get: fn(&Range) -> Option<u64>| {
            stricter(by_rank.and_then(get), by_results.and_then(get))
        };
        if let Some(results) = of(|range| range.results) {
            limits.results = results;
        }
        let within = of(|range| range.within.map(|within| u64::from(within.bits())));
        if let Some(within) = within.and_then(|bits| MaxDistance::new(bits as u8)) {
            limits.within = within;
        }
        let refuses = |range: &&Range| range.remove == Some(false);
        limits.remove = by_rank.iter().chain(&by_results).find(|range| refuses(range)).is_none();
        limits
    }

    /// The same policy with this bound for all queries.
    pub fn with_within(&self, within: MaxDistance) -> Self {
        let mut policy = self.clone();
        policy.base.within = within;
        for range in policy.by_rank.iter_mut().chain(&mut policy.by_results) {
            range.within = None;
        }
        policy
    }

    /// The terms that affect copies and are the same for all queries, as text; equal for equal
    /// policies.
    pub(crate) fn shared_terms(&self) -> String {
        let Self { min_similarity, confirm, keep, least_left, score_below, always_keep, .. } = self;
        format!("{confirm} {min_similarity} {keep} {least_left} {score_below:?} {always_keep:?}")
    }

    /// The definition of a near-duplicate for results proposed within this distance.
    pub(crate) fn similarity(&self, within: MaxDistance) -> hapax::similarity::Policy {
        hapax::similarity::Policy { within, min_similarity: self.min_similarity }
    }

    /// The distance bounds that queries may have.
    pub fn bounds(&self) -> Vec<MaxDistance> {
        let ranges = self.by_rank.iter().chain(&self.by_results).filter_map(|range| range.within);
        let mut bounds: Vec<MaxDistance> = ranges.chain([self.base.within]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        bounds
    }

    /// Upper bound of the results of [`for_query`](Self::for_query) before their total number is
    /// known; a share of them may be more.
    pub fn most_results(&self, rank: u64) -> u64 {
        let of_results = self.by_results.iter().filter_map(|range| range.results).max();
        let of_rank = find(&self.by_rank, rank).and_then(|range| range.results);
        of_rank.unwrap_or(self.base.results).max(of_results.unwrap_or(0))
    }

    /// Whether a document at this host and with this score may be removed.
    pub fn may_go(&self, host: &str, score: Option<f64>) -> bool {
        let host = host.to_ascii_lowercase();
        let below = |kept: &String| {
            host.strip_suffix(kept.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let too_good = match (self.score_below, score) {
            (Some(bound), Some(score)) => score >= bound,
            _ => false,
        };
        !too_good && !self.always_keep.iter().any(below)
    }
}

fn find(ranges: &[Range], value: u64) -> Option<&Range> {
    ranges.iter().find(|range| (range.from..=range.to).contains(&value))
}

fn bits(given: u32) -> Result<MaxDistance, PolicyError> {
    let within = u8::try_from(given).ok().filter(|_| given <= MOST_WITHIN);
    within.and_then(MaxDistance::new).ok_or_else(|| PolicyError::Value {
        key: "within",
        given: given.to_string(),
        wanted: "from 0 to 16",
    })
}

fn at_least_one(results: u64) -> Result<u64, PolicyError> {
    match results {
        0 => Err(PolicyError::Value {
            key: "results",
            given: "0".to_owned(),
            wanted: "at least 1 (`remove = false` leaves results alone)",
        }),
        results => Ok(results),
    }
}

fn ranges(table: &'static str, least: u64, given: &[FileRange]) -> Result<Vec<Range>, PolicyError> {
    let mut ranges: Vec<Range> = Vec::with_capacity(given.len());
    for (number, range) in (1..).zip(given) {
        let (from, to) = (range.from.unwrap_or(least), range.to.unwrap_or(u64::MAX));
        if from > to || from < least {
            return Err(PolicyError::Impossible { table, number, from, to });
        }
        let overlapping = |other: &Range| from <= other.to && other.from <= to;
        if let Some(first) = ranges.iter().position(overlapping) {
            let at = from.max(ranges[first].from);
            return Err(PolicyError::Overlap { table, first: first + 1, second: number, at });
        }
        ranges.push(Range {
            from,
            to,
            within: range.within.map(bits).transpose()?,
            results: range.results.map(at_least_one).transpose()?,
            remove: range.remove,
        });
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = Policy::from_toml(text).unwrap_err();
        match std::error::Error::source(&error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        }
    }

    #[test]
    fn an_empty_policy_is_the_default_one() {
        let policy = Policy::from_toml("").unwrap();
        let limits = policy.for_query(1, 50);
        assert_eq!(limits.within.bits(), u32::from(DEFAULT_WITHIN));
        assert_eq!((limits.results, limits.remove), (DEFAULT_RESULTS, true));
        assert!(policy.confirm);
        assert_eq!(policy.similarity(limits.within), hapax::similarity::Policy::default());
        assert!(policy.may_go("example.org", Some(1e9)));
    }

    #[test]
    fn the_stricter_of_two_ranges_holds() {
        let policy = Policy::from_toml(
            "within = 3\n[[by-rank]]\nto = 10\nwithin = 6\nresults = 500\n\
             [[by-results]]\nto = 20\nwithin = 1\n[[by-results]]\nfrom = 21\nto = 30\nremove = false",
        )
        .unwrap();
        let of = |rank, results| {
            let limits = policy.for_query(rank, results);
            (limits.within.bits(), limits.results, limits.remove)
        };
        assert_eq!(of(1, 100), (6, 500, true));
        assert_eq!(of(1, 20), (1, 500, true));
        assert_eq!(of(11, 100), (3, 1000, true));
        assert_eq!(of(11, 25), (3, 1000, false));
    }

    #[test]
    fn a_share_of_many_results_is_more_than_the_number() {
        let policy = Policy::from_toml("results = 100\nshare = 0.5").unwrap();
        assert_eq!(policy.for_query(1, 90).results, 100);
        assert_eq!(policy.for_query(1, 1000).results, 500);
    }

    #[test]
    fn hosts_and_scores_protect_documents() {
        let policy =
            Policy::from_toml("always-keep = [\"Example.org\"]\nscore-below = 0.5").unwrap();
        assert!(!policy.may_go("www.example.org", None));
        assert!(!policy.may_go("EXAMPLE.org", None));
        assert!(policy.may_go("notexample.org", None));
        assert!(policy.may_go("a.test", Some(0.4)) && !policy.may_go("a.test", Some(0.5)));
    }

    #[test]
    fn mistakes_are_named() {
        let said = refused("wihtin = 3");
        assert_eq!(said.matches("unknown field `wihtin`").count(), 1, "{said}");
        assert!(said.starts_with("the policy cannot be understood: "), "{said}");
        assert_eq!(refused("within = 17"), "`within = 17` in the policy: must be from 0 to 16");
        assert!(refused("results = 0").contains("at least 1"));
        assert!(refused("min-similarity = 1.5").contains("from 0 to 1"));
        assert!(refused("keep = \"best\"").starts_with("`keep` in the policy:"));
        assert_eq!(
            refused("[[by-rank]]\nfrom = 9\nto = 3"),
            "`[[by-rank]]` number 1 in the policy: from 9 to 3 is not a range"
        );
        assert!(refused("[[by-rank]]\nfrom = 0").contains("from 0 to"));
        assert_eq!(
            refused("[[by-rank]]\nto = 100\n[[by-rank]]\nfrom = 100"),
            "`[[by-rank]]` in the policy: numbers 1 and 2 overlap at 100"
        );
    }
}
