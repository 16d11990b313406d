//! PageRank by power iteration.
//!
//! A random reader follows a link with probability *d* (damping) and otherwise goes to any page, as from a page
//! without links; a page's score is the reader's share of time there. Scores add up to 1. Sums have a fixed
//! order, so the result does not depend on threads. Reports an iteration that stops before converging.
//!
//! Source: Page, Brin, Motwani, Winograd 1998; dangling pages as in Langville and Meyer, *Deeper Inside
//! PageRank*, 2004, section 3. The stated error is the change of one iteration times d / (1 - d), which bounds
//! the distance to the true scores.

use rayon::prelude::*;

use super::graph::Graph;

/// Pages per partial sum. Affects the result's last bits, so it is the same on every machine.
const BLOCK: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankSettings {
    /// Probability of following a link.
    pub damping: f64,
    /// Maximum distance from the true scores, summed over all pages.
    pub tolerance: f64,
    pub most_iterations: u32,
}

/// The damping of the original paper.
pub const DEFAULT_DAMPING: f64 = 0.85;
/// Far below differences that affect the order of pages; reached in about 130 iterations.
pub const DEFAULT_TOLERANCE: f64 = 1e-9;
/// Enough for a tolerance of 1e-13 at the default damping.
pub const DEFAULT_MOST_ITERATIONS: u32 = 250;

impl Default for RankSettings {
    fn default() -> Self {
        Self {
            damping: DEFAULT_DAMPING,
            tolerance: DEFAULT_TOLERANCE,
            most_iterations: DEFAULT_MOST_ITERATIONS,
        }
    }
}

impl RankSettings {
    /// Checks the ranges.
    ///
    /// # Errors
    ///
    /// A setting is out of range.
    pub fn check(&self) -> Result<(), RankError> {
        if !(0.0..1.0).contains(&self.damping) {
            return Err(RankError::Damping { given: self.damping });
        }
        if self.tolerance.is_nan() || self.tolerance <= 0.0 {
            return Err(RankError::Tolerance { given: self.tolerance });
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    /// By page; they add up to 1.
    pub scores: Vec<f64>,
    /// Number of iterations.
    pub iterations: u32,
    /// Maximum distance from the true scores, summed over all pages.
    pub error: f64,
    /// Whether that is within the tolerance.
    pub converged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RankError {
    /// The probability is not between 0 and 1.
    #[error("a damping of {given} is out of range: it must be at least 0 and below 1")]
    Damping { given: f64 },
    /// The tolerance is not a positive number.
    #[error("a tolerance of {given} is out of range: it must be above 0")]
    Tolerance { given: f64 },
    /// The number of preferences differs from the number of pages.
    #[error("{given} preferences for {nodes} pages: there must be one for each")]
    Preferences {
        given: usize,
        /// Number of pages.
        nodes: usize,
    },
    /// A preference is negative or not a number, or none is positive.
    #[error("preferences must be finite, not negative, and not all zero")]
    PreferenceValue,
}

/// The scores of all pages. A reader that follows no link goes to any page or, if given, to pages
/// in proportion to `preferences`.
///
/// # Errors
///
/// A setting is out of range.
pub fn pagerank(
    graph: &Graph,
    settings: &RankSettings,
    preferences: Option<&[f64]>,
) -> Result<Ranks, RankError> {
    settings.check()?;
    let RankSettings { damping, tolerance, most_iterations } = *settings;
    let nodes = graph.nodes();
    let jumps = jumps(nodes, preferences)?;
    let mut ranks = Ranks { scores: jumps.clone(), iterations: 0, error: 0.0, converged: true };
    if nodes == 0 {
        return Ok(ranks);
    }
    let mut shares = vec![0.0; nodes];
    let mut next = vec![0.0; nodes];
    loop {
        let dangling = share_out(graph, &ranks.scores, &mut shares);
        follow(graph, &shares, &jumps, damping, dangling, &mut next);
        let change = sum_of_blocks(&next, &ranks.scores, |a, b| (a - b).abs());
        std::mem::swap(&mut ranks.scores, &mut next);
        ranks.iterations += 1;
        ranks.error = change * damping / (1.0 - damping);
        ranks.converged = ranks.error <= tolerance;
        if ranks.converged || ranks.iterations >= most_iterations {
            return Ok(ranks);
        }
    }
}

/// The probabilities of a reader that follows no link.
fn jumps(nodes: usize, preferences: Option<&[f64]>) -> Result<Vec<f64>, RankError> {
    let Some(preferences) = preferences else {
        return Ok(vec![1.0 / nodes.max(1) as f64; nodes]);
    };
    if preferences.len() != nodes {
        return Err(RankError::Preferences { given: preferences.len(), nodes });
    }
    let total: f64 = preferences.iter().sum();
    let bad = preferences.iter().any(|&share| !share.is_finite() || share < 0.0);
    if bad || !total.is_finite() || total <= 0.0 {
        return Err(RankError::PreferenceValue);
    }
    Ok(preferences.iter().map(|share| share / total).collect())
}

/// What each page passes to each page it links to; returns the total of pages without links.
fn share_out(graph: &Graph, scores: &[f64], shares: &mut [f64]) -> f64 {
    let blocks = shares.par_chunks_mut(BLOCK).zip(scores.par_chunks(BLOCK)).enumerate();
    let dangling: Vec<f64> = blocks
        .map(|(block, (shares, scores))| {
            let mut dangling = 0.0;
            for (at, (share, &score)) in shares.iter_mut().zip(scores).enumerate() {
                match graph.out_degree(block * BLOCK + at) {
                    0 => dangling += score,
                    links => *share = score / f64::from(links),
                }
            }
            dangling
        })
        .collect();
    dangling.iter().sum()
}

/// One step of the reader.
fn follow(
    graph: &Graph,
    shares: &[f64],
    jumps: &[f64],
    damping: f64,
    dangling: f64,
    next: &mut [f64],
) {
    let jumping = 1.0 - damping + damping * dangling;
    next.par_chunks_mut(BLOCK).enumerate().for_each(|(block, next)| {
        for (at, next) in next.iter_mut().enumerate() {
            let page = block * BLOCK + at;
            let followed: f64 =
                graph.sources(page).iter().map(|&source| shares[source as usize]).sum();
            *next = damping * followed + jumping * jumps[page];
        }
    });
}

/// The sum of `of` over pairs, block by block.
fn sum_of_blocks(a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64 + Sync) -> f64 {
    let blocks = a.par_chunks(BLOCK).zip(b.par_chunks(BLOCK));
    let sums: Vec<f64> =
        blocks.map(|(a, b)| a.iter().zip(b).map(|(&a, &b)| of(a, b)).sum()).collect();
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn exactly() -> RankSettings {
        // A damping of 0.9 takes more than the default number of iterations.
        RankSettings { tolerance: 1e-13, most_iterations: 1000, ..RankSettings::default() }
    }

    /// Reference implementation: the whole transition matrix, applied five hundred times.
    fn dense(nodes: usize, links: &[(u32, u32)], damping: f64, jumps: &[f64]) -> Vec<f64> {
        let mut linked = vec![vec![false; nodes]; nodes];
        for &(from, to) in links.iter().filter(|(from, to)| from != to) {
            linked[from as usize][to as usize] = true;
        }
        let mut scores = jumps.to_vec();
        for _ in 0..500 {
            let mut next: Vec<f64> = jumps.iter().map(|jump| jump * (1.0 - damping)).collect();
            for (from, linked) in linked.iter().enumerate() {
                let links = linked.iter().filter(|linked| **linked).count();
                for to in 0..nodes {
                    let step = match links {
                        0 => jumps[to],
                        links => f64::from(u8::from(linked[to])) / links as f64,
                    };
                    next[to] += damping * scores[from] * step;
                }
            }
            scores = next;
        }
        scores
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn scores_are_those_of_a_dense_power_iteration(
            links in vec((0u32..20, 0u32..20), 0..120),
            damping in prop_oneof![Just(0.0), Just(0.85), 0.0f64..0.9],
            preferences in proptest::option::of(vec(0.0f64..3.0, 20)),
        ) {
            prop_assume!(preferences.as_ref().is_none_or(|it| it.iter().sum::<f64>() > 0.1));
            let graph = Graph::new(20, &links).unwrap();
            let settings = RankSettings { damping, ..exactly() };
            let ranks = pagerank(&graph, &settings, preferences.as_deref()).unwrap();
            prop_assert!(ranks.converged);
            let jumps = jumps(20, preferences.as_deref()).unwrap();
            let expected = dense(20, &links, damping, &jumps);
            let distance: f64 =
                ranks.scores.iter().zip(&expected).map(|(a, b)| (a - b).abs()).sum();
            prop_assert!(distance < 1e-11, "{distance}");
            prop_assert!((ranks.scores.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_stated_error_bounds_the_true_one() {
        let links: Vec<(u32, u32)> = (0..200).map(|i| (i % 30, (i * i + 7) % 40)).collect();
        let graph = Graph::new(40, &links).unwrap();
        let truth = pagerank(&graph, &exactly(), None).unwrap();
        for most_iterations in [1, 3, 10, 30] {
            let settings = RankSettings { most_iterations, ..exactly() };
            let ranks = pagerank(&graph, &settings, None).unwrap();
            let pairs = ranks.scores.iter().zip(&truth.scores);
            let distance: f64 = pairs.map(|(a, b)| (a - b).abs()).sum();
            assert!(!ranks.converged && ranks.iterations == most_iterations);
            assert!(distance <= ranks.error + 1e-12, "{distance} > {}", ranks.error);
        }
    }

    #[test]
    fn scores_are_the_same_bits_for_any_number_of_threads() {
        let links: Vec<(u32, u32)> =
            (0..60_000u64).map(|i| ((i * 7919 % 20_011) as u32, (i * i % 19_997) as u32)).collect();
        let graph = Graph::new(20_011, &links).unwrap();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| pagerank(&graph, &RankSettings::default(), None).unwrap())
        };
        let one = with(1);
        assert_eq!(one, with(3));
        assert!(one.converged);
    }

    #[test]
    fn settings_out_of_range_are_refused_by_name() {
        let graph = Graph::new(2, &[(0, 1)]).unwrap();
        let refused = |settings: RankSettings, preferences: Option<&[f64]>| {
            pagerank(&graph, &settings, preferences).unwrap_err().to_string()
        };
        let settings = RankSettings::default();
        assert_eq!(
            refused(RankSettings { damping: 1.0, ..settings }, None),
            "a damping of 1 is out of range: it must be at least 0 and below 1"
        );
        assert!(refused(RankSettings { damping: f64::NAN, ..settings }, None).contains("NaN"));
        assert!(refused(RankSettings { tolerance: 0.0, ..settings }, None).contains("above 0"));
        assert!(refused(settings, Some(&[1.0])).contains("1 preferences for 2 pages"));
        assert!(refused(settings, Some(&[0.0, 0.0])).contains("not all zero"));
        assert!(refused(settings, Some(&[f64::INFINITY, 0.0])).contains("finite"));
    }

    #[test]
    fn a_web_without_pages_has_no_scores() {
        let graph = Graph::new(0, &[]).unwrap();
        let ranks = pagerank(&graph, &RankSettings::default(), None).unwrap();
        assert!(ranks.scores.is_empty() && ranks.converged);
    }
}
