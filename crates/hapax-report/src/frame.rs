//! A frame with axes as SVG, to draw charts in.
//!
//! Colours are names of [`CHART_STYLE`](super::CHART_STYLE), which has a light and a dark scheme. Does not escape:
//! names and titles are markup, so callers escape what comes from documents.

pub const WIDTH: f64 = 560.0;
pub const HEIGHT: f64 = 320.0;
/// Distance between the frame and the top of the drawing.
pub const TOP: f64 = 10.0;
const LEFT: f64 = 48.0;
const BOTTOM: f64 = 34.0;
const RIGHT: f64 = 18.0;

#[derive(Clone, Debug)]
pub struct Frame {
    x: (f64, f64),
    y: (f64, f64),
    /// The SVG so far.
    pub body: String,
}

impl Frame {
    /// A frame for these ranges.
    pub fn new(x: (f64, f64), y: (f64, f64)) -> Self {
        Self { x, y, body: String::new() }
    }

    /// Coordinates of a point in the drawing; y is clamped to the frame.
    pub fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let across = (x - self.x.0) / (self.x.1 - self.x.0);
        let up = ((y - self.y.0) / (self.y.1 - self.y.0)).clamp(0.0, 1.0);
        (LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP))
    }

    /// Draws the axes: values with their labels, and the name of the horizontal axis.
    pub fn axes(&mut self, x: &[(f64, String)], y: &[(f64, String)], name: &str) {
        for (value, label) in y {
            let (x0, at) = self.at(self.x.0, *value);
            self.body.push_str(&format!(
                "<line class=\"grid\" x1=\"{x0:.1}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text class=\"left\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                WIDTH - RIGHT, x0 - 6.0, at + 4.0
            ));
        }
        for (value, label) in x {
            let (at, y0) = self.at(*value, self.y.0);
            self.body
                .push_str(&format!("<text x=\"{at:.1}\" y=\"{:.1}\">{label}</text>", y0 + 16.0));
        }
        let (x0, y0) = self.at(self.x.0, self.y.0);
        self.body.push_str(&format!(
            "<line class=\"axis\" x1=\"{x0:.1}\" x2=\"{:.1}\" y1=\"{y0:.1}\" y2=\"{y0:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
            WIDTH - RIGHT, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 3.0
        ));
    }

    pub fn line(&mut self, points: impl Iterator<Item = (f64, f64)>, colour: &str) {
        self.styled_line(points, colour, "line");
    }

    /// A dashed line, for data of another kind.
    pub fn dashed(&mut self, points: impl Iterator<Item = (f64, f64)>, colour: &str) {
        self.styled_line(points, colour, "line dashed");
    }

    fn styled_line(&mut self, points: impl Iterator<Item = (f64, f64)>, colour: &str, class: &str) {
        let points: Vec<String> = points
            .map(|(x, y)| {
                let (x, y) = self.at(x, y);
                format!("{x:.1},{y:.1}")
            })
            .collect();
        self.body.push_str(&format!(
            "<polyline class=\"{class}\" style=\"stroke:{colour}\" points=\"{}\"/>",
            points.join(" ")
        ));
    }

    /// A point with a tooltip.
    pub fn dot(&mut self, x: f64, y: f64, colour: &str, title: &str) {
        let (x, y) = self.at(x, y);
        self.body.push_str(&format!(
            "<circle class=\"chosen\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" style=\"fill:{colour}\"><title>{title}</title></circle>"
        ));
    }

    /// Writes the figure: title, drawing, legend of colours with their names, and description.
    pub fn finish(self, out: &mut String, title: &str, key: &[(String, String)], about: &str) {
        out.push_str(&format!(
            "<figure><h3>{title}</h3><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">{}</svg>",
            self.body
        ));
        if !key.is_empty() {
            out.push_str("<ul class=\"key\">");
            for (colour, name) in key {
                out.push_str(&format!("<li><i style=\"background:{colour}\"></i>{name}</li>"));
            }
            out.push_str("</ul>");
        }
        out.push_str(&format!("<figcaption>{about}</figcaption></figure>\n"));
    }
}

/// Axis labels at multiples of `step`.
pub fn ticks(from: f64, to: f64, step: f64) -> Vec<(f64, String)> {
    let count = ((to - from) / step).round() as usize;
    let decimals = if step < 0.1 { 3 } else { usize::from(step < 1.0) };
    (0..=count)
        .map(|i| {
            let value = from + step * i as f64;
            (value, format!("{value:.decimals$}"))
        })
        .collect()
}
