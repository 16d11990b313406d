//! Guards quality: the bundled example pages through the whole evaluation.
//!
//! Each bound is the value measured when it was written, minus the effect of one pair. Explain in the commit why a
//! bound changes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;

use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax::page::Extent;
use hapax_eval::{Evaluation, Report, Truth};

fn evaluated(recipe: Recipe) -> Report {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let documents = root.join("examples/docs").display().to_string();
    let truth = Truth::read(&root.join("examples/docs-truth.tsv"), None).unwrap();
    let by = Fingerprinter::new(recipe, None).unwrap();
    let mut evaluation = Evaluation::new(vec![documents], by);
    evaluation.truth = Some((truth, "examples/docs-truth.tsv".to_owned()));
    evaluation.run(&mut ()).unwrap()
}

#[test]
fn quality_on_the_example_pages_does_not_fall() {
    let report = evaluated(Recipe::built_in("web-2").unwrap());
    assert_eq!((report.documents, report.truth.missing), (165, 0));
    let run = &report.runs[0];
    let removed = run.removed_pairs.unwrap();
    assert!(removed.from_80.value >= 0.99 && removed.below_half == 0, "{removed:?}");
    let alike = |from: f32| -> (u64, u64) {
        let rungs = run.ladder.iter().filter(|rung| rung.from >= from - 1e-3);
        rungs.fold((0, 0), |sum, rung| (sum.0 + rung.together, sum.1 + rung.pairs))
    };
    let (found, all) = alike(0.9);
    assert!(all >= 20 && found as f64 >= 0.97 * all as f64, "{found} of {all}");
    let pairs = run.pairs.unwrap();
    assert_eq!(pairs.counts.false_alarms, 0, "{pairs:?}");
    // On average, estimates of all pairs are within three points of the exact similarity.
    for rung in run.ladder.iter().filter(|rung| rung.from >= 0.5 && rung.pairs >= 5) {
        assert!(rung.error < 6.0, "{rung:?}");
    }
}

#[test]
fn titles_and_single_characters_improve_recall() {
    let mut plain = Recipe::built_in("web-2").unwrap();
    plain.extent = Extent::Body;
    plain.name = "without-title".to_owned();
    let (with, without) = (evaluated(Recipe::built_in("web-2").unwrap()), evaluated(plain));
    let share = |report: &Report| report.runs[0].removed_pairs.unwrap().from_80.value;
    assert!(share(&with) >= share(&without), "{} {}", share(&with), share(&without));
}
