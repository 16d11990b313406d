//! The input of the tokenizer, with a position that the emitter can read and move.
//!
//! `html5gum` runs the HTML standard's state machine byte by byte, with several state changes per attribute,
//! although most attributes are not used. From the first regular tag on, the emitter therefore reads text and
//! regular tags itself and moves the shared position past them; the rest is left to the tokenizer. The contents
//! of `<script>` and the like are skipped in the same way. Guarantees that the position only moves forward,
//! except for one byte that is handed back so that characters arrive whole.

use std::cell::Cell;
use std::convert::Infallible;

use html5gum::Reader;
use memchr::{memchr, memchr2, memmem};

use super::element::{Element, PACKED_LENGTH};
use super::hidden::numbered;

/// The tokenizer's input.
pub(super) struct Cursor<'a> {
    input: &'a [u8],
    at: &'a Cell<usize>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(input: &'a [u8], at: &'a Cell<usize>) -> Self {
        Self { input, at }
    }
}

impl Reader for Cursor<'_> {
    type Error = Infallible;

    #[inline(always)]
    fn read_byte(&mut self) -> Result<Option<u8>, Infallible> {
        let at = self.at.get();
        let byte = self.input.get(at).copied();
        self.at.set(at + usize::from(byte.is_some()));
        Ok(byte)
    }

    #[inline(always)]
    fn try_read_string(
        &mut self,
        expected: &[u8],
        case_sensitive: bool,
    ) -> Result<bool, Infallible> {
        let at = self.at.get();
        let same = self.input.get(at..at + expected.len()).is_some_and(|next| {
            next == expected || (!case_sensitive && next.eq_ignore_ascii_case(expected))
        });
        if same {
            self.at.set(at + expected.len());
        }
        Ok(same)
    }

    /// The tokenizer also asks to stop at zero bytes and carriage returns. Between tags this is not
    /// needed, because [`Fold`](super::fold) handles both; inside tags a carriage return is white
    /// space and must be seen.
    #[inline(always)]
    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        _: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Infallible> {
        let at = self.at.get();
        let rest = &self.input[at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let found = match *needle {
            [first, second, b'\0', b'\r'] => find_either(first, second, rest),
            [first, b'\0', b'\r'] => memchr(first, rest),
            [b'\0', b'\r'] => None,
            _ => rest.iter().position(|byte| needle.contains(byte)),
        };
        let length = found.unwrap_or(rest.len()).max(1);
        self.at.set(at + length);
        Ok(Some(&rest[..length]))
    }
}

/// As `memchr2`, but tests the next eight bytes inline, which often suffices between tags.
#[inline(always)]
fn find_either(first: u8, second: u8, rest: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    if let Some((word, later)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let is_zero = |x: u64| x.wrapping_sub(ONES) & !x & (ONES << 7);
        let found =
            is_zero(word ^ (ONES * u64::from(first))) | is_zero(word ^ (ONES * u64::from(second)));
        // The lowest flag is exact; higher ones may result from a borrow.
        if found != 0 {
            return Some((found.trailing_zeros() / 8) as usize);
        }
        return memchr2(first, second, later).map(|at| at + 8);
    }
    rest.iter().position(|&byte| byte == first || byte == second)
}

/// The length of the text before the next tag or character reference.
#[inline]
pub(super) fn find_text_end(rest: &[u8]) -> Option<usize> {
    find_either(b'<', b'&', rest)
}

/// A tag whose end was found without the tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegularTag {
    /// Position of its `>`.
    pub(super) close: usize,
    /// Whether there is a slash before the `>`.
    pub(super) self_closing: bool,
}

/// Reads the tag name at `from`: its end, its element and its number. `None` if the page ends
/// inside the name.
#[inline]
pub(super) fn read_name(input: &[u8], from: usize) -> Option<(usize, Element, u64)> {
    let mut packed = 0u64;
    let mut end = from;
    loop {
        let lower = NAME_BYTES[usize::from(*input.get(end)?)];
        if lower == 0 {
            break;
        }
        packed = packed << 8 | u64::from(lower);
        end += 1;
    }
    let element = if end - from <= PACKED_LENGTH {
        Element::from_packed(packed)
    } else {
        let mut lower = [0; Element::MAX_NAME];
        match lower.get_mut(..end - from) {
            None => Element::Inline,
            Some(lower) => {
                lower.copy_from_slice(&input[from..end]);
                lower.make_ascii_lowercase();
                Element::from_long_name(lower)
            }
        }
    };
    Some((end, element, numbered(packed, end - from)))
}

/// Each byte of a tag name in lower case; zero for bytes that end the name.
const NAME_BYTES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/' | b'>' => 0,
            // Never part of a name, and zero has another meaning here.
            0 => 1,
            byte => byte.to_ascii_lowercase(),
        };
        byte += 1;
    }
    table
};

/// Reads the attributes of a tag up to its `>` in the usual forms: `name`, `name=word`,
/// `name="..."` or `name='...'`, separated by white space.
///
/// Calls `attribute` with each name as written and its value; it returns `false` if it cannot take
/// the value as it is. Then, and for irregular tags, the result is `None`.
#[inline]
pub(super) fn regular_attributes(
    input: &[u8],
    from: usize,
    mut attribute: impl FnMut(&[u8], &[u8]) -> bool,
) -> Option<RegularTag> {
    let mut at = from;
    loop {
        let byte = *input.get(at)?;
        match byte {
            b'>' => return Some(RegularTag { close: at, self_closing: false }),
            b'/' => {
                let closes = input.get(at + 1) == Some(&b'>');
                return closes.then_some(RegularTag { close: at + 1, self_closing: true });
            }
            _ if is_space(byte) => {
                at += 1;
                continue;
            }
            _ => {}
        }
        let name_start = at;
        while !ENDS_ATTRIBUTE_NAME[usize::from(*input.get(at)?)] {
            at += 1;
        }
        let name = &input[name_start..at];
        if name.is_empty() {
            return None;
        }
        let mut value: &[u8] = b"";
        match input[at] {
            b'=' => {
                at += 1;
                match *input.get(at)? {
                    quote @ (b'"' | b'\'') => {
                        let length = memchr(quote, &input[at + 1..])?;
                        value = &input[at + 1..at + 1 + length];
                        at += length + 2;
                        if !matches!(*input.get(at)?, b'>' | b'/') && !is_space(input[at]) {
                            return None;
                        }
                    }
                    b'>' => return None,
                    byte if is_space(byte) => return None,
                    _ => {
                        let length =
                            input[at..].iter().position(|&byte| is_space(byte) || byte == b'>')?;
                        value = &input[at..at + length];
                        at += length;
                    }
                }
            }
            b'>' | b'/' => {}
            byte if is_space(byte) => {}
            _ => return None,
        }
        if !attribute(name, value) {
            return None;
        }
    }
}

#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

const ENDS_ATTRIBUTE_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let marks = b"\0\t\n\x0c\r \"'/<=>";
    let mut mark = 0;
    while mark < marks.len() {
        table[marks[mark] as usize] = true;
        mark += 1;
    }
    table
};

/// The position of the end tag `</name` that closes raw text, at or after `from`.
pub(super) fn find_end_tag(input: &[u8], from: usize, name: &[u8]) -> Option<usize> {
    let mut at = from;
    loop {
        at += memmem::find(&input[at..], b"</")?;
        let rest = &input[at + 2..];
        if rest.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
            && rest
                .get(name.len())
                .is_some_and(|&byte| is_space(byte) || matches!(byte, b'>' | b'/'))
        {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tag: &str) -> Option<(Vec<(String, String)>, RegularTag)> {
        let mut found = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let end = regular_attributes(tag.as_bytes(), 0, |name, value| {
            found.push((text(name), text(value)));
            true
        })?;
        Some((found, end))
    }

    #[test]
    fn regular_attributes_are_read_to_the_end_of_the_tag() {
        let (found, end) = read(" class=\"a > b\" ID='x' hidden data-n=5 href=/a/b >").unwrap();
        let expected =
            [("class", "a > b"), ("ID", "x"), ("hidden", ""), ("data-n", "5"), ("href", "/a/b")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(end, RegularTag { close: 48, self_closing: false });
        assert_eq!(read(" />").unwrap().1, RegularTag { close: 2, self_closing: true });
        assert_eq!(read(">").unwrap().0, []);
    }

    #[test]
    fn anything_irregular_is_left_to_the_tokenizer() {
        for tag in [
            "",
            " a",
            " a=",
            " a=\"",
            " a=\"x",
            " a=\"x\"b>",
            " a =x>",
            " a= x>",
            " =>",
            " a=>",
            " a\"b>",
            " a'>",
            " <b>",
            " a/b>",
            " / >",
            " a\0>",
            " a=b",
        ] {
            assert_eq!(read(tag), None, "{tag:?}");
        }
    }

    #[test]
    fn the_end_of_raw_text_is_a_whole_end_tag_in_any_case() {
        let input = b"a </scripts> </scrip </SCRIPT\n> b";
        assert_eq!(find_end_tag(input, 0, b"script"), Some(21));
        assert_eq!(find_end_tag(input, 22, b"script"), None);
        assert_eq!(find_end_tag(b"</script", 0, b"script"), None);
    }
}
