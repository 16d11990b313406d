//! Rust text with comments and the contents of literals blanked out.
//!
//! Rules about code must not match a comment that explains them or a sample in a test. The result has the same length
//! and line breaks as the text, so positions stay valid. A scanner, not a parser: it recognizes the start and end of
//! comments, strings and characters only.

/// The text with every comment and every literal's contents replaced by spaces.
pub(super) fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_or_comment_end(text, at);
        match end {
            Some(end) => {
                for byte in &mut code[at..end] {
                    if *byte != b'\n' {
                        *byte = b' ';
                    }
                }
                at = end;
            }
            None => at += 1,
        }
    }
    // Blanked ranges start and end at character boundaries, so this loses nothing.
    String::from_utf8_lossy(&code).into_owned()
}

/// Whether `line` contains `word` without adjacent letters, digits or underscores.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(in_word) && !after.is_some_and(in_word)
    })
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The end of the comment or literal that starts at `at`; `None` if there is none.
fn literal_or_comment_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let rest = &bytes[at..];
    match rest[0] {
        b'/' if rest.starts_with(b"//") => {
            Some(at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()))
        }
        b'/' if rest.starts_with(b"/*") => Some(block_comment_end(bytes, at)),
        b'"' => Some(quoted_end(bytes, at, b'"')),
        b'r' if may_start_raw(bytes, at) => raw_string_end(text, at),
        b'\'' => {
            if rest.get(1) == Some(&b'\\') {
                return Some(quoted_end(bytes, at, b'\''));
            }
            // A character literal is closed right after its character; a lifetime is not closed.
            let length = text[at + 1..].chars().next()?.len_utf8();
            (rest.get(1 + length) == Some(&b'\'')).then_some(at + length + 2)
        }
        _ => None,
    }
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn quoted_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Whether an `r` starts a token, alone or after the `b` or `c` of a byte or C string.
fn may_start_raw(bytes: &[u8], at: usize) -> bool {
    let is_word = |index: usize| bytes[index] == b'_' || bytes[index].is_ascii_alphanumeric();
    match at {
        0 => true,
        _ if !is_word(at - 1) => true,
        1 => matches!(bytes[0], b'b' | b'c'),
        _ => matches!(bytes[at - 1], b'b' | b'c') && !is_word(at - 2),
    }
}

fn raw_string_end(text: &str, at: usize) -> Option<usize> {
    let after = &text[at + 1..];
    let hashes = after.bytes().take_while(|b| *b == b'#').count();
    let inside = after[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let start = text.len() - inside.len();
    Some(inside.find(&close).map_or(text.len(), |end| start + end + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of the code, as seen by the rules.
    fn words(text: &str) -> Vec<String> {
        let code = code_only(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(code.lines().count(), text.lines().count());
        code.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn comments_are_blanked_and_code_is_kept() {
        assert_eq!(words("a // b\nc /* d /* e */ f */ g"), ["a", "c", "g"]);
    }

    #[test]
    fn strings_are_blanked_with_any_contents() {
        assert_eq!(words(r#"x "a \" // b" y"#), ["x", "y"]);
        assert_eq!(words("x r#\"a \" b\"# y br\"c\" z"), ["x", "y", "b", "z"]);
        assert_eq!(words("x \"über\" y"), ["x", "y"]);
    }

    #[test]
    fn quote_characters_and_lifetimes_do_not_open_literals() {
        assert_eq!(words("x '\"' y '\\'' z 'é' w"), ["x", "y", "z", "w"]);
        assert_eq!(words("fn f<'a>(x: &'a str)"), ["fn", "f<'a>(x:", "&'a", "str)"]);
    }

    #[test]
    fn raw_identifiers_and_words_that_end_in_r_are_code() {
        assert_eq!(words("r#type error\"s\""), ["r#type", "error"]);
    }

    #[test]
    fn text_that_ends_inside_a_literal_is_blanked_to_its_end() {
        for open in ["x \"abc", "x /* abc", "x r#\"abc\"", "x \"abc\\"] {
            assert_eq!(words(open), ["x"], "{open}");
        }
    }

    #[test]
    fn a_word_is_found_only_as_a_whole() {
        assert!(has_word("an unsafe block", "unsafe"));
        assert!(has_word("unsafe{", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe"));
    }
}
