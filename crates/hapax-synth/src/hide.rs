//! Pages that display something other than their markup suggests.
//!
//! Two attacks: a page that contains the text of another one, hidden, while it displays something else; and a copy of
//! a text whose words look the same but consist of other characters. [`HIDING`] and [`DISGUISES`] list the ways, from
//! the specifications of HTML and CSS and from Unicode's lists of invisible and confusable characters.

/// Name, opening tags and closing tags of ways to hide content.
pub const HIDING: [(&str, &str, &str); 12] = [
    ("hidden", "<div hidden>", "</div>"),
    ("display: none", "<div style='display:none'>", "</div>"),
    ("visibility: hidden", "<div style='visibility:hidden'>", "</div>"),
    ("opacity: 0", "<div style='opacity:0'>", "</div>"),
    ("font-size: 0", "<div style='font-size:0'>", "</div>"),
    ("off screen", "<div style='position:absolute;left:-9999px'>", "</div>"),
    ("no size", "<div style='height:0;overflow:hidden'>", "</div>"),
    ("clipped", "<div style='position:absolute;clip:rect(0,0,0,0)'>", "</div>"),
    ("class", "<style>.q{display:none}</style><div class=q>", "</div>"),
    ("id", "<style>#q{visibility:hidden}</style><div id=q>", "</div>"),
    ("closed dialog", "<dialog>", "</dialog>"),
    ("textarea", "<div hidden><textarea>", "</textarea></div>"),
];

/// A page that displays one text and hides another in the given way.
pub fn hiding((_, open, close): (&str, &str, &str), shown: &str, hidden: &str) -> String {
    format!("<!DOCTYPE html><title>a page</title><p>{shown}</p>{open}{hidden}{close}")
}

/// How a word is disguised: by text after its first letter, or by replaced letters.
#[derive(Clone, Copy, Debug)]
pub enum Disguise {
    Inserted(&'static str),
    Replaced(&'static [(char, char)]),
}

const CYRILLIC: &[(char, char)] = &[
    ('a', 'а'),
    ('c', 'с'),
    ('e', 'е'),
    ('o', 'о'),
    ('p', 'р'),
    ('x', 'х'),
    ('y', 'у'),
    ('i', 'і'),
];
const GREEK: &[(char, char)] = &[('o', 'ο'), ('v', 'ν')];

/// Ways to write a word that looks the same.
pub const DISGUISES: [(&str, Disguise); 10] = [
    ("U+200B", Disguise::Inserted("\u{200b}")),
    ("U+200C", Disguise::Inserted("\u{200c}")),
    ("U+00AD", Disguise::Inserted("\u{ad}")),
    ("U+2060", Disguise::Inserted("\u{2060}")),
    ("U+034F", Disguise::Inserted("\u{34f}")),
    ("U+FE0F", Disguise::Inserted("\u{fe0f}")),
    ("tag characters", Disguise::Inserted("\u{e0061}")),
    ("hidden br", Disguise::Inserted("<br hidden>")),
    ("Cyrillic letters", Disguise::Replaced(CYRILLIC)),
    ("Greek letters", Disguise::Replaced(GREEK)),
];

impl Disguise {
    /// Disguises every `each`-th word; words without a replaceable letter are unchanged.
    pub fn of(self, text: &str, each: usize) -> String {
        let words = text.split_whitespace().enumerate().map(|(at, word)| {
            if !at.is_multiple_of(each) {
                return word.to_owned();
            }
            match self {
                Self::Inserted(sign) => {
                    let second = word.char_indices().nth(1).map_or(word.len(), |(at, _)| at);
                    format!("{}{sign}{}", &word[..second], &word[second..])
                }
                Self::Replaced(list) => word
                    .chars()
                    .map(|sign| list.iter().find(|it| it.0 == sign).map_or(sign, |it| it.1))
                    .collect(),
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disguise_changes_every_nth_word_and_no_others() {
        for (name, disguise) in DISGUISES {
            let said = disguise.of("over over over over", 2);
            let words: Vec<&str> = said.split_inclusive("over").collect();
            assert_ne!(said, "over over over over", "{name}");
            assert_eq!(words.iter().filter(|word| word.contains("over")).count(), 2, "{name}");
        }
    }

    #[test]
    fn a_page_has_both_texts_in_its_markup() {
        for way in HIDING {
            let page = hiding(way, "shown words", "hidden words");
            assert!(page.contains("<p>shown words</p>") && page.contains(">hidden words</"));
        }
    }
}
