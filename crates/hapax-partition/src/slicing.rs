//! Cuts one dimension into intervals.
//!
//! The left end of a fine interval is the first length that is too long to match the left end before it. Neighbouring
//! intervals are then merged into the allowed number of intervals, which minimizes the sum of squares of their page
//! counts.
//!
//! Source: Zhu et al. 2012, 4.3 (with its examples), after Theobald et al. 2008 (SpotSigs).

/// Number of pages of each length.
pub type Lengths = std::collections::BTreeMap<u32, u64>;

/// The left ends of the fine intervals, ascending. The first is 0, and the last interval is
/// unbounded.
pub fn fine(lengths: &Lengths, tau: f64) -> Vec<u32> {
    let mut ends: Vec<u32> = Vec::new();
    for &length in lengths.keys() {
        let next = ends.last().is_none_or(|&end| f64::from(end) / f64::from(length) < tau);
        if next {
            ends.push(length);
        }
    }
    // Lengths shorter than any in the sample belong to the first interval.
    match ends.first_mut() {
        Some(first) => *first = 0,
        None => ends.push(0),
    }
    ends
}

/// Merges fine intervals into at most `most` coarse ones; returns their left ends.
pub fn merge(fine: &[u32], lengths: &Lengths, most: usize) -> Vec<u32> {
    let pages: Vec<u64> = (0..fine.len())
        .map(|at| {
            let from = fine[at];
            match fine.get(at + 1) {
                Some(&to) => lengths.range(from..to).map(|(_, count)| count).sum(),
                None => lengths.range(from..).map(|(_, count)| count).sum(),
            }
        })
        .collect();
    cuts(&pages, most).into_iter().map(|at| fine[at]).collect()
}

/// Cuts a row of numbers into at most `most` pieces with the minimal sum of squares; returns the
/// starts of the pieces. Ties go to the leftmost cuts.
pub fn cuts(loads: &[u64], most: usize) -> Vec<usize> {
    let n = loads.len();
    let most = most.clamp(1, n.max(1));
    let mut sums = vec![0u128; n + 1];
    for (at, &load) in loads.iter().enumerate() {
        sums[at + 1] = sums[at] + u128::from(load);
    }
    // best[pieces][end]: the minimal cost of the first `end` numbers in that many pieces.
    let mut best = vec![vec![u128::MAX; n + 1]; most + 1];
    let mut from = vec![vec![0; n + 1]; most + 1];
    best[0][0] = 0;
    for pieces in 1..=most {
        for end in pieces..=n {
            for start in pieces - 1..end {
                let before = best[pieces - 1][start];
                let Some(cost) = before.checked_add((sums[end] - sums[start]).pow(2)) else {
                    continue;
                };
                if cost < best[pieces][end] {
                    best[pieces][end] = cost;
                    from[pieces][end] = start;
                }
            }
        }
    }
    let mut starts = Vec::with_capacity(most);
    let mut end = n;
    for pieces in (1..=most).rev() {
        end = from[pieces][end];
        starts.push(end);
    }
    starts.reverse();
    starts
}

pub fn interval(ends: &[u32], length: u32) -> usize {
    ends.partition_point(|&end| end <= length).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn each(counts: &[(u32, u64)]) -> Lengths {
        counts.iter().copied().collect()
    }

    #[test]
    fn fine_intervals_agree_with_the_example_of_the_paper() {
        let lengths: Lengths = (1..=10).map(|length| (length, 1)).collect();
        // The paper's first interval begins at 1; ours includes shorter lengths, too.
        assert_eq!(fine(&lengths, 0.8), [0, 2, 3, 4, 6, 8]);
    }

    #[test]
    fn coarse_intervals_agree_with_the_example_of_the_paper() {
        let sizes = |loads: &[u64]| {
            let starts = cuts(loads, 4);
            let ends = starts.iter().copied().skip(1).chain([loads.len()]);
            starts.iter().zip(ends).map(|(&a, b)| loads[a..b].iter().sum()).collect::<Vec<u64>>()
        };
        assert_eq!(sizes(&[2, 3, 4, 5, 2, 1]), [5, 4, 5, 3]);
        assert_eq!(sizes(&[2, 3, 4, 10, 2, 1]), [5, 4, 10, 3]);
    }

    #[test]
    fn lengths_are_found_in_their_intervals() {
        let lengths = each(&[(5, 1), (20, 4), (100, 2)]);
        let ends = fine(&lengths, 0.5);
        assert_eq!(ends, [0, 20, 100]);
        assert_eq!([0, 19, 20, 99, 100, 9999].map(|at| interval(&ends, at)), [0, 0, 1, 1, 2, 2]);
        assert_eq!(merge(&ends, &lengths, 2), [0, 100]);
        assert_eq!(merge(&fine(&Lengths::new(), 0.5), &Lengths::new(), 3), [0]);
    }

    /// The minimal cost, by trying all cuts.
    fn brute_force(loads: &[u64], pieces: usize) -> u128 {
        if pieces == 1 {
            return loads.iter().map(|&load| u128::from(load)).sum::<u128>().pow(2);
        }
        (1..=loads.len() + 1 - pieces)
            .map(|at| brute_force(&loads[..at], 1) + brute_force(&loads[at..], pieces - 1))
            .min()
            .unwrap()
    }

    proptest! {
        #[test]
        fn no_other_cuts_are_more_even(loads in vec(0u64..20, 1..9), most in 1usize..6) {
            let starts = cuts(&loads, most);
            let pieces = most.min(loads.len());
            prop_assert_eq!(starts.len(), pieces);
            prop_assert!(starts[0] == 0 && starts.windows(2).all(|two| two[0] < two[1]));
            let ends = starts.iter().copied().skip(1).chain([loads.len()]);
            let cost: u128 = starts.iter().zip(ends).map(|(&a, b)| brute_force(&loads[a..b], 1)).sum();
            prop_assert_eq!(cost, brute_force(&loads, pieces));
        }

        #[test]
        fn pages_of_intervals_that_are_not_neighbours_cannot_match(
            lengths in vec(1u32..3000, 1..200),
            tau in 0.5f64..0.95,
        ) {
            let counts: Lengths = lengths.iter().map(|&length| (length, 1)).collect();
            let ends = fine(&counts, tau);
            for &a in &lengths {
                for &b in &lengths {
                    let apart = interval(&ends, a).abs_diff(interval(&ends, b));
                    if apart >= 2 {
                        prop_assert!(f64::from(a.min(b)) / f64::from(a.max(b)) < tau);
                    }
                }
            }
        }
    }
}
