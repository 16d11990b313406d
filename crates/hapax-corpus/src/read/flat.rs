//! A fast parser for the fields of a JSON object.
//!
//! A page in JSON has an escape about every twenty bytes, for line ends and quotation marks. Tests 64 bytes at
//! once, and copies a string once, to its final place. Reads only the common cases: strings, numbers, `true`,
//! `false` and `null`; skips nested objects and lists. On halves of surrogate pairs and anything possibly
//! invalid it gives up, and [`json`](super::json) parses the line with the general parser, whose results and
//! errors count.

use std::borrow::Cow;

use memchr::memchr2;
use serde::de::IgnoredAny;

/// Bytes tested at once.
const BLOCK: usize = 64;
/// Initial capacity for a string with escapes.
const FIRST_ROOM: usize = 4096;

/// Iterates over the fields of an object.
pub(super) struct Fields<'a> {
    text: &'a str,
    at: usize,
}

pub(super) enum Flat<'a> {
    Str(Cow<'a, str>),
    /// A number, `true`, `false` or `null`, or something invalid.
    Word(&'a str),
    /// A string that was not requested.
    Skipped,
    /// An object or list, which was skipped.
    Nested,
}

impl<'a> Fields<'a> {
    /// `None` unless the text begins like an object.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let mut fields = Self { text, at: 0 };
        fields.expect(b'{')?;
        Some(fields)
    }

    /// Calls `take` with the name and value of every field whose name `wants` accepts. `None` if
    /// this parser or `take` gives up.
    pub(super) fn each<W>(
        mut self,
        wants: impl Fn(&str) -> Option<W>,
        mut take: impl FnMut(Option<W>, Flat<'a>) -> Option<()>,
    ) -> Option<()> {
        if self.peek()? == b'}' {
            self.at += 1;
            return self.ends();
        }
        loop {
            self.expect(b'"')?;
            let wanted = wants(&self.string()?);
            self.expect(b':')?;
            let value = match self.peek()? {
                b'"' => {
                    self.at += 1;
                    if wanted.is_some() {
                        Flat::Str(self.string()?)
                    } else {
                        self.skip_string()?;
                        Flat::Skipped
                    }
                }
                b'{' | b'[' => {
                    self.skip_nested()?;
                    Flat::Nested
                }
                _ => Flat::Word(self.word()),
            };
            take(wanted, value)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return self.ends();
                }
                _ => return None,
            }
        }
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// The next byte that is not white space.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.bytes().get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        let found = self.peek()? == byte;
        self.at += 1;
        found.then_some(())
    }

    /// Checks that only white space is left.
    fn ends(mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    /// Skips an object or list with the general parser.
    fn skip_nested(&mut self) -> Option<()> {
        let parser = serde_json::Deserializer::from_str(&self.text[self.at..]);
        let mut values = parser.into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        self.at += values.byte_offset();
        Some(())
    }

    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let ends = |byte: u8| matches!(byte, b',' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
        let length = rest.bytes().position(ends).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Reads the string after its opening quotation mark.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at;
        let rest = &self.bytes()[start..];
        let length = memchr2(b'"', b'\\', rest)?;
        if rest[..length].iter().fold(false, |any, byte| any | (*byte < b' ')) {
            return None;
        }
        if rest[length] == b'\\' {
            return self.escaped_string().map(Cow::Owned);
        }
        self.at += length + 1;
        Some(Cow::Borrowed(&self.text[start..start + length]))
    }

    fn escaped_string(&mut self) -> Option<String> {
        let input = self.bytes();
        let (mut out, mut written) = (Vec::new(), 0);
        let mut at = self.at;
        // Complete blocks.
        'blocks: while let Some(block) = input[at..].first_chunk::<BLOCK>() {
            make_room(&mut out, written, input.len() - at);
            let mut special = specials(block);
            let mut copied = 0;
            while special != 0 {
                let next = special.trailing_zeros() as usize;
                copy(&input[at + copied..], next - copied, &mut out[written..])?;
                written += next - copied;
                let escape = &input[at + next..];
                let plain = match *escape {
                    [b'\\', letter, ..] => ESCAPED[usize::from(letter)],
                    _ => 0,
                };
                if plain == 0 {
                    // The end of the string, or a rare escape.
                    at += next;
                    match self.rare(at, &mut out, &mut written)? {
                        Some(behind) => at = behind,
                        None => return self.finish(out, written, at),
                    }
                    continue 'blocks;
                }
                out[written] = plain;
                written += 1;
                copied = next + 2;
                // The escaped character is not special.
                special &= special - 1;
                special &= !(1u64.checked_shl(next as u32 + 1).unwrap_or(0));
            }
            if copied < BLOCK {
                copy(&input[at + copied..], BLOCK - copied, &mut out[written..])?;
                written += BLOCK - copied;
            }
            at += copied.max(BLOCK);
        }
        // The remaining bytes one by one.
        make_room(&mut out, written, input.len() - at);
        loop {
            match *input.get(at..)? {
                [byte, ..] if byte >= b' ' && byte != b'"' && byte != b'\\' => {
                    out[written] = byte;
                    written += 1;
                    at += 1;
                }
                [b'\\', letter, ..] if ESCAPED[usize::from(letter)] != 0 => {
                    out[written] = ESCAPED[usize::from(letter)];
                    written += 1;
                    at += 2;
                }
                _ => match self.rare(at, &mut out, &mut written)? {
                    Some(behind) => at = behind,
                    None => return self.finish(out, written, at),
                },
            }
        }
    }

    /// Handles a special byte that is not a simple escape; returns its end, or `Some(None)` at the
    /// end of the string.
    fn rare(&self, at: usize, out: &mut [u8], written: &mut usize) -> Option<Option<usize>> {
        let input = self.bytes();
        if input.get(at) == Some(&b'"') {
            return Some(None);
        }
        let first = code_unit(&input[at..])?;
        let (character, length) = match char::from_u32(first) {
            Some(character) => (character, 6),
            // Both halves of a surrogate pair, or nothing.
            None => {
                let second = code_unit(input.get(at + 6..)?)?;
                let pair = char::decode_utf16([first as u16, second as u16]).next()?.ok()?;
                (pair, 12)
            }
        };
        let place = out.get_mut(*written..*written + character.len_utf8())?;
        *written += character.encode_utf8(place).len();
        Some(Some(at + length))
    }

    fn finish(&mut self, mut out: Vec<u8>, written: usize, at: usize) -> Option<String> {
        self.at = at + 1;
        out.truncate(written);
        String::from_utf8(out).ok()
    }

    /// Skips a string after its opening quotation mark, if it is valid.
    fn skip_string(&mut self) -> Option<()> {
        loop {
            let rest = &self.bytes()[self.at..];
            let length = memchr2(b'"', b'\\', rest)?;
            if rest[..length].iter().fold(false, |any, byte| any | (*byte < b' ')) {
                return None;
            }
            self.at += length;
            match rest[length..] {
                [b'"', ..] => {
                    self.at += 1;
                    return Some(());
                }
                [b'\\', letter, ..] if ESCAPED[usize::from(letter)] != 0 => self.at += 2,
                _ => {
                    code_unit(&rest[length..])?;
                    self.at += 6;
                }
            }
        }
    }
}

/// Reserves space for two blocks: the output of a block of input, and what is copied beyond it.
/// Escapes only shorten, so the rest of the input is an upper bound; but that may be many times the
/// string.
#[inline(always)]
fn make_room(out: &mut Vec<u8>, written: usize, left: usize) {
    if out.len() < written + 2 * BLOCK {
        out.resize(written + (3 * written).max(FIRST_ROOM).min(left) + 2 * BLOCK, 0);
    }
}

/// The number in `\uXXXX` at the start of `bytes`.
fn code_unit(bytes: &[u8]) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes else { return None };
    let digits = digits.first_chunk::<4>()?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

/// Copies `length` bytes, at most a block. May copy more, into space that is overwritten later.
#[inline(always)]
fn copy(from: &[u8], length: usize, to: &mut [u8]) -> Option<()> {
    match (from.first_chunk::<BLOCK>(), to.first_chunk_mut::<BLOCK>()) {
        (Some(from), Some(to)) => *to = *from,
        _ => to.get_mut(..length)?.copy_from_slice(from.get(..length)?),
    }
    Some(())
}

/// A bit mask of the quotation marks, backslashes and controls.
#[inline(always)]
fn specials(block: &[u8; BLOCK]) -> u64 {
    const LAST: u64 = u64::from_le_bytes([1; 8]);
    let mut special = [0u8; BLOCK];
    for (special, &byte) in special.iter_mut().zip(block) {
        *special = u8::from((byte == b'"') | (byte == b'\\') | (byte < b' '));
    }
    special.as_chunks::<8>().0.iter().rev().fold(0, |bits, eight| {
        let eight = u64::from_le_bytes(*eight) & LAST;
        bits << 8 | eight.wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

/// The meaning of a letter after a backslash; 0 for others.
static ESCAPED: [u8; 256] = {
    let mut table = [0; 256];
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table[b'b' as usize] = 0x08;
    table[b'f' as usize] = 0x0C;
    table[b'n' as usize] = b'\n';
    table[b'r' as usize] = b'\r';
    table[b't' as usize] = b'\t';
    table
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The string fields not called `x`, and words.
    fn flat(text: &str) -> Option<Vec<(String, String)>> {
        let mut found = Vec::new();
        let wants = |name: &str| (name != "x").then(|| name.to_owned());
        Fields::of(text)?.each(wants, |name, value| {
            let value = match value {
                Flat::Str(text) => text.into_owned(),
                Flat::Word(word) => {
                    serde_json::from_str::<serde_json::Value>(word).ok()?.to_string()
                }
                Flat::Skipped | Flat::Nested => return Some(()),
            };
            found.push((name.unwrap_or_default(), value));
            Some(())
        })?;
        Some(found)
    }

    #[test]
    fn invalid_input_is_left_to_the_general_parser() {
        for text in [
            "",
            "{",
            "[1]",
            r#"{"a":1"#,
            r#"{"a":{}"#,
            r#"{"a":[1}"#,
            r#"{"a":{"b"}}"#,
            r#"{"a":01}"#,
            r#"{"a":tru}"#,
            r#"{"a":"\x"}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":"\ud800\u0041"}"#,
            r#"{"a":"\u12g4"}"#,
            r#"{"a" "b"}"#,
            r#"{"a":1,}"#,
            r#"{"a":1} x"#,
            r#"{"a":}"#,
            r#"{,}"#,
            "{\"a\":\"\t\"}",
            r#"{"a":"\"#,
            r#"{"a":"\""#,
            r#"{"x":"\x"}"#,
            "{\"x\":\"\n\"}",
            "{\"a\":\"\\n\t\"}",
        ] {
            assert_eq!(flat(text), None, "{text}");
        }
        assert_eq!(flat(" { } "), Some(Vec::new()));
        let found = flat("{\"a\" : \"\\ud83d\\ude00\\u00e9\", \"x\":\"\\ud800\", \"b\":-1.50 }\r");
        let expected = [("a", "😀é"), ("b", "-1.5")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(found, Some(expected.to_vec()));
    }

    proptest! {
        #[test]
        fn strings_are_those_of_the_parser(
            pieces in prop::collection::vec(
                prop_oneof![
                    "[a-z]{0,80}",
                    "[\"\\\\\n\r\t/\u{8}\u{c}\u{1}\u{1f}é😀]{1,3}",
                    any::<char>().prop_map(String::from),
                ],
                0..30,
            ),
            number: i64,
        ) {
            let text = pieces.concat();
            let line = serde_json::json!({ "a": text, "n": number, "x": text, "y": { "a": [&text] }, "z": text }).to_string();
            let expected = [("a", text.clone()), ("n", number.to_string()), ("z", text)];
            let expected: Vec<_> = expected.into_iter().map(|(a, b)| (a.to_owned(), b)).collect();
            prop_assert_eq!(flat(&line), Some(expected));
        }

        /// Any line is either parsed like the general parser does, or left to it.
        #[test]
        fn damaged_lines_are_read_as_the_parser_reads_them(
            text in "[a\"\\\\u{}:,0-9 \u{1}é]{0,90}",
        ) {
            let line = format!("{{\"a\":\"{text}\"}}");
            if let Some(found) = flat(&line) {
                let parsed: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&line).unwrap();
                for (name, value) in found {
                    if let Some(serde_json::Value::String(last)) = parsed.get(&name) {
                        let again = line.matches(&format!("\"{}\"", name)).count() > 1;
                        prop_assert!(last == &value || again);
                    }
                }
            }
        }
    }
}
