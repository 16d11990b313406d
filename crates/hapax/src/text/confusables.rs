//! Normalizes words with look-alike letters of another script to one spelling.
//!
//! A word of Latin, Cyrillic or Greek letters is spelt in the one script that has a letter in it without
//! look-alikes, or in Latin if there is no such letter; a word with such letters of two scripts is left
//! unchanged. So `p` for `р` and `р` for `p` give one word, and only the word itself decides. Letters are
//! compared in lower case.
//!
//! Source: pairs of Unicode Technical Standard 39 ("confusables.txt") in these scripts, for small letters and
//! for small forms of similar capitals.

/// Latin, Cyrillic, Greek. A letter is in its first row only; `\0` if a script has none.
const ROWS: [[char; 3]; 34] = [
    ['a', 'а', 'α'],
    ['b', 'в', 'β'],
    ['c', 'с', 'ϲ'],
    ['d', 'ԁ', '\0'],
    ['e', 'е', 'ε'],
    ['h', 'н', '\0'],
    ['h', 'һ', '\0'],
    ['i', 'і', 'ι'],
    ['j', 'ј', 'ϳ'],
    ['k', 'к', 'κ'],
    ['l', 'ӏ', '\0'],
    ['m', 'м', '\0'],
    ['n', 'п', 'η'],
    ['o', 'о', 'ο'],
    ['p', 'р', 'ρ'],
    ['q', 'ԛ', '\0'],
    ['r', 'г', '\0'],
    ['s', 'ѕ', '\0'],
    ['t', 'т', 'τ'],
    ['u', '\0', 'υ'],
    ['v', 'ѵ', 'ν'],
    ['w', 'ԝ', '\0'],
    ['x', 'х', 'χ'],
    ['y', 'у', 'γ'],
    ['y', 'ү', '\0'],
    ['z', '\0', 'ζ'],
    ['á', '\0', 'ά'],
    ['é', '\0', 'έ'],
    ['í', '\0', 'ί'],
    ['ó', '\0', 'ό'],
    ['ú', '\0', 'ύ'],
    ['ë', 'ё', '\0'],
    ['ï', 'ї', 'ϊ'],
    ['ç', 'ҫ', '\0'],
];

const LATIN: usize = 0;
const CYRILLIC: usize = 1;
const GREEK: usize = 2;

/// The script of a letter; `None` for others.
fn script(c: char) -> Option<usize> {
    match c {
        'a'..='z' | '\u{df}'..='\u{24f}' | '\u{250}'..='\u{2af}' | '\u{1e00}'..='\u{1eff}'
            if c != '÷' =>
        {
            Some(LATIN)
        }
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(GREEK),
        '\u{400}'..='\u{52f}' => Some(CYRILLIC),
        _ => None,
    }
}

fn row(c: char) -> Option<&'static [char; 3]> {
    ROWS.iter().find(|row| row.contains(&c))
}

/// Whether a folded word may change: it has a Cyrillic or Greek letter.
#[inline]
fn may_change(word: &str) -> bool {
    // First bytes of U+0370 to U+052F.
    word.bytes().any(|byte| matches!(byte, 0xcd..=0xd4))
}

/// The normalized word: `word` itself, or another spelling in `buffer`.
#[inline]
pub(super) fn fold<'w>(word: &'w str, buffer: &'w mut String) -> &'w str {
    if may_change(word) && respell(word, buffer) { buffer } else { word }
}

fn respell(word: &str, buffer: &mut String) -> bool {
    let mut own = [false; 3];
    let mut changes = false;
    for c in word.chars() {
        match (row(c), script(c)) {
            (None, Some(script)) => own[script] = true,
            (Some(_), _) => changes = true,
            (None, None) => {}
        }
    }
    let into = match own {
        [_, false, false] => LATIN,
        [false, true, false] => CYRILLIC,
        [false, false, true] => GREEK,
        _ => return false,
    };
    if !changes {
        return false;
    }
    buffer.clear();
    buffer.extend(word.chars().map(|c| match row(c) {
        Some(row) if row[into] != '\0' => row[into],
        _ => c,
    }));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(word: &str) -> String {
        fold(word, &mut String::new()).to_owned()
    }

    #[test]
    fn look_alikes_inside_a_word_become_letters_of_its_script() {
        assert_eq!(folded("раураl"), "paypal");
        assert_eq!(folded("hаve"), "have");
        assert_eq!(folded("mοney"), "money");
        assert_eq!(folded("молoко"), "молоко");
        assert_eq!(folded("λoγος"), "λογος");
    }

    #[test]
    fn a_word_of_look_alikes_alone_has_one_spelling() {
        assert_eq!(folded("соре"), "cope");
        assert_eq!(folded("скор"), folded("ckop"));
        assert_eq!(folded("και"), "kai");
    }

    #[test]
    fn words_of_one_script_and_truly_mixed_words_do_not_change() {
        for word in ["plain", "été", "größe", "молоко", "άνθρωπος", "fя", "fλ", "中文", "x2", "яλ"]
        {
            assert_eq!(folded(word), word);
        }
    }

    #[test]
    fn every_row_holds_letters_of_its_scripts_and_folding_twice_changes_nothing() {
        for row in ROWS {
            for c in row.into_iter().filter(|&c| c != '\0') {
                assert!(may_change(&c.to_string()) || script(c) == Some(LATIN), "{c}");
                let once = folded(&c.to_string());
                assert_eq!(folded(&once), once);
            }
        }
    }
}
