//! Lines as inline SVG, in the drawing of bar charts.
//!
//! Labels never cross lines. Does not compute what it draws.

use hapax_report::bars::{FLOOR, HEIGHT, TOP, WIDTH, close, open, short};
use hapax_report::grouped;

const LEFT: f64 = 8.0;

/// A line of a chart.
pub(super) struct Series {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// Lines over a logarithmic scale.
pub(super) fn lines(series: &[Series], about: &str) -> String {
    let points = || series.iter().flat_map(|series| &series.points);
    let most = points().map(|point| point.1).fold(f64::MIN_POSITIVE, f64::max);
    let last = points().map(|point| point.0).fold(1.0, f64::max).ln().max(f64::MIN_POSITIVE);
    let x = |value: f64| LEFT + (WIDTH - 90.0) * value.max(1.0).ln() / last;
    let y = |value: f64| FLOOR - (FLOOR - TOP) * value / most;
    let mut out = open(about, "");
    for (at, series) in series.iter().enumerate() {
        let place = |point: &(f64, f64)| format!("{:.1},{:.1}", x(point.0), y(point.1));
        let path: Vec<String> = series.points.iter().map(place).collect();
        out.push_str(&format!(
            "<polyline class=\"{}\" points=\"{}\"/><text class=\"name {}\" x=\"{}\" y=\"{}\">{}</text>",
            series.class,
            path.join(" "),
            series.class,
            LEFT + 150.0 * at as f64,
            // Above the highest point, so that no line runs through a name.
            TOP - 14.0,
            series.name
        ));
    }
    if let Some(series) = series.first() {
        let mut before = f64::MIN;
        for point in &series.points {
            // Labels that would run into each other are left out.
            if x(point.0) - before > 44.0 {
                before = x(point.0);
                out.push_str(&format!(
                    "<text x=\"{before:.1}\" y=\"{:.1}\">{}</text>",
                    HEIGHT - 10.0,
                    grouped(point.0 as u64)
                ));
            }
        }
        if let Some(end) = series.points.last() {
            out.push_str(&format!(
                "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x(end.0) + 40.0,
                y(end.1) + 4.0,
                short(end.1, 0)
            ));
        }
    }
    close(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_nothing_are_charts() {
        assert!(lines(&[], "").ends_with("</svg>"));
        let flat = Series { name: "flat", class: "near", points: vec![(1.0, 0.0)] };
        assert!(!lines(&[flat], "").contains("NaN"));
    }

    #[test]
    fn no_line_runs_through_a_name() {
        let series = Series { name: "first", class: "near", points: vec![(1.0, 9.0), (9.0, 9.0)] };
        let chart = lines(&[series], "");
        let after = |mark: &str| chart.split(mark).nth(1).unwrap();
        let name: f64 = after("class=\"name near\"").split('"').nth(3).unwrap().parse().unwrap();
        let highest: f64 =
            after("points=\"").split(['"', ',', ' ']).nth(1).unwrap().parse().unwrap();
        assert!(name + 4.0 < highest, "{name} {highest}");
    }
}
