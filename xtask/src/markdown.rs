//! The subset of Markdown that the checks need: fenced blocks, code spans, links, and anchors of headings.
//!
//! Handles this project's texts, not all of CommonMark: a code span or link is on one line, and code is fenced, never
//! indented.

use std::ops::Range;

/// A line and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// From 1.
    pub(crate) number: usize,
    pub(crate) text: &'a str,
    pub(crate) place: Place<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    Prose,
    /// The line that opens a block, with the text after the fence.
    FenceStart(&'a str),
    Fenced,
    FenceEnd,
}

/// All lines of a text with their positions.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut open: Option<(char, usize)> = None;
    let place_of = |line: &'_ str| -> Option<(char, usize)> {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        (length >= 3).then_some((mark, length))
    };
    let mut found = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let fence = place_of(text);
        let info = text.trim_start().trim_start_matches(['`', '~']).trim();
        let place = match (open, fence) {
            (None, None) => Place::Prose,
            // Backticks after the fence: a code span that fills the line.
            (None, Some(_)) if info.contains('`') => Place::Prose,
            (None, Some(fence)) => {
                open = Some(fence);
                Place::FenceStart(info)
            }
            (Some((mark, length)), Some((closing, closing_length)))
                if mark == closing && closing_length >= length && info.is_empty() =>
            {
                open = None;
                Place::FenceEnd
            }
            (Some(_), Some(_) | None) => Place::Fenced,
        };
        found.push(Line { number: index + 1, text, place });
    }
    found
}

/// Ranges of the contents of code spans in a line of prose.
pub(crate) fn code_spans(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let run = |start: usize| bytes[start..].iter().take_while(|b| **b == b'`').count();
    let mut spans = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'`' {
            at += 1;
            continue;
        }
        let length = run(at);
        let start = at + length;
        let mut end = start;
        // The span ends at the next run of exactly as many backticks.
        while end < bytes.len() && (bytes[end] != b'`' || run(end) != length) {
            end += if bytes[end] == b'`' { run(end) } else { 1 };
        }
        if end < bytes.len() {
            spans.push(start..end);
            at = end + length;
        } else {
            at = start;
        }
    }
    spans
}

/// The targets of links, images and reference definitions in a line of prose.
pub(crate) fn link_targets(line: &str) -> Vec<String> {
    let mut plain = line.as_bytes().to_vec();
    for span in code_spans(line) {
        plain[span].fill(b'.');
    }
    let plain = String::from_utf8_lossy(&plain);
    let mut targets = Vec::new();
    if let Some((label, rest)) = plain.trim_start().split_once("]:")
        && label.starts_with('[')
        && !label.contains("](")
    {
        targets.extend(target_in(rest));
    }
    let mut rest = plain.as_ref();
    while let Some((_, after)) = rest.split_once("](") {
        let Some((inside, after)) = after.split_once(')') else { break };
        targets.extend(target_in(inside));
        rest = after;
    }
    targets
}

/// The anchors of a text's headings, as rendered.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    lines(text)
        .into_iter()
        .filter(|line| line.place == Place::Prose)
        .filter_map(|line| {
            let heading = line.text.trim_start_matches('#');
            (heading.len() < line.text.len()).then_some(heading.strip_prefix(' ')?)
        })
        .map(|heading| {
            heading
                .trim()
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .flat_map(char::to_lowercase)
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

/// A target without title and angle brackets.
fn target_in(text: &str) -> Option<String> {
    let text = text.trim();
    let target = match text.strip_prefix('<') {
        Some(bracketed) => bracketed.split_once('>')?.0,
        None => text.split_whitespace().next()?,
    };
    Some(target.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(line: &str) -> Vec<&str> {
        code_spans(line).into_iter().map(|span| &line[span]).collect()
    }

    #[test]
    fn a_longer_fence_may_contain_shorter_ones() {
        let text = "a\n````markdown\n```console\n$ x\n```\n````\nb\n";
        let places: Vec<Place<'_>> = lines(text).iter().map(|line| line.place).collect();
        use Place::{FenceEnd, FenceStart, Fenced, Prose};
        assert_eq!(
            places,
            [Prose, FenceStart("markdown"), Fenced, Fenced, Fenced, FenceEnd, Prose]
        );
    }

    #[test]
    fn a_line_that_is_a_code_span_does_not_open_a_block() {
        assert_eq!(lines("```x```\n")[0].place, Place::Prose);
    }

    #[test]
    fn code_spans_may_contain_shorter_runs_of_backticks() {
        assert_eq!(spans("a `b` and ``c`d``, `open"), ["b", "c`d"]);
    }

    #[test]
    fn links_images_and_definitions_are_found_and_code_is_not() {
        let line = "[a](b.md#c \"title\") ![p](<d e.png>) `[no](no.md)`";
        assert_eq!(link_targets(line), ["b.md#c", "d e.png"]);
        assert_eq!(link_targets("[name]: docs/x.md"), ["docs/x.md"]);
        assert!(link_targets("a list [x]: of (things)").is_empty());
    }

    #[test]
    fn anchors_are_those_of_the_rendered_headings() {
        let text = "# How it works\n```\n# no\n```\n## `hapax dedup`, in bulk\n#tag\n";
        assert_eq!(anchors(text), ["how-it-works", "hapax-dedup-in-bulk"]);
    }
}
