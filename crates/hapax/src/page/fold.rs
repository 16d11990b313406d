//! Folds text into words separated by single ASCII spaces.
//!
//! The buffer never starts with a space or contains two in a row; it may end with one until [`Fold::finish`]
//! trims it. Does not handle joiners; [`joiners`](super::joiners) does.
//
// * Every character with the Unicode property `White_Space` (space, tab, line ends, U+00A0,
//   U+2003, U+3000, ...) separates words; a run of them becomes one ASCII space.
// * Invisible characters are dropped without separating words: other controls
//   (including U+0000) and those with the property `Default_Ignorable_Code_Point` (soft
//   hyphen, U+200B, variation selectors, tags, ...).
// * Everything else is copied, including the two joiners: [`joiners`](super::joiners) decides
//   about these when the whole text is known.

/// Text being folded into one growing buffer.
#[derive(Debug)]
pub(super) struct Fold {
    bytes: Vec<u8>,
    max_bytes: usize,
    full: bool,
}

/// Bytes tested and copied at a time in plain text.
const LONG_STEP: usize = 32;
const SHORT_STEP: usize = 8;

impl Fold {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { bytes: Vec::new(), max_bytes, full: false }
    }

    /// Starts a new text in `buffer`, reusing its memory.
    pub(super) fn reset(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.bytes = buffer;
        self.full = false;
    }

    /// Whether text was left out because of the limit.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Drops everything after the first `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Starts a new word.
    #[inline]
    pub(super) fn separate(&mut self) {
        if !matches!(self.bytes.last(), None | Some(b' ')) {
            self.bytes.push(b' ');
        }
    }

    /// Appends text. `run` must consist of complete UTF-8 characters.
    #[inline]
    pub(super) fn push(&mut self, run: &[u8]) {
        if let [byte @ 0x21..=0x7e] = run
            && self.bytes.len() < self.max_bytes
        {
            self.bytes.push(*byte);
        } else if run.len() <= self.max_bytes.saturating_sub(self.bytes.len()) {
            self.push_unchecked(run);
        } else if !self.full {
            self.push_until_full(run);
        }
    }

    /// Returns the folded text, trimmed.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        if bytes.last() == Some(&b' ') {
            bytes.pop();
        }
        bytes
    }

    /// Folding never lengthens a run, so a run that fits needs no further test.
    fn push_unchecked(&mut self, run: &[u8]) {
        let mut after_space = matches!(self.bytes.last(), None | Some(b' '));
        // Often, there is only a line end and indentation between tags.
        let mut rest = if after_space { run.trim_ascii_start() } else { run };
        let start = self.bytes.len();
        self.bytes.resize(start + rest.len(), 0);
        let out = &mut self.bytes[start..];
        let mut written = 0;
        while !rest.is_empty() {
            let plain = copy_plain_block(rest, &mut out[written..], after_space)
                .or_else(|| copy_plain_word(rest, &mut out[written..], after_space));
            let (read, wrote) = match plain {
                Some(step) => (step, step),
                None => copy_closely(rest, &mut out[written..], after_space),
            };
            rest = &rest[read..];
            written += wrote;
            if wrote > 0 {
                after_space = out[written - 1] == b' ';
            }
        }
        self.bytes.truncate(start + written);
    }

    #[cold]
    fn push_until_full(&mut self, run: &[u8]) {
        for character in String::from_utf8_lossy(run).chars() {
            if character.is_whitespace() {
                self.separate();
                continue;
            }
            let before = self.bytes.len();
            self.push_unchecked(character.encode_utf8(&mut [0; 4]).as_bytes());
            if self.bytes.len() > before.max(self.max_bytes) {
                self.bytes.truncate(before);
                self.full = true;
                return;
            }
        }
    }
}

/// Copies the first long step with every white space byte as a space, unless it needs closer
/// examination: other controls, bytes beyond ASCII, or two separators in a row. Uses plain loops
/// without early exits, so that the compiler can vectorize them.
#[inline]
fn copy_plain_block(rest: &[u8], out: &mut [u8], after_space: bool) -> Option<usize> {
    let block = rest.first_chunk::<LONG_STEP>()?;
    let mut folded = [0; LONG_STEP];
    let mut unusual = 0;
    for (out, &byte) in folded.iter_mut().zip(block) {
        let low = byte < 0x20;
        *out = if low { b' ' } else { byte };
        unusual |= u8::from(byte >= 0x7f) | u8::from(low & (byte.wrapping_sub(b'\t') > 4));
    }
    unusual |= u8::from(after_space & (folded[0] == b' '));
    for (&left, &right) in folded[..LONG_STEP - 1].iter().zip(&folded[1..]) {
        unusual |= u8::from(left == b' ') & u8::from(right == b' ');
    }
    if unusual != 0 {
        return None;
    }
    *out.first_chunk_mut::<LONG_STEP>()? = folded;
    Some(LONG_STEP)
}

/// Copies the first short step, unless it contains anything except visible ASCII and single spaces.
/// Tests all eight bytes in one register.
#[inline]
fn copy_plain_word(rest: &[u8], out: &mut [u8], after_space: bool) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; SHORT_STEP]);
    const HIGH: u64 = ONES << 7;
    let block = rest.first_chunk::<SHORT_STEP>()?;
    let word = u64::from_le_bytes(*block);
    // A byte from 0x7f on carries into its high bit, a byte below 0x20 borrows from it.
    let beyond = ((word & !HIGH) + ONES) | word;
    let below = word.wrapping_sub(ONES * 0x20) & !word;
    let other = word ^ (ONES * u64::from(b' '));
    let spaces = !(((other & !HIGH) + !HIGH) | other) & HIGH;
    let doubled = spaces & (spaces << 8 | u64::from(after_space) << 7);
    if (beyond | below) & HIGH | doubled != 0 {
        return None;
    }
    *out.first_chunk_mut::<SHORT_STEP>()? = *block;
    Some(SHORT_STEP)
}

/// Copies about a short step character by character, or a long one in text beyond ASCII, where
/// plain steps are unlikely. Returns the number of bytes read and written.
fn copy_closely(rest: &[u8], out: &mut [u8], mut after_space: bool) -> (usize, usize) {
    let near = rest.len().min(SHORT_STEP);
    let enough = if rest[..near].is_ascii() { near } else { rest.len().min(LONG_STEP) };
    let (mut read, mut written) = (0, 0);
    while read < enough {
        let byte = rest[read];
        // Nearly every byte is one of these; which one is unpredictable.
        if matches!(byte, b'\t'..=b'\r' | b' '..=b'~') {
            let is_space = byte <= b' ';
            out[written] = if is_space { b' ' } else { byte };
            written += usize::from(!(is_space & after_space));
            after_space = is_space;
            read += 1;
            continue;
        }
        let (class, length) = match CLASS[usize::from(byte)] {
            Class::Look => look(&rest[read..]),
            class => (class, 1),
        };
        match class {
            Class::Space => {
                out[written] = b' ';
                written += usize::from(!after_space);
                after_space = true;
            }
            Class::Drop => {}
            Class::Copy | Class::Look => {
                if length == 1 {
                    out[written] = byte;
                } else {
                    out[written..written + length].copy_from_slice(&rest[read..read + length]);
                }
                written += length;
                after_space = false;
            }
        }
        read += length;
    }
    (read, written)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Copy,
    Space,
    Drop,
    /// First byte of a character that may be white space or invisible.
    Look,
}

const CLASS: [Class; 256] = {
    let mut table = [Class::Copy; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = Class::Drop;
        byte += 1;
    }
    table[0x7f] = Class::Drop;
    table[b' ' as usize] = Class::Space;
    byte = b'\t' as usize;
    while byte <= b'\r' as usize {
        table[byte] = Class::Space;
        byte += 1;
    }
    // U+0080..U+00BF, U+034F, U+061C, U+1xxx, U+2xxx, U+3xxx, U+Fxxx, U+1xxxx and U+Exxxx.
    table[0xc2] = Class::Look;
    table[0xcd] = Class::Look;
    table[0xd8] = Class::Look;
    table[0xf0] = Class::Look;
    table[0xf3] = Class::Look;
    table[0xe1] = Class::Look;
    table[0xe2] = Class::Look;
    table[0xe3] = Class::Look;
    table[0xef] = Class::Look;
    table
};

/// The class and length of the character at the start of `rest`.
fn look(rest: &[u8]) -> (Class, usize) {
    match *rest {
        [0xc2, 0x85 | 0xa0, ..] => (Class::Space, 2),
        [0xc2, 0x80..=0x9f | 0xad, ..] | [0xcd, 0x8f, ..] | [0xd8, 0x9c, ..] => (Class::Drop, 2),
        [0xe1, 0x85, 0x9f | 0xa0, ..] | [0xe1, 0x9e, 0xb4 | 0xb5, ..] => (Class::Drop, 3),
        [0xe1, 0xa0, 0x8b..=0x8f, ..] | [0xe3, 0x85, 0xa4, ..] => (Class::Drop, 3),
        [0xe2, 0x80, 0x8b | 0x8e | 0x8f | 0xaa..=0xae, ..] => (Class::Drop, 3),
        [0xe2, 0x81, 0xa0..=0xaf, ..] | [0xef, 0xb8, 0x80..=0x8f, ..] => (Class::Drop, 3),
        [0xef, 0xbe, 0xa0, ..] | [0xef, 0xbf, 0xb0..=0xb8, ..] => (Class::Drop, 3),
        [0xf0, 0x9b, 0xb2, 0xa0..=0xa3, ..] | [0xf0, 0x9d, 0x85, 0xb3..=0xba, ..] => {
            (Class::Drop, 4)
        }
        [0xf3, 0xa0, ..] => (Class::Drop, rest.len().min(4)),
        [0xe1, 0x9a, 0x80, ..] => (Class::Space, 3),
        [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..] => (Class::Space, 3),
        [0xe2, 0x81, 0x9f, ..] => (Class::Space, 3),
        [0xe3, 0x80, 0x80, ..] => (Class::Space, 3),
        [0xef, 0xbb, 0xbf, ..] => (Class::Drop, 3),
        [0xe1..=0xef, _, _, ..] => (Class::Copy, 3),
        [0xf0 | 0xf3, _, _, _, ..] => (Class::Copy, 4),
        _ => (Class::Copy, rest.len().min(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(runs: &[&str]) -> String {
        let mut fold = Fold::new(usize::MAX);
        for run in runs {
            fold.push(run.as_bytes());
        }
        String::from_utf8(fold.finish()).unwrap()
    }

    fn is_ignorable(c: char) -> bool {
        use icu_properties::CodePointSetData;
        use icu_properties::props::DefaultIgnorableCodePoint;
        !matches!(c, '\u{200c}' | '\u{200d}')
            && CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
    }

    #[test]
    fn every_ignorable_character_and_no_other_is_dropped() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let text = format!("a{c}b");
            assert_eq!(folded(&[&text]), folded_slowly(&text), "{:#x}", u32::from(c));
        }
    }

    /// Reference implementation: the rules of the module, one character at a time.
    fn folded_slowly(text: &str) -> String {
        let seen: String = text
            .chars()
            .filter(|&c| !((c.is_control() && !c.is_whitespace()) || is_ignorable(c)))
            .collect();
        seen.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Text in which separators, invisible characters and their multi-byte neighbours are adjacent.
    fn awkward_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-z]{1,9}",
            3 => "[ \t\n\r\x0b\x0c]{1,3}",
            2 => prop::sample::select(vec![
                "\u{a0}", "\u{3000}", "\u{2003}", "\u{1680}", "\u{85}", "\u{2028}", "\u{205f}",
                "\u{202f}", "\u{ad}", "\u{feff}", "\0", "\u{7f}", "\u{9c}", "é", "あ", "“", "ﬁ",
                "\u{200b}", "𝒳", "\u{10ffff}", "ሀ", "\u{200c}", "\u{34f}", "\u{fe0f}", "\u{e0041}",
                "\u{61c}", "\u{2062}", "\u{3164}", "\u{1d173}", "𛲢", "ͼ", "ض",
            ]).prop_map(str::to_owned),
            1 => "[a-z ]{30,80}",
            1 => any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn folding_agrees_with_the_rules_character_by_character(text in awkward_text()) {
            prop_assert_eq!(folded(&[&text]), folded_slowly(&text));
        }

        #[test]
        fn the_result_does_not_depend_on_how_the_text_is_cut(
            text in awkward_text(),
            at in any::<prop::sample::Index>(),
        ) {
            let cuts: Vec<usize> = (0..=text.len()).filter(|&i| text.is_char_boundary(i)).collect();
            let (left, right) = text.split_at(*at.get(&cuts));
            prop_assert_eq!(folded(&[left, right]), folded(&[&text]));
        }

        #[test]
        fn a_full_buffer_holds_a_prefix_within_its_limit(text in awkward_text(), limit in 0usize..90) {
            let mut fold = Fold::new(limit);
            fold.push(text.as_bytes());
            let full = fold.is_full();
            let cut = String::from_utf8(fold.finish()).unwrap();
            let whole = folded_slowly(&text);
            prop_assert!(cut.len() <= limit);
            prop_assert!(whole.starts_with(&cut));
            prop_assert!(full || cut == whole);
        }
    }

    #[test]
    fn invisible_characters_do_not_separate_words() {
        assert_eq!(folded(&["a\0b co\u{ad}op \u{feff}x\u{7}y"]), "ab coop xy");
    }

    #[test]
    fn every_kind_of_white_space_separates_words_once() {
        assert_eq!(folded(&["\u{3000}a\u{a0}\u{a0} b\r\n\tc\u{2028}d\u{85}"]), "a b c d");
    }
}
