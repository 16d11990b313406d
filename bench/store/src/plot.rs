//! One chart with logarithmic axes as a self-contained SVG; a straight line means a power law.

use std::fmt::Write;

/// Points of a line, ascending by x.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 40.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
const COLOURS: [&str; 3] = ["#1f6feb", "#b3261e", "#0b7a5b"];

/// Draws the chart. All values must be above zero.
pub(crate) fn draw(title: &str, below: &str, lines: &[Line]) -> String {
    let all = || lines.iter().flat_map(|line| &line.points);
    let low = |f: fn(&(f64, f64)) -> f64| all().map(f).fold(f64::MAX, f64::min).log10().floor();
    let high = |f: fn(&(f64, f64)) -> f64| all().map(f).fold(f64::MIN, f64::max).log10().ceil();
    let ((x0, x1), (y0, y1)) = ((low(|p| p.0), high(|p| p.0)), (low(|p| p.1), high(|p| p.1)));
    let x = |v: f64| LEFT + (v.log10() - x0) / (x1 - x0).max(1.0) * (WIDTH - LEFT - RIGHT);
    let y =
        |v: f64| HEIGHT - BOTTOM - (v.log10() - y0) / (y1 - y0).max(1.0) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' \
         font-family='sans-serif' font-size='13'><rect width='100%' height='100%' fill='white'/>\n\
         <text x='{LEFT}' y='28' font-weight='bold'>{title}</text>\n\
         <text x='{:.0}' y='{:.0}' text-anchor='middle'>{below}</text>\n",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 14.0
    );
    // Writing to a String cannot fail.
    for power in x0 as i32..=x1 as i32 {
        let at = x(10f64.powi(power));
        let _ = writeln!(
            svg,
            "<line x1='{at:.1}' x2='{at:.1}' y1='{TOP}' y2='{b:.1}' stroke='#e5e5e5'/><text x='{at:.1}' \
             y='{t:.1}' text-anchor='middle'>{}</text>",
            10f64.powi(power),
            b = HEIGHT - BOTTOM,
            t = HEIGHT - BOTTOM + 18.0
        );
    }
    for power in y0 as i32..=y1 as i32 {
        let at = y(10f64.powi(power));
        let _ = writeln!(
            svg,
            "<line x1='{LEFT}' x2='{r:.1}' y1='{at:.1}' y2='{at:.1}' stroke='#e5e5e5'/><text \
             x='{l:.1}' y='{t:.1}' text-anchor='end'>{}</text>",
            10f64.powi(power),
            r = WIDTH - RIGHT,
            l = LEFT - 8.0,
            t = at + 4.0
        );
    }
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let path: Vec<String> =
            line.points.iter().map(|&(a, b)| format!("{:.1},{:.1}", x(a), y(b))).collect();
        let _ = writeln!(
            svg,
            "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='2'><title>{}</title>\
             </polyline>",
            path.join(" "),
            line.name
        );
        for &(a, b) in &line.points {
            let _ = writeln!(
                svg,
                "<circle cx='{:.1}' cy='{:.1}' r='3' fill='{colour}'/><text x='{:.1}' y='{:.1}' \
                 text-anchor='middle' font-size='11'>{b:.1}</text>",
                x(a),
                y(b),
                x(a),
                y(b) - 8.0
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}
