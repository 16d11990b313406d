//! Six artificial languages: the spelling of a word rank and the punctuation of a sentence.
//!
//! A word is a rank in one shared vocabulary and a language only spells it, so lengths, topics and edits follow the
//! same distributions in all. Guarantees that in languages with spaces different ranks have different spellings, and
//! that more frequent words are shorter. Words need no HTML escaping; punctuation may. Has no meaning or grammar: a
//! dictionary finds Thai words, but few Han or Japanese compounds, and a stemmer finds no stems.
//!
//! | language | script | spaces | a word is | share of families |
//! |---|---|---|---|---|
//! | `Latin` | Latin, ASCII | yes | 1 to 3 syllables | 64 % |
//! | `Accented` | Latin with accents | yes | 1 to 3 syllables | 15 % |
//! | `Cyrillic` | Cyrillic | yes | 1 to 3 syllables | 6 % |
//! | `Han` | Han | no | 1 or 2 common characters | 10 % |
//! | `Japanese` | kana and kanji | no | a particle, kanji with ending, kanji pair, katakana | 3 % |
//! | `Thai` | Thai | between phrases | 1 to 3 common Thai words | 2 % |

mod inventory;
mod spelling;

pub(crate) use spelling::Speller;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    #[default]
    Latin,
    /// Latin letters with accents.
    Accented,
    Cyrillic,
    /// Han characters without spaces.
    Han,
    /// Kana and kanji without spaces.
    Japanese,
    /// Thai words, spaces only between phrases.
    Thai,
}

impl Language {
    /// In the order of [`LanguageMix`].
    pub const ALL: [Self; 6] =
        [Self::Latin, Self::Accented, Self::Cyrillic, Self::Han, Self::Japanese, Self::Thai];

    /// The page's `lang` attribute. The language is an ISO 639-2 code for private use, because
    /// these are no real languages; the script is real.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Latin => "qaa-Latn",
            Self::Accented => "qab-Latn",
            Self::Cyrillic => "qac-Cyrl",
            Self::Han => "qad-Hani",
            Self::Japanese => "qae-Jpan",
            Self::Thai => "qaf-Thai",
        }
    }

    /// Whether words are separated by spaces.
    pub const fn has_spaces(self) -> bool {
        match self {
            Self::Latin | Self::Accented | Self::Cyrillic => true,
            Self::Han | Self::Japanese | Self::Thai => false,
        }
    }

    /// Average number of tokens per word, where a token is a run of letters or a single Han or kana
    /// character. `None` for Thai, where runs of letters do not correspond to words.
    pub(crate) const fn tokens_per_word(self) -> Option<f64> {
        match self {
            Self::Latin | Self::Accented | Self::Cyrillic => Some(1.0),
            Self::Han => Some(HAN_TOKENS_PER_WORD),
            Self::Japanese => Some(JAPANESE_TOKENS_PER_WORD),
            Self::Thai => None,
        }
    }

    /// The end of a sentence.
    pub(crate) const fn full_stop(self) -> &'static str {
        match self {
            Self::Latin | Self::Accented | Self::Cyrillic => ".",
            Self::Han | Self::Japanese => "。",
            Self::Thai => "",
        }
    }

    /// Punctuation inside a sentence, chosen by the word before it. Sometimes a character that HTML
    /// must escape.
    pub(crate) const fn pause(self, rank: u32) -> &'static str {
        match self {
            Self::Latin | Self::Accented | Self::Cyrillic => match rank % 32 {
                5 => " &",
                6 => " <",
                7 => " \"",
                _ => ",",
            },
            Self::Han => "，",
            Self::Japanese => "、",
            Self::Thai => " ",
        }
    }
}

// Measured on running text; a test in `spelling` checks them.
pub(crate) const HAN_TOKENS_PER_WORD: f64 = 1.52;
pub(crate) const JAPANESE_TOKENS_PER_WORD: f64 = 2.24;

/// Relative frequencies of languages among families; the sum must be above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanguageMix {
    pub latin: u32,
    pub accented: u32,
    pub cyrillic: u32,
    pub han: u32,
    pub japanese: u32,
    pub thai: u32,
}

impl LanguageMix {
    /// All weights zero, for struct updates: `LanguageMix { han: 1, ..LanguageMix::NONE }`.
    pub const NONE: Self =
        Self { latin: 0, accented: 0, cyrillic: 0, han: 0, japanese: 0, thai: 0 };

    /// All families in one language.
    pub const fn only(language: Language) -> Self {
        let mut mix = Self::NONE;
        match language {
            Language::Latin => mix.latin = 1,
            Language::Accented => mix.accented = 1,
            Language::Cyrillic => mix.cyrillic = 1,
            Language::Han => mix.han = 1,
            Language::Japanese => mix.japanese = 1,
            Language::Thai => mix.thai = 1,
        }
        mix
    }

    pub(crate) const fn weights(&self) -> [u32; 6] {
        [self.latin, self.accented, self.cyrillic, self.han, self.japanese, self.thai]
    }
}

/// In percent: Latin 64, accented 15, Cyrillic 6, Han 10, Japanese 3, Thai 2.
impl Default for LanguageMix {
    fn default() -> Self {
        Self { latin: 64, accented: 15, cyrillic: 6, han: 10, japanese: 3, thai: 2 }
    }
}
