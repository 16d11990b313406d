//! Which parts of a page become text.

use super::super::*;
use super::text_of;

fn check(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        assert_eq!(text_of(html), *expected, "{html}");
    }
}

#[test]
fn blocks_separate_words_and_inline_elements_do_not() {
    check(&[
        ("<p>one</p><p>two</p>", "one two"),
        ("a<b>b</b><i>c</i><span>d</span>", "abcd"),
        ("a<br>b<hr/>c<BR/>d", "a b c d"),
        ("<table><tr><td>1<td>2</table>3", "1 2 3"),
        ("<ul><li>x<li>y</ul>", "x y"),
        ("<dl><dt>t<dd>d</dl>", "t d"),
        ("in<wbr>visible break", "invisible break"),
        ("a<img alt=b src=c>d", "a d"),
        ("<custom-tag>a</custom-tag>b", "ab"),
        ("H<sub>2</sub>O", "H2O"),
        ("<DIV>upper</DIV>case", "upper case"),
        ("<h1>A</h1>B<pre>C\n   D</pre>", "A B C D"),
    ]);
}

#[test]
fn only_what_is_shown_counts() {
    check(&[
        ("<html><head><title>T</title><style>p{}</style></head><body>B</body></html>", "B"),
        ("a<script>var x = '<p>no</p>';</script>b", "ab"),
        ("a<style>no</style>b<noscript><p>no</p></noscript>c", "abc"),
        ("a<!-- no --><!no><?no?></>b", "ab"),
        ("a<template><p>no<template>no</template>no</template>b", "ab"),
        ("a<svg><title>no</title><text>no</text></svg>b", "a b"),
        ("a<iframe>no<p></iframe>b<object>no<object>no</object>no</object>c", "a b c"),
        ("a<video>no</video>b<canvas>no</canvas>c<audio>no</audio>d", "a b c d"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢 kan"),
        ("<math><mi>x</mi><mo>=</mo><mn>1</mn><annotation>no</annotation></math>", "x=1"),
        ("<textarea>a<b>c</textarea><button>ok</button><option>o", "a<b>c ok o"),
        ("<p title=no alt=no>yes", "yes"),
        ("<frameset><frame src=a><noframes>no</noframes></frameset>", ""),
        ("<select><option>one<option>two</select>", "one two"),
    ]);
}

#[test]
fn text_outside_the_body_tags_counts_as_browsers_count_it() {
    check(&[
        ("just words", "just words"),
        ("early<body>middle</body>late", "early middle late"),
        ("<html><body>x</body></html>y<p>z", "x y z"),
        ("<title>t</title>fragment", "fragment"),
    ]);
}

#[test]
fn entities_are_decoded() {
    check(&[
        ("a &amp; b &lt;p&gt; &eacute; &#233; &#xE9; &#x1F600;", "a & b <p> é é é 😀"),
        (
            "&copy 2024 &notit; &ampamp; &unknown; & &#; &#x; &",
            "© 2024 ¬it; &amp; &unknown; & &#; &#x; &",
        ),
        ("a&nbsp;b&#160;&#12288;c&shy;d&#0;e", "a b cd\u{fffd}e"),
        ("&#x80; &#xD800; &#1114112;", "€ \u{fffd} \u{fffd}"),
        ("<textarea>&lt;b&gt;</textarea><xmp>&lt;<b></xmp>", "<b> &lt;<b>"),
    ]);
}

#[test]
fn addresses_are_removed_and_the_words_of_links_are_kept() {
    check(&[
        ("<a href=http://x.org/y>the words</a>", "the words"),
        ("<a href=http://x.org/>http://x.org/</a> after", "after"),
        ("see <b>http://x.org/a</b>/b and <i>www.x.org</i>.", "see and ."),
        ("http&#58;//x.org/a b", "b"),
        ("http://<wbr>x.org/a b", "b"),
    ]);
}

#[test]
fn unclosed_elements_do_not_swallow_the_page() {
    check(&[
        ("<div><svg><path></div><p>rest", "rest"),
        ("a<svg><text>no<p>rest</p>", "a rest"),
        ("a<svg><foreignObject><div>no</div></foreignObject></svg>b", "a b"),
        ("a<template>rest<p>of page", "arest of page"),
        ("a<noscript>rest<p>of page", "arest of page"),
        ("a<iframe>rest<p>of page", "a rest of page"),
        ("<title>all<p>the page", "all the page"),
        ("<textarea>all<p>the page", "all the page"),
        ("<object>all<p>the page", "all the page"),
        ("a<noscript>no</noscript>b<noscript>rest", "abrest"),
        ("a<math><mi>x<p>rest<![CDATA[no]]>", "ax rest"),
    ]);
}

#[test]
fn unfinished_markup_ends_as_in_browsers() {
    check(&[
        ("a<script>no", "a"),
        ("a<style>no", "a"),
        ("a<!-- no", "a"),
        ("a<b", "a"),
        ("a<b class=\"no", "a"),
        ("a<", "a<"),
        ("a</", "a</"),
        ("a < b <3 c", "a < b <3 c"),
        ("a&am", "a&am"),
        ("a<!doctype", "a"),
    ]);
}

#[test]
fn raw_text_ends_at_its_own_end_tag_only() {
    check(&[
        ("<script>if (a </b> c) '</scr' </scripts></script >x", "x"),
        ("<script><!-- <script> </script> no --></script>x", "x"),
        ("<script><!-- </script>x", "x"),
        ("<style></SCRIPT>no</STYLE\n>x", "x"),
        ("<textarea></title>t</textarea>x", "</title>t x"),
        ("<plaintext>a<b>&amp;</plaintext>", "a<b>&amp;</plaintext>"),
        ("<xmp><p>a</xmp>b", "<p>a b"),
    ]);
}

#[test]
fn cdata_is_text_in_formulas_and_xml_and_a_comment_in_html() {
    check(&[
        ("a<![CDATA[no]]>b", "ab"),
        ("<math><mtext><![CDATA[x<y]]></mtext></math>", "x<y"),
        ("a<svg><![CDATA[no]]></svg>b", "a b"),
    ]);
    let mut extractor = Extractor::new(ExtractOptions::default());
    let rss =
        b"<?xml version='1.0'?><rss><title>News</title><item><b>a</b><c>x<![CDATA[ <i> & ]]></c>\
        </item></rss>";
    let page = extractor.extract(rss, &Hints::default()).unwrap();
    assert_eq!(page.text, "News a x <i> &");
}

#[test]
fn a_slash_closes_any_element_only_in_xhtml() {
    let mut extractor = Extractor::new(ExtractOptions::default());
    let page = b"a<script src='x'/><p>b</p><script>no</script>c";
    let html = Hints { content_type: Some("text/html"), ..Hints::default() };
    assert_eq!(extractor.extract(page, &html).unwrap().text, "ac");
    let xhtml = Hints { content_type: Some("application/xhtml+xml"), ..Hints::default() };
    assert_eq!(extractor.extract(page, &xhtml).unwrap().text, "a b c");
}

#[test]
fn plain_text_keeps_its_angle_brackets() {
    let mut extractor = Extractor::new(ExtractOptions::default());
    let page = extractor.extract_text("a <b> &amp;\n\n  see http://x.org/ c ").unwrap();
    assert_eq!((page.text.as_str(), page.kind), ("a <b> &amp; see c", Kind::Text));
    let hints = Hints { content_type: Some("text/plain"), ..Hints::default() };
    let page = extractor.extract(b"<html>shown as written", &hints).unwrap();
    assert_eq!((page.text.as_str(), page.kind), ("<html>shown as written", Kind::Text));
}

#[test]
fn an_empty_page_is_a_page() {
    let mut extractor = Extractor::new(ExtractOptions::default());
    for bytes in [b"".as_slice(), b"   \n", b"\xef\xbb\xbf", b"\xff\xfe"] {
        let page = extractor.extract(bytes, &Hints::default()).unwrap();
        assert_eq!((page.text.as_str(), page.truncated), ("", false));
    }
}

#[test]
fn a_refused_page_says_what_it_was_and_leaves_nothing_behind() {
    let mut extractor = Extractor::new(ExtractOptions::default());
    extractor.extract_html("<title>old</title>old", &Hints::default()).unwrap();
    let error = extractor.extract(b"%PDF-1.4", &Hints::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported content: PDF document; only HTML, XML and plain text can be extracted"
    );
    assert_eq!(extractor.extract_html("", &Hints::default()).unwrap().title, None);
}

#[test]
fn limits_cut_between_characters_and_say_so() {
    let limits = Limits { max_input_bytes: 8, max_text_bytes: 5, ..Limits::default() };
    let options = ExtractOptions { limits, ..ExtractOptions::default() };
    let mut extractor = Extractor::new(options);
    for (html, text, truncated) in [
        ("abc", "abc", false),
        ("<b>ab</b>", "ab", true),
        ("<p>ééé", "éé", true),
        ("éééééééé", "éé", true),
        ("ab cd ef", "ab cd", true),
        ("ab   cd ", "ab cd", false),
    ] {
        let page = extractor.extract_html(html, &Hints::default()).unwrap().clone();
        assert_eq!((page.text.as_str(), page.truncated), (text, truncated), "{html}");
        let bytes = extractor.extract(
            html.as_bytes(),
            &Hints { content_type: Some("text/html; charset=utf-8"), ..Hints::default() },
        );
        let bytes = bytes.unwrap();
        assert_eq!((bytes.text.as_str(), bytes.truncated), (text, truncated), "{html}");
    }
}
