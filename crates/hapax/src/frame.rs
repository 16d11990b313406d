//! Separates a page's own text from the frame of its site.
//!
//! Splits a text into *pieces* of about five words, at words chosen by their hashes, so that an edit moves few
//! boundaries. A piece that occurs on many pages of a host ([`least_pages`]) belongs to the host's frame. The
//! other pieces are the page's own text; an [`OwnText`] is a sample of it. Words with a digit are pieces by
//! themselves and count only next to words: dates, prices and counters alone do not make another page, nor does
//! a name in a log-in form.
//!
//! Pure functions. Does not know hosts and does not count pages; the caller does.

#[cfg(feature = "text")]
mod cutter;
mod few;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::features::hash::{BASE, scramble};
#[cfg(feature = "text")]
pub use cutter::PieceCutter;
use few::Few;
use words::Words;

/// Hosts with fewer distinct pages have no frame: what their pages share may be one copied article.
pub const MIN_PAGES: u32 = 8;
/// Number of pages from which on a piece belongs to the frame of a small host.
const MANY_PAGES: u32 = 8;
/// On a large host, a piece belongs to the frame if at least one page in this many has it.
const ONE_PAGE_IN: u32 = 50;
/// Own texts that share at most this part of the smaller one are different.
pub const MAX_SHARED: f32 = 0.7;
/// Own texts with fewer words count only together with a number of their own.
pub const ENOUGH_WORDS: u16 = 30;

/// Where own texts alone decide, a page whose own text has fewer words is compared as a whole.
pub const ALONE_WORDS: usize = 50;
/// So is a page whose own text has less than one in this many of its words.
pub const ALONE_ONE_IN: usize = 20;

/// A piece ends before a word whose hash modulo 16 is below this: after five words on average.
const CUTS_IN_16: u64 = 3;
const MAX_WORDS: u8 = 16;
/// How many occurrences of a piece on one page count separately: a product's name is in the menu
/// and above the text.
const OCCURRENCES: u32 = 8;
/// Pieces per sample.
const SAMPLE: usize = 15;
/// Up to this many pieces are kept with all 32 bits of their hashes. With 16 bits, two of 200
/// products of one brand in a large frame would be confused.
const FEW: usize = SAMPLE / 2;
/// Set in the number of pieces if hashes are kept with all bits.
const WIDE: u16 = 1 << 15;

/// A short run of words of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// Hash of the words, and of the number of earlier occurrences on the page.
    pub hash: u32,
    /// Number of words without a digit; 0 for a number.
    pub words: u8,
}

/// Minimum number of pages that a piece must be on to belong to the frame, out of `pages` distinct
/// pages of a host; `None` if there are too few pages.
pub const fn least_pages(pages: u32) -> Option<u32> {
    if pages < MIN_PAGES {
        return None;
    }
    let half = pages.div_ceil(2);
    let many = if half < MANY_PAGES { half } else { MANY_PAGES };
    let share = pages / ONE_PAGE_IN;
    Some(if share > many { share } else { many })
}

/// As [`least_pages`], where own texts alone decide. There it is worse to mistake frame for own
/// text than the reverse, because without enough own text the whole page is compared.
pub const fn least_pages_alone(pages: u32) -> Option<u32> {
    if pages < 2 {
        return None;
    }
    let quarter = pages / 4;
    let many = if quarter < MANY_PAGES { quarter } else { MANY_PAGES };
    let share = pages / ONE_PAGE_IN;
    let least = if share > many { share } else { many };
    Some(if least < 2 { 2 } else { least })
}

/// The distinct pieces of a text, in text order.
pub fn pieces(text: &str, out: &mut Vec<Piece>) {
    out.clear();
    for_each_piece(text, |_, piece| out.push(piece));
    count_repeats(out);
}

/// Gives repeats of a piece a hash of their own, and drops those beyond [`OCCURRENCES`].
fn count_repeats(out: &mut Vec<Piece>) {
    let mut times = Occurrences::of_at_most(out.len());
    out.retain_mut(|piece| {
        let times = times.add(piece.hash);
        if times > 0 {
            piece.hash = occurrence(piece.hash, times);
        }
        times < OCCURRENCES
    });
}

/// Counts occurrences of hashes in an open-addressing table that is at most half full.
struct Occurrences {
    /// A hash above its number of occurrences; 0 for an empty slot.
    slots: Vec<u64>,
    /// Hashes without a free slot nearby, as on hostile pages.
    others: BTreeMap<u32, u32>,
}

impl Occurrences {
    /// Number of slots tried for a hash.
    const PROBES: usize = 32;

    fn of_at_most(hashes: usize) -> Self {
        let slots = (2 * hashes).next_power_of_two();
        Self { slots: vec![0; slots], others: BTreeMap::new() }
    }

    /// The number of earlier occurrences of a hash, at most [`OCCURRENCES`].
    fn add(&mut self, hash: u32) -> u32 {
        let last = self.slots.len() - 1;
        for at in hash as usize..hash as usize + Self::PROBES {
            let slot = &mut self.slots[at & last];
            let times = (*slot >> 32) as u32;
            if times == 0 || *slot as u32 == hash {
                *slot = u64::from(hash) | u64::from((times + 1).min(OCCURRENCES)) << 32;
                return times;
            }
        }
        let times = self.others.entry(hash).or_default();
        *times += 1;
        (*times - 1).min(OCCURRENCES)
    }
}

/// A set of the upper halves of hashes; answers whether a hash is certainly new.
#[derive(Clone, Debug)]
pub struct Seen([u64; 1024]);

impl Default for Seen {
    fn default() -> Self {
        Self([0; 1024])
    }
}

impl Seen {
    const fn place(hash: u32) -> (usize, u64) {
        ((hash >> 22) as usize, 1 << (hash >> 16 & 63))
    }

    /// `false` only if the hash is certainly not in the set.
    pub fn contains(&self, hash: u32) -> bool {
        let (word, bit) = Self::place(hash);
        self.0[word] & bit != 0
    }

    /// The upper halves, ascending.
    fn upper_halves(&self) -> impl Iterator<Item = u16> {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some((at * 64) as u16 + bit as u16)
            })
        })
    }

    /// `false` if the hash may have been inserted before.
    pub fn insert(&mut self, hash: u32) -> bool {
        let (word, bit) = Self::place(hash);
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

/// The places of the pieces of words in a text, in text order, each with its hash as in [`pieces`].
pub fn located_pieces(text: &str) -> Vec<(Range<usize>, u32)> {
    let mut found = Vec::new();
    let mut times = BTreeMap::new();
    for_each_piece(text, |place, piece| {
        if piece.words == 0 {
            return;
        }
        let times = times.entry(piece.hash).or_insert(0);
        found.push((place, occurrence(piece.hash, *times)));
        *times += 1;
    });
    found
}

/// The hashes that occur at least `least` times among the hashes of all pages, ascending.
pub fn on_many_pages(mut hashes: Vec<u32>, least: u32) -> Vec<u32> {
    // Most hashes are rare and need not be sorted; counting by the lower bits rules them out.
    let mut counts = vec![0u16; hashes.len().next_power_of_two().min(1 << 16)];
    let last = counts.len() - 1;
    for hash in &hashes {
        let count = &mut counts[*hash as usize & last];
        *count = count.saturating_add(1);
    }
    let enough = u16::try_from(least).unwrap_or(u16::MAX);
    hashes.retain(|hash| counts[*hash as usize & last] >= enough);
    hashes.sort_unstable();
    let same = hashes.chunk_by(|a, b| a == b);
    same.filter(|same| same.len() >= least as usize).map(|same| same[0]).collect()
}

/// A text without the pieces of the frame and without numbers between them. `None` if too little is
/// left to represent the page: fewer than [`ALONE_WORDS`], or less than one word in
/// [`ALONE_ONE_IN`].
pub fn own_text(text: &str, is_frame: impl Fn(u32) -> bool) -> Option<String> {
    let (mut own, mut own_words, mut all_words) = (String::new(), 0, 0);
    let mut times = BTreeMap::new();
    for_each_piece(text, |place, piece| {
        if piece.words == 0 {
            return;
        }
        let times = times.entry(piece.hash).or_insert(0);
        all_words += usize::from(piece.words);
        if !is_frame(occurrence(piece.hash, *times)) {
            own_words += usize::from(piece.words);
            own.push_str(&text[place]);
            own.push(' ');
        }
        *times = (*times + 1).min(OCCURRENCES - 1);
    });
    (own_words >= ALONE_WORDS && own_words * ALONE_ONE_IN >= all_words).then_some(own)
}

fn occurrence(hash: u32, times: u32) -> u32 {
    match times {
        0 => hash,
        _ => scramble(u64::from(hash) | u64::from(times) << 32) as u32,
    }
}

fn for_each_piece(text: &str, take: impl FnMut(Range<usize>, Piece)) {
    let hash =
        |(start, end, is_number)| (start..end, is_number, xxh3_64(&text.as_bytes()[start..end]));
    join_words(Words::of(text).map(hash), take);
}

/// Joins words to pieces.
#[inline(always)]
fn join_words(
    all: impl Iterator<Item = (Range<usize>, bool, u64)>,
    mut take: impl FnMut(Range<usize>, Piece),
) {
    let (mut sum, mut words, mut place) = (0u64, 0u8, 0..0);
    for (Range { start, end }, is_number, hash) in all {
        if is_number {
            take(start..end, Piece { hash: scramble(hash) as u32, words: 0 });
            continue;
        }
        if words > 0 && (hash & 15 < CUTS_IN_16 || words == MAX_WORDS) {
            take(place.clone(), Piece { hash: scramble(sum) as u32, words });
            (sum, words) = (0, 0);
        }
        if words == 0 {
            place.start = start;
        }
        place.end = end;
        sum = sum.wrapping_mul(BASE).wrapping_add(hash);
        words += 1;
    }
    if words > 0 {
        take(place, Piece { hash: scramble(sum) as u32, words });
    }
}

/// A sample of a page's own text in 36 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnText {
    /// The smallest lower halves of hashes, ascending; all of them if they fit. For up to [`FEW`]
    /// pieces, lower and upper halves alternate.
    sample: [u16; SAMPLE],
    /// Number of pieces, at most 32,767, and the flag [`WIDE`].
    pieces: u16,
    words: u16,
    numbers: u16,
}

impl OwnText {
    /// Encoded size in bytes.
    pub const BYTES: usize = 2 * (SAMPLE + 3);

    /// Encodes sample, number of pieces, words, numbers: 16 bits each, little-endian.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let numbers = self.sample.into_iter().chain([self.pieces, self.words, self.numbers]);
        let mut bytes = [0; Self::BYTES];
        bytes
            .as_chunks_mut()
            .0
            .iter_mut()
            .zip(numbers)
            .for_each(|(two, it)| *two = it.to_le_bytes());
        bytes
    }

    /// Decodes an own text; any bytes are valid.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut numbers = bytes.as_chunks().0.iter().map(|two| u16::from_le_bytes(*two));
        let mut next = || numbers.next().unwrap_or_default();
        let sample = std::array::from_fn(|_| next());
        Self { sample, pieces: next(), words: next(), numbers: next() }
    }

    /// The own text of a page with these pieces outside the frame.
    pub fn of(own: impl IntoIterator<Item = Piece>) -> Self {
        let (mut hashes, mut words, mut numbers) = (Seen::default(), 0u16, 0u16);
        let mut pieces = 0u16;
        let mut few = Few::default();
        for piece in own {
            if piece.words == 0 {
                numbers = numbers.saturating_add(1);
                continue;
            }
            few.add(piece.hash);
            pieces += u16::from(hashes.insert(piece.hash << 16) && pieces < WIDE - 1);
            words = words.saturating_add(u16::from(piece.words));
        }
        let mut sample = [0; SAMPLE];
        if let Some(few) = few.all() {
            let halves = few.iter().flat_map(|&hash| [hash as u16, (hash >> 16) as u16]);
            sample.iter_mut().zip(halves).for_each(|(slot, half)| *slot = half);
            return Self { sample, pieces: few.len() as u16 | WIDE, words, numbers };
        }
        sample.iter_mut().zip(hashes.upper_halves()).for_each(|(slot, hash)| *slot = hash);
        Self { sample, pieces, words, numbers }
    }

    /// Number of words without a digit, at most 65,535.
    pub const fn words(&self) -> u16 {
        self.words
    }

    /// All hashes if there are few; `None` otherwise.
    fn few(&self) -> Option<impl Iterator<Item = u32> + Clone> {
        let few = usize::from(self.pieces & !WIDE).min(FEW);
        let halves = self.sample.as_chunks::<2>().0[..few].iter();
        let whole = |[low, high]: &[u16; 2]| u32::from(*low) | u32::from(*high) << 16;
        (self.pieces & WIDE != 0).then(|| halves.map(whole))
    }

    /// The sampled lower halves, ascending.
    fn sampled(&self) -> impl Iterator<Item = u16> + Clone {
        let (few, step) = match self.pieces & WIDE {
            0 => (SAMPLE.min(usize::from(self.pieces)), 1),
            _ => (FEW.min(usize::from(self.pieces & !WIDE)), 2),
        };
        self.sample.iter().copied().step_by(step).take(few)
    }

    /// Estimated share of the smaller own text that is in the other one, 0 to 1; exact up to 15
    /// pieces each. `None` if one has nothing to compare, so that the whole pages decide.
    pub fn shared(&self, other: &Self) -> Option<f32> {
        let (least, both) = match (self.few(), other.few()) {
            (Some(one), Some(two)) => {
                let both = one.clone().filter(|hash| two.clone().any(|it| it == *hash)).count();
                (one.count().min(two.count()), both)
            }
            _ => {
                let incomplete =
                    |it: &Self| usize::from(it.pieces) > SAMPLE && it.pieces & WIDE == 0;
                let reach =
                    |it: &Self| if incomplete(it) { it.sample[SAMPLE - 1] } else { u16::MAX };
                let reach = reach(self).min(reach(other));
                let [one, two] =
                    [self, other].map(|it| it.sampled().take_while(move |hash| *hash <= reach));
                let both = one.clone().filter(|hash| two.clone().any(|it| it == *hash)).count();
                (one.count().min(two.count()), both)
            }
        };
        (least > 0).then(|| both as f32 / least as f32)
    }

    /// Whether the own text suffices to distinguish pages: many words, or a few and a number.
    const fn is_enough(&self) -> bool {
        self.words >= ENOUGH_WORDS || self.words > 0 && self.numbers > 0
    }

    /// Whether both own texts suffice and are different.
    pub fn differs_from(&self, other: &Self) -> bool {
        let both_say_enough = self.is_enough() && other.is_enough();
        both_say_enough && self.shared(other).is_some_and(|shared| shared <= MAX_SHARED)
    }

    /// Bucket key for one of several passes. Own texts that do not [differ](Self::differs_from)
    /// share a key with a probability equal to their similarity. 0 if the whole page decides.
    pub fn bucket(&self, pass: usize) -> u16 {
        if !self.is_enough() {
            return 0;
        }
        let key = |hash: u16| scramble(u64::from(hash) | (pass as u64) << 16) as u16 | 1;
        self.sampled().map(key).min().unwrap_or(0)
    }
}
