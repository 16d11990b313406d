//! Selects the middle of a long text to omit, so that its beginning and end remain.
//!
//! Lengths are columns of a terminal: a Chinese character takes two, a combining accent none.

use hapax::text::Place;
use unicode_width::UnicodeWidthChar;

/// Number of terminal columns of a character.
pub(super) fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The middle part to omit so that about `columns` remain; `None` if the text is not longer. Texts
/// with spaces are cut at one.
pub(super) fn middle(text: &str, columns: usize) -> Option<Place> {
    let longer = text
        .chars()
        .scan(0, |used, c| {
            *used += columns_of(c);
            Some(*used)
        })
        .any(|used| used > columns);
    if !longer {
        return None;
    }
    let head = edge(text.char_indices(), columns / 2);
    let tail = edge(text.char_indices().rev(), columns / 2);
    let start = head.map_or(0, |(at, c)| if c.is_whitespace() { at } else { at + c.len_utf8() });
    let end = tail.map_or(text.len(), |(at, _)| at);
    (start < end).then_some(start..end)
}

/// The last space among the first `columns`, or the last character if there is no space.
fn edge(chars: impl Iterator<Item = (usize, char)>, columns: usize) -> Option<(usize, char)> {
    let mut used = 0;
    let (mut last, mut space) = (None, None);
    for (at, c) in chars {
        used += columns_of(c);
        if used > columns {
            break;
        }
        if c.is_whitespace() {
            space = Some((at, c));
        }
        last = Some((at, c));
    }
    space.or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_text_fits_and_keeps_whole_characters() {
        for text in ["one two three four five six seven", "東京大阪京都 東京", "ééééééééééé", "a"]
        {
            for columns in 2..40 {
                let Some(cut) = middle(text, columns) else {
                    assert!(text.chars().map(columns_of).sum::<usize>() <= columns);
                    continue;
                };
                let kept: usize = [&text[..cut.start], &text[cut.end..]]
                    .iter()
                    .flat_map(|t| t.chars())
                    .map(columns_of)
                    .sum();
                assert!(kept <= columns, "{text} {columns}");
            }
        }
    }
}
