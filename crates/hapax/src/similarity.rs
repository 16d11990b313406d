//! Decides whether two pages are near-duplicates; all front ends use this definition.
//!
//! Two pages are exact duplicates if their texts are equal. They are near-duplicates if their fingerprints are
//! at most [`Policy::within`] bits apart **and** their sketches estimate a Jaccard similarity of at least
//! [`Policy::min_similarity`]. A page with too few words matches equal text only. Does not search: candidates
//! come from [`index`](crate::index) and [`join`](crate::join).
//!
//! Fingerprints propose, sketches confirm: Henzinger, "Finding near-duplicate web pages", SIGIR 2006.

use std::fmt;
use std::str::FromStr;

use crate::fingerprint::{ContentHash, Estimate, Fingerprint, MaxDistance, ShortSketch, Sketch};
#[cfg(feature = "text")]
use crate::page::Extent;

/// Default of [`Policy::within`] in bits.
pub const DEFAULT_WITHIN: u8 = 6;
/// Default of [`Policy::min_similarity`]: two standard errors of the estimate above 0.8, so that 99
/// of 100 removed pages have a true similarity of at least 0.8 (`docs/benchmarks/quality.md`).
pub const DEFAULT_MIN_SIMILARITY: f64 = 0.84;
/// Default distance for the main content. Finding it is inexact, so copies in different templates
/// have larger distances.
pub const MAIN_CONTENT_WITHIN: u8 = 10;
/// Default similarity when only the main content is compared. Without the template, different
/// articles have almost nothing in common.
pub const MAIN_CONTENT_MIN_SIMILARITY: f64 = 0.5;

/// Default distance for own texts, without the frame of the host. They contain some words of each
/// site's own, such as a date and a list of other articles.
pub const OWN_TEXT_WITHIN: u8 = 14;
/// Default similarity for own texts.
pub const OWN_TEXT_MIN_SIMILARITY: f64 = 0.5;

/// How many standard errors a keyed estimate may be below the bound: four of the difference of two
/// estimates. Of 30,000 true pairs at the bound, about one is not confirmed.
pub const CONFIRMING_ERRORS: f64 = 5.7;

/// How many standard errors an estimate by short sketches may be below the bound before it refutes
/// a match. For bounds from 0.5 up, fewer than one in a million true matches at the least
/// favourable similarity is refuted; at the default bound, one in a hundred million.
pub const CONTRADICTING_ERRORS: f64 = 5.2;

/// Below these bounds a keyed estimate must be as high as at them: otherwise texts without a common
/// word would be near enough. So at lower bounds some true matches are refuted: by short sketches
/// 5 % of those that are 0.3 alike and half of those that are 0.2 alike, by full ones 1 % of the latter.
pub const LEAST_SHORT_BOUND: f64 = 0.5;
/// As [`LEAST_SHORT_BOUND`], for full keyed sketches.
pub const LEAST_KEYED_BOUND: f64 = 0.3;

/// The definition of a near-duplicate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Maximum distance of the fingerprints.
    pub within: MaxDistance,
    /// Minimum estimated similarity of the texts.
    pub min_similarity: MinSimilarity,
}

/// The data of a page that a comparison uses.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    pub fingerprint: Fingerprint,
    /// `None` if only fingerprints are available; then they decide alone.
    pub sketch: Option<&'a Sketch>,
    /// `None` if the caller has already handled equal texts.
    pub content: Option<&'a ContentHash>,
    /// Whether the page has too few words for a meaningful fingerprint and sketch.
    pub too_short: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// Distance of the fingerprints, `0..=64`.
    pub distance: u8,
    /// Estimated Jaccard similarity, `0.0..=1.0`; without sketches, the share of equal bits.
    pub similarity: f32,
    pub matching: Matching,
}

/// Whether two pages are duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matching {
    No,
    Near,
    Exact,
}

impl Likeness {
    /// Whether they match, exactly or nearly.
    pub const fn matches(&self) -> bool {
        !matches!(self.matching, Matching::No)
    }
}

impl Policy {
    /// The defaults for recipes with this extent.
    #[cfg(feature = "text")]
    pub const fn for_extent(extent: Extent) -> Self {
        match extent {
            Extent::Page | Extent::Body => Self::of(DEFAULT_WITHIN, DEFAULT_MIN_SIMILARITY),
            Extent::MainContent => Self::of(MAIN_CONTENT_WITHIN, MAIN_CONTENT_MIN_SIMILARITY),
        }
    }

    /// The defaults for own texts.
    pub const fn for_own_texts() -> Self {
        Self::of(OWN_TEXT_WITHIN, OWN_TEXT_MIN_SIMILARITY)
    }

    const fn of(within: u8, min_similarity: f64) -> Self {
        let within = MaxDistance::new(within).expect("a default is at most 64 bits");
        Self { within, min_similarity: MinSimilarity(min_similarity) }
    }

    /// Compares any two pages.
    pub fn compare(&self, a: &Evidence<'_>, b: &Evidence<'_>) -> Likeness {
        let bits = a.fingerprint.distance(b.fingerprint);
        let distance = bits as u8;
        if a.content.is_some() && a.content == b.content {
            return Likeness { distance, similarity: 1.0, matching: Matching::Exact };
        }
        let mut likeness = self.compare_signatures(bits, a.sketch.zip(b.sketch));
        if a.too_short || b.too_short {
            likeness.matching = Matching::No;
        }
        likeness
    }

    /// Compares different texts with enough words by the distance of their fingerprints and, if
    /// available, their sketches.
    #[inline]
    pub fn compare_signatures(&self, bits: u32, sketches: Option<(&Sketch, &Sketch)>) -> Likeness {
        let distance = bits as u8;
        let (similarity, confirmed) = match sketches {
            Some((a, b)) => {
                let estimate = a.estimate(b);
                (estimate.jaccard as f32, self.min_similarity.admits(&estimate))
            }
            None => (1.0 - f32::from(distance) / 64.0, true),
        };
        let near = confirmed && self.within.admits(bits);
        let matching = if near { Matching::Near } else { Matching::No };
        Likeness { distance, similarity, matching }
    }

    /// As [`compare`](Self::compare) for a possible candidate; `None`, without reading the
    /// sketches, if the fingerprints are too far apart.
    #[inline]
    pub fn compare_candidate(&self, a: &Evidence<'_>, b: &Evidence<'_>) -> Option<Likeness> {
        let is_candidate = self.within.admits(a.fingerprint.distance(b.fingerprint));
        is_candidate.then(|| self.compare(a, b))
    }

    /// Whether a near match stands, or may be forged: short sketches under the same key must not
    /// refute it, also on one domain, where authors may share a host. Where a page has none, public
    /// signatures suffice within a domain only. Calls `one_domain` only if needed.
    #[inline]
    pub fn stands(
        &self,
        short: [Option<&ShortSketch>; 2],
        one_domain: impl FnOnce() -> bool,
    ) -> bool {
        match short {
            [Some(a), Some(b)] => !self.min_similarity.contradicted_by(&a.estimate(b)),
            _ => one_domain(),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::of(DEFAULT_WITHIN, DEFAULT_MIN_SIMILARITY)
    }
}

impl<'a> Evidence<'a> {
    /// For pages with enough words and different texts.
    pub const fn differing(fingerprint: Fingerprint, sketch: &'a Sketch) -> Self {
        Self { fingerprint, sketch: Some(sketch), content: None, too_short: false }
    }
}

/// The minimum Jaccard similarity of two shingle sets, inclusive.
///
/// It applies to the sketches' estimate, whose standard error is 0.02 at 0.8 and less above. Of
/// pairs exactly at the bound half are confirmed, of pairs two standard errors above it 98 %, of
/// pairs two below it 2 %. Set it higher to keep duplicates rather than lose pages.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct MinSimilarity(f64);

impl MinSimilarity {
    /// `None` unless it is in `0.0..=1.0`.
    pub fn new(jaccard: f64) -> Option<Self> {
        (0.0..=1.0).contains(&jaccard).then_some(Self(jaccard))
    }

    /// Whether a pair with this estimate is similar enough.
    #[inline]
    pub fn admits(self, estimate: &Estimate) -> bool {
        estimate.jaccard >= self.0
    }

    /// Whether a keyed estimate confirms a match. Both estimates have errors, so a pair at the
    /// bound may fall short of it; a pair that falls short by more than both errors explain is
    /// refuted, and so is a pair of texts that hardly have a word in common.
    pub fn confirmed_by(self, keyed: &Estimate) -> bool {
        let bound = self.0.max(LEAST_KEYED_BOUND);
        keyed.jaccard + CONFIRMING_ERRORS * keyed.standard_error >= bound
    }

    /// Whether an estimate by short keyed sketches is so low that the match must be forged.
    pub fn contradicted_by(self, short: &Estimate) -> bool {
        let bound = self.0.max(LEAST_SHORT_BOUND);
        short.jaccard + CONTRADICTING_ERRORS * short.standard_error < bound
    }

    pub const fn jaccard(self) -> f64 {
        self.0
    }
}

impl fmt::Display for MinSimilarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for MinSimilarity {
    type Err = ParseSimilarityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().ok().and_then(Self::new).ok_or(ParseSimilarityError)
    }
}

/// The text is not a similarity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a similarity is a number from 0 to 1")]
pub struct ParseSimilarityError;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::{Fingerprinter, Recipe, short_sketch};

    const HARBOUR: &str = "The old harbour crane has stood unused for forty years, and the council \
        voted on Tuesday evening to restore it at last, with money from a fund for monuments.";

    fn signature(text: &str) -> (Fingerprint, Sketch, ContentHash) {
        let recipe = Recipe::built_in("web-2").unwrap();
        let signature = Fingerprinter::new(recipe, None).unwrap().text(text).unwrap();
        let comparable = signature.comparable.unwrap();
        (comparable.fingerprint, comparable.sketch, ContentHash::of(text))
    }

    fn matching(a: &str, b: &str, policy: &Policy) -> Matching {
        let (a, b) = (signature(a), signature(b));
        let [one, other] = [&a, &b]
            .map(|it| Evidence { content: Some(&it.2), ..Evidence::differing(it.0, &it.1) });
        let likeness = policy.compare(&one, &other);
        let is_candidate = policy.within.admits(u32::from(likeness.distance));
        let candidate = policy.compare_candidate(&one, &other);
        assert_eq!(candidate, is_candidate.then_some(likeness));
        likeness.matching
    }

    #[test]
    fn equal_texts_are_exact_small_changes_near_and_other_texts_neither() {
        let policy = Policy::default();
        let long = format!("{HARBOUR} {HARBOUR} It was built in 1902 by hand.").repeat(3);
        assert_eq!(matching(&long, &long, &policy), Matching::Exact);
        let changed = format!("{long} Indeed.");
        assert_eq!(matching(&long, &changed, &policy), Matching::Near);
        let other = "Tea is made of leaves, and of nothing else but water that has boiled.";
        assert_eq!(matching(&long, other, &policy), Matching::No);
    }

    #[test]
    fn both_bounds_are_inclusive_and_both_must_hold() {
        let sketch = signature(HARBOUR).1;
        let mut bytes = sketch.to_bytes();
        bytes[0] ^= 0xff;
        let other = Sketch::from_bytes(&bytes);
        let estimate = sketch.estimate(&other);
        let sides = |bits: u64| {
            let one = Evidence::differing(Fingerprint::from_bits(0), &sketch);
            (one, Evidence::differing(Fingerprint::from_bits(bits), &other))
        };
        let policy = |within: u8, least: f64| Policy {
            within: MaxDistance::new(within).unwrap(),
            min_similarity: MinSimilarity::new(least).unwrap(),
        };
        let asked = |policy: Policy| {
            let (a, b) = sides(0b111);
            policy.compare(&a, &b).matching
        };
        assert_eq!(asked(policy(3, estimate.jaccard)), Matching::Near);
        assert_eq!(asked(policy(2, estimate.jaccard)), Matching::No);
        assert_eq!(asked(policy(3, estimate.jaccard + 1e-9)), Matching::No);
    }

    #[test]
    fn a_page_with_too_few_words_matches_equal_text_only() {
        let (fingerprint, sketch, content) = signature(HARBOUR);
        let side = Evidence {
            fingerprint,
            sketch: Some(&sketch),
            content: Some(&content),
            too_short: true,
        };
        let policy = Policy::default();
        assert_eq!(policy.compare(&side, &side).matching, Matching::Exact);
        let unknown = Evidence { content: None, ..side };
        assert_eq!(policy.compare(&side, &unknown).matching, Matching::No);
    }

    #[test]
    fn without_sketches_the_fingerprints_decide() {
        let side = |bits| Evidence {
            fingerprint: Fingerprint::from_bits(bits),
            sketch: None,
            content: None,
            too_short: false,
        };
        let policy = Policy::default();
        let near = policy.compare(&side(0), &side(0b11_1111));
        assert_eq!((near.distance, near.matching), (DEFAULT_WITHIN, Matching::Near));
        assert_eq!(policy.compare(&side(0), &side(0b111_1111)).matching, Matching::No);
    }

    /// Sketches that differ in this many bins.
    fn short(differing: usize) -> [ShortSketch; 2] {
        let mut bytes = [0; short_sketch::BYTES];
        (0..differing).for_each(|bin| bytes[bin / 4] |= 1 << (2 * (bin % 4)));
        [[0; short_sketch::BYTES], bytes].map(|bytes| ShortSketch::from_bytes(&bytes))
    }

    #[test]
    fn short_sketches_must_not_contradict_on_one_domain_either() {
        let (alike, unlike) = (short(20), short(90));
        let stands = |short: [Option<&ShortSketch>; 2], one_domain| {
            Policy::default().stands(short, || one_domain)
        };
        assert!(stands([Some(&alike[0]), Some(&alike[1])], false));
        assert!(!stands([Some(&unlike[0]), Some(&unlike[1])], true));
        for lacking in [[Some(&alike[0]), None], [None; 2]] {
            assert!(!stands(lacking, false) && stands(lacking, true));
        }
    }

    /// The probability that of `n` bins, each equal with probability `p`, at least `many` are
    /// equal.
    fn at_least(n: usize, many: usize, p: f64) -> f64 {
        let mut log = n as f64 * (1.0 - p).ln();
        let mut sum = 0.0;
        for k in 0..=n {
            if k >= many {
                sum += log.exp();
            }
            log += ((n - k) as f64 / (k + 1) as f64 * p / (1.0 - p)).ln();
        }
        sum
    }

    #[test]
    fn fewer_than_one_true_match_in_a_million_is_refuted_and_nearly_all_forgeries_are() {
        let bins = short_sketch::BINS;
        for (bound, million, even) in [(0.5, 1.0, 0.17), (0.84, 0.01, 0.52), (0.95, 1e-4, 0.66)] {
            let least = MinSimilarity::new(bound).unwrap();
            let [zero, _] = short(0);
            let passes = |agreeing: &usize| {
                !least.contradicted_by(&zero.estimate(&short(bins - agreeing)[1]))
            };
            let needed = (0..=bins).find(passes).unwrap();
            let contradicted = |jaccard: f64| {
                1.0 - at_least(bins, needed, jaccard + (1.0 - jaccard) / 4.0).min(1.0)
            };
            let public = (1024.0 * (1.0 + bound) / 2.0f64).ceil() as usize;
            let wrong = (1..1000)
                .map(|it| f64::from(it) / 1000.0)
                .map(|it| contradicted(it) * at_least(1024, public, (1.0 + it) / 2.0))
                .fold(0.0, f64::max);
            println!("{bound}: {wrong:e} wrong, forged {:e}", 1.0 - contradicted(0.0));
            assert!(wrong < million / 1e6, "{bound}: {wrong}");
            assert!(1.0 - contradicted(0.0) < 1e-3, "{bound}");
            assert!(contradicted(even) > 0.5 && contradicted(even + 0.05) < 0.5, "{bound}");
        }
    }

    /// The least number of agreeing of `n` bins that passes, and the probability of fewer.
    fn refuted(n: usize, passes: impl Fn(usize) -> bool) -> impl Fn(f64) -> f64 {
        let needed = (0..=n).find(|agreeing| passes(*agreeing)).unwrap();
        move |agree| 1.0 - at_least(n, needed, agree).min(1.0)
    }

    #[test]
    fn below_half_as_few_forgeries_pass_as_above_and_true_matches_pay_for_it() {
        let bins = short_sketch::BINS;
        for bound in [0.0, 0.1, 0.2, 0.3, 0.4, 0.5] {
            let least = MinSimilarity::new(bound).unwrap();
            let [zero, _] = short(0);
            let by_short = refuted(bins, |agreeing| {
                !least.contradicted_by(&zero.estimate(&short(bins - agreeing)[1]))
            });
            let full = |differing: usize| {
                let mut bytes = [0; 128];
                (0..differing).for_each(|bit| bytes[bit / 8] |= 1 << (bit % 8));
                Sketch::from_bytes(&bytes)
            };
            let by_full = refuted(1024, |agreeing| {
                least.confirmed_by(&full(0).estimate(&full(1024 - agreeing)))
            });
            let alike = |jaccard: f64| {
                [by_short(jaccard + (1.0 - jaccard) / 4.0), by_full((1.0 + jaccard) / 2.0)]
            };
            let at = [0.1, 0.2, 0.3, 0.4]
                .map(|jaccard| alike(jaccard).map(|it| (it * 1e4).round() / 1e4));
            let forged = alike(0.0).map(|refuted| 1.0 - refuted);
            println!("{bound}: forged {forged:?}; refuted 0.1, 0.2, 0.3, 0.4 alike: {at:?}");
            assert!(forged.iter().all(|passing| *passing < 1e-3), "{bound}: {forged:?}");
            assert!(alike(0.3)[0] < 0.05 && alike(0.2)[0] < 0.53, "{bound}: {at:?}");
            assert!(bound > LEAST_KEYED_BOUND || alike(0.2)[1] < 0.01, "{bound}: {at:?}");
        }
    }

    #[test]
    fn a_similarity_is_a_number_from_0_to_1() {
        assert_eq!("0.84".parse(), Ok(MinSimilarity(0.84)));
        assert_eq!("1".parse::<MinSimilarity>().unwrap().jaccard(), 1.0);
        for wrong in ["-0.1", "1.01", "NaN", "", "80%"] {
            assert_eq!(wrong.parse::<MinSimilarity>(), Err(ParseSimilarityError), "{wrong}");
        }
    }
}
