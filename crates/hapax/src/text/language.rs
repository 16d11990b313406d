//! Stop words and stemming.
//!
//! Both are options of a recipe and off by default: they cost time and tie fingerprints to a language. The
//! lists (`stop-words`) and the algorithms (Snowball, through `frostem`) are pinned to one release, because a
//! changed list changes fingerprints.

use super::normalize::Normalizer;
use frostem::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::fmt;

/// A language name or code without a list or algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {what} for `{given}`; known are: {}", .known.join(", "))]
pub struct UnknownLanguage {
    /// `stop words` or `stemming`.
    pub what: &'static str,
    pub given: String,
    /// The supported values.
    pub known: Vec<&'static str>,
}

/// The stop words of one language, folded like all words.
#[derive(Clone)]
pub struct StopWords {
    language: Language,
    sorted: Vec<String>,
}

impl StopWords {
    /// The list for an ISO 639-1 code such as `en`.
    ///
    /// # Errors
    ///
    /// There is no list for this code.
    pub fn for_language(code: &str) -> Result<Self, UnknownLanguage> {
        let language = Language::with_code(code);
        let found = language.and_then(|l| stop_words::lookup(l.code).map(|list| (l, list)));
        let Some((language, list)) = found else {
            return Err(UnknownLanguage {
                what: "stop words",
                given: code.to_owned(),
                known: LANGUAGES.iter().map(|l| l.code).collect(),
            });
        };
        let mut normalizer = Normalizer::default();
        let mut sorted: Vec<String> = list
            .iter()
            .map(|word| {
                let mut folded = String::new();
                normalizer.fold_into(word, &mut folded);
                folded
            })
            .collect();
        sorted.sort_unstable();
        sorted.dedup();
        Ok(Self { language, sorted })
    }

    /// The ISO 639-1 code of the list.
    pub fn code(&self) -> &'static str {
        self.language.code
    }

    /// All words of the list, folded, in order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.sorted.iter().map(String::as_str)
    }

    /// Whether this folded word is on the list.
    pub fn contains(&self, word: &str) -> bool {
        self.sorted.binary_search_by(|entry| entry.as_str().cmp(word)).is_ok()
    }
}

impl fmt::Debug for StopWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StopWords({}, {} words)", self.code(), self.sorted.len())
    }
}

#[derive(Clone, Copy)]
pub struct Stemming(Stemmer);

impl Stemming {
    /// The Snowball algorithm with this name, such as `english` or `porter`.
    ///
    /// # Errors
    ///
    /// There is no algorithm of this name.
    pub fn named(name: &str) -> Result<Self, UnknownLanguage> {
        Algorithm::from_name(name).map(|algorithm| Self(Stemmer::new(algorithm))).map_err(|_| {
            UnknownLanguage {
                what: "stemming",
                given: name.to_owned(),
                known: Algorithm::all().iter().map(|a| a.name()).collect(),
            }
        })
    }

    pub fn name(self) -> &'static str {
        self.0.algorithm().name()
    }

    /// The stem of a folded word.
    pub fn stem(self, word: &str) -> Cow<'_, str> {
        self.0.stem(word)
    }
}

impl fmt::Debug for Stemming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stemming({})", self.name())
    }
}

/// A language with a stop-word list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language {
    /// ISO 639-1.
    pub code: &'static str,
    pub name: &'static str,
}

impl Language {
    /// The language with this code; `None` without a list.
    pub fn with_code(code: &str) -> Option<Self> {
        LANGUAGES.iter().copied().find(|l| l.code == code)
    }
}

/// Every language with a stop-word list, by code.
pub const LANGUAGES: &[Language] = &[
    Language { code: "ar", name: "Arabic" },
    Language { code: "bg", name: "Bulgarian" },
    Language { code: "ca", name: "Catalan" },
    Language { code: "cs", name: "Czech" },
    Language { code: "da", name: "Danish" },
    Language { code: "de", name: "German" },
    Language { code: "el", name: "Greek" },
    Language { code: "en", name: "English" },
    Language { code: "es", name: "Spanish" },
    Language { code: "et", name: "Estonian" },
    Language { code: "fa", name: "Persian" },
    Language { code: "fi", name: "Finnish" },
    Language { code: "fr", name: "French" },
    Language { code: "he", name: "Hebrew" },
    Language { code: "hi", name: "Hindi" },
    Language { code: "hr", name: "Croatian" },
    Language { code: "hu", name: "Hungarian" },
    Language { code: "id", name: "Indonesian" },
    Language { code: "it", name: "Italian" },
    Language { code: "ja", name: "Japanese" },
    Language { code: "ko", name: "Korean" },
    Language { code: "nl", name: "Dutch" },
    Language { code: "no", name: "Norwegian" },
    Language { code: "pl", name: "Polish" },
    Language { code: "pt", name: "Portuguese" },
    Language { code: "ro", name: "Romanian" },
    Language { code: "ru", name: "Russian" },
    Language { code: "sk", name: "Slovak" },
    Language { code: "sl", name: "Slovenian" },
    Language { code: "sv", name: "Swedish" },
    Language { code: "th", name: "Thai" },
    Language { code: "tr", name: "Turkish" },
    Language { code: "uk", name: "Ukrainian" },
    Language { code: "vi", name: "Vietnamese" },
    Language { code: "zh", name: "Chinese" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_language_has_a_list() {
        for language in LANGUAGES {
            let list = StopWords::for_language(language.code).unwrap();
            assert!(list.sorted.len() > 20, "{}: {}", language.name, list.sorted.len());
        }
    }

    #[test]
    fn english_stop_words_are_known_and_others_are_not() {
        let list = StopWords::for_language("en").unwrap();
        assert!(list.contains("the") && list.contains("and"));
        assert!(!list.contains("fingerprint"));
    }

    #[test]
    fn stems_join_the_forms_of_a_word() {
        let porter = Stemming::named("porter").unwrap();
        assert_eq!(porter.stem("connections"), "connect");
        assert_eq!(porter.stem("connecting"), "connect");
    }

    #[test]
    fn an_unknown_language_is_refused_with_the_known_ones() {
        let error = StopWords::for_language("xx").unwrap_err().to_string();
        assert!(error.contains("`xx`") && error.contains("en, es"), "{error}");
        let error = Stemming::named("klingon").unwrap_err().to_string();
        assert!(error.contains("`klingon`") && error.contains("porter"), "{error}");
    }
}
