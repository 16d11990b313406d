//! What the numbers of a comparison mean, in a sentence.
//!
//! The sentence follows the texts themselves (shared shingles), not the fingerprints: these
//! propose, the texts decide.

use super::explain::Comparison;

/// From here on two pages are called near-duplicates.
const NEAR: f64 = 0.9;
/// Below this, a contained page is clearly the smaller one.
const ALIKE_IN_SIZE: f64 = 0.75;
/// From here on, most of both texts is the same.
const MOST: f64 = 0.5;
/// Below this, what is shared is what any two pages share.
const LITTLE: f64 = 0.02;

impl Comparison {
    /// A plain sentence about a pair, A and B; `shingle` is the number of words in the sketch's shingles.
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
            judgement(self.jaccard, self.containment, smaller(self), shingle)
        };
        if self.left.too_short || self.right.too_short {
            format!("{judged} But there is so little text that this says little.")
        } else {
            judged
        }
    }
}

fn judgement(jaccard: f64, containment: f64, smaller: &str, shingle: usize) -> String {
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

/// Less than everything is never shown as everything.
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
    fn the_sentence_follows_what_is_shared() {
        assert!(judgement(0.996, 1.0, "A", 5).contains("Near-duplicates: 99 %"));
        assert!(judgement(0.3, 0.95, "B", 5).starts_with("Nearly all of B (95 %)"));
        assert!(judgement(0.3, 0.95, "A", 5).starts_with("Nearly all of A"));
        assert!(judgement(0.88, 0.94, "A", 5).starts_with("Much alike"));
        assert!(judgement(0.6, 0.7, "A", 5).starts_with("Much alike: 60 % of all runs of 5 words"));
        assert!(judgement(0.1, 0.2, "A", 5).starts_with("Partly alike"));
        assert!(judgement(0.0, 0.0, "A", 5).contains("no passage"));
    }
}
