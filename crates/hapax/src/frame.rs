//! What does a page say beyond the frame of its site?
//!
//! A text is cut into *pieces* of about five words, at words chosen by their hashes, so that an edit moves few
//! cuts. A piece that stands on many pages of a host ([`least_pages`]) belongs to the host's frame. The other pieces
//! are the page's own text, of which an [`OwnText`] is a sample. Words with a digit are pieces by themselves and count
//! only beside words: dates, prices and counters alone do not make another page, nor does a name alone in a log-in form.
//!
//! Pure functions of their arguments. Does not know hosts and does not count pages: the caller does.

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

/// Hosts with fewer different pages have no frame: what their pages share may as well be one article, copied.
pub const MIN_PAGES: u32 = 8;
/// On so many pages of a host a piece is frame, if the host is not large.
const MANY_PAGES: u32 = 8;
/// Of a large host, a piece is frame on one page in so many.
const ONE_PAGE_IN: u32 = 50;
/// Own texts that share no more than this part of the smaller one are different.
pub const MAX_SHARED: f32 = 0.7;
/// Own texts with fewer words count only beside a number of their own.
pub const ENOUGH_WORDS: u16 = 30;

/// Where own texts alone decide, one with fewer words does not: the whole page does.
pub const ALONE_WORDS: usize = 50;
/// Nor one with less than one in so many of the page's words.
pub const ALONE_ONE_IN: usize = 20;

/// A piece ends before a word whose hash modulo 16 is below this, so after five words on average.
const CUTS_IN_16: u64 = 3;
const MAX_WORDS: u8 = 16;
/// How many copies of one piece on a page count separately; a product's name stands in the menu and above the text.
const OCCURRENCES: u32 = 8;
/// Pieces in a sample.
const SAMPLE: usize = 15;
/// Up to so many pieces are kept with all bits of their hashes: with 16 of them, of 200 products of one brand in a large
/// frame two would be taken for one.
const FEW: usize = SAMPLE / 2;
/// Marks the number of pieces where hashes are kept with all bits.
const WIDE: u16 = 1 << 15;

/// A short run of words of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// Of its words, and of how often it has come before on the page.
    pub hash: u32,
    /// Words without a digit; 0 for a number.
    pub words: u8,
}

/// On how many of so many different pages of a host a piece must stand to be frame; `None` if the pages are too few.
pub const fn least_pages(pages: u32) -> Option<u32> {
    if pages < MIN_PAGES {
        return None;
    }
    let half = pages.div_ceil(2);
    let many = if half < MANY_PAGES { half } else { MANY_PAGES };
    let share = pages / ONE_PAGE_IN;
    Some(if share > many { share } else { many })
}

/// The same where own texts alone decide: there a frame that is taken for own text costs more than own text that is
/// taken for frame, because the page is then compared as a whole.
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

/// The pieces of a text, each once, in its order.
pub fn pieces(text: &str, out: &mut Vec<Piece>) {
    out.clear();
    for_each_piece(text, |_, piece| out.push(piece));
    count_repeats(out);
}

/// Makes the repeats of a piece others, and leaves out those that are too many.
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

/// How often hashes have come: a table with open addressing, half full at most.
struct Occurrences {
    /// A hash below its number of occurrences; 0 where none is.
    slots: Vec<u64>,
    /// Hashes that found no slot near their own, as those of a hostile page do.
    others: BTreeMap<u32, u32>,
}

impl Occurrences {
    /// How far from its place a hash is looked for.
    const PROBES: usize = 32;

    fn of_at_most(hashes: usize) -> Self {
        let slots = (2 * hashes).next_power_of_two();
        Self { slots: vec![0; slots], others: BTreeMap::new() }
    }

    /// How often a hash has come before, at most [`OCCURRENCES`].
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

/// Which upper halves of hashes have come: enough to know what certainly has not.
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

    /// False for what certainly has not come.
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

    /// False if it may have come before.
    pub fn insert(&mut self, hash: u32) -> bool {
        let (word, bit) = Self::place(hash);
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

/// Where a text's pieces of words are, in its order, each with its hash as in [`pieces`].
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

/// The pieces that stand on so many pages, ascending, of the hashes of all pages.
pub fn on_many_pages(mut hashes: Vec<u32>, least: u32) -> Vec<u32> {
    // Most stand on few pages and need not be sorted: those that share their lower bits are few, too.
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

/// A text without the pieces that are frame, numbers between which go with them. `None` if too little is left to
/// speak for the page: fewer than [`ALONE_WORDS`], or than one word in [`ALONE_ONE_IN`].
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

/// Joins words, with whether they are numbers and their hashes, to pieces.
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

/// A sample of a page's own text, in 36 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnText {
    /// The lower halves of hashes, the least ascending; all of them if there are no more than fit. Of [`FEW`] pieces and
    /// fewer, lower and upper halves by turns.
    sample: [u16; SAMPLE],
    /// At most 32,767, and [`WIDE`].
    pieces: u16,
    words: u16,
    numbers: u16,
}

impl OwnText {
    /// As stored.
    pub const BYTES: usize = 2 * (SAMPLE + 3);

    /// Sample, number of pieces, words, numbers: 16 bits each, little-endian.
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

    /// What [`to_bytes`](Self::to_bytes) gave; of other bytes some own text that can be compared.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut numbers = bytes.as_chunks().0.iter().map(|two| u16::from_le_bytes(*two));
        let mut next = || numbers.next().unwrap_or_default();
        let sample = std::array::from_fn(|_| next());
        Self { sample, pieces: next(), words: next(), numbers: next() }
    }

    /// Of a page with these pieces beyond the frame.
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

    /// Words without a digit, at most 65,535.
    pub const fn words(&self) -> u16 {
        self.words
    }

    /// All hashes, if they are few.
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

    /// The estimated share of the smaller own text that is in the other, 0 to 1; exact up to 15 pieces each.
    /// `None` where one has nothing to compare: then the whole pages decide.
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

    /// Is there enough to distinguish the page from others: many words, or a few and a number?
    const fn is_enough(&self) -> bool {
        self.words >= ENOUGH_WORDS || self.words > 0 && self.numbers > 0
    }

    /// Do both pages say enough of their own, and not the same?
    pub fn differs_from(&self, other: &Self) -> bool {
        let both_say_enough = self.is_enough() && other.is_enough();
        both_say_enough && self.shared(other).is_some_and(|shared| shared <= MAX_SHARED)
    }

    /// A key by which own texts that do not [differ](Self::differs_from) share a bucket in one of a few passes: they agree with a
    /// probability that is their similarity. 0 where the whole page decides.
    pub fn bucket(&self, pass: usize) -> u16 {
        if !self.is_enough() {
            return 0;
        }
        let key = |hash: u16| scramble(u64::from(hash) | (pass as u64) << 16) as u16 | 1;
        self.sampled().map(key).min().unwrap_or(0)
    }
}
