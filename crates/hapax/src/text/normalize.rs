//! Normalizes one chunk of text for comparison: NFKC, then full case folding.
//!
//! A chunk contains no ASCII white space. No composition crosses ASCII white space, so normalising chunk by
//! chunk equals normalising the whole text; a property test checks this. Full-width letters become ordinary
//! ones, ligatures are split, `ß` becomes `ss`.
//!
//! Source: Unicode Standard Annex 15 (NFKC) and the Unicode Standard, section 3.13 (folding).

use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use writeable::Writeable;

/// Folds chunks; owns its buffer.
#[derive(Debug)]
pub struct Normalizer {
    compose: ComposingNormalizerBorrowed<'static>,
    decompose: DecomposingNormalizerBorrowed<'static>,
    fold: CaseMapperBorrowed<'static>,
    composed: String,
}

impl Default for Normalizer {
    fn default() -> Self {
        Self {
            compose: ComposingNormalizerBorrowed::new_nfkc(),
            decompose: DecomposingNormalizerBorrowed::new_nfkd(),
            fold: CaseMapper::new(),
            composed: String::new(),
        }
    }
}

impl Normalizer {
    /// Appends the folded form of `chunk` to `out`.
    pub fn fold_into(&mut self, chunk: &str, out: &mut String) {
        self.composed.clear();
        let written = self
            .compose
            .normalize_to(chunk, &mut self.composed)
            .and_then(|()| self.fold.fold(&self.composed).write_to(out));
        debug_assert!(written.is_ok(), "writing to a String does not fail");
    }

    /// Whether nothing before `c` can change it or join with it under NFKC.
    ///
    /// If `true`, a text may be split before `c` and both parts folded independently. May be
    /// `false` for a character that would be safe.
    pub fn starts_afresh(&self, c: char) -> bool {
        if c.is_ascii() {
            return true;
        }
        let mut decomposed = self.decompose.normalize_iter(std::iter::once(c));
        let Some(first) = decomposed.next() else { return false };
        !combines_backwards(first)
    }
}

/// Marks of any combining class, and the jamo that join a preceding syllable.
fn combines_backwards(c: char) -> bool {
    use icu_properties::props::{CanonicalCombiningClass, GeneralCategory, GeneralCategoryGroup};
    use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
    const CLASS: CodePointMapDataBorrowed<'static, CanonicalCombiningClass> =
        CodePointMapData::<CanonicalCombiningClass>::new();
    const CATEGORY: CodePointMapDataBorrowed<'static, GeneralCategory> =
        CodePointMapData::<GeneralCategory>::new();
    CLASS.get(c) != CanonicalCombiningClass::NotReordered
        || GeneralCategoryGroup::Mark.contains(CATEGORY.get(c))
        || matches!(c, '\u{1161}'..='\u{1175}' | '\u{11A8}'..='\u{11C2}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(text: &str) -> String {
        let mut out = String::new();
        Normalizer::default().fold_into(text, &mut out);
        out
    }

    #[test]
    fn compatibility_forms_and_case_are_folded() {
        assert_eq!(folded("ＨＡＰＡＸ"), "hapax");
        assert_eq!(folded("Straße"), "strasse");
        assert_eq!(folded("ﬁne"), "fine");
        assert_eq!(folded("ΣΊΣΥΦΟΣ"), "σίσυφοσ");
        assert_eq!(folded("ﾊﾟｿｺﾝ"), "パソコン");
        assert_eq!(folded("e\u{301}"), "é");
    }

    /// Letters, marks, jamo, compatibility forms and white space, where joining can happen.
    fn joinable() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[a-zA-Z]",
            "[\u{300}-\u{30F}\u{327}\u{338}\u{345}]",
            "[\u{1100}-\u{1112}\u{1161}-\u{1175}\u{11A8}-\u{11C2}가-각]",
            "[ＡａÅÉßﬁ①㍿\u{00A8}\u{037A}ǅẞΐﾊﾞｶ]",
            "[\u{0E33}\u{09C7}\u{09BE}\u{0DD9}\u{0DCF}\u{1B06}\u{1B35}]",
            " ",
            any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..24).prop_map(|v| v.concat())
    }

    proptest! {
        #[test]
        fn folding_chunk_by_chunk_equals_folding_the_whole(text in joinable()) {
            let by_chunk: Vec<String> = text.split(' ').map(folded).collect();
            prop_assert_eq!(folded(&text), by_chunk.join(" "));
        }

        #[test]
        fn a_cut_before_a_character_that_starts_afresh_changes_nothing(text in joinable()) {
            let n = Normalizer::default();
            let mut parts = String::new();
            let mut from = 0;
            for (at, c) in text.char_indices() {
                if at > 0 && n.starts_afresh(c) {
                    parts.push_str(&folded(&text[from..at]));
                    from = at;
                }
            }
            parts.push_str(&folded(&text[from..]));
            prop_assert_eq!(folded(&text), parts);
        }
    }
}
