//! Degrees of the links.

use hapax_synth::{Web, WebOptions};

/// The exponent of a power law by maximum likelihood over the values of at least `least`
/// (Clauset, Shalizi and Newman 2009, equation 3.7).
fn exponent(degrees: &[u32], least: u32) -> f64 {
    let tail: Vec<f64> = degrees.iter().filter(|&&d| d >= least).map(|&d| f64::from(d)).collect();
    let sum: f64 = tail.iter().map(|d| (d / (f64::from(least) - 0.5)).ln()).sum();
    1.0 + tail.len() as f64 / sum
}

#[test]
fn in_degrees_follow_a_power_law_and_out_degrees_are_log_normal() {
    let pages = 100_000;
    let web = Web::new(WebOptions::new(4, pages));
    let mut incoming = vec![0u32; pages as usize];
    let mut outgoing = Vec::new();
    let mut links = Vec::new();
    for index in 0..pages {
        web.links_into(index, &mut links);
        assert!(links.is_sorted_by(|a, b| a < b));
        outgoing.push(links.len());
        links.iter().for_each(|&target| incoming[target as usize] += 1);
    }
    for least in [20, 50] {
        let seen = exponent(&incoming, least);
        assert!((2.05..2.35).contains(&seen), "{seen} from {least} up");
    }
    outgoing.sort_unstable();
    let median = outgoing[outgoing.len() / 2];
    assert!((5..=7).contains(&median), "{median}");
    // The popularity rank is the expected order of the in-degrees.
    let most = (0..pages).max_by_key(|&index| incoming[index as usize]);
    assert!(most.is_some_and(|page| web.popularity(page) <= 3));
}
