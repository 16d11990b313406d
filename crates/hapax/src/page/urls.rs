//! Removes addresses from running text, in linear time.
//!
//! Replaces each address by one space, merged with its neighbours. Keeps e-mail addresses and bare host names.
//! An address is delimited by:
//
// * **Start.** `http://`, `https://` or `ftp://` in any case, not directly after an ASCII letter
//   or digit; or `www.` (also `WWW.` and `Www.`), not directly after an ASCII letter, digit or
//   one of `.-_@/`. A letter or digit must follow (or `[` after `//`).
// * **Extent.** A run of ASCII letters and digits, the characters `-._~:/?#[]@!$&'()*+,;=%` and
//   letters and digits of alphabets below U+0E00. Chinese, Japanese or Thai words that
//   follow without a space are therefore kept.
// * **End.** Trailing `.,;:!?'*_~()[]` belong to the sentence and are kept.

use memchr::memmem;

/// Removes every address from folded `text` and passes it to `take`; the result is folded and may
/// end with a space.
pub(super) fn remove_urls(text: &mut Vec<u8>, mut take: impl FnMut(&[u8])) {
    let mut starts = Starts::new(text);
    let Some(mut start) = starts.next_from(text, 0) else { return };
    // text[..kept] is the result so far, text[read..] has not been examined.
    let mut kept = 0;
    let mut read = 0;
    loop {
        text.copy_within(read..start.begin, kept);
        kept += start.begin - read;
        read = url_end(text, start.body);
        take(&text[start.begin..read]);
        if kept > 0 && text[kept - 1] != b' ' {
            text[kept] = b' ';
            kept += 1;
        }
        if text.get(read) == Some(&b' ') {
            read += 1;
        }
        match starts.next_from(text, read) {
            Some(next) => start = next,
            None => break,
        }
    }
    text.copy_within(read.., kept);
    text.truncate(kept + text.len() - read);
}

/// Start of an address, and of the part after its scheme or `www.`.
struct Start {
    begin: usize,
    body: usize,
}

/// The next occurrence of each marker, searched again only after it was passed, so that each search
/// reads the text once.
struct Starts {
    next: [Option<usize>; 3],
}

const MARKERS: [&[u8]; 3] = [b"://", b"ww.", b"WW."];

impl Starts {
    fn new(text: &[u8]) -> Self {
        Self { next: MARKERS.map(|needle| memmem::find(text, needle)) }
    }

    fn next_from(&mut self, text: &[u8], from: usize) -> Option<Start> {
        loop {
            let (which, at) = self
                .next
                .iter()
                .enumerate()
                .filter_map(|(which, at)| at.map(|at| (which, at)))
                .min_by_key(|&(_, at)| at)?;
            let needle = MARKERS[which];
            let later = from.max(at + 1);
            self.next[which] = memmem::find(&text[later..], needle).map(|found| later + found);
            if at < from {
                continue;
            }
            let start = if which == 0 { scheme_start(text, at) } else { www_start(text, at) };
            // A marker at `from` may belong to a word that began in a removed address.
            if let Some(start) = start
                && start.begin >= from
            {
                return Some(start);
            }
        }
    }
}

fn scheme_start(text: &[u8], colon: usize) -> Option<Start> {
    let begin = [b"https".as_slice(), b"http", b"ftp"].into_iter().find_map(|scheme| {
        let begin = colon.checked_sub(scheme.len())?;
        let free = begin == 0 || !text[begin - 1].is_ascii_alphanumeric();
        (free && text[begin..colon].eq_ignore_ascii_case(scheme)).then_some(begin)
    })?;
    let body = colon + 3;
    (text.get(body) == Some(&b'[') || letter_length(&text[body..]).is_some())
        .then_some(Start { begin, body })
}

fn www_start(text: &[u8], second_w: usize) -> Option<Start> {
    let begin = second_w.checked_sub(1)?;
    let free = begin == 0
        || !matches!(text[begin - 1], b'.' | b'-' | b'_' | b'@' | b'/')
            && !text[begin - 1].is_ascii_alphanumeric();
    let body = begin + 4;
    (free && text[begin].eq_ignore_ascii_case(&b'w') && letter_length(&text[body..]).is_some())
        .then_some(Start { begin, body })
}

/// The end of the address whose host begins at `body`.
fn url_end(text: &[u8], body: usize) -> usize {
    let mut end = body;
    loop {
        match text.get(end) {
            Some(byte) if URL_BYTES[usize::from(*byte)] => end += 1,
            Some(0x80..) => match letter_length(&text[end..]) {
                Some(length) => end += length,
                None => break,
            },
            _ => break,
        }
    }
    while end > body && SENTENCE_BYTES.contains(&text[end - 1]) {
        end -= 1;
    }
    end
}

const SENTENCE_BYTES: &[u8] = b".,;:!?'*_~()[]";

const URL_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let marks = b"-._~:/?#[]@!$&'()*+,;=%";
    let mut mark = 0;
    while mark < marks.len() {
        table[marks[mark] as usize] = true;
        mark += 1;
    }
    table
};

/// Length of the letter or digit at the start of `text`, if it can be part of an address: ASCII, or
/// a script below U+0E00 (two bytes, or three beginning with 0xE0).
fn letter_length(text: &[u8]) -> Option<usize> {
    let length = match text.first()? {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0 => 3,
        0xe1.. => return None,
    };
    let character = str::from_utf8(text.get(..length)?).ok()?.chars().next()?;
    (character < '\u{e00}' && character.is_alphanumeric()).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn without_urls(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        remove_urls(&mut bytes, |_| {});
        String::from_utf8(bytes).unwrap().trim_end().to_owned()
    }

    #[test]
    fn addresses_are_removed_and_the_words_around_them_are_kept() {
        for (text, expected) in [
            ("see http://example.org/a?b=c#d now", "see now"),
            ("HTTPS://EXAMPLE.ORG first", "first"),
            ("get ftp://host/file.", "get ."),
            ("(see www.example.com/x_(y).)", "(see ).)"),
            ("Www.example.com WWW.EXAMPLE.COM", ""),
            ("two http://a.example http://b.example here", "two here"),
            ("请访问http://example.org。谢谢", "请访问 。谢谢"),
            ("сайт http://пример.рф/путь конец", "сайт конец"),
            ("ดูที่ http://example.comครับ", "ดูที่ ครับ"),
            ("http://[::1]/x y", "y"),
            ("a,http://b", "a,"),
        ] {
            assert_eq!(without_urls(text), expected, "{text}");
        }
    }

    #[test]
    fn text_that_resembles_an_address_is_kept() {
        for text in [
            "me@www.example.com and you@example.org",
            "example.com is bare",
            "http:// alone, http://, and www. too",
            "xhttp://nothing gopher://old file:///tmp",
            "the www is wide and www.",
            "awww.cute",
            "std::vec and a//b",
        ] {
            assert_eq!(without_urls(text), text);
        }
    }

    #[test]
    fn a_long_run_of_half_addresses_is_linear() {
        for piece in ["http://", "www.", "WW.", "://", "http://a ", "www.a,"] {
            let text = piece.repeat(400_000);
            assert!(without_urls(&text).len() <= text.len());
        }
    }

    proptest! {
        #[test]
        fn removing_twice_removes_nothing_more(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "http://", "https://", "ftp://", "www.", "WWW.", "w", ".", "a", "é", "中", " x ",
                    ",", ")", "/", "|", "@", ":", "[", "1", "\"", "://",
                ]),
                0..30,
            ),
        ) {
            let text = pieces.concat().split_whitespace().collect::<Vec<_>>().join(" ");
            let once = without_urls(&text);
            prop_assert_eq!(without_urls(&once), once.clone());
            prop_assert!(!once.contains("  ") && !once.starts_with(' '));
        }
    }
}
