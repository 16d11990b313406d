//! The results of a study as table rows and as one self-contained HTML page.

use crate::study::{Study, StudySettings, Trial};
use hapax_report::chart::{Axis, Chart, Series};
use hapax_report::{CHART_STYLE, document, escape, grouped};

const STYLE: &str = "\
.lead { color: var(--soft); max-width: 60rem; margin-bottom: 1.2rem; }
.scroll { overflow-x: auto; margin-top: 1.5rem; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 0.2rem 1rem 0.2rem 0; }
th { color: var(--soft); font-weight: 600; } td { border-top: 1px solid var(--line); }
";

/// Title, unit, a value that the axis always includes, the plotted value, and an explanation.
type Plot = (&'static str, &'static str, f64, fn(&Trial) -> f64, &'static str);

/// Headers of [`cells`].
pub const COLUMNS: [&str; 9] =
    ["N", "machines", "imbalance", "avoided", "lost", "speed-up", "variation", "rho", "cells"];

/// A trial as a table row.
pub fn cells(trial: &Trial) -> [String; 9] {
    let it = &trial.quality;
    [
        trial.dimensions.to_string(),
        trial.machines.to_string(),
        format!("{:.2}", it.imbalance),
        format!("{:.1} %", 100.0 * it.avoided),
        format!("{:.2} %", 100.0 * (1.0 - it.recall)),
        format!("{:.1}", it.speed_up()),
        format!("{:.2} %", 100.0 * trial.variation),
        format!("{:.2}", trial.rho),
        trial.cells.to_string(),
    ]
}

/// Describes the pages of a study.
pub fn tried_on(study: &Study) -> String {
    let count = |n: usize| grouped(n as u64);
    let languages: Vec<String> = study
        .languages
        .iter()
        .filter(|(_, pages)| *pages > 0)
        .map(|(code, pages)| {
            let code = if code.is_empty() { "other" } else { code };
            format!("{code} {}", grouped(*pages))
        })
        .collect();
    format!(
        "learnt from {} pages ({}); {} stored, {} new, {} pairs alike",
        count(study.sample),
        languages.join(", "),
        count(study.stored),
        count(study.new),
        count(study.pairs),
    )
}

pub fn page(study: &Study, settings: &StudySettings) -> String {
    const TITLE: &str = "Pages mapped to machines";
    let mut out = format!(
        "<main>\n<h1>{TITLE}</h1>\n<p class=\"lead\">{}. Alike from a Jaccard similarity of {} up; \
         the bounds hold for Jaccard, not for distances of fingerprints.</p>\n<div class=\"charts\">\n",
        escape(&tried_on(study)),
        settings.tau
    );
    let charts: [Plot; 5] = [
        (
            "Load",
            "fullest machine over average",
            1.0,
            |it| it.quality.imbalance,
            "Pages stored; 1 is best.",
        ),
        (
            "Messages",
            "avoided, %",
            100.0,
            |it| 100.0 * it.quality.avoided,
            "Of those that telling every machine about every new page would take.",
        ),
        (
            "Speed-up",
            "times one machine",
            0.0,
            |it| it.quality.speed_up(),
            "Comparisons of one machine with everything over those of the busiest machine; above the number of machines because pages of other lengths are not compared at all.",
        ),
        (
            "Pairs lost",
            "%",
            0.0,
            |it| 100.0 * (1.0 - it.quality.recall),
            "Of the pairs that exact comparison without partitioning finds.",
        ),
        (
            "Stability",
            "coefficient of variation, %",
            0.0,
            |it| 100.0 * it.variation,
            "Of the imbalance from part to part of the collection.",
        ),
    ];
    for (title, unit, shown, value, about) in charts {
        let series = settings
            .dimensions
            .iter()
            .map(|&dimensions| {
                let trials = study.trials.iter().filter(|trial| trial.dimensions == dimensions);
                let points = trials.map(|it| (f64::from(it.machines), value(it))).collect();
                Series::new(format!("{dimensions}D"), points)
            })
            .collect();
        let chart = Chart {
            title: title.to_owned(),
            x: Axis::logarithmic("machines"),
            y: Axis::linear(unit).showing(shown),
            series,
            about: about.to_owned(),
        };
        out.push_str(&chart.figure());
    }
    out.push_str("</div>\n<div class=\"scroll\"><table><tr>");
    for name in COLUMNS {
        out.push_str(&format!("<th>{name}</th>"));
    }
    out.push_str("</tr>\n");
    for trial in &study.trials {
        let cells: String = cells(trial).map(|cell| format!("<td>{cell}</td>")).concat();
        out.push_str(&format!("<tr>{cells}</tr>\n"));
    }
    out.push_str("</table></div>\n</main>\n");
    document(TITLE, &[CHART_STYLE, STYLE], &out, "")
}
