//! Two charts in one self-contained SVG: time and bytes against the number of pages.
//!
//! The axis of pages is logarithmic, and optionally that of time, where a straight line means a power law; other axes
//! are linear from zero. Lines are labelled at their right ends; labels are moved separated to avoid overlaps.

use std::fmt::Write;

/// One measured point of a line.
pub(crate) struct Point {
    pub(crate) line: String,
    pub(crate) pages: usize,
    pub(crate) microseconds: f64,
    pub(crate) bytes: f64,
}

const WIDTH: f64 = 860.0;
const CHART: f64 = 330.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 160.0;
const TOP: f64 = 46.0;
/// Height of a line of text.
const LABEL: f64 = 16.0;
const COLOURS: [&str; 6] = ["#8a4b08", "#1f6feb", "#b3261e", "#0b7a5b", "#6f42c1", "#57606a"];

pub(crate) struct Charts {
    /// Title of the upper chart.
    pub(crate) time: &'static str,
    /// Title of the lower chart.
    pub(crate) bytes: &'static str,
    /// Whether the axis of the time is logarithmic.
    pub(crate) logarithmic: bool,
    /// The only line of the lower chart; `None` for all.
    pub(crate) bytes_of: Option<&'static str>,
    /// Formats a number of pages for the axis, as SVG.
    pub(crate) label: fn(usize) -> String,
}

pub(crate) fn draw(points: &[Point], charts: &Charts) -> String {
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {}' font-family='sans-serif' \
         font-size='13'><rect width='100%' height='100%' fill='white'/>",
        2.0 * (CHART + TOP + 50.0)
    );
    let all: Vec<&Point> = points.iter().collect();
    let some: Vec<&Point> = points
        .iter()
        .filter(|point| charts.bytes_of.is_none_or(|line| line == point.line))
        .collect();
    let logarithmic = charts.logarithmic;
    let time = |p: &Point| match logarithmic {
        true => p.microseconds.max(1e-3).log10(),
        false => p.microseconds,
    };
    chart(&mut svg, 0.0, charts.time, &all, charts.label, time, logarithmic);
    let bytes = |p: &Point| p.bytes;
    chart(&mut svg, CHART + TOP + 50.0, charts.bytes, &some, charts.label, bytes, false);
    svg.push_str("</svg>\n");
    svg
}

fn chart(
    svg: &mut String,
    down: f64,
    title: &str,
    points: &[&Point],
    label: fn(usize) -> String,
    value: impl Fn(&Point) -> f64,
    logarithmic: bool,
) {
    let mut lines: Vec<&str> = points.iter().map(|p| p.line.as_str()).collect();
    lines.sort_unstable();
    lines.dedup();
    let powers = |p: &Point| (p.pages as f64).log2();
    let fold = |f: fn(f64, f64) -> f64, start, of: &dyn Fn(&Point) -> f64| {
        points.iter().map(|p| of(p)).fold(start, f)
    };
    let (x0, x1) = (fold(f64::min, 99.0, &powers), fold(f64::max, 0.0, &powers).max(1.0));
    let high = fold(f64::max, f64::MIN, &|p| value(p));
    let (y0, y1) = if logarithmic {
        (fold(f64::min, f64::MAX, &|p| value(p)).floor(), high.ceil())
    } else {
        (0.0, high * 1.1)
    };
    let x = |v: f64| LEFT + (v - x0) / (x1 - x0).max(1.0) * (WIDTH - LEFT - RIGHT);
    let y = |v: f64| down + TOP + CHART - (v - y0) / (y1 - y0).max(1e-9) * CHART;
    // Writing to a String cannot fail.
    let _ = write!(svg, "<text x='{LEFT}' y='{}' font-weight='bold'>{title}</text>", down + 26.0);
    let mut sizes: Vec<usize> = points.iter().map(|p| p.pages).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        let at = x((size as f64).log2());
        let base = down + TOP + CHART;
        let _ = write!(
            svg,
            "<line x1='{at:.1}' x2='{at:.1}' y1='{}' y2='{base}' stroke='#e5e5e5'/>\
             <text x='{at:.1}' y='{}' text-anchor='middle'>{}</text>",
            down + TOP,
            base + 18.0,
            label(size)
        );
    }
    let step = if logarithmic { 1.0 } else { nice_step(y1) };
    let mut mark = y0;
    while mark <= y1 + 1e-9 {
        let shown =
            if logarithmic { format!("{}", 10f64.powf(mark)) } else { format!("{mark:.0}") };
        let _ = write!(
            svg,
            "<line x1='{LEFT}' x2='{}' y1='{y:.1}' y2='{y:.1}' stroke='#e5e5e5'/>\
             <text x='{}' y='{:.1}' text-anchor='end'>{shown}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y(mark) + 4.0,
            y = y(mark)
        );
        mark += step;
    }
    let ends = lines.iter().map(|line| {
        points.iter().rfind(|p| p.line == *line).map_or(down + TOP, |last| y(value(last)))
    });
    let labels = separated(&ends.collect::<Vec<f64>>(), down + TOP + CHART);
    for (number, line) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let here: Vec<&Point> = points.iter().filter(|p| p.line == *line).copied().collect();
        let path: Vec<String> =
            here.iter().map(|p| format!("{:.1},{:.1}", x(powers(p)), y(value(p)))).collect();
        let _ = write!(
            svg,
            "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='2'/>",
            path.join(" ")
        );
        for p in &here {
            let _ = write!(
                svg,
                "<circle cx='{:.1}' cy='{:.1}' r='3' fill='{colour}'><title>{line}, {}: {:.2} us, \
                 {:.1} bytes</title></circle>",
                x(powers(p)),
                y(value(p)),
                p.pages,
                p.microseconds,
                p.bytes
            );
        }
        let _ = write!(
            svg,
            "<text x='{}' y='{:.1}' fill='{colour}'>{line}</text>",
            WIDTH - RIGHT + 10.0,
            labels[number] + 4.0
        );
    }
}

/// Positions of labels with these wanted heights: at least a line of text separated, none below
/// `bottom`.
fn separated(wanted: &[f64], bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[b].total_cmp(&wanted[a]));
    let mut placed = wanted.to_vec();
    let mut below = bottom + LABEL;
    for at in order {
        placed[at] = placed[at].min(below - LABEL);
        below = placed[at];
    }
    placed
}

/// A step that gives about five ticks up to `most`.
fn nice_step(most: f64) -> f64 {
    let rough = (most / 5.0).max(1e-9);
    let scale = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|n| n * scale).into_iter().find(|s| *s >= rough).unwrap_or(scale)
}
