//! Keeps zero-width joiners and non-joiners (U+200D, U+200C) only where they change what is displayed.
//!
//! Keeps one after a character of Joining_Type Dual_Joining, Left_Joining or Transparent and before one of type
//! Dual_Joining or Right_Joining (Persian and related scripts), and next to a character of combining class 9, a
//! virama (scripts of India). Of several in a row, only the first can be kept. Drops all others.

use icu_properties::props::{CanonicalCombiningClass, JoiningType};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use memchr::memmem;

const JOINING: CodePointMapDataBorrowed<'static, JoiningType> =
    CodePointMapData::<JoiningType>::new();
const CLASS: CodePointMapDataBorrowed<'static, CanonicalCombiningClass> =
    CodePointMapData::<CanonicalCombiningClass>::new();

/// Drops needless joiners from folded text and merges spaces that become adjacent.
pub(super) fn remove_needless(text: &mut Vec<u8>) {
    let has =
        |joiner: char| memmem::find(text, joiner.encode_utf8(&mut [0; 3]).as_bytes()).is_some();
    if !text.is_ascii() && (has('\u{200c}') || has('\u{200d}')) {
        let kept = kept(&String::from_utf8_lossy(text));
        *text = kept.into_bytes();
    }
}

#[cold]
fn kept(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut joiner = None;
    for c in text.chars() {
        if matches!(c, '\u{200c}' | '\u{200d}') {
            joiner = joiner.or(Some(c));
            continue;
        }
        let before = out.chars().next_back();
        if let (Some(joiner), Some(before)) = (joiner.take(), before)
            && is_needed(before, c)
        {
            out.push(joiner);
        }
        if !(c == ' ' && matches!(before, None | Some(' '))) {
            out.push(c);
        }
    }
    out
}

fn is_needed(before: char, after: char) -> bool {
    let virama = |c| CLASS.get(c) == CanonicalCombiningClass::Virama;
    let joins_on = matches!(
        JOINING.get(before),
        JoiningType::DualJoining | JoiningType::LeftJoining | JoiningType::Transparent
    );
    let joins_back =
        matches!(JOINING.get(after), JoiningType::DualJoining | JoiningType::RightJoining);
    (joins_on && joins_back) || virama(before) || virama(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_of(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        remove_needless(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn joiners_stay_in_persian_and_in_the_scripts_of_india() {
        for text in ["می\u{200c}خواهم", "नमस्\u{200c}ते", "ക്\u{200d}", "র\u{200d}্য"]
        {
            let stays =
                if text.ends_with('\u{200d}') { text.trim_end_matches('\u{200d}') } else { text };
            assert_eq!(kept_of(text), stays);
        }
    }

    #[test]
    fn joiners_that_change_nothing_go() {
        assert_eq!(kept_of("vic\u{200c}tim"), "victim");
        assert_eq!(kept_of("مادر\u{200c}بزرگ"), "مادربزرگ");
        assert_eq!(kept_of("\u{200d}a \u{200c} b\u{200d}"), "a b");
        assert_eq!(kept_of("می\u{200c}\u{200d}\u{200c}خواهم"), "می\u{200c}خواهم");
        assert_eq!(kept_of("\u{200c}"), "");
    }
}
