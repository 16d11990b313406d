//! Properties that hold for any page: no input panics, parts equal the whole, and irrelevant differences change
//! nothing.

use hapax::fingerprint::{Fingerprinter, Recipe, RecipeError, Signature};
use hapax::page::Hints;
use proptest::prelude::*;

fn by(recipe: &str) -> Fingerprinter {
    Fingerprinter::new(Recipe::built_in(recipe).unwrap(), None).unwrap()
}

fn fingerprint_of(text: &str) -> Signature {
    by("web-2").text(text).unwrap()
}

/// Text in several scripts with marks, signs, addresses and odd white space.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[A-Za-z]{1,9}",
        4 => " ",
        1 => "[0-9.,:;'!_-]{1,3}",
        1 => "[漢字仮名中文北京大学]{1,6}",
        1 => "[а-яА-Я]{1,8}",
        1 => "[กขคงจาิี่]{1,5}",
        1 => Just("https://example.org/a?b=c".to_owned()),
        1 => "[\u{a0}\u{3000}\u{300}\u{200d}\t\n]",
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|v| v.concat())
}

proptest! {
    #[test]
    fn any_bytes_end_in_an_signature_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for content_type in [None, Some("text/html"), Some("text/plain; charset=gbk")] {
            let _ = by("web-2").page(&bytes, &Hints { content_type, url: None });
        }
    }

    #[test]
    fn any_markup_like_bytes_end_in_an_signature(
        pieces in proptest::collection::vec(
            prop_oneof![
                "<[a-z]{1,6}[ a-z=\"']{0,8}>?", "</[a-z]{1,6}>", "<!--", "-->", "&[a-z#0-9]{0,6};?",
                Just("<script>".to_owned()), Just("<svg>".to_owned()), "[a-z ]{1,12}", "\\PC",
            ],
            0..50,
        ),
    ) {
        let html = pieces.concat();
        let signature = by("web-2").html(&html).unwrap();
        prop_assert_eq!(signature.comparable.is_some(), signature.features > 0);
    }

    #[test]
    fn white_space_and_markup_do_not_matter(words in proptest::collection::vec("[a-z]{1,8}", 0..30)) {
        let plain = fingerprint_of(&words.join(" "));
        prop_assert_eq!(&fingerprint_of(&words.join(" \n\t ")), &plain);
        let marked = format!("<body><p>{}</p></body>", words.join("</p><!-- x --><p>"));
        prop_assert_eq!(&by("web-2").html(&marked).unwrap(), &plain);
    }

    #[test]
    fn the_order_of_words_does_not_matter_to_a_bag_of_words(
        words in proptest::collection::vec("[a-z]{1,8}", 1..30),
    ) {
        let backwards: Vec<&str> = words.iter().rev().map(String::as_str).collect();
        let (a, b) = (fingerprint_of(&words.join(" ")), fingerprint_of(&backwards.join(" ")));
        prop_assert_eq!(a.comparable.unwrap().sums, b.comparable.unwrap().sums);
    }

    #[test]
    fn repeats_do_not_matter_to_a_set_of_shingles(words in proptest::collection::vec("[a-z]{1,3}", 5..20)) {
        let once = words.join(" ");
        // Repeated after a stop: only the shingles across the boundary are new.
        let mut by = by("zhu-shingles");
        let thrice = format!("{once} {once} {once}");
        let twice = format!("{once} {once}");
        prop_assert_eq!(
            by.text(&thrice).unwrap().comparable.unwrap().sums,
            by.text(&twice).unwrap().comparable.unwrap().sums
        );
    }

    #[test]
    fn case_and_width_do_not_matter(text in texts()) {
        let a = fingerprint_of(&text);
        let b = fingerprint_of(&text.to_lowercase());
        // Lowering may differ from folding (final sigma, dotless i); these texts have neither.
        prop_assert_eq!(a.comparable.map(|m| m.fingerprint), b.comparable.map(|m| m.fingerprint));
    }
}

#[test]
fn pages_without_words_have_no_fingerprint() {
    for page in ["", " \n ", "<p></p>", "<script>x</script>", "— … !"] {
        let signature = by("web-2").html(page).unwrap();
        assert_eq!(signature.comparable, None, "{page:?}");
        assert!(signature.too_short);
        assert_eq!((signature.words, signature.features), (0, 0));
    }
}

#[test]
fn short_pages_are_flagged_and_others_are_not() {
    let nine = "one two three four five six seven eight nine";
    assert!(fingerprint_of(nine).too_short);
    assert!(!fingerprint_of(&format!("{nine} ten")).too_short);
}

#[test]
fn a_clone_behaves_like_its_original() {
    let mut original = by("web-2");
    let text = "Every page once, and only once, whatever it is called today.";
    assert_eq!(original.clone().text(text).unwrap(), original.text(text).unwrap());
}

#[test]
fn a_recipe_with_weights_from_a_table_needs_the_table() {
    let error = Fingerprinter::new(Recipe::built_in("sood-tfidf").unwrap(), None).unwrap_err();
    assert!(matches!(&error, RecipeError::NeedsTable { recipe } if recipe == "sood-tfidf"));
    assert!(error.to_string().contains("hapax train"));
}
