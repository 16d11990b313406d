//! Properties that hold for any bytes.

use proptest::prelude::*;

use super::super::*;

/// Fragments of pages that interact: tags with and without ends, raw text, entities, odd bytes.
pub(super) fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-z]{1,5}".prop_map(String::into_bytes),
        2 => Just(b" ".to_vec()),
        6 => prop::sample::select(vec![
            "<p>", "</p>", "<div class=\"a b\" id='c'>", "</div>", "<b>", "</b>", "<a href=/x>", "</a>", "<br/>",
            "<svg>", "</svg>", "<svg/>", "<foreignObject>", "</foreignObject>", "<template>", "</template>",
            "<script>", "</script>", "<style>", "</style>", "<title>", "</title>", "<textarea>", "</textarea>",
            "<noscript>", "</noscript>", "<!--", "-->", "<![CDATA[", "]]>", "<math>", "</math>", "<object>",
            "</object>", "<plaintext>", "<xmp>", "</xmp>", "<iframe>", "</iframe>", "<rp>", "</rp>", "<nav>",
            "</nav>", "<h1>", "</h1>", "<li>", "<table>", "<td>", "</table>", "<form>", "</form>", "<html lang=x>",
            "<base href=/b/>", "<meta http-equiv=refresh content=1>", "<link rel=canonical href=/c>",
            "<a title='x'href='/x'>", "<a href = /y>", "<P\n>", "<p/ class=x>", "<b =x>", "<a href='&amp;'>",
            "<x\0y>", "<b a='", "<b a=\"", "'>", "\">", "<", ">", "/", "&", "&amp", "&lt;", "&#x41;", "&#", "=",
            "http://", "www.", "x.org/", "\u{a0}", "\u{3000}", "é", "中文", "\0", "\r\n", "\t", "\u{feff}",
        ]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn options() -> impl Strategy<Value = ExtractOptions> {
    (any::<bool>(), any::<bool>(), prop_oneof![Just(usize::MAX), 0usize..200]).prop_map(
        |(main, collect_links, bytes)| ExtractOptions {
            extent: if main { Extent::MainContent } else { Extent::Body },
            collect_links,
            limits: Limits {
                max_input_bytes: bytes,
                max_text_bytes: bytes / 2,
                max_links: 3,
                ..Limits::default()
            },
        },
    )
}

const HTML: Hints<'static> =
    Hints { content_type: Some("text/html; charset=utf-8"), url: Some("http://x.org/d/") };

fn assert_folded(text: &str) {
    assert_eq!(text, text.split_whitespace().collect::<Vec<_>>().join(" "));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_end_in_folded_text_or_a_refusal(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        options in options(),
    ) {
        let mut extractor = Extractor::new(options);
        for content_type in [None, Some("text/html"), Some("text/plain; charset=shift_jis")] {
            let hints = Hints { content_type, url: Some("http://x.example.jp/") };
            if let Ok(page) = extractor.extract(&bytes, &hints) {
                assert_folded(&page.text);
            }
        }
    }

    #[test]
    fn any_markup_ends_in_folded_text_within_the_limit(bytes in pieces(), options in options()) {
        let limit = options.limits.max_text_bytes;
        let mut extractor = Extractor::new(options);
        if let Ok(page) = extractor.extract(&bytes, &HTML) {
            assert_folded(&page.text);
            prop_assert!(page.text.len() <= limit);
            if let Some(title) = &page.title {
                assert_folded(title);
            }
        }
    }

    #[test]
    fn a_used_extractor_behaves_like_a_new_one(
        first in pieces(),
        second in pieces(),
        options in options(),
    ) {
        let mut used = Extractor::new(options.clone());
        let _ = used.extract(&first, &HTML);
        let fresh = Extractor::new(options).extract(&second, &HTML).cloned();
        prop_assert_eq!(used.extract(&second, &HTML).cloned(), fresh);
    }

    /// The tokenizer alone is the reference for the shortcuts.
    #[test]
    fn reading_ahead_changes_nothing(bytes in pieces(), options in options()) {
        let mut quick = Extractor::new(options.clone());
        let mut slow = Extractor::new(options);
        slow.shortcuts = false;
        prop_assert_eq!(quick.extract(&bytes, &HTML), slow.extract(&bytes, &HTML));
    }

    #[test]
    fn extracting_extracted_text_changes_nothing(bytes in pieces()) {
        let mut extractor = Extractor::new(ExtractOptions::default());
        if let Ok(page) = extractor.extract(&bytes, &HTML) {
            let text = page.text.clone();
            prop_assert_eq!(&extractor.extract_text(&text).unwrap().text, &text);
        }
    }

    #[test]
    fn escaped_text_is_extracted_unchanged(words in prop::collection::vec("[a-z<>&\"'é中]{1,8}", 0..12)) {
        let text = words.join(" ");
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
        prop_assert_eq!(super::text_of(&escaped), text);
    }
}
