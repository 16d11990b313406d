//! Bar charts as inline SVG, without scripts or fonts, readable in both colour schemes.
//!
//! The height of a bar is proportional to its number, and bars of different heights have different labels. Escapes
//! labels and titles. Does not compute the data.

use super::{escape, grouped};

#[derive(Clone, Debug)]
pub struct Bar {
    pub label: String,
    pub value: f64,
    /// Tooltip.
    pub title: String,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 230.0;
/// Top of the highest bar.
const TOP: f64 = 26.0;
const BOTTOM: f64 = 34.0;
/// Bottom of all bars.
const FLOOR: f64 = HEIGHT - BOTTOM;
/// With more bars than this, only some have labels.
const LABELLED: usize = 12;

/// A chart of vertical bars. `class` names the colour.
pub fn bars(bars: &[Bar], class: &str, about: &str) -> String {
    let values: Vec<f64> = bars.iter().map(|bar| bar.value).collect();
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let step = WIDTH / bars.len().max(1) as f64;
    let width = (step * 0.78).min(72.0);
    let every = bars.len().div_ceil(LABELLED).max(1);
    let class_of_all = if bars.len() > LABELLED { " class=\"many\"" } else { "" };
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\"{class_of_all}>",
        escape(about)
    );
    for (i, (bar, number)) in bars.iter().zip(numbers(&values)).enumerate() {
        let middle = (i as f64 + 0.5) * step;
        let seen = bar.value > 0.0;
        let height = if seen { ((FLOOR - TOP) * bar.value / most).max(2.0) } else { 0.0 };
        let (x, y) = (middle - width / 2.0, FLOOR - height);
        out.push_str(&format!(
            "<g><title>{}</title><rect class=\"hit\" x=\"{:.1}\" y=\"0\" width=\"{step:.1}\" \
             height=\"{HEIGHT}\"/><rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" \
             width=\"{width:.1}\" height=\"{height:.1}\" rx=\"2\"/>",
            escape(&bar.title),
            middle - step / 2.0
        ));
        if seen && bars.len() <= LABELLED + 10 {
            let y = y - 6.0;
            out.push_str(&format!(
                "<text class=\"value\" x=\"{middle:.1}\" y=\"{y:.1}\">{number}</text>"
            ));
        }
        // The last bar always has a label, and the label before it must not overlap it.
        let last = bars.len() - 1;
        if i == last || i % every == 0 && (every == 1 || i + every / 2 < last) {
            out.push_str(&format!(
                "<text x=\"{middle:.1}\" y=\"{:.1}\">{}</text>",
                HEIGHT - 10.0,
                escape(&bar.label)
            ));
        }
        out.push_str("</g>");
    }
    // The axis.
    out.push_str(&format!(
        "<line class=\"axis\" x1=\"0\" y1=\"{FLOOR}\" x2=\"{WIDTH}\" y2=\"{FLOOR}\"/></svg>"
    ));
    out
}

/// Number labels with enough digits to distinguish different bars.
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

/// A short form of a number, with `more` additional digits.
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

    fn bar(label: &str, value: f64) -> Bar {
        Bar { label: label.to_owned(), value, title: format!("{label}: {value}") }
    }

    #[test]
    fn a_small_count_is_visible_next_to_a_huge_one() {
        let chart = bars(&[bar("a", 1.0), bar("b", 1e6)], "near", "two bars");
        assert!(chart.contains("height=\"2.0\"") && chart.contains("1.0 M"), "{chart}");
    }

    #[test]
    fn labels_are_escaped_and_an_empty_chart_does_not_panic() {
        assert!(bars(&[bar("<b>", 0.0)], "near", "\"").contains("&lt;b&gt;"));
        assert!(bars(&[], "near", "").starts_with("<svg"));
    }

    #[test]
    fn numbers_are_short() {
        let few = [0.0, 0.012, 3.25, 7.0, 1234.0, 56_789.0, 2.5e6].map(|it| short(it, 0));
        assert_eq!(few, ["0", "0.012", "3.2", "7", "1,234", "57 k", "2.5 M"]);
    }

    #[test]
    fn bars_of_different_heights_have_different_numbers() {
        assert_eq!(numbers(&[3.24, 3.16, 3.24, 7.0]), ["3.24", "3.16", "3.24", "7"]);
        assert_eq!(numbers(&[57_100.0, 56_900.0]), ["57.1 k", "56.9 k"]);
        assert_eq!(numbers(&[1.0, 2.5]), ["1", "2.5"]);
        // Smaller differences cannot be shown.
        assert_eq!(numbers(&[0.5, 0.5 + 1e-12]).len(), 2);
    }
}
