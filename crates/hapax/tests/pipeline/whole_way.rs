//! Properties that hold for any page: no input panics, parts equal the whole, and irrelevant differences change
//! nothing.

use hapax::features::{WordHasher, shingles};
use hapax::fingerprint::fingerprinter::word_hasher;
use hapax::fingerprint::simhash::{self, Tally};
use hapax::fingerprint::sketch::Sketcher;
use hapax::fingerprint::{Fingerprinter, Key, Recipe, RecipeError, Signature};
use hapax::page::{Body, Document, Hints};
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

/// Texts of many parts: with new words everywhere, with few, with few until the end, without spaces.
fn long_texts() -> [String; 5] {
    let new = |from: u32| (from..from + 40_000).map(|n| format!("w{n} ")).collect::<String>();
    let few = "one and the same sentence again and again. ".repeat(9_000);
    let unspaced: String =
        (0..90_000u32).filter_map(|n| char::from_u32(0x4E00 + n * n % 20_000)).collect();
    [
        new(0),
        few.clone(),
        format!("{few}{} {few}", new(7)),
        format!("{unspaced} {few}"),
        format!("{few}end"),
    ]
}

#[test]
fn a_long_text_that_is_read_in_parts_has_the_signature_of_the_whole() {
    for recipe in ["web-2", "stream-words", "khan-words", "zhu-shingles"] {
        let recipe = Recipe::built_in(recipe).unwrap();
        let mut by = Fingerprinter::new(recipe.clone(), None).unwrap();
        for text in long_texts() {
            let text = text.trim_end();
            let mut words = Vec::new();
            WordHasher::hash_into(&mut word_hasher(&recipe).unwrap(), text, &mut words);
            let [mut features, mut sketched] = [const { Vec::new() }; 2];
            shingles(&words, recipe.shingle, &mut features);
            shingles(&words, recipe.sketch_shingle, &mut sketched);
            let signature = by.text(text).unwrap();
            assert_eq!(signature.words as usize, words.len());
            assert_eq!(signature.features as usize, features.len());
            if recipe.name == "zhu-shingles" {
                features.sort_unstable();
                features.dedup();
            }
            let mut tally = Tally::default();
            tally.add_all(&features);
            let found = signature.comparable.unwrap();
            assert_eq!(found.fingerprint, simhash::cut(&tally.sums(), recipe.tie));
            assert_eq!(Some(found.sketch), Sketcher::default().sketch(&sketched));
        }
    }
}

#[test]
fn keyed_sketches_of_long_texts_are_those_of_their_shingles() {
    let plain = by("web-2");
    let mut reader = plain.keyed(&Key::new(b"any"));
    let mut signer = plain.with_key(&Key::new(b"any"));
    for text in long_texts() {
        let document = Document::new(Body::Text(&text));
        let expected = Sketcher::default().sketch(reader.shingles(&document).unwrap());
        assert_eq!(reader.sketch(&document).unwrap(), expected);
        assert_eq!(signer.document(&document).unwrap().keyed, expected);
    }
}
