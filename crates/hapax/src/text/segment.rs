//! Splits a text into folded words, fast.
//!
//! Most chunks of most texts are a plain ASCII word. These are lowered in bulk, found a block of 64 bytes at a
//! time and handed out without consulting Unicode tables; everything else goes through [`normalize`] and
//! [`wordbreak`]. Allocates nothing per word.
//!
//! [`normalize`]: super::normalize
//! [`wordbreak`]: super::wordbreak

use super::block::{BLOCK, Block};
use super::confusables;
use super::normalize::Normalizer;
use super::parts::{Parts, give_back};
use super::wordbreak::{self, Class, Piece};
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How text without spaces is split into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unspaced {
    /// Single characters with their marks; Katakana words are split likewise. A shingle of five
    /// words is then five characters.
    Characters,
    /// Overlapping pairs of neighbouring characters; a run of one is a word by itself. Needs no
    /// dictionary, so results never change with one.
    #[default]
    Bigrams,
    /// Words from the dictionaries of `icu_segmenter`.
    Dictionary,
}

/// How words with a sign inside, such as `snake_case`, `can't`, `3.14` or `a.b.c`, are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Joined {
    /// One word, as in UAX 29.
    #[default]
    Whole,
    /// Each part is a word: only letters and digits make a word.
    Parts,
}

/// How look-alike letters of other scripts are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confusables {
    #[default]
    Keep,
    /// A word of Latin, Cyrillic and Greek letters is spelt in one script.
    Fold,
}

/// Receives the words of a text.
pub(crate) trait WordSink {
    /// A word of ASCII letters and digits inside `text`, where other bytes may follow.
    fn plain(&mut self, text: &str, start: usize, length: usize);

    fn word(&mut self, word: &str);
}

/// A function that takes every word.
pub(crate) struct Visit<F>(pub(crate) F);

impl<F: FnMut(&str)> WordSink for Visit<F> {
    #[inline(always)]
    fn plain(&mut self, text: &str, start: usize, length: usize) {
        (self.0)(&text[start..start + length]);
    }

    #[inline(always)]
    fn word(&mut self, word: &str) {
        (self.0)(word);
    }
}

/// Splits texts into folded words. Reuse it to keep its buffers.
#[derive(Debug)]
pub struct Segmenter {
    unspaced: RunCutter,
    joined: Joined,
    confusables: Confusables,
    normalizer: Normalizer,
    lowered: String,
    folded: String,
    respelt: String,
}

impl Segmenter {
    /// A segmenter with this rule for unspaced text, which leaves joined words whole.
    pub fn new(unspaced: Unspaced) -> Self {
        Self {
            unspaced: RunCutter::new(unspaced),
            joined: Joined::default(),
            confusables: Confusables::default(),
            normalizer: Normalizer::default(),
            lowered: String::new(),
            folded: String::new(),
            respelt: String::new(),
        }
    }

    /// The same segmenter with another rule for joined words.
    #[must_use]
    pub fn taking_joined(mut self, joined: Joined) -> Self {
        self.joined = joined;
        self
    }

    /// The same segmenter with another rule for look-alike letters.
    #[must_use]
    pub fn taking_confusables(mut self, confusables: Confusables) -> Self {
        self.confusables = confusables;
        self
    }

    /// Calls `visit` for every folded word of `text`, in order, up to twice the bytes of `text`.
    pub fn words(&mut self, text: &str, visit: impl FnMut(&str)) {
        self.words_to(text, &mut Visit(visit));
    }

    /// As [`words`](Self::words), for a sink that treats plain words specially.
    pub(crate) fn words_to(&mut self, text: &str, sink: &mut impl WordSink) {
        let mut parts = Parts::of(text);
        while !parts.is_done() {
            self.part_to(&mut parts, sink);
        }
    }

    /// Passes the words of the next part to the sink.
    pub(crate) fn part_to(&mut self, parts: &mut Parts<'_>, sink: &mut impl WordSink) {
        let part = parts.take();
        let mut lowered = std::mem::take(&mut self.lowered);
        lowered.clear();
        lowered.push_str(part);
        lowered.make_ascii_lowercase();
        // So that a whole block begins at every byte of the part.
        lowered.push_str(SPACES);
        if !self.cut(part, &lowered, &mut parts.room, sink) {
            parts.end();
        }
        self.lowered = lowered;
        give_back(&mut self.lowered);
        give_back(&mut self.folded);
    }

    /// Splits a text given also in lower case, followed by a block of spaces. `false` if there was
    /// not enough space to fold all of it.
    fn cut(
        &mut self,
        text: &str,
        lowered: &str,
        room: &mut usize,
        sink: &mut impl WordSink,
    ) -> bool {
        let mut at = 0;
        while at < text.len() {
            let Some(bytes) = lowered.as_bytes()[at..].first_chunk() else { return true };
            let Block { plain, space, wide, underscore } = Block::of(bytes);
            let Some(last_space) = space.checked_ilog2() else {
                // A chunk longer than a block.
                let end = (at..text.len()).find(|&at| is_chunk_end(text.as_bytes()[at]));
                let end = end.unwrap_or(text.len());
                if !self.cut_chunk(&text[at..end], &lowered[at..end], room, sink) {
                    return false;
                }
                at = end + 1;
                continue;
            };
            // The chunks that end in this block.
            let whole = u64::MAX >> (BLOCK as u32 - 1 - last_space);
            let mut words = plain & whole;
            let odd = match self.joined {
                Joined::Parts => wide,
                // A single sign after a word, such as a full stop, is not part of it.
                Joined::Whole => {
                    !(plain | space) & (wide | underscore | !(plain << 1 & space >> 1))
                }
            };
            let mut odd = odd & whole;
            while odd != 0 {
                let first = odd.trailing_zeros();
                let before = space & !(u64::MAX << first);
                let start = u64::BITS - before.leading_zeros();
                let end = first + (space >> first).trailing_zeros();
                plain_words(words & !(u64::MAX << start), lowered, at, sink);
                let chunk = at + start as usize..at + end as usize;
                if !self.cut_chunk(&text[chunk.clone()], &lowered[chunk], room, sink) {
                    return false;
                }
                words &= u64::MAX << end;
                odd &= u64::MAX << end;
            }
            plain_words(words, lowered, at, sink);
            at += last_space as usize + 1;
        }
        true
    }

    /// Splits a chunk that is not plain. `false` if there was not enough space to fold all of it.
    #[inline(never)]
    fn cut_chunk(
        &mut self,
        chunk: &str,
        lowered: &str,
        room: &mut usize,
        sink: &mut impl WordSink,
    ) -> bool {
        let Self { unspaced, joined, confusables, normalizer, folded, respelt, .. } = self;
        if !chunk.is_ascii() {
            folded.clear();
            // Folds the original, because lowering first could prevent a composition.
            let whole = fold_within(normalizer, chunk, *room, folded);
            *room -= folded.len();
            unspaced.cut(folded, *joined, |range| match confusables {
                Confusables::Keep => sink.word(&folded[range]),
                Confusables::Fold => sink.word(confusables::fold(&folded[range], respelt)),
            });
            return whole;
        }
        match joined {
            Joined::Parts => lowered
                .split(|c: char| ASCII[c as usize & 0x7F] != PLAIN)
                .filter(|part| !part.is_empty())
                .for_each(|part| sink.word(part)),
            Joined::Whole => cut_ascii(lowered, &mut |word| sink.word(word)),
        }
        true
    }

    /// The ranges of the words of a folded chunk.
    pub(super) fn cut_folded(&self, folded: &str, visit: impl FnMut(Range<usize>)) {
        self.unspaced.cut(folded, self.joined, visit);
    }

    /// A word of a folded chunk in normalized spelling.
    pub(super) fn spelt(&self, word: &str) -> String {
        match self.confusables {
            Confusables::Keep => word.to_owned(),
            Confusables::Fold => confusables::fold(word, &mut String::new()).to_owned(),
        }
    }

    pub(super) fn normalizer(&mut self) -> &mut Normalizer {
        &mut self.normalizer
    }
}

/// Maximum size of the folded text beyond ASCII; the rest is not read. A letter may become
/// eighteen, so a text made of such letters would take many times its memory; ordinary text does
/// not double.
pub(super) const fn most_folded(text: &str) -> usize {
    2 * text.len() + 4096
}

/// Upper bound of the growth by folding: U+FDFA has 3 bytes and becomes 33.
const MOST_GROWTH: usize = 11;

/// Folds a chunk as far as there is space; in independently folding pieces if space may be short.
/// Returns whether all of it was folded.
fn fold_within(normalizer: &mut Normalizer, chunk: &str, room: usize, out: &mut String) -> bool {
    if chunk.len().saturating_mul(MOST_GROWTH) <= room {
        normalizer.fold_into(chunk, out);
        return true;
    }
    let mut from = 0;
    while from < chunk.len() {
        let afresh = |&(at, c): &(usize, char)| at > 0 && normalizer.starts_afresh(c);
        let to = chunk[from..].char_indices().find(afresh).map_or(chunk.len(), |(at, _)| from + at);
        let before = out.len();
        normalizer.fold_into(&chunk[from..to], out);
        if out.len() > room {
            out.truncate(before);
            return false;
        }
        from = to;
    }
    true
}

/// Passes the runs of ones of a block to the sink.
#[inline(always)]
fn plain_words(mut words: u64, lowered: &str, block: usize, sink: &mut impl WordSink) {
    while words != 0 {
        let start = words.trailing_zeros();
        let length = (words >> start).trailing_ones();
        sink.plain(lowered, block + start as usize, length as usize);
        // The carry clears the run; what it leaves behind is not a word.
        words &= words.wrapping_add(1 << start);
    }
}

/// Splits a lowered ASCII chunk that contains signs.
#[inline]
fn cut_ascii(chunk: &str, visit: &mut impl FnMut(&str)) {
    // Most signs are around a word, where only the joiner can be part of it.
    let matters = |b: u8| ASCII[usize::from(b)] == PLAIN || b == b'_';
    let bytes = chunk.as_bytes();
    let Some(first) = bytes.iter().position(|&b| matters(b)) else { return };
    let last = bytes.iter().rposition(|&b| matters(b)).unwrap_or(first);
    let core = &chunk[first..=last];
    if core.bytes().all(|b| ASCII[usize::from(b)] == PLAIN) {
        visit(core);
        return;
    }
    let mut scan = wordbreak::Scan::default();
    let mut report = |piece| match piece {
        Piece::Word(range) | Piece::Unspaced(range) => visit(&core[range]),
    };
    for (i, b) in core.bytes().enumerate() {
        scan.step(ASCII_CLASS[usize::from(b & 0x7F)], i, 1, &mut report);
    }
    scan.finish(&mut report);
}

/// Splits a folded chunk, including unspaced runs.
#[derive(Debug)]
enum RunCutter {
    Characters,
    Bigrams,
    Dictionary(WordSegmenterBorrowed<'static>),
}

impl RunCutter {
    fn new(unspaced: Unspaced) -> Self {
        match unspaced {
            Unspaced::Characters => Self::Characters,
            Unspaced::Bigrams => Self::Bigrams,
            // `new_auto` would run a neural model on Thai, which is a hundred times slower.
            Unspaced::Dictionary => {
                Self::Dictionary(WordSegmenter::new_dictionary(Default::default()))
            }
        }
    }

    fn cut(&self, folded: &str, joined: Joined, mut visit: impl FnMut(Range<usize>)) {
        wordbreak::pieces(folded, joined == Joined::Parts, |piece| match piece {
            Piece::Word(range) => match self {
                Self::Characters if is_katakana(&folded[range.clone()]) => {
                    units(folded, range, &mut visit);
                }
                Self::Characters | Self::Bigrams | Self::Dictionary(_) => visit(range),
            },
            Piece::Unspaced(run) => match self {
                Self::Characters => units(folded, run, &mut visit),
                Self::Bigrams => bigrams(folded, run, &mut visit),
                Self::Dictionary(words) => {
                    let mut from = run.start;
                    for end in words.segment_str(&folded[run.clone()]).skip(1) {
                        visit(from..run.start + end);
                        from = run.start + end;
                    }
                }
            },
        });
    }
}

/// Whether a word is entirely in Katakana.
fn is_katakana(word: &str) -> bool {
    word.chars().all(|c| matches!(Class::of(c), Class::Katakana | Class::Extend))
}

/// Letters, each with the marks that follow it.
fn units(folded: &str, run: Range<usize>, visit: &mut impl FnMut(Range<usize>)) {
    let mut unit = run.start;
    for (offset, c) in folded[run.clone()].char_indices().skip(1) {
        if Class::of(c) != Class::Extend {
            visit(unit..run.start + offset);
            unit = run.start + offset;
        }
    }
    visit(unit..run.end);
}

/// Overlapping pairs of units; a unit is a letter with the marks that follow it.
fn bigrams(folded: &str, run: Range<usize>, visit: &mut impl FnMut(Range<usize>)) {
    let mut before = None;
    let mut unit = run.start;
    for (offset, c) in folded[run.clone()].char_indices().skip(1) {
        let at = run.start + offset;
        if Class::of(c) == Class::Unspaced {
            if let Some(start) = before {
                visit(start..at);
            }
            before = Some(unit);
            unit = at;
        }
    }
    visit(before.unwrap_or(unit)..run.end);
}

const SPACES: &str = match str::from_utf8(&[b' '; BLOCK]) {
    Ok(spaces) => spaces,
    Err(_) => unreachable!(),
};

/// White space, which ends a chunk. The other values are flags of a chunk.
const SPACE: u8 = 0x80;
/// Lower-case letters and digits, which are always part of a word.
const PLAIN: u8 = 1;
/// Any other ASCII character; it may end, join or be outside of a word.
const SIGN: u8 = 2;
/// Part of a character beyond ASCII.
const WIDE: u8 = 4;

static ASCII: [u8; 256] = {
    let mut table = [SIGN; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        if byte.is_ascii_whitespace() || byte == 0x0B {
            table[b] = SPACE;
        } else if byte.is_ascii_lowercase() || byte.is_ascii_digit() {
            table[b] = PLAIN;
        } else if !byte.is_ascii() {
            table[b] = WIDE;
        }
        b += 1;
    }
    table
};

/// [`Class::of`] for ASCII; a test compares both.
static ASCII_CLASS: [Class; 128] = {
    let mut table = [Class::Other; 128];
    let mut b = 0;
    while b < 128 {
        table[b] = match b as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'_' => Class::Joiner,
            b':' => Class::MidLetter,
            b',' | b';' => Class::MidNumber,
            b'.' => Class::MidBoth,
            b'\'' => Class::Apostrophe,
            b'"' => Class::Quote,
            _ => Class::Other,
        };
        b += 1;
    }
    table
};

/// Whether this is white space that ends a chunk.
pub(super) fn is_chunk_end(byte: u8) -> bool {
    ASCII[usize::from(byte)] == SPACE
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(unspaced: Unspaced, text: &str) -> Vec<String> {
        joined_words(unspaced, Joined::Whole, text)
    }

    fn joined_words(unspaced: Unspaced, joined: Joined, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut segmenter = Segmenter::new(unspaced).taking_joined(joined);
        segmenter.words(text, |w| found.push(w.to_owned()));
        found
    }

    /// Reference implementation: folds everything, splits at white space, uses the general path.
    fn slow_words(unspaced: Unspaced, joined: Joined, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let cutter = RunCutter::new(unspaced);
        for chunk in text.split(|c: char| c.is_ascii() && is_chunk_end(c as u8)) {
            let mut folded = String::new();
            Normalizer::default().fold_into(chunk, &mut folded);
            cutter.cut(&folded, joined, |range| found.push(folded[range].to_owned()));
        }
        found
    }

    #[test]
    fn a_text_that_grows_when_it_is_folded_is_read_up_to_twice_its_size() {
        let text = format!("plain words {} end", "\u{FDFA}".repeat(10_000));
        for text in [text.clone(), text.replace('\u{FDFA}', "\u{FDFA} ")] {
            let mut segmenter = Segmenter::new(Unspaced::Bigrams);
            let (mut bytes, mut words) = (0, Vec::new());
            segmenter.words(&text, |word| {
                bytes += word.len();
                words.push(word.to_owned());
            });
            assert!(bytes > text.len() && bytes <= most_folded(&text), "{bytes}");
            assert!(!words.contains(&"end".to_owned()));
            let placed = segmenter.placed_words(&text).into_iter().map(|placed| placed.word);
            assert!(placed.eq(words));
        }
    }

    #[test]
    fn ascii_classes_are_those_of_unicode() {
        for b in 0..128u8 {
            assert_eq!(ASCII_CLASS[usize::from(b)], Class::of(char::from(b)), "byte {b:#x}");
        }
    }

    #[test]
    fn english_is_cut_at_spaces_and_punctuation() {
        assert_eq!(
            words(Unspaced::Bigrams, "The Quick, brown fox's  3.5 e-mails\tHTML5!"),
            ["the", "quick", "brown", "fox's", "3.5", "e", "mails", "html5"]
        );
    }

    #[test]
    fn joined_words_are_kept_whole_or_split() {
        let text = "can't x_y  __ 3.14 a.b/c d\u{2019}e 版7.4 l\u{e9}on_1";
        assert_eq!(
            joined_words(Unspaced::Bigrams, Joined::Parts, text),
            [
                "can",
                "t",
                "x",
                "y",
                "3",
                "14",
                "a",
                "b",
                "c",
                "d",
                "e",
                "版",
                "7",
                "4",
                "l\u{e9}on",
                "1"
            ]
        );
        assert_eq!(words(Unspaced::Bigrams, "x_y a.b 3.14"), ["x_y", "a.b", "3.14"]);
    }

    #[test]
    fn chinese_without_a_dictionary_becomes_overlapping_pairs() {
        assert_eq!(words(Unspaced::Bigrams, "我爱北京 a 天"), ["我爱", "爱北", "北京", "a", "天"]);
    }

    #[test]
    fn characters_are_cut_one_by_one_with_their_marks_and_spaced_words_are_not() {
        assert_eq!(
            words(Unspaced::Characters, "我爱北京 can't コーヒーを"),
            ["我", "爱", "北", "京", "can't", "コ", "ー", "ヒ", "ー", "を"]
        );
        assert_eq!(words(Unspaced::Characters, "ที่นี่"), ["ที่", "นี่"]);
        assert_eq!(words(Unspaced::Characters, "한국어 x_ア"), ["한국어", "x_ア"]);
    }

    #[test]
    fn chinese_and_thai_with_a_dictionary_become_words() {
        assert_eq!(words(Unspaced::Dictionary, "北京天安门"), ["北京", "天安门"]);
        assert_eq!(words(Unspaced::Dictionary, "ภาษาไทย"), ["ภาษา", "ไทย"]);
    }

    #[test]
    fn thai_marks_stay_with_their_letters() {
        assert_eq!(words(Unspaced::Bigrams, "ที่นี่"), ["ที่นี่"]);
        assert_eq!(words(Unspaced::Bigrams, "กขค"), ["กข", "ขค"]);
    }

    fn mixed() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[A-Za-z0-9]{1,8}",
            3 => "[ \t\n]",
            2 => "[.,:;'_\\-\"!/]",
            1 => "[äÖßéИя漢字かなカナกาひא한ﬁＡ①\u{300}\u{3000}\u{A0}]{1,3}",
            1 => any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..30).prop_map(|v| v.concat())
    }

    proptest! {
        #[test]
        fn the_fast_path_gives_the_words_of_the_slow_one(text in mixed()) {
            for unspaced in [Unspaced::Characters, Unspaced::Bigrams, Unspaced::Dictionary] {
                for joined in [Joined::Whole, Joined::Parts] {
                    prop_assert_eq!(
                        joined_words(unspaced, joined, &text),
                        slow_words(unspaced, joined, &text)
                    );
                }
            }
        }

        #[test]
        fn a_used_segmenter_behaves_like_a_new_one(a in mixed(), b in mixed()) {
            let mut used = Segmenter::new(Unspaced::Bigrams);
            used.words(&a, |_| {});
            let mut again = Vec::new();
            used.words(&b, |w| again.push(w.to_owned()));
            prop_assert_eq!(again, words(Unspaced::Bigrams, &b));
        }
    }
}
