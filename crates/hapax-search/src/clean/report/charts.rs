//! Bars and lines as inline SVG: no script, no font, readable in both colour schemes.

use hapax_dedup::html::{escape, grouped};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 230.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 34.0;
const LEFT: f64 = 8.0;

/// A line of a chart.
pub(super) struct Series {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// Upright bars, one for each label.
pub(super) fn bars(labels: &[String], values: &[f64], class: &str, about: &str) -> String {
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let step = WIDTH / labels.len().max(1) as f64;
    let width = (step * 0.78).min(72.0);
    let floor = HEIGHT - BOTTOM;
    let mut out = open(about);
    for (at, (label, &value)) in labels.iter().zip(values).enumerate() {
        let middle = (at as f64 + 0.5) * step;
        let height = if value > 0.0 { ((floor - TOP) * value / most).max(2.0) } else { 0.0 };
        let y = floor - height;
        out.push_str(&format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" rx=\"2\"/><text class=\"value\" x=\"{middle:.1}\" \
             y=\"{:.1}\">{}</text><text x=\"{middle:.1}\" y=\"{:.1}\">{}</text>",
            middle - width / 2.0,
            y - 6.0,
            short(value),
            HEIGHT - 10.0,
            escape(label)
        ));
    }
    close(out, floor)
}

/// Lines over a logarithmic scale.
pub(super) fn lines(series: &[Series], about: &str) -> String {
    let points = || series.iter().flat_map(|series| &series.points);
    let most = points().map(|point| point.1).fold(f64::MIN_POSITIVE, f64::max);
    let last = points().map(|point| point.0).fold(1.0, f64::max).ln().max(f64::MIN_POSITIVE);
    let floor = HEIGHT - BOTTOM;
    let x = |value: f64| LEFT + (WIDTH - 90.0) * value.max(1.0).ln() / last;
    let y = |value: f64| floor - (floor - TOP) * value / most;
    let mut out = open(about);
    for (at, series) in series.iter().enumerate() {
        let place = |point: &(f64, f64)| format!("{:.1},{:.1}", x(point.0), y(point.1));
        let path: Vec<String> = series.points.iter().map(place).collect();
        out.push_str(&format!(
            "<polyline class=\"{}\" points=\"{}\"/><text class=\"name {}\" x=\"{LEFT}\" y=\"{}\">{}</text>",
            series.class,
            path.join(" "),
            series.class,
            TOP + 18.0 * at as f64,
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
                short(end.1)
            ));
        }
    }
    close(out, floor)
}

fn open(about: &str) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", escape(about))
}

fn close(mut out: String, floor: f64) -> String {
    out.push_str(&format!(
        "<line class=\"axis\" x1=\"0\" y1=\"{floor}\" x2=\"{WIDTH}\" y2=\"{floor}\"/></svg>"
    ));
    out
}

/// A number that fits above a bar.
fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value >= 1e6 => format!("{:.1} M", value / 1e6),
        value if value >= 1e4 => format!("{:.0} k", value / 1e3),
        value if value >= 100.0 || value.fract() == 0.0 => grouped(value.round() as u64),
        value if value >= 0.1 => format!("{value:.1}"),
        value => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_nothing_are_charts() {
        assert!(bars(&[], &[], "near", "\"").starts_with("<svg"));
        assert!(lines(&[], "").ends_with("</svg>"));
        let flat = Series { name: "flat", class: "near", points: vec![(1.0, 0.0)] };
        assert!(!lines(&[flat], "").contains("NaN"));
    }

    #[test]
    fn labels_are_escaped_and_numbers_are_short() {
        assert!(bars(&["<b>".to_owned()], &[0.5], "near", "").contains("&lt;b&gt;"));
        let numbers = [0.0, 0.012, 3.25, 7.0, 1234.0, 56_789.0, 2.5e6].map(short);
        assert_eq!(numbers, ["0", "0.012", "3.2", "7", "1,234", "57 k", "2.5 M"]);
    }
}
