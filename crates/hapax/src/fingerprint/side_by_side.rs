//! Arranges two texts in rows of equal and differing passages, for display.
//!
//! A [`Comparison`] gives the first place of each shared shingle in both texts. Neighbouring shingles form a
//! *stretch*; the heaviest chain of stretches in the same order in both texts anchors the rows, and text
//! between two anchors differs. A stretch outside the chain has moved: both its places carry the same number.
//! Does not measure similarity; [`explain`](super::explain) does.

use super::explain::{Comparison, Passage};
use crate::text::Place;

/// One row of the two columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// The same words on both sides.
    Same { left: Place, right: Place },
    /// Text of each side that the other side does not have here.
    Different { left: Vec<Piece>, right: Vec<Piece> },
}

/// A part of one side of a differing row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub place: Place,
    pub mark: Mark,
}

/// How a piece relates to the other text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Not words: punctuation, or words the recipe leaves out.
    Between,
    /// The other text does not have it.
    OnlyHere,
    /// The other text has it, but not here; the number is that of the moved stretch.
    Elsewhere(Option<usize>),
}

/// How many stretches back one may be continued; a phrase that occurs twice interrupts one.
const STILL_OPEN: usize = 8;

/// The rows for two texts.
pub fn lay_out(comparison: &Comparison, left: &str, right: &str) -> Vec<Row> {
    if comparison.same_text {
        return vec![Row::Same { left: 0..left.len(), right: 0..right.len() }];
    }
    let stretches = stretches(&comparison.shared_shingles, left, right);
    let chain = heaviest_chain(&stretches);
    let mut in_chain = vec![false; stretches.len()];
    chain.iter().for_each(|&i| in_chain[i] = true);
    let moved = |side: fn(&Stretch) -> &Place| {
        let mut moved: Vec<(Place, usize)> = (0..stretches.len())
            .filter(|&i| !in_chain[i])
            .map(|i| (side(&stretches[i]).clone(), i))
            .collect();
        moved.sort_by_key(|(place, i)| (place.start, *i));
        moved
    };
    let left_side =
        Side { text: left, passages: &comparison.left_passages, moved: moved(|s| &s.left) };
    let right_side =
        Side { text: right, passages: &comparison.right_passages, moved: moved(|s| &s.right) };

    let mut rows = Vec::new();
    let (mut left_at, mut right_at) = (0, 0);
    for &i in &chain {
        let Stretch { left: mut l, right: mut r } = stretches[i].clone();
        // Punctuation before equal words belongs to them.
        let gaps = (left[left_at..l.start].chars().rev(), right[right_at..r.start].chars().rev());
        let common = common_punctuation(gaps.0, gaps.1);
        (l.start, r.start) = (l.start - common, r.start - common);
        push_gap(&mut rows, &left_side, left_at..l.start, &right_side, right_at..r.start);
        (left_at, right_at) = (l.end, r.end);
        push_same(&mut rows, l, r);
    }
    push_gap(&mut rows, &left_side, left_at..left.len(), &right_side, right_at..right.len());
    rows
}

/// A run of text that both have.
#[derive(Clone, Debug)]
struct Stretch {
    left: Place,
    right: Place,
}

fn stretches(shared: &[(Place, Place)], left: &str, right: &str) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for (l, r) in shared {
        let continued = stretches.iter_mut().rev().take(STILL_OPEN).find(|s| {
            match (added(left, &s.left, l), added(right, &s.right, r)) {
                // Both sides must grow by the same number of words.
                (Some(in_left), Some(in_right)) => in_left == in_right,
                _ => false,
            }
        });
        match continued {
            Some(stretch) => {
                stretch.left.end = stretch.left.end.max(l.end);
                stretch.right.end = stretch.right.end.max(r.end);
            }
            None => stretches.push(Stretch { left: l.clone(), right: r.clone() }),
        }
    }
    stretches
}

/// Number of words that `next` adds to `so_far`; `None` if it is not its direct continuation.
fn added(text: &str, so_far: &Place, next: &Place) -> Option<usize> {
    let follows = next.start >= so_far.start
        && (next.start <= so_far.end || !has_word(&text[so_far.end..next.start]));
    let new = &text[so_far.end.min(next.end)..next.end];
    follows
        .then(|| new.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count())
}

fn has_word(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// The indices of stretches that are in the same order in both texts, do not overlap, and together
/// cover the most of the left text. `stretches` must be sorted by left start.
fn heaviest_chain(stretches: &[Stretch]) -> Vec<usize> {
    let mut by_left_end: Vec<usize> = (0..stretches.len()).collect();
    by_left_end.sort_by_key(|&i| (stretches[i].left.end, i));
    let mut right_ends: Vec<usize> = stretches.iter().map(|s| s.right.end).collect();
    right_ends.sort_unstable();
    right_ends.dedup();

    let mut best: Vec<usize> = Vec::with_capacity(stretches.len());
    let mut before: Vec<Option<usize>> = Vec::with_capacity(stretches.len());
    let mut ended = PrefixMax::new(right_ends.len());
    let mut next_ended = by_left_end.iter().peekable();
    for stretch in stretches {
        // Every stretch that has ended on the left was weighed earlier.
        while let Some(&&j) = next_ended.peek()
            && stretches[j].left.end <= stretch.left.start
        {
            let rank = right_ends.partition_point(|&end| end < stretches[j].right.end);
            ended.put(rank, (best[j], j));
            next_ended.next();
        }
        let allowed = right_ends.partition_point(|&end| end <= stretch.right.start);
        let previous = ended.max_before(allowed);
        best.push(stretch.left.len() + previous.map_or(0, |(weight, _)| weight));
        before.push(previous.map(|(_, j)| j));
    }
    let mut chain = Vec::new();
    let mut at = (0..stretches.len()).max_by_key(|&i| (best[i], i));
    while let Some(i) = at {
        chain.push(i);
        at = before[i];
    }
    chain.reverse();
    chain
}

/// The maximum value at any rank below a bound, under insertion (a Fenwick tree).
struct PrefixMax(Vec<Option<(usize, usize)>>);

impl PrefixMax {
    fn new(ranks: usize) -> Self {
        Self(vec![None; ranks + 1])
    }

    fn put(&mut self, rank: usize, value: (usize, usize)) {
        let mut i = rank + 1;
        while i < self.0.len() {
            self.0[i] = self.0[i].max(Some(value));
            i += i & i.wrapping_neg();
        }
    }

    fn max_before(&self, bound: usize) -> Option<(usize, usize)> {
        let mut i = bound;
        let mut max = None;
        while i > 0 {
            max = max.max(self.0[i]);
            i -= i & i.wrapping_neg();
        }
        max
    }
}

/// One text with the engine's results about it.
struct Side<'a> {
    text: &'a str,
    passages: &'a [Passage],
    /// Stretches outside the chain, by their place in this text.
    moved: Vec<(Place, usize)>,
}

impl Side<'_> {
    fn pieces(&self, gap: Place) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut at = gap.start;
        let first = self.passages.partition_point(|p| p.place.end <= gap.start);
        for passage in &self.passages[first..] {
            let start = passage.place.start.max(at);
            let end = passage.place.end.min(gap.end);
            if start >= gap.end {
                break;
            }
            if at < start {
                pieces.push(Piece { place: at..start, mark: Mark::Between });
            }
            let mark = match passage.shared {
                true => Mark::Elsewhere(self.moved_at(start..end)),
                false => Mark::OnlyHere,
            };
            pieces.push(Piece { place: start..end, mark });
            at = end;
        }
        if at < gap.end {
            pieces.push(Piece { place: at..gap.end, mark: Mark::Between });
        }
        pieces
    }

    /// The moved stretch that covers most of a place.
    fn moved_at(&self, place: Place) -> Option<usize> {
        let until = self.moved.partition_point(|(m, _)| m.start < place.end);
        let overlap = |m: &Place| m.end.min(place.end).saturating_sub(m.start.max(place.start));
        self.moved[..until]
            .iter()
            .rev()
            .take(STILL_OPEN)
            .filter(|(m, _)| overlap(m) > 0)
            .max_by_key(|(m, i)| (overlap(m), *i))
            .map(|(_, i)| *i)
    }

    fn trimmed(&self, gap: Place) -> Place {
        let text = &self.text[gap.clone()];
        let start = gap.start + (text.len() - text.trim_start().len());
        start..(gap.start + text.trim_end().len()).max(start)
    }
}

/// Adds the text between two anchors; nothing if it is equal on both sides.
fn push_gap(rows: &mut Vec<Row>, left: &Side<'_>, l: Place, right: &Side<'_>, r: Place) {
    let common = match rows.last() {
        None => 0,
        Some(_) => common_punctuation(left.text[l.clone()].chars(), right.text[r.clone()].chars()),
    };
    if let Some(Row::Same { left, right }) = rows.last_mut() {
        left.end += common;
        right.end += common;
    }
    let (l, r) = (left.trimmed(l.start + common..l.end), right.trimmed(r.start + common..r.end));
    let (here, there) = (&left.text[l.clone()], &right.text[r.clone()]);
    if here == there || !has_word(here) && !has_word(there) {
        if !here.is_empty() || !there.is_empty() {
            push_same(rows, l, r);
        }
    } else {
        rows.push(Row::Different { left: left.pieces(l), right: right.pieces(r) });
    }
}

/// Length in bytes of the common beginning that is not words.
fn common_punctuation(
    left: impl Iterator<Item = char>,
    right: impl Iterator<Item = char>,
) -> usize {
    left.zip(right)
        .take_while(|(a, b)| a == b && !a.is_alphanumeric())
        .map(|(a, _)| a.len_utf8())
        .sum()
}

/// Adds equal text; extends the previous row if that is equal text, too.
fn push_same(rows: &mut Vec<Row>, l: Place, r: Place) {
    match rows.last_mut() {
        Some(Row::Same { left, right }) => {
            left.end = l.end;
            right.end = r.end;
        }
        _ => rows.push(Row::Same { left: l, right: r }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::{Fingerprinter, Recipe, compare};
    use proptest::prelude::*;

    /// Rows as `same`, `left | right`, with moved pieces in brackets.
    fn rows(left: &str, right: &str) -> Vec<String> {
        let recipe = Recipe::from_toml("name = 'test'\nsketch-shingle = 3").unwrap();
        let mut by = Fingerprinter::new(recipe, None).unwrap();
        let comparison = compare(&mut by, left, right);
        let shown = |text: &str, pieces: &[Piece]| -> String {
            pieces
                .iter()
                .map(|p| match p.mark {
                    Mark::Between | Mark::OnlyHere => text[p.place.clone()].to_owned(),
                    Mark::Elsewhere(_) => format!("[{}]", &text[p.place.clone()]),
                })
                .collect()
        };
        lay_out(&comparison, left, right)
            .iter()
            .map(|row| match row {
                Row::Same { left: l, .. } => left[l.clone()].trim().to_owned(),
                Row::Different { left: l, right: r } => {
                    format!("{} | {}", shown(left, l), shown(right, r))
                }
            })
            .collect()
    }

    #[test]
    fn a_changed_word_is_between_equal_passages() {
        assert_eq!(
            rows("one two three four. five six seven", "one two three vier. five six seven"),
            ["one two three", "four | vier", ". five six seven"]
        );
    }

    #[test]
    fn an_insertion_splits_a_passage_that_the_other_side_has_whole() {
        assert_eq!(
            rows("a1 a2 a3 a4 b1 b2 b3 b4", "a1 a2 a3 a4 NEW b1 b2 b3 b4"),
            ["a1 a2 a3 a4", " | NEW", "b1 b2 b3 b4"]
        );
    }

    #[test]
    fn the_smaller_of_two_swapped_parts_is_the_moved_one() {
        assert_eq!(
            rows("a1 a2 a3 a4 b1 b2 b3 b4 b5 b6", "b1 b2 b3 b4 b5 b6 a1 a2 a3 a4"),
            ["[a1 a2 a3 a4] | ", "b1 b2 b3 b4 b5 b6", " | [a1 a2 a3 a4]"]
        );
    }

    #[test]
    fn a_repeated_phrase_does_not_split_a_passage() {
        let phrase = "x1 x2 x3 x4 x5 x6 x7 x8";
        let text = format!("a1 a2 a3 {phrase} b1 b2 b3 {phrase} c1 c2 c3");
        let other = text.replace("a1", "A9");
        assert_eq!(rows(&text, &other).len(), 2);
        assert_eq!(rows(&text, &other)[0], "a1 | A9");
    }

    #[test]
    fn texts_that_share_nothing_are_one_row() {
        assert_eq!(rows("a b c d", "e f g h"), ["a b c d | e f g h"]);
        assert_eq!(rows("a b c d", ""), ["a b c d | "]);
    }

    fn words(text: &str) -> Vec<&str> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect()
    }

    /// Texts from a small vocabulary, so that they share and repeat much.
    fn texts() -> impl Strategy<Value = (String, String)> {
        let word = prop::sample::select(vec!["a", "b", "c", "ü", "東", "d.", "(e)", "—"]);
        let text = || prop::collection::vec(word.clone(), 0..40).prop_map(|w| w.join(" "));
        let edited = (text(), text(), text(), text())
            .prop_map(|(a, b, c, d)| (format!("{a} {b} {c}"), format!("{d} {b} {a}")));
        prop_oneof![(text(), text()), edited]
    }

    proptest! {
        #[test]
        fn rows_hold_every_word_once_in_order_and_equal_rows_are_equal(
            (left, right) in texts(),
            shingle in 1u8..4,
        ) {
            let recipe = format!("name = 'test'\nsketch-shingle = {shingle}");
            let mut by = Fingerprinter::new(Recipe::from_toml(&recipe).unwrap(), None).unwrap();
            let rows = lay_out(&compare(&mut by, &left, &right), &left, &right);
            let (mut l, mut r) = (Vec::new(), Vec::new());
            for row in &rows {
                match row {
                    Row::Same { left: a, right: b } => {
                        prop_assert_eq!(words(&left[a.clone()]), words(&right[b.clone()]));
                        l.extend(words(&left[a.clone()]));
                        r.extend(words(&right[b.clone()]));
                    }
                    Row::Different { left: a, right: b } => {
                        l.extend(a.iter().flat_map(|p| words(&left[p.place.clone()])));
                        r.extend(b.iter().flat_map(|p| words(&right[p.place.clone()])));
                    }
                }
            }
            prop_assert_eq!(l, words(&left));
            prop_assert_eq!(r, words(&right));
        }
    }
}
