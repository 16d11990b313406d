//! Compares estimated and exact similarity on texts that change step by step.
//!
//! Khan and Ali replace a tenth of a page's words by another page's at a time and plot the resulting similarity
//! (Figures 11 to 13); their curve deviates by about 10 points. This makes the same texts of two documents and
//! compares the estimate of the sketches with the [`reference`](mod@crate::reference), which shares no code with the
//! engine.

use hapax::fingerprint::Fingerprinter;
use serde::Serialize;

use crate::reference::RunSet;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Exact similarity of the two texts, in percent.
    pub exact: f64,
    /// From the sketches, in percent.
    pub estimated: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Steps {
    pub steps: Vec<Step>,
    /// Mean absolute difference, in percentage points.
    pub mean_error: f64,
    /// The largest absolute difference, in percentage points.
    pub largest_error: f64,
}

/// Turns each text into the next one in `count` steps. Skips texts of fewer than 100 words.
pub fn measure(texts: &[String], by: &mut Fingerprinter, count: usize) -> Steps {
    let words: Vec<Vec<&str>> = texts
        .iter()
        .map(|text| text.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.len() >= 100)
        .collect();
    let mut found = Steps::default();
    for two in words.windows(2) {
        let length = two[0].len().min(two[1].len());
        let whole = two[0][..length].join(" ");
        for step in 0..=count {
            let replaced = length * step / count;
            let mut mixed: Vec<&str> = two[1][..replaced].to_vec();
            mixed.extend(&two[0][replaced..length]);
            let mixed = mixed.join(" ");
            let Some(estimated) = estimated(by, &whole, &mixed) else { continue };
            let exact = RunSet::of_text(&whole).jaccard(&RunSet::of_text(&mixed));
            found.steps.push(Step { exact: 100.0 * exact, estimated: 100.0 * estimated });
        }
    }
    let off = |step: &Step| (step.exact - step.estimated).abs();
    let all = found.steps.len().max(1) as f64;
    found.mean_error = found.steps.iter().map(off).sum::<f64>() / all;
    found.largest_error = found.steps.iter().map(off).fold(0.0, f64::max);
    found
}

fn estimated(by: &mut Fingerprinter, a: &str, b: &str) -> Option<f64> {
    let (a, b) = (by.text(a).ok()?.comparable?, by.text(b).ok()?.comparable?);
    Some(a.sketch.estimate(&b.sketch).jaccard)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax::fingerprint::Recipe;

    #[test]
    fn the_estimate_follows_the_exact_similarity_from_equal_to_different() {
        let text = |from: u32| (from..from + 600).map(|i| format!("w{i} ")).collect::<String>();
        let mut by = Fingerprinter::new(Recipe::built_in("web-2").unwrap(), None).unwrap();
        let found = measure(&[text(0), text(10_000)], &mut by, 10);
        assert_eq!(found.steps.len(), 11);
        assert_eq!((found.steps[0].exact, found.steps[0].estimated), (100.0, 100.0));
        assert_eq!(found.steps[10].exact, 0.0);
        assert!(found.mean_error < 3.0, "{found:?}");
    }
}
