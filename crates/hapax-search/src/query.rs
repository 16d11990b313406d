//! Parses queries as users type them.
//!
//! Any text is valid: what matches no rule is words. A query without a positive word finds nothing. Reads at
//! most [`MOST_BYTES`] bytes, [`MOST_WORDS`] words, and as many conditions of each kind and words per
//! condition.
//!
//! | typed | meaning |
//! |---|---|
//! | `cheap flights` | pages with any of the words; more and rarer words rank higher |
//! | `"cheap flights"` | pages with the words next to each other |
//! | `+cheap`, `-flights` | pages that have it; pages that do not |
//! | `site:example.org` | pages of this host and those below it |
//! | `lang:de` | pages in this language |

use crate::page::language_code;
use crate::words::Words;

/// Maximum number of words of a query; others are ignored.
pub const MOST_WORDS: usize = 64;
/// Maximum bytes of a query to read.
pub const MOST_BYTES: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedQuery {
    /// Words to search for, each once, in the order of typing.
    pub words: Vec<String>,
    /// Required words; each list must be a phrase on the page.
    pub required: Vec<Vec<String>>,
    /// Excluded words; a page with a list as a phrase is left out.
    pub excluded: Vec<Vec<String>>,
    /// One of these hosts, or below.
    pub sites: Vec<String>,
    pub languages: Vec<String>,
}

impl ParsedQuery {
    /// Parses a typed query.
    pub fn parse(text: &str, words: &mut Words) -> Self {
        let mut query = Self::default();
        let mut rest = &text[..text.floor_char_boundary(MOST_BYTES)];
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return query;
            }
            let (sign, after) = match rest.as_bytes()[0] {
                sign @ (b'+' | b'-') => (Some(sign), &rest[1..]),
                _ => (None, rest),
            };
            let quoted = after.strip_prefix('"').and_then(|inside| inside.split_once('"'));
            let (piece, left, together) = match quoted {
                Some((inside, left)) => (inside, left, true),
                None => {
                    let end = after.find(char::is_whitespace).unwrap_or(after.len());
                    (&after[..end], &after[end..], false)
                }
            };
            rest = left;
            if !together && sign.is_none() && query.take_field(piece) {
                continue;
            }
            query.take_words(words.of_query(piece), sign, together);
        }
    }

    /// Whether there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether it has conditions besides words.
    pub fn has_conditions(&self) -> bool {
        let lists = [&self.required, &self.excluded];
        lists.iter().any(|list| !list.is_empty())
            || !self.sites.is_empty()
            || !self.languages.is_empty()
    }

    fn take_field(&mut self, piece: &str) -> bool {
        let Some((field, value)) = piece.split_once(':') else { return false };
        let value = value.to_ascii_lowercase();
        let known = match field {
            "site" => Some((&mut self.sites, value)),
            "lang" => Some((&mut self.languages, language_code(&value))),
            _ => None,
        };
        let Some((list, value)) = known.filter(|(_, value)| !value.is_empty()) else {
            return false;
        };
        if list.len() < MOST_WORDS {
            list.push(value);
        }
        true
    }

    fn take_words(&mut self, mut words: Vec<String>, sign: Option<u8>, together: bool) {
        if words.is_empty() {
            return;
        }
        words.truncate(MOST_WORDS);
        // `c++` and `-` are not conditions, because they consist of signs only.
        if sign == Some(b'-') {
            if self.excluded.len() < MOST_WORDS {
                self.excluded.push(words);
            }
            return;
        }
        for word in &words {
            if self.words.len() < MOST_WORDS && !self.words.contains(word) {
                self.words.push(word.clone());
            }
        }
        if (together || sign.is_some()) && self.required.len() < MOST_WORDS {
            self.required.push(words);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> ParsedQuery {
        ParsedQuery::parse(text, &mut Words::default())
    }

    fn list(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn plain_words_are_words() {
        let query = parse("Cheap  flights, cheap c++");
        assert_eq!(query.words, list(&["cheap", "flights", "c"]));
        assert!(!query.has_conditions());
    }

    #[test]
    fn signs_quotes_and_fields_are_conditions() {
        let query = parse("\"new york\" +hotel -cheap -\"one star\" site:Example.org lang:de-AT");
        assert_eq!(query.words, list(&["new", "york", "hotel"]));
        assert_eq!(query.required, [list(&["new", "york"]), list(&["hotel"])]);
        assert_eq!(query.excluded, [list(&["cheap"]), list(&["one", "star"])]);
        assert_eq!((query.sites, query.languages), (list(&["example.org"]), list(&["de"])));
    }

    #[test]
    fn what_is_no_rule_is_words() {
        assert_eq!(parse("\"open quote").words, list(&["open", "quote"]));
        assert_eq!(parse("foo:bar AND site: - + \"\"").words, list(&["foo:bar", "and", "site"]));
        assert!(parse("!!! -- \u{0}").is_empty());
        assert!(parse("-only").is_empty());
    }

    #[test]
    fn an_endless_query_is_cut() {
        let text: String = (0..100_000).map(|number| format!("w{number} ")).collect();
        assert_eq!(parse(&text).words.len(), MOST_WORDS);
        assert_eq!(parse(&"-x ".repeat(10_000)).excluded.len(), MOST_WORDS);
        assert!(parse(&"水".repeat(5_000)).words.len() <= MOST_WORDS);
    }

    proptest! {
        #[test]
        fn any_text_is_a_valid_query(text in any::<String>()) {
            let query = parse(&text);
            prop_assert!(query.words.len() <= MOST_WORDS);
        }

        #[test]
        fn operators_in_any_disorder_do_no_harm(text in "[-+\":a水 ]{0,60}|(site:|lang:|-\"|\" ){0,20}") {
            let query = parse(&text);
            prop_assert!(query.required.iter().chain(&query.excluded).all(|list| !list.is_empty()));
        }
    }
}
