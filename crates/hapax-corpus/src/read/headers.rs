//! `Name: value` lines of WARC and HTTP.
//!
//! Lenient, because servers are not strict: lines may end in LF alone, names are case-insensitive, a line that
//! begins with a space continues the previous one, and invalid UTF-8 is replaced.

use std::borrow::Cow;

#[derive(Clone, Copy)]
pub(crate) struct Headers<'a>(&'a [u8]);

impl<'a> Headers<'a> {
    /// Skips the version or status line.
    pub(crate) fn after_first_line(bytes: &'a [u8]) -> Self {
        let first = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
        Self(&bytes[first..])
    }

    /// The value of the first line with this name.
    pub(crate) fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        let mut rest = self.0;
        while !rest.is_empty() {
            let (line, after) = split_line(rest);
            rest = after;
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            if !line[..colon].trim_ascii().eq_ignore_ascii_case(name.as_bytes()) {
                continue;
            }
            let mut value = String::from_utf8_lossy(line[colon + 1..].trim_ascii());
            while let [b' ' | b'\t', ..] = rest {
                let (more, after) = split_line(rest);
                rest = after;
                let value = value.to_mut();
                value.push(' ');
                value.push_str(&String::from_utf8_lossy(more.trim_ascii()));
            }
            return Some(value);
        }
        None
    }
}

/// The length of a header, including the empty line that ends it.
pub(crate) fn header_length(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(newline) = memchr::memchr(b'\n', &bytes[from..]) {
        let next = from + newline + 1;
        match &bytes[next..] {
            [b'\n', ..] => return Some(next + 1),
            [b'\r', b'\n', ..] => return Some(next + 2),
            _ => from = next,
        }
    }
    None
}

/// A line without its end, and the rest.
pub(crate) fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', bytes) {
        Some(at) => (bytes[..at].strip_suffix(b"\r").unwrap_or(&bytes[..at]), &bytes[at + 1..]),
        None => (bytes.strip_suffix(b"\r").unwrap_or(bytes), &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ignore_case_and_lines_may_be_folded_or_end_in_lf() {
        let bytes = b"WARC/1.0\r\nwarc-type:  response \r\nLong: one\r\n\ttwo\nX:\xff\n\r\nbody";
        let headers = Headers::after_first_line(bytes);
        assert_eq!(headers.get("WARC-Type").as_deref(), Some("response"));
        assert_eq!(headers.get("long").as_deref(), Some("one two"));
        assert_eq!(headers.get("x").as_deref(), Some("\u{fffd}"));
        assert_eq!(headers.get("y"), None);
        assert_eq!(header_length(bytes), Some(bytes.len() - 4));
        assert_eq!(header_length(b"a: b\n\nrest"), Some(6));
        assert_eq!(header_length(b"a: b\r\n"), None);
    }
}
