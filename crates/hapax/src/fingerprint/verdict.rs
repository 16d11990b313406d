//! Summarizes a comparison in a sentence.
//!
//! Based on the texts themselves (shared shingles), not on the fingerprints: these only propose, the texts
//! decide.

use super::explain::Comparison;

/// Pages are called near-duplicates from this similarity on.
const NEAR: f64 = 0.9;
/// Below this ratio, the contained page is clearly the smaller one.
const ALIKE_IN_SIZE: f64 = 0.75;
/// From here on, most of both texts is equal.
const MOST: f64 = 0.5;
/// Below this, two pages share no more than unrelated pages do.
const LITTLE: f64 = 0.02;

impl Comparison {
    /// A sentence about pages A and B; `shingle` is the number of words per shingle of the sketch.
    pub fn sentence(&self, shingle: usize) -> String {
        let empty: Vec<&str> = [(&self.left, "A"), (&self.right, "B")]
            .into_iter()
            .filter(|(signature, _)| signature.comparable.is_none())
            .map(|(_, name)| name)
            .collect();
        match empty[..] {
            ["A", "B"] => return "Neither page has any words to compare.".to_owned(),
            [name] => return format!("{name} has no words to compare."),
            _ => {}
        }
        let judged = if self.same_text {
            "The pages show exactly the same text.".to_owned()
        } else {
            conclusion(self.jaccard, self.containment, smaller(self), shingle)
        };
        if self.left.too_short || self.right.too_short {
            format!("{judged} But there is so little text that this says little.")
        } else {
            judged
        }
    }
}

fn conclusion(jaccard: f64, containment: f64, smaller: &str, shingle: usize) -> String {
    let runs = match shingle {
        1 => "of all words are in both pages".to_owned(),
        n => format!("of all runs of {n} words are in both pages"),
    };
    let percent = share(jaccard);
    if jaccard >= 1.0 {
        "Near-duplicates: the same passages, in another order or number.".to_owned()
    } else if jaccard >= NEAR {
        format!("Near-duplicates: {percent} {runs}.")
    } else if containment >= NEAR && jaccard < ALIKE_IN_SIZE {
        format!("Nearly all of {smaller} ({}) stands in the other page.", share(containment))
    } else if jaccard >= MOST {
        format!("Much alike: {percent} {runs}.")
    } else if jaccard >= LITTLE {
        format!("Partly alike: {percent} {runs}.")
    } else if jaccard > 0.0 {
        "Different pages: they share next to nothing.".to_owned()
    } else {
        "Different pages: they share no passage at all.".to_owned()
    }
}

/// Shows 100 % only for exactly all.
fn share(of_one: f64) -> String {
    format!("{:.0} %", (100.0 * of_one).min(99.0))
}

fn smaller(c: &Comparison) -> &'static str {
    if c.only_left <= c.only_right { "A" } else { "B" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_follows_the_shared_shingles() {
        assert!(conclusion(0.996, 1.0, "A", 5).contains("Near-duplicates: 99 %"));
        assert!(conclusion(0.3, 0.95, "B", 5).starts_with("Nearly all of B (95 %)"));
        assert!(conclusion(0.3, 0.95, "A", 5).starts_with("Nearly all of A"));
        assert!(conclusion(0.88, 0.94, "A", 5).starts_with("Much alike"));
        assert!(
            conclusion(0.6, 0.7, "A", 5).starts_with("Much alike: 60 % of all runs of 5 words")
        );
        assert!(conclusion(0.1, 0.2, "A", 5).starts_with("Partly alike"));
        assert!(conclusion(0.0, 0.0, "A", 5).contains("no passage"));
    }
}
