//! Bars and lines as inline SVG: no script, no font, readable in both colour schemes.
//!
//! Labels never cross lines, and a bar is as tall as its number says.
//! Does not compute what it draws.

use hapax_report::{escape, grouped};

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
    let numbers = numbers(values);
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
            numbers[at],
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

/// Numbers that fit above bars, with as many digits as it takes to see that two bars differ.
fn numbers(values: &[f64]) -> Vec<String> {
    const MOST: usize = 4;
    let differ = |texts: &[String]| {
        let mut shown: Vec<(&str, f64)> =
            texts.iter().map(String::as_str).zip(values.iter().copied()).collect();
        shown.sort_by(|a, b| a.0.cmp(b.0).then(a.1.total_cmp(&b.1)));
        shown.windows(2).all(|two| two[0].0 != two[1].0 || two[0].1 == two[1].1)
    };
    let with = |more: usize| values.iter().map(|&value| short(value, more)).collect::<Vec<_>>();
    (0..MOST).map(with).find(|texts| differ(texts)).unwrap_or_else(|| with(MOST))
}

/// A number in few characters, and so many digits more.
fn short(value: f64, more: usize) -> String {
    let decimals = |least: usize| least + more;
    match value {
        0.0 => "0".to_owned(),
        value if value >= 1e6 => format!("{:.*} M", decimals(1), value / 1e6),
        value if value >= 1e4 => format!("{:.*} k", decimals(0), value / 1e3),
        value if value.fract() == 0.0 => grouped(value as u64),
        value if value >= 100.0 && more == 0 => grouped(value.round() as u64),
        value if value >= 0.1 => format!("{value:.*}", decimals(1)),
        value => format!("{value:.*}", decimals(3)),
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
        let few = [0.0, 0.012, 3.25, 7.0, 1234.0, 56_789.0, 2.5e6].map(|it| short(it, 0));
        assert_eq!(few, ["0", "0.012", "3.2", "7", "1,234", "57 k", "2.5 M"]);
    }

    #[test]
    fn bars_of_different_heights_have_different_numbers() {
        assert_eq!(numbers(&[3.24, 3.16, 3.24, 7.0]), ["3.24", "3.16", "3.24", "7"]);
        assert_eq!(numbers(&[57_100.0, 56_900.0]), ["57.1 k", "56.9 k"]);
        assert_eq!(numbers(&[1.0, 2.5]), ["1", "2.5"]);
        // What differs by less than can be shown.
        assert_eq!(numbers(&[0.5, 0.5 + 1e-12]).len(), 2);
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
