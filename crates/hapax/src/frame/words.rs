//! Finds the words of a text, roughly and fast; pieces are made of them.
//!
//! Finds letters 32 bytes at a time; examines other bytes, except ASCII gaps, one by one. Does not fold letters
//! and does not hash.

/// What kind of character begins at a byte of UTF-8.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    /// A word of one character: Chinese, Japanese, Korean, pictures.
    Alone,
    Gap,
}

/// Iterates over runs of letters, runs with digits, and single characters of scripts without
/// spaces: start, end, and whether it is a number. Signs inside a number belong to it. Rough
/// boundaries are enough, as long as they are the same for the same text.
pub(super) struct Words<'t> {
    bytes: &'t [u8],
    /// Start of the unread text.
    at: usize,
    /// The word there is examined byte by byte from here on; the bytes before are letters.
    byte_by_byte: Option<usize>,
    /// Remaining words of letters that end in the current block.
    block: usize,
    letters: u32,
}

impl<'t> Words<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, byte_by_byte: None, block: 0, letters: 0 }
    }

    /// Classifies the next block up to the first byte that is neither a letter nor a gap.
    fn next_block(&mut self) {
        let Some(block) = self.bytes[self.at..].first_chunk() else {
            self.byte_by_byte = Some(self.at);
            return;
        };
        let (letters, others) = letters_and_others(block);
        let plain = others.trailing_zeros();
        // A word that ends in a later block is found there, unless it is long.
        let unfinished = letters.checked_shl(32 - plain).unwrap_or(0).leading_ones();
        let done = plain - unfinished;
        self.block = self.at;
        self.letters = letters & !u32::MAX.checked_shl(done).unwrap_or(0);
        self.byte_by_byte = (others != 0 || done == 0).then_some(self.at + plain as usize);
        self.at += done as usize;
    }

    /// The word at a place whose bytes up to `letters` are letters; `None` if there is none.
    #[inline(never)]
    fn word_here(&mut self, letters: usize) -> Option<(usize, usize, bool)> {
        let start = self.at;
        let (end, next, is_number) = word_at(self.bytes, start, letters);
        self.at = next;
        let other = |byte: &u8| !byte.is_ascii() || byte.is_ascii_digit();
        self.byte_by_byte = self.bytes.get(next).is_some_and(other).then_some(next);
        (start < end).then_some((start, end, is_number))
    }
}

impl Iterator for Words<'_> {
    type Item = (usize, usize, bool);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.letters != 0 {
                let from = self.letters.trailing_zeros();
                let to = from + (self.letters >> from).trailing_ones();
                self.letters &= u32::MAX << to;
                return Some((self.block + from as usize, self.block + to as usize, false));
            }
            if let Some(letters) = self.byte_by_byte {
                if let Some(word) = self.word_here(letters) {
                    return Some(word);
                }
            } else if self.at < self.bytes.len() {
                self.next_block();
            } else {
                return None;
            }
        }
    }
}

/// End of a word that has begun with some letters, start of the text after it, and whether it is a
/// number.
pub(super) fn word_at(bytes: &[u8], start: usize, letters: usize) -> (usize, usize, bool) {
    let (mut at, mut is_number) = (letters, false);
    while at < bytes.len() {
        let (class, length) = class_of(&bytes[at..]);
        let inside = is_number
            && class == Class::Gap
            && matches!(bytes[at], b'.' | b',' | b':' | b'-' | b'/')
            && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        match class {
            Class::Letter => {}
            Class::Digit => is_number = true,
            Class::Gap if inside => {}
            Class::Alone if at > start => return (at, at, is_number),
            Class::Alone => return (at + length, at + length, false),
            Class::Gap => return (at, at + length, is_number),
        }
        at += length;
    }
    (at, at, is_number)
}

/// Which of 32 bytes are ASCII letters, and which are neither these nor ASCII gaps, as bit masks.
/// Tests eight bytes per register.
#[inline]
pub(super) fn letters_and_others(block: &[u8; 32]) -> (u32, u32) {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    /// Sets the high bit of every byte in `first..=last`; for bytes below 128.
    fn between(low: u64, first: u8, last: u8) -> u64 {
        let from_first = low + ONES * u64::from(0x80 - first);
        let behind_last = low + ONES * u64::from(0x80 - last - 1);
        from_first & !behind_last & HIGH
    }
    /// Gathers the high bits of eight bytes by one multiplication.
    fn together(high: u64) -> u32 {
        ((high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
    }
    let (mut letters, mut others) = (0, 0);
    for (at, eight) in block.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*eight);
        let low = word & !HIGH;
        // Lower case.
        let letter = between(low | ONES << 5, b'a', b'z') & !word;
        letters |= together(letter) << (8 * at);
        others |= together((between(low, b'0', b'9') | word) & HIGH) << (8 * at);
    }
    (letters, others)
}

#[inline]
fn class_of(bytes: &[u8]) -> (Class, usize) {
    let class = match *bytes {
        [b'a'..=b'z' | b'A'..=b'Z', ..] => return (Class::Letter, 1),
        [b'0'..=b'9', ..] => return (Class::Digit, 1),
        [..=0x7f, ..] => return (Class::Gap, 1),
        // Signs of Latin-1.
        [0xc2, ..] => return (Class::Gap, 2),
        // Arabic digits, both kinds.
        [0xd9, 0xa0..=0xa9, ..] | [0xdb, 0xb0..=0xb9, ..] => return (Class::Digit, 2),
        [0xc3..=0xdf, ..] => return (Class::Letter, 2),
        [0xe0 | 0xe1, ..] => Class::Letter,
        // General punctuation to U+2FFF, punctuation of Chinese.
        [0xe2, ..] | [0xe3, 0x80, ..] => Class::Gap,
        [0xef, 0xbc, 0x90..=0x99, ..] => Class::Digit,
        [0xef, ..] => Class::Gap,
        [0xe3..=0xee, ..] => Class::Alone,
        _ => return (Class::Alone, bytes.len().min(4)),
    };
    (class, bytes.len().min(3))
}
