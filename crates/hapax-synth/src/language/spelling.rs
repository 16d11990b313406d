//! Spells a word rank in letters.
//!
//! A rank is a number whose digits are syllables, characters or short words. The most frequent ranks have one digit,
//! the next two, the rest three, scrambled within a length. A Latin or Cyrillic syllable is a consonant, a vowel and
//! sometimes a final consonant, so a word has only one decomposition and ranks never collide. Caches the first ranks
//! of each language.

use super::{Language, inventory};

/// Number of cached ranks.
const KEPT: u32 = 8192;

/// A large prime. Multiplication by it is a bijection modulo any smaller bound.
const SCRAMBLE: u64 = 2_147_483_647;

/// Spells the words of one language.
#[derive(Clone, Debug)]
pub(crate) struct Speller {
    digits: Digits,
    kept: String,
    ends: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Digits {
    /// The first `single` ranks have one digit, the next two, the rest three.
    Plain { units: Vec<String>, single: u64 },
    /// A mixture of four word forms.
    Japanese { words: Vec<String>, endings: Vec<String>, katakana: Vec<String>, kanji: Vec<char> },
}

impl Speller {
    pub(crate) fn new(language: Language) -> Self {
        let digits = match language {
            Language::Latin => Digits::Plain {
                units: syllables(
                    inventory::LATIN_ONSETS,
                    inventory::LATIN_VOWELS,
                    inventory::LATIN_CODAS,
                ),
                single: 60,
            },
            Language::Accented => Digits::Plain {
                units: syllables(
                    inventory::LATIN_ONSETS,
                    inventory::ACCENTED_VOWELS,
                    inventory::ACCENTED_CODAS,
                ),
                single: 60,
            },
            Language::Cyrillic => Digits::Plain {
                units: syllables(
                    inventory::CYRILLIC_ONSETS,
                    inventory::CYRILLIC_VOWELS,
                    inventory::CYRILLIC_CODAS,
                ),
                single: 60,
            },
            Language::Han => Digits::Plain {
                units: inventory::HAN.chars().map(String::from).collect(),
                single: 700,
            },
            Language::Japanese => Digits::Japanese {
                words: listed(inventory::HIRAGANA_WORDS),
                endings: listed(inventory::OKURIGANA),
                katakana: listed(inventory::KATAKANA),
                kanji: inventory::KANJI.chars().collect(),
            },
            Language::Thai => Digits::Plain { units: listed(inventory::THAI_WORDS), single: 150 },
        };
        let mut speller = Self { digits, kept: String::new(), ends: Vec::new() };
        for rank in 0..KEPT {
            let mut kept = std::mem::take(&mut speller.kept);
            speller.spell_anew(rank, &mut kept);
            speller.ends.push(kept.len() as u32);
            speller.kept = kept;
        }
        speller
    }

    /// Appends the word of this rank.
    #[inline]
    pub(crate) fn spell(&self, rank: u32, out: &mut String) {
        if rank < KEPT {
            let end = self.ends[rank as usize] as usize;
            let start = if rank == 0 { 0 } else { self.ends[rank as usize - 1] as usize };
            out.push_str(&self.kept[start..end]);
        } else {
            self.spell_anew(rank, out);
        }
    }

    /// Appends the word with a capital first letter, if the script has capitals.
    pub(crate) fn spell_capital(&self, rank: u32, out: &mut String) {
        let start = out.len();
        self.spell(rank, out);
        if let Some(first) = out[start..].chars().next() {
            let mut upper = first.to_uppercase();
            if let (Some(capital), None) = (upper.next(), upper.next())
                && capital != first
                && capital.len_utf8() == first.len_utf8()
            {
                let mut bytes = [0; 4];
                out.replace_range(start..start + first.len_utf8(), capital.encode_utf8(&mut bytes));
            }
        }
    }

    fn spell_anew(&self, rank: u32, out: &mut String) {
        let rank = u64::from(rank);
        match &self.digits {
            Digits::Plain { units, single } => {
                let base = units.len() as u64;
                if rank < *single {
                    push_digits(units, scrambled(rank, base), 1, out);
                } else if rank - single < base * base {
                    push_digits(units, scrambled(rank - single, base * base), 2, out);
                } else {
                    let rest = rank - single - base * base;
                    push_digits(units, scrambled(rest, base * base * base), 3, out);
                }
            }
            Digits::Japanese { words, endings, katakana, kanji } => {
                let Some(rest) = rank.checked_sub(words.len() as u64) else {
                    out.push_str(&words[rank as usize]);
                    return;
                };
                let many = kanji.len() as u64;
                let (way, rest) = (rest % 4, rest / 4);
                match way {
                    0 => {
                        let base = katakana.len() as u64;
                        push_digits(katakana, scrambled(rest, base * base * base * base), 4, out);
                    }
                    1 => {
                        let tail = endings.len() as u64;
                        let number = scrambled(rest, many * many * tail);
                        // More frequent words are a single kanji with its ending.
                        if rest >= many * tail {
                            out.push(kanji[(number / tail / many) as usize]);
                        }
                        out.push(kanji[(number / tail % many) as usize]);
                        out.push_str(&endings[(number % tail) as usize]);
                    }
                    _ => {
                        let number = scrambled(rest * 2 + (way - 2), many * many);
                        out.push(kanji[(number / many) as usize]);
                        out.push(kanji[(number % many) as usize]);
                    }
                }
            }
        }
    }
}

/// A bijection of `0..bound`, which must be below [`SCRAMBLE`].
const fn scrambled(number: u64, bound: u64) -> u64 {
    (number * SCRAMBLE) % bound
}

fn push_digits(units: &[String], mut number: u64, count: u32, out: &mut String) {
    let base = units.len() as u64;
    for _ in 0..count {
        out.push_str(&units[(number % base) as usize]);
        number /= base;
    }
}

fn listed(words: &str) -> Vec<String> {
    words.split_whitespace().map(String::from).collect()
}

fn syllables(onsets: &str, vowels: &str, codas: &str) -> Vec<String> {
    let mut all = Vec::new();
    for coda in codas.split(' ') {
        for vowel in vowels.split(' ') {
            for onset in onsets.split(' ') {
                all.push(format!("{onset}{vowel}{}", coda.trim_start_matches('-')));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{HAN_TOKENS_PER_WORD, JAPANESE_TOKENS_PER_WORD};
    use crate::rng::Rng;
    use crate::words::{VOCABULARY, Words};
    use std::collections::BTreeSet;

    fn word(speller: &Speller, rank: u32) -> String {
        let mut out = String::new();
        speller.spell(rank, &mut out);
        out
    }

    #[test]
    fn different_ranks_have_different_spellings_in_languages_with_spaces() {
        for language in Language::ALL.into_iter().filter(|l| l.has_spaces()) {
            let speller = Speller::new(language);
            let ranks = (0..200_000).chain((200_000..VOCABULARY).step_by(17));
            let mut count = 0;
            let all: BTreeSet<String> =
                ranks.inspect(|_| count += 1).map(|rank| word(&speller, rank)).collect();
            assert_eq!(all.len(), count, "{language:?}");
        }
    }

    #[test]
    fn words_contain_only_letters_of_their_script_and_common_ones_are_shorter() {
        for language in Language::ALL {
            let speller = Speller::new(language);
            for rank in (0..VOCABULARY).step_by(101) {
                let word = word(&speller, rank);
                assert!(!word.is_empty());
                assert!(word.chars().all(|c| !c.is_ascii_punctuation() && !c.is_whitespace()));
            }
            assert!(word(&speller, 3).len() < word(&speller, VOCABULARY - 1).len());
        }
    }

    #[test]
    fn han_and_japanese_words_have_the_stated_number_of_characters() {
        let (words, mut text) = (Words::new(1), Vec::new());
        for topic in 0..100 {
            words.compose(topic, 1_000, &mut Rng::new(topic), &mut text);
        }
        for (language, stated) in
            [(Language::Han, HAN_TOKENS_PER_WORD), (Language::Japanese, JAPANESE_TOKENS_PER_WORD)]
        {
            let speller = Speller::new(language);
            let characters: usize =
                text.iter().map(|token| word(&speller, token.rank()).chars().count()).sum();
            let mean = characters as f64 / text.len() as f64;
            assert!((mean - stated).abs() < 0.02, "{language:?}: {mean} instead of {stated}");
        }
    }

    #[test]
    fn capitals_change_the_first_letter_only() {
        let speller = Speller::new(Language::Cyrillic);
        let mut capital = String::new();
        speller.spell_capital(12_345, &mut capital);
        assert_ne!(capital, word(&speller, 12_345));
        assert_eq!(capital.to_lowercase(), word(&speller, 12_345));
        let mut han = String::new();
        Speller::new(Language::Han).spell_capital(5, &mut han);
        assert_eq!(han, word(&Speller::new(Language::Han), 5));
    }
}
