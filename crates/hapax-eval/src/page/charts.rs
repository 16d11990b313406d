//! Draws the curves and bars of an evaluation as SVG.
//!
//! Precision by recall for each distance, distances of pairs, share found by exact similarity, and Sood's figure.

use hapax_report::escape;
use hapax_report::frame::{Frame, TOP, ticks};

use super::grouped;
use crate::report::{Report, Run};

pub(super) fn write(out: &mut String, report: &Report) {
    // One per recipe, because bounds do not change the curves.
    let mut seen: Vec<&str> = Vec::new();
    for run in &report.runs {
        if run.curves.is_empty() && run.distances.is_none() || seen.contains(&run.name.as_str()) {
            continue;
        }
        seen.push(&run.name);
        out.push_str(&format!(
            "<section><h2>{}: other bounds</h2>\n<div class=\"charts\">\n",
            escape(&run.name)
        ));
        if run.pairs.is_some_and(|it| it.precision.is_some()) {
            precision_recall(out, run);
        }
        distances(out, run);
        ladder(out, run, report.truth.graded);
        out.push_str("</div></section>\n");
    }
}

fn precision_recall(out: &mut String, run: &Run) {
    // The interesting part is the upper right corner, so the axes begin where the curves within 6
    // bits do.
    let chosen = run.curves.iter().filter(|curve| curve.within <= 10);
    let least = chosen
        .flat_map(|curve| &curve.points)
        .filter(|it| it.recall > 0.5)
        .filter_map(|it| it.precision)
        .fold(1.0, f64::min);
    let floor =
        [0.0, 0.5, 0.8, 0.9, 0.95, 0.98].into_iter().rfind(|it| *it <= least).unwrap_or(0.0);
    let mut frame = Frame::new((0.0, 1.0), (floor, 1.0));
    frame.axes(&ticks(0.0, 1.0, 0.2), &ticks(floor, 1.0, (1.0 - floor) / 5.0), "recall");
    let mut key = Vec::new();
    for (number, curve) in run.curves.iter().enumerate() {
        let colour = format!("var(--c{})", number % 6);
        let points = curve.points.iter().filter(|it| it.recall > 0.0);
        frame.line(points.filter_map(|it| Some((it.recall, it.precision?))), &colour);
        let name = match curve.within {
            64 => "similarity alone".to_owned(),
            bits => format!("within {bits}"),
        };
        if let Some(least) =
            run.min_similarity.filter(|_| Some(u32::from(curve.within)) == run.within)
            && let Some(point) =
                curve.points.iter().find(|it| f64::from(it.similarity) >= least - 1e-6)
            && let Some(precision) = point.precision
        {
            let title = format!(
                "{name}, from {least}: precision {precision:.4}, recall {:.4}",
                point.recall
            );
            frame.dot(point.recall, precision, &colour, &title);
        }
        key.push((colour, name));
    }
    frame.finish(
        out,
        "Precision and recall",
        &key,
        "A curve for each distance; along it the least similarity falls from 1 (left) to 0. Pairs by themselves, before grouping. The dot is the first answer above.",
    );
}

fn distances(out: &mut String, run: &Run) {
    let Some(found) = &run.distances else { return };
    let total = |of: &[u64]| of.iter().sum::<u64>().max(1) as f64;
    let (duplicates, others) = (total(&found.duplicates), total(&found.others));
    let share = |of: &[u64], all: f64, i: usize| of[i] as f64 / all;
    // Distance 0 is left out, because identical pages would flatten everything else.
    let most = (1..65)
        .flat_map(|i| [share(&found.duplicates, duplicates, i), share(&found.others, others, i)])
        .fold(0.02, f64::max);
    let mut frame = Frame::new((-0.6, 48.5), (0.0, most * 1.05));
    let y: Vec<(f64, String)> = (0..=4)
        .map(|i| (most * f64::from(i) / 4.0, format!("{:.0} %", 25.0 * most * f64::from(i))))
        .collect();
    let x: Vec<(f64, String)> = (0..=12).map(|i| (f64::from(i * 4), (i * 4).to_string())).collect();
    frame.axes(&x, &y, "bits that differ");
    for i in 0..49 {
        for (class, of, all, shift) in
            [("other", &found.others, others, 0.0), ("dup", &found.duplicates, duplicates, -0.42)]
        {
            let (x0, y0) = frame.at(i as f64 + shift, 0.0);
            let (x1, y1) = frame.at(i as f64 + shift + 0.42, share(of, all, i));
            if of[i] > 0 {
                frame.body.push_str(&format!(
                    "<rect class=\"{class}\" x=\"{x0:.1}\" y=\"{y1:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{i} bits: {} pairs</title></rect>",
                    x1 - x0, y0 - y1, grouped(of[i])
                ));
            }
        }
    }
    if let Some(within) = run.within {
        let (x, y0) = frame.at(f64::from(within) + 0.5, 0.0);
        frame.body.push_str(&format!(
            "<line class=\"bound\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{y0:.1}\"/>"
        ));
    }
    let key = [
        (
            "var(--dup)".to_owned(),
            format!("duplicates ({})", grouped(found.duplicates.iter().sum())),
        ),
        ("var(--other)".to_owned(), format!("others ({})", grouped(found.others.iter().sum()))),
    ];
    frame.finish(
        out,
        "How far pairs are apart",
        &key,
        "Share of each kind. The dashed line is the bound. The bar at 0 may be cut off.",
    );
}

fn ladder(out: &mut String, run: &Run, graded: bool) {
    if run.ladder.len() < 3 {
        return;
    }
    let mut frame = Frame::new((0.0, 1.05), (0.0, 1.0));
    frame.axes(&ticks(0.0, 1.0, 0.2), &ticks(0.0, 1.0, 0.2), "exact similarity");
    for rung in &run.ladder {
        let share = rung.together as f64 / rung.pairs as f64;
        let (x0, y0) = frame.at(f64::from(rung.from) + 0.004, 0.0);
        let (x1, y1) = frame.at(f64::from(rung.from) + 0.046, share);
        frame.body.push_str(&format!(
            "<rect class=\"dup\" x=\"{x0:.1}\" y=\"{y1:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>from {:.2}: {} of {} pairs in one group; estimate off by {:.1} points on average</title></rect>",
            x1 - x0, (y0 - y1).max(0.8), rung.from, grouped(rung.together), grouped(rung.pairs), rung.error
        ));
    }
    let about = match graded {
        true => {
            "Share of all pairs of so much similarity that ended in one group; the last bar is 1."
        }
        false => {
            "Share of duplicates by label that ended in one group, by how alike they really are; the last bar is 1."
        }
    };
    frame.finish(out, "Found, by exact similarity", &[], about);
}
