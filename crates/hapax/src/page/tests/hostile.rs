//! Hostile pages. Each would take minutes if anything were quadratic, and passes by ending with the right text.

use super::super::*;
use super::main_text_of;

fn text_with_links(html: &str) -> String {
    let options = ExtractOptions { collect_links: true, ..ExtractOptions::default() };
    let mut extractor = Extractor::new(options);
    let hints = Hints { url: Some("http://x.org/"), ..Hints::default() };
    extractor.extract_html(html, &hints).unwrap().text.clone()
}

#[test]
fn a_million_open_tags_end() {
    for tag in [
        "<div>",
        "<b>",
        "<a href=x>",
        "<table><tr><td>",
        "<svg>",
        "<math>",
        "<template>",
        "<object>",
        "<font color=red>",
        "<svg><foreignObject>",
        "<nav class=menu>",
        "</nav>",
        "<ul><li class=ad>",
        "<p class=ad>a",
        "<noscript>",
        "<title>",
        "<textarea>",
        "<iframe>",
        "</div>",
        "</a>",
        "</svg>",
        "</template>",
        "<p",
        "<!--",
        "<![CDATA[",
        "<!",
        "</",
        "<",
        "&",
        "&am",
        "&#",
        "&#x41",
        "<svg/>",
        "<script>",
        "<style>",
        "<xmp>",
        "<select><option>",
        "<plaintext>",
        "<script><!--<script>",
        "<b class='",
        "<b class=",
        "<a href=\"",
        "\0",
        "\u{a0}",
        "http://",
        "www.a ",
    ] {
        let html = format!("first {}last", tag.repeat(300_000));
        let text = text_with_links(&html);
        assert!(text.starts_with("first"), "{tag}");
        assert!(main_text_of(&html).len() <= html.len(), "{tag}");
    }
}

#[test]
fn a_million_attributes_and_a_huge_one_end() {
    let mut many = String::from("<a ");
    for number in 0..500_000 {
        many.push_str(&format!("a{number}=b "));
    }
    assert_eq!(text_with_links(&(many + "href=x>end")), "end");
    let duplicates = format!("<a {}>end", "href='&amp;' ".repeat(500_000));
    assert_eq!(text_with_links(&duplicates), "end");
    let huge = "x".repeat(20 << 20);
    assert_eq!(text_with_links(&format!("<a href='{huge}'>end")), "end");
    assert_eq!(text_with_links(&format!("<a href='&amp;{huge}'>end")), "end");
    assert_eq!(text_with_links(&format!("<a {huge}=1>end")), "end");
    assert_eq!(text_with_links(&format!("<{huge}>end</{huge}>")), "end");
}

#[test]
fn a_long_base_does_not_multiply_the_links() {
    let base = "x/".repeat(4000);
    let html = format!("<base href='http://x.org/{base}'>{}", "<a href=y>z</a>".repeat(50_000));
    assert_eq!(text_with_links(&html).len(), 50_000);
}

#[test]
fn nested_tables_of_any_depth_keep_their_words() {
    let html = format!("{}deep{}", "<table><tr><td>".repeat(200_000), "</table>".repeat(200_000));
    assert_eq!(text_with_links(&html), "deep");
}

#[test]
fn a_page_of_nothing_but_angle_brackets_is_text() {
    let html = "<".repeat(10_000_000);
    assert_eq!(text_with_links(&html).len(), html.len());
}

#[test]
fn raw_text_that_is_closed_again_and_again_is_linear() {
    let html =
        "<title>a</title><textarea>b</textarea><noscript>c</noscript><svg>d</svg>".repeat(100_000);
    assert_eq!(text_with_links(&html).len(), 2 * 100_000 - 1);
}
