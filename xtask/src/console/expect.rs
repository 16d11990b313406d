//! Compares real output with the output shown in the documentation.
//!
//! Compares line by line, ignoring trailing spaces and blank lines at the end. In a shown line, `...` or `…` matches
//! any text and `‹n›` a number (digits with `.`, `,` or `_` between them). A line that is only `...` or `…` matches
//! any number of lines, including none.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Anything,
    Number,
}

/// Describes the first difference; `None` if the output is as shown.
pub(super) fn difference(shown: &[String], output: &str) -> Option<String> {
    let shown: Vec<&str> = shown.iter().map(|line| line.trim_end()).collect();
    let real: Vec<&str> = output.trim_end().lines().map(str::trim_end).collect();
    if lines_match(&shown, &real) {
        return None;
    }
    // The number of equal lines; lines after a `...` line are not compared for the message.
    let same = shown
        .iter()
        .zip(&real)
        .take_while(|(shown, real)| !stands_for_lines(shown) && line_matches(&pieces(shown), real));
    Some(match same.count() {
        at if at == shown.len() => format!("{} lines more than shown", real.len() - at),
        at if at == real.len() => format!("ends before the shown line `{}`", shown[at]),
        at => format!("from the shown line `{}` on the output differs", shown[at]),
    })
}

fn lines_match(shown: &[&str], real: &[&str]) -> bool {
    match shown.split_first() {
        None => real.is_empty(),
        Some((first, rest)) if stands_for_lines(first) => {
            (0..=real.len()).any(|skipped| lines_match(rest, &real[skipped..]))
        }
        Some((first, rest)) => real.split_first().is_some_and(|(line, others)| {
            line_matches(&pieces(first), line) && lines_match(rest, others)
        }),
    }
}

fn stands_for_lines(shown: &str) -> bool {
    matches!(shown.trim(), "..." | "…")
}

fn pieces(shown: &str) -> Vec<Piece<'_>> {
    let marks = [("...", Piece::Anything), ("…", Piece::Anything), ("‹n›", Piece::Number)];
    let mut found = Vec::new();
    let mut rest = shown;
    while !rest.is_empty() {
        let next = marks
            .iter()
            .filter_map(|(mark, piece)| rest.find(mark).map(|at| (at, mark.len(), *piece)))
            .min_by_key(|(at, _, _)| *at);
        let (at, length, piece) = next.unwrap_or((rest.len(), 0, Piece::Text("")));
        if at > 0 {
            found.push(Piece::Text(&rest[..at]));
        }
        if length > 0 {
            found.push(piece);
        }
        rest = &rest[at + length..];
    }
    found
}

fn line_matches(pieces: &[Piece<'_>], line: &str) -> bool {
    let Some((first, rest)) = pieces.split_first() else { return line.is_empty() };
    match first {
        Piece::Text(text) => line.strip_prefix(text).is_some_and(|after| line_matches(rest, after)),
        Piece::Anything => {
            let borders = line.char_indices().map(|(at, _)| at).chain([line.len()]);
            borders.into_iter().any(|at| line_matches(rest, &line[at..]))
        }
        Piece::Number => {
            let length =
                line.bytes().take_while(|b| b.is_ascii_digit() || b".,_".contains(b)).count();
            let is_number = |text: &str| {
                text.starts_with(|c: char| c.is_ascii_digit())
                    && text.ends_with(|c: char| c.is_ascii_digit())
            };
            (1..=length)
                .rev()
                .any(|end| is_number(&line[..end]) && line_matches(rest, &line[end..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(shown: &str, output: &str) -> bool {
        let shown: Vec<String> = shown.lines().map(str::to_owned).collect();
        difference(&shown, output).is_none()
    }

    #[test]
    fn plain_lines_must_be_equal_up_to_space_at_the_end() {
        assert!(matches("a\n\nb", "a  \n\nb\n\n"));
        assert!(!matches("a", "b\n"));
        assert!(!matches("a", " a\n"));
        assert!(!matches("a", "a\nb\n"));
        assert!(!matches("a\nb", "a\n"));
    }

    #[test]
    fn dots_in_a_line_match_any_text() {
        assert!(matches("read ... in ...", "read 3 pages in 2 ms\n"));
        assert!(matches("a…c", "ac\n"));
        assert!(matches("a…c", "aéc\n"));
        assert!(!matches("a...c", "a\nc\n"));
    }

    #[test]
    fn dots_alone_match_any_number_of_lines() {
        assert!(matches("a\n...\nz", "a\nz\n"));
        assert!(matches("a\n…\nz", "a\nb\nz\nc\nz\n"));
        assert!(matches("...", ""));
        assert!(!matches("a\n...\nz", "a\nb\n"));
    }

    #[test]
    fn number_signs_match_numbers_only() {
        assert!(matches("‹n› kept, ‹n› s.", "12,345 kept, 0.25 s.\n"));
        assert!(matches("took ‹n›.", "took 1.5.\n"));
        assert!(!matches("‹n› kept", "no kept\n"));
        assert!(!matches("‹n›", ".\n"));
    }

    #[test]
    fn the_difference_names_the_first_line_that_is_not_as_shown() {
        let shown = ["same".to_owned(), "old".to_owned()];
        assert!(difference(&shown, "same\nnew\n").unwrap().contains("`old`"));
        assert!(difference(&shown, "same\n").unwrap().contains("ends before"));
        assert!(difference(&shown, "same\nold\nx\n").unwrap().contains("1 lines more"));
    }
}
