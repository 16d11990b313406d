//! Bar charts as inline SVG: no script, no font, readable in both colour schemes.

use hapax_report::{escape, grouped};

#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) value: u64,
    /// Shown when pointed at.
    pub(super) title: String,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 230.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 34.0;
/// More bars than this do not have a label each.
const LABELLED: usize = 12;

/// A chart of upright bars. `class` names the colour.
pub(super) fn columns(bars: &[Bar], class: &str, description: &str) -> String {
    let most = bars.iter().map(|bar| bar.value).max().unwrap_or(0).max(1) as f64;
    let step = WIDTH / bars.len().max(1) as f64;
    let width = (step * 0.78).min(72.0);
    let floor = HEIGHT - BOTTOM;
    let every = bars.len().div_ceil(LABELLED).max(1);
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\"{}>",
        escape(description),
        if bars.len() > LABELLED { " class=\"many\"" } else { "" },
    );
    for (i, bar) in bars.iter().enumerate() {
        let middle = (i as f64 + 0.5) * step;
        let height = match bar.value {
            0 => 0.0,
            value => ((floor - TOP) * value as f64 / most).max(2.0),
        };
        let (x, y) = (middle - width / 2.0, floor - height);
        out.push_str(&format!("<g><title>{}</title>", escape(&bar.title)));
        out.push_str(&format!(
            "<rect class=\"hit\" x=\"{:.1}\" y=\"0\" width=\"{step:.1}\" height=\"{HEIGHT}\"/>\
             <rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" rx=\"2\"/>",
            middle - step / 2.0
        ));
        if bar.value > 0 && (bars.len() <= LABELLED + 10) {
            out.push_str(&format!(
                "<text class=\"value\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>",
                y - 6.0,
                short(bar.value)
            ));
        }
        // The last one always has its label, and the one before it then must not run into it.
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
    out.push_str(&format!(
        "<line class=\"axis\" x1=\"0\" y1=\"{floor}\" x2=\"{WIDTH}\" y2=\"{floor}\"/></svg>"
    ));
    out
}

/// A count that fits above a bar.
fn short(value: u64) -> String {
    match value {
        0..10_000 => grouped(value),
        10_000..1_000_000 => format!("{:.0} k", value as f64 / 1e3),
        1_000_000.. => format!("{:.1} M", value as f64 / 1e6),
    }
}

/// A share as a percentage that is never rounded to all or nothing.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    match part {
        0 => "0 %".to_owned(),
        _ if part == whole => "100 %".to_owned(),
        _ => format!("{:.1} %", share.clamp(0.1, 99.9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, value: u64) -> Bar {
        Bar { label: label.to_owned(), value, title: format!("{label}: {value}") }
    }

    #[test]
    fn a_small_count_beside_a_huge_one_can_be_seen() {
        let chart = columns(&[bar("a", 1), bar("b", 1_000_000)], "near", "two bars");
        assert!(chart.contains("height=\"2.0\"") && chart.contains("1.0 M"), "{chart}");
    }

    #[test]
    fn labels_are_escaped_and_no_bars_are_no_panic() {
        assert!(columns(&[bar("<b>", 0)], "near", "\"").contains("&lt;b&gt;"));
        assert!(columns(&[], "near", "").starts_with("<svg"));
    }

    #[test]
    fn shares_are_never_rounded_to_all_or_nothing() {
        assert_eq!(percent(0, 10), "0 %");
        assert_eq!(percent(1, 100_000), "0.1 %");
        assert_eq!(percent(99_999, 100_000), "99.9 %");
        assert_eq!(percent(5, 5), "100 %");
    }
}
