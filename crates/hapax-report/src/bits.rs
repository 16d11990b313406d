//! Draws the 64 bits of two fingerprints and the strength of each bit.
//!
//! Bit 63 is on the left, as in the written fingerprint. A band marks differing bits. Colours are classes of the
//! page's style sheet, which has a light and a dark scheme.
//!
//! ```text
//!    A   bars up for ones, down for zeros, as long as the bit is strong
//!        hexadecimal digits of A
//!        hexadecimal digits of B
//!    B   bars
//! ```

use hapax::fingerprint::{BitSums, Comparable};
use std::fmt::Write;

const COLUMN: usize = 14;
const WIDTH: usize = 64 * COLUMN;
const BAR: f64 = 52.0;
const AXIS_A: f64 = 56.0;
const DIGITS_A: usize = 132;
const DIGITS_B: usize = 158;
const AXIS_B: f64 = 226.0;
const HEIGHT: usize = 282;

/// The picture as an SVG element.
pub fn picture(left: &Comparable, right: &Comparable) -> String {
    let mut svg = format!(
        "<svg class=\"bits\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"The 64 bits of both fingerprints and their strength\">"
    );
    let differing = left.fingerprint.to_bits() ^ right.fingerprint.to_bits();
    for bit in (0..64).filter(|bit| differing >> bit & 1 == 1) {
        let x = x_of(bit);
        push(
            &mut svg,
            format_args!(
                "<rect class=\"band\" x=\"{x}\" y=\"0\" width=\"{COLUMN}\" height=\"{HEIGHT}\"/>"
            ),
        );
    }
    for axis in [AXIS_A, AXIS_B] {
        push(
            &mut svg,
            format_args!(
                "<line class=\"axis\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{axis}\" y2=\"{axis}\"/>"
            ),
        );
    }
    bars(&mut svg, "a", left, AXIS_A);
    digits(&mut svg, "a", left, differing, DIGITS_A);
    digits(&mut svg, "b", right, differing, DIGITS_B);
    bars(&mut svg, "b", right, AXIS_B);
    // Transparent areas on top, one per bit, for tooltips.
    for bit in 0..64 {
        let x = x_of(bit);
        push(
            &mut svg,
            format_args!(
                "<rect class=\"hit\" x=\"{x}\" y=\"0\" width=\"{COLUMN}\" height=\"{HEIGHT}\">\
             <title>bit {bit}: A {:+}, B {:+}</title></rect>",
                sum(&left.sums, bit),
                sum(&right.sums, bit),
            ),
        );
    }
    svg.push_str("</svg>");
    svg
}

fn bars(svg: &mut String, class: &str, comparable: &Comparable, axis: f64) {
    let largest = comparable.sums.largest() as f64;
    for bit in 0..64 {
        // The minimum keeps a sum of zero visible.
        let length = (BAR * sum(&comparable.sums, bit).unsigned_abs() as f64 / largest).max(1.5);
        let is_one = comparable.fingerprint.to_bits() >> bit & 1 == 1;
        let y = if is_one { axis - length } else { axis };
        let (x, width) = (x_of(bit) + 2, COLUMN - 4);
        push(
            svg,
            format_args!(
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y:.1}\" width=\"{width}\" height=\"{length:.1}\"/>"
            ),
        );
    }
}

fn digits(svg: &mut String, class: &str, comparable: &Comparable, differing: u64, y: usize) {
    for (i, digit) in comparable.fingerprint.to_string().chars().enumerate() {
        let x = i * 4 * COLUMN + 2 * COLUMN;
        let nibble = differing >> (4 * (15 - i)) & 15;
        let changed = if nibble == 0 { "" } else { " changed" };
        push(
            svg,
            format_args!("<text class=\"{class}{changed}\" x=\"{x}\" y=\"{y}\">{digit}</text>"),
        );
    }
}

fn x_of(bit: usize) -> usize {
    (63 - bit) * COLUMN
}

fn sum(sums: &BitSums, bit: usize) -> i64 {
    sums.as_array()[bit]
}

fn push(svg: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to memory cannot fail.
    let _ = svg.write_fmt(what);
}
