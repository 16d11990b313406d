//! A chart as data: series of points, drawn as lines in a [`Frame`].
//!
//! A [`Chart`] can be stored and drawn later, in a page ([`Chart::figure`]) or as an SVG file ([`Chart::picture`]).
//! Axis labels are round numbers, or powers on a logarithmic axis. Escapes names and titles; the same chart gives the
//! same text. Skips points that are not finite, or not above 0 on a logarithmic axis.

use serde::{Deserialize, Serialize};

use super::frame::{Frame, HEIGHT, WIDTH};
use super::{CHART_STYLE, escape, grouped};

/// Series of points with their axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    pub about: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The measured quantity with its unit.
    pub name: String,
    pub scale: Scale,
    /// Values that the axis includes even without points there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    Linear,
    Logarithmic,
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub name: String,
    /// Ascending by x.
    pub points: Vec<(f64, f64)>,
    /// Draws a dashed line, for predictions and data from other sources.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dashed: bool,
}

impl Axis {
    pub fn linear(name: impl Into<String>) -> Self {
        Self { name: name.into(), scale: Scale::Linear, shown: Vec::new() }
    }

    pub fn logarithmic(name: impl Into<String>) -> Self {
        Self { name: name.into(), scale: Scale::Logarithmic, shown: Vec::new() }
    }

    /// Extends the axis to this value, such as 0.
    #[must_use]
    pub fn showing(mut self, value: f64) -> Self {
        self.shown.push(value);
        self
    }

    fn place(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic if value > 0.0 => value.log10(),
            Scale::Logarithmic => return None,
        };
        place.is_finite().then_some(place)
    }

    /// The range, and the labels in it.
    fn laid_out(&self, values: impl Iterator<Item = f64>) -> ((f64, f64), Vec<(f64, String)>) {
        let places = values.chain(self.shown.iter().copied()).filter_map(|it| self.place(it));
        let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| {
            (low.min(it), high.max(it))
        });
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        match self.scale {
            Scale::Linear => {
                // An axis of zeros would have infinitesimal steps.
                let high = if low == 0.0 && high == 0.0 { 1.0 } else { high };
                let step = round_step((high - low).max(high.abs() * 1e-3).max(1e-9) / 5.0);
                let (from, to) = ((low / step).floor(), (high / step).ceil());
                let to = if from == to { to + 1.0 } else { to };
                let decimals = (-step.log10()).ceil().max(0.0) as usize;
                let labels = (0..=(to - from) as usize)
                    .map(|at| (from + at as f64) * step)
                    .map(|value| (value, number(value, decimals)))
                    .collect();
                ((from * step, to * step), labels)
            }
            Scale::Logarithmic => {
                // Powers of two while few enough are in range.
                let (base, from, to) = match (high - low) / 2f64.log10() <= 9.0 {
                    true => (2f64, low / 2f64.log10(), high / 2f64.log10()),
                    false => (10f64, low, high),
                };
                let (from, to) = ((from - 1e-9).ceil() as i32, (to + 1e-9).floor() as i32);
                let every = ((to - from) / 10 + 1) as usize;
                let labels = (from..=to)
                    .step_by(every)
                    .map(|power| (base.powi(power).log10(), power_label(base, power)))
                    .collect();
                let margin = if low < high { 0.0 } else { 0.5 };
                ((low - margin, high + margin), labels)
            }
        }
    }
}

impl Series {
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, dashed: false }
    }

    /// A dashed series, for predictions and data from other sources.
    pub fn reference(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { dashed: true, ..Self::new(name, points) }
    }

    /// The sample of the line in the legend.
    fn key(&self, number: usize) -> String {
        let colour = colour(number);
        match self.dashed {
            false => colour,
            true => {
                format!("linear-gradient(90deg, {colour} 38%, transparent 38% 62%, {colour} 62%)")
            }
        }
    }
}

impl Chart {
    /// Draws the chart without title and legend.
    fn draw(&self) -> Frame {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let (x, x_labels) = self.x.laid_out(points().map(|point| point.0));
        let (y, y_labels) = self.y.laid_out(points().map(|point| point.1));
        let mut frame = Frame::new(x, y);
        frame.axes(&x_labels, &y_labels, &escape(&self.x.name));
        for (number, series) in self.series.iter().enumerate() {
            let colour = colour(number);
            let places: Vec<(f64, f64)> = series
                .points
                .iter()
                .filter_map(|&(x, y)| Some((self.x.place(x)?, self.y.place(y)?)))
                .collect();
            match series.dashed {
                false => frame.line(places.iter().copied(), &colour),
                true => frame.dashed(places.iter().copied(), &colour),
            }
            // Many points form a curve; a few get dots with tooltips.
            if places.len() <= 20 {
                for (&(x, y), (reference_x, reference_y)) in places.iter().zip(&series.points) {
                    let title =
                        format!("{}: {reference_x}, {reference_y:.4}", escape(&series.name));
                    frame.dot(x, y, &colour, &title);
                }
            }
        }
        frame
    }

    /// A figure for a page with [`CHART_STYLE`].
    pub fn figure(&self) -> String {
        let key: Vec<(String, String)> = self
            .series
            .iter()
            .enumerate()
            .map(|(number, series)| (series.key(number), escape(&series.name).into_owned()))
            .collect();
        let mut out = String::new();
        let title = format!("{}: {}", escape(&self.title), escape(&self.y.name));
        self.draw().finish(&mut out, &title, &key, &escape(&self.about));
        out
    }

    /// A self-contained SVG file.
    pub fn picture(&self) -> String {
        const ROW: f64 = 20.0;
        let rows = self.series.len() as f64;
        let height = HEIGHT + ROW * (rows + 1.5);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
             <style>:root {{ --card: #ffffff; --ink: #1d1d1f; --soft: #63636b; --line: #dcd9d2; }}\n\
             @media (prefers-color-scheme: dark) {{ :root {{ --card: #202226; --ink: #e8e6e3; --soft: #a2a2aa; --line: #383b41; }} }}\n\
             {CHART_STYLE}</style>\n<rect width=\"{WIDTH}\" height=\"{height}\" style=\"fill:var(--card)\"/>\n"
        );
        let title = format!("{}: {}", escape(&self.title), escape(&self.y.name));
        out.push_str(&format!("<text class=\"title\" x=\"10\" y=\"18\">{title}</text>\n"));
        out.push_str(&format!("<g transform=\"translate(0 {ROW})\">{}</g>\n", self.draw().body));
        for (number, series) in self.series.iter().enumerate() {
            let y = HEIGHT + ROW * (number as f64 + 2.0);
            // Two pieces distinguish dashed lines, because colours repeat.
            let pieces: &[(u32, u32)] =
                if series.dashed { &[(48, 4), (54, 4)] } else { &[(48, 10)] };
            for (x, width) in pieces {
                out.push_str(&format!(
                    "<rect x=\"{x}\" y=\"{:.1}\" width=\"{width}\" height=\"10\" style=\"fill:{}\"/>",
                    y - 10.0,
                    colour(number),
                ));
            }
            out.push_str(&format!(
                "<text class=\"start\" x=\"66\" y=\"{y:.1}\">{}</text>\n",
                escape(&series.name)
            ));
        }
        out.push_str("</svg>\n");
        out
    }
}

fn colour(number: usize) -> String {
    // Blue, orange, green, violet, ochre, grey: the most different ones first.
    const ORDER: [usize; 6] = [2, 5, 3, 4, 1, 0];
    format!("var(--c{})", ORDER[number % ORDER.len()])
}

/// The next larger number of the form 1, 2 or 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|it| it * power).into_iter().find(|it| *it >= least).unwrap_or(least)
}

/// A power of ten or two. Large ones get an exponent, because digits would overlap.
fn power_label(base: f64, power: i32) -> String {
    let value = base.powi(power);
    // Powers of two need one more digit than powers of ten: 0.016 is not 0.02.
    let decimals = (-value.log10()).ceil().max(0.0) as usize + usize::from(base == 2.0);
    match (value >= 1e4, value < 1.0) {
        (true, _) if base == 2.0 => format!("2^{power}"),
        (true, _) => format!("1e{power}"),
        (false, true) => format!("{value:.decimals$}"),
        (false, false) => format!("{value:.0}"),
    }
}

fn number(value: f64, decimals: usize) -> String {
    match value {
        0.0 => "0".to_owned(),
        _ if value >= 1e7 => format!("{value:.0e}"),
        // The margin fits five characters.
        _ if value >= 1e4 && value % 1e3 == 0.0 => format!("{:.0}k", value / 1e3),
        _ if value >= 1e4 => grouped(value as u64),
        // 0.00002 would be cut off on the left.
        _ if decimals > 3 => {
            let power = value.abs().log10().floor() as i32;
            let digits = (decimals as i32 + power).max(0) as usize;
            format!("{value:.digits$e}")
        }
        _ => format!("{value:.decimals$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        Chart {
            title: "Load <1>".to_owned(),
            x: Axis::logarithmic("machines"),
            y: Axis::linear("factor").showing(0.0),
            series: vec![
                Series::new("1D", vec![(2.0, 1.1), (64.0, 3.0)]),
                Series::reference("paper", vec![(64.0, 2.5), (0.0, 1.0)]),
            ],
            about: "Less is better.".to_owned(),
        }
    }

    #[test]
    fn a_chart_names_its_series_and_escapes_its_texts() {
        let figure = chart().figure();
        for part in ["Load &lt;1&gt;", ">1D<", ">paper<", "machines", "Less is better.", ">64<"] {
            assert!(figure.contains(part), "{part} is not in {figure}");
        }
        assert_eq!(figure.matches("<polyline").count(), 2);
        assert_eq!(figure.matches("dashed").count(), 1);
        // A logarithmic axis skips values that are not above 0.
        assert_eq!(figure.matches("<circle").count(), 3);
    }

    #[test]
    fn an_empty_chart_can_be_drawn() {
        for series in [Vec::new(), vec![Series::new("flat", vec![(1.0, 0.0)])]] {
            let figure = Chart { series, ..chart() }.figure();
            assert!(figure.contains("</svg>") && !figure.contains("NaN"), "{figure}");
        }
    }

    #[test]
    fn a_picture_stands_alone() {
        let picture = chart().picture();
        assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"));
        assert!(picture.contains("<style>") && picture.contains("prefers-color-scheme: dark"));
        assert_eq!(picture, chart().picture());
    }

    #[test]
    fn a_chart_survives_serialization() {
        let text = serde_json::to_string(&chart()).unwrap();
        assert_eq!(serde_json::from_str::<Chart>(&text).unwrap(), chart());
    }

    #[test]
    fn labels_are_round_and_span_all_values() {
        let axis = Axis::linear("share");
        let ((from, to), labels) = axis.laid_out([0.113, 0.97].into_iter());
        assert!(from <= 0.113 && to >= 0.97);
        let texts: Vec<&str> = labels.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let (_, labels) = Axis::logarithmic("n").laid_out([2.0, 64.0].into_iter());
        let texts: Vec<&str> = labels.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["2", "4", "8", "16", "32", "64"]);
        let (_, labels) = Axis::logarithmic("n").laid_out([0.01, 0.06, 0.3].into_iter());
        let texts: Vec<&str> = labels.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["0.016", "0.031", "0.062", "0.12", "0.25"]);
        for (values, first, last) in
            [([65_536.0, 1e6], "2^16", "2^19"), ([100.0, 6.4e10], "100", "1e10")]
        {
            let (_, labels) = Axis::logarithmic("n").laid_out(values.into_iter());
            assert_eq!((labels[0].1.as_str(), labels[labels.len() - 1].1.as_str()), (first, last));
        }
        let (_, labels) = axis.laid_out([0.0, 0.000_12].into_iter());
        let texts: Vec<&str> = labels.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["0", "5e-5", "1.0e-4", "1.5e-4"]);
        let (_, labels) = axis.laid_out([0.0, 90_000.0].into_iter());
        assert_eq!(labels[1].1, "20k");
        let (_, labels) = axis.laid_out([0.0, 0.0].into_iter());
        assert_eq!((labels[1].1.as_str(), labels.len()), ("0.2", 6));
        // No values and a single value have axes, too.
        assert!(axis.laid_out([].into_iter()).1.len() > 1);
        assert!(axis.laid_out([3.0].into_iter()).0.0 < axis.laid_out([3.0].into_iter()).0.1);
    }
}
