//! Cuts a text into parts of bounded size, so that buffers need not hold all of a long text.
//!
//! A part ends behind white space, so its words are those of the whole text. Text without white space stays
//! in one part, however long.

use super::segment::{is_chunk_end, most_folded};

/// Bytes of a part.
const PART: usize = 64 << 10;
/// Buffers of more bytes are freed after a part.
const MOST_KEPT: usize = 4 * PART;

/// What is left of a text.
#[derive(Debug)]
pub(crate) struct Parts<'t> {
    rest: &'t str,
    /// Bytes that may still be folded.
    pub(super) room: usize,
}

impl<'t> Parts<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { rest: text, room: most_folded(text) }
    }

    /// Whether nothing is left to read.
    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Leaves out the rest.
    pub(super) fn end(&mut self) {
        self.rest = "";
    }

    pub(super) fn take(&mut self) -> &'t str {
        let bytes = self.rest.as_bytes();
        let end = bytes.get(..PART).map_or(bytes.len(), |first| {
            let last = first.iter().rposition(|&byte| is_chunk_end(byte));
            let behind = || bytes[PART..].iter().position(|&byte| is_chunk_end(byte));
            last.or_else(|| Some(PART + behind()?)).map_or(bytes.len(), |at| at + 1)
        });
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest;
        part
    }
}

/// Frees a buffer if it is large.
pub(super) fn give_back(buffer: &mut String) {
    if buffer.capacity() > MOST_KEPT {
        *buffer = String::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_text_and_end_behind_white_space() {
        let unspaced = "\u{6f22}".repeat(PART);
        let spaced = "some words\n".repeat(PART / 4);
        for text in ["", "word", &spaced, &unspaced, &format!("{spaced}{unspaced} {spaced}")] {
            let (mut parts, mut read) = (Parts::of(text), String::new());
            while !parts.is_done() {
                let part = parts.take();
                assert!(parts.is_done() || part.ends_with([' ', '\n']));
                assert!(part.len() <= PART || part.contains('\u{6f22}'));
                read += part;
            }
            assert_eq!(read, text);
        }
    }
}
