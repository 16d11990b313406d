//! Text hidden by the page's own styles and attributes is left out, and nothing else.

use super::{main_text_of, page_of, text_of};

/// Extracts an element with this style.
fn styled(style: &str) -> String {
    text_of(&format!("a<div style=\"{style}\">b</div>c"))
}

#[test]
fn every_inline_style_that_hides_leaves_its_text_out() {
    for style in [
        "display:none",
        "DISPLAY : None",
        "color:red;display:none;",
        "display:block;display:none",
        "display:none!important;display:block",
        "disp\\6c ay:none",
        "display/**/:/* x */none",
        "visibility:hidden",
        "visibility: collapse",
        "opacity:0",
        "opacity:0.01",
        "opacity: .0 !important",
        "content-visibility:hidden",
        "font-size:0",
        "font-size:0px",
        "font-size: 1px",
        "font: 0/0 a",
        "width:0;overflow:hidden",
        "height:0px;overflow:hidden",
        "max-height:0;overflow:clip",
        "width:1px;height:1px;overflow:hidden",
        "position:absolute;left:-9999px",
        "position:fixed;top:-999em",
        "position:relative;left:-100vw",
        "text-indent:-9999px",
        "position:absolute;clip:rect(0,0,0,0)",
        "position:absolute;clip:rect(1px, 1px, 1px, 1px)",
        "clip-path:inset(50%)",
        "clip-path: inset(100%)",
        "clip-path:circle(0)",
        "transform:scale(0)",
        "transform:translateX(-9999px)",
    ] {
        let text = styled(style);
        assert!(text == "a c" || text == "ac", "{style}: {text}");
        let page = page_of(&format!("a<div style=\"{style}\">b b</div>c"));
        assert_eq!(page.hidden_bytes, 2, "{style}");
    }
}

#[test]
fn styles_that_do_not_hide_keep_their_text() {
    for style in [
        "",
        "display:block",
        "display:nonsense",
        "display:none;display:block",
        "display:none;display:block!important",
        "x-display:none",
        "background:url(x;display:none;)",
        "content:'; display:none'",
        "visibility:visible",
        "opacity:0.5",
        "opacity:1",
        "font-size:12px",
        "font-size:0.8em",
        "font-size:1.125rem",
        "font-size:.938rem",
        "font:1rem/2 a",
        "width:1em;height:1em;overflow:hidden",
        "font:12px/0 a",
        "width:0",
        "height:0",
        "height:10px;overflow:hidden",
        "height:1px;overflow:hidden",
        "left:-9999px",
        "position:static;left:-9999px",
        "position:absolute;left:-10px",
        "position:absolute;left:9999px",
        "text-indent:-20px",
        "clip:rect(0,0,0,0)",
        "position:absolute;clip:rect(0,100px,100px,0)",
        "clip-path:inset(10%)",
        "transform:scale(0.5)",
        "transform:translateX(-50px)",
    ] {
        assert_eq!(styled(style), "a b c", "{style}");
    }
}

#[test]
fn a_size_means_nothing_to_an_inline_element() {
    let style = "width:0;height:0;overflow:hidden";
    assert_eq!(text_of(&format!("a <span style='{style}'>b</span> c")), "a b c");
    assert_eq!(text_of(&format!("a <span style='display:block;{style}'>b</span> c")), "a c");
}

#[test]
fn attributes_hide_where_browsers_do() {
    assert_eq!(text_of("a <p hidden>b</p> c"), "a c");
    assert_eq!(text_of("a <p hidden=until-found>b</p> c"), "a c");
    assert_eq!(text_of("a <p hidden style='display:block'>b</p> c"), "a b c");
    assert_eq!(text_of("a <dialog>b</dialog> c"), "a c");
    assert_eq!(text_of("a <dialog open>b</dialog> c"), "a b c");
    assert_eq!(text_of("a <details><summary>b</summary>c</details>"), "a b c");
    assert_eq!(text_of("a <input type=hidden value=b> c"), "a c");
    // Visible to sighted readers.
    assert_eq!(text_of("a <p aria-hidden=true>b</p> c"), "a b c");
    assert_eq!(text_of("a <textarea hidden>b</textarea> c"), "a c");
    assert_eq!(text_of("a <select style=display:none><option>b</select> c"), "a c");
    assert_eq!(text_of("a <template>b</template> c"), "a c");
}

#[test]
fn a_child_may_be_visible_again_but_not_displayed_again() {
    let inside = |outer: &str, inner: &str| {
        text_of(&format!("<div style='{outer}'>a <b style='{inner}'>b</b></div>"))
    };
    assert_eq!(inside("visibility:hidden", "visibility:visible"), "b");
    assert_eq!(inside("font-size:0", "font-size:14px"), "b");
    assert_eq!(inside("font-size:0", "font-size:2em"), "");
    assert_eq!(inside("display:none", "display:block"), "");
    assert_eq!(inside("opacity:0", "opacity:1"), "");
}

#[test]
fn elements_that_take_no_space_do_not_separate_words() {
    assert_eq!(text_of("vic<br style=display:none>tim"), "victim");
    assert_eq!(text_of("vic<br hidden>tim"), "victim");
    assert_eq!(text_of("vic<div hidden></div>tim"), "victim");
    // Here the tag ends a paragraph.
    assert_eq!(text_of("<p>two<div hidden></div>words"), "two words");
    assert_eq!(text_of("vic<div hidden>x<p>y</p></div>tim"), "victim");
    assert_eq!(text_of("vic<span style='font-size:0'>x</span>tim"), "victim");
    assert_eq!(text_of("vic<span style='position:absolute;left:-999px'>x</span>tim"), "victim");
    assert_eq!(text_of("no<span style='visibility:hidden'>x</span>one"), "no one");
    assert_eq!(text_of("<div>foo<span hidden>bar</div>baz"), "foo baz");
}

#[test]
fn simple_rules_of_the_page_hide() {
    let ruled = |css: &str, tag: &str| {
        text_of(&format!("<style>{css}</style>a <{tag}>b</{}> c", &tag[..1]))
    };
    for (css, tag) in [
        (".x{display:none}", "p class=x"),
        ("#x{display:none}", "p id=x"),
        ("i{display:none}", "i"),
        ("P{display:none}", "p"),
        ("h1, .y , .x{display:none}", "p class='z x'"),
        ("/* .x{} */.x/**/{/**/display:none}", "p class=x"),
        (".q{content:'}'}.x{display:none}", "p class=x"),
        ("@charset 'x';@import url(y);.x{display:none}", "p class=x"),
        ("@media screen{.x{display:none}}", "p class=x"),
        ("@media print, all {.q{left:0}.x{display:none}}", "p class=x"),
        ("@media print{.x{display:block}}.x{display:none}", "p class=x"),
        ("@font-face{src:url(x)}.x{display:none}", "p class=x"),
        (".x{display:block}.x{display:none}", "p class=x"),
        (".x{display:none}.y{display:block}.x{opacity:0}", "p class='x y'"),
        ("p{display:block}.x{display:none}", "p class=x"),
        (".x{display:block}#y{display:none}", "p class=x id=y"),
        (".x{display:none!important}", "p class=x style=display:block"),
        (".x{position:absolute}.y{left:-9999px}", "p class='y x'"),
    ] {
        assert_eq!(ruled(css, tag), "a c", "{css} {tag}");
    }
    for (css, tag) in [
        (".x{display:none}", "p class=X"),
        (".x{display:none}", "p class=xy"),
        (".x{display:none}", "p id=x"),
        (".x p{display:none}", "p class=x"),
        (".x:hover{display:none}", "p class=x"),
        ("@media print{.x{display:none}}", "p class=x"),
        ("@media (max-width:9px){.x{display:none}}", "p class=x"),
        ("@media screen and (max-width:9px){.x{display:none}}", "p class=x"),
        ("@supports not (a:b){.x{display:none}}", "p class=x"),
        (".x{display:none}.y{display:block}", "p class='y x'"),
        (".x{display:none}", "p class=x style=display:block"),
        ("p{display:none}.x{display:block}", "p class=x"),
        (".x{display:none", "p"),
    ] {
        assert_eq!(ruled(css, tag), "a b c", "{css} {tag}");
    }
    assert_eq!(text_of("<style media=print>p{display:none}</style><p>a"), "a");
    assert_eq!(text_of("<noscript><style>p{display:none}</style></noscript><p>a"), "a");
    assert_eq!(text_of("<template><style>p{display:none}</style></template><p>a"), "a");
    assert_eq!(text_of("<svg><style>p{display:none}</style></svg><p>a"), "");
}

#[test]
fn a_rule_applies_to_text_before_it() {
    let page = page_of("<p class=x>a</p>b<style>.x{display:none}</style><p class=x>c</p>d");
    assert_eq!((page.text.as_str(), page.hidden_bytes), ("bd", 2));
}

#[test]
fn rules_that_hide_the_whole_page_are_ignored() {
    assert_eq!(text_of("<style>body{opacity:0}</style><body>a"), "a");
    assert_eq!(text_of("<html hidden><body style='display:none'>a"), "a");
}

#[test]
fn a_hidden_element_ends_where_browsers_end_it() {
    for (html, text) in [
        ("<div hidden>a<div>b</div>c</div>d", "d"),
        ("<p hidden>a<p>b", "b"),
        ("<p hidden>a<div>b</div>", "b"),
        ("<p hidden>a<b>c<div>b</div>", "b"),
        ("<div><p hidden>a</div>b", "b"),
        ("<ul><li hidden>a<li>b</ul>", "b"),
        ("<ul><li hidden>a<ul><li>c</ul>d<li>b</ul>", "b"),
        ("<dl><dt hidden>a<dd>b</dl>", "b"),
        ("<table><tr><td hidden>a<td>b</table>", "b"),
        ("<table><tr hidden><td>a<tr><td>b</table>", "b"),
        ("<table hidden><tr><td>a<table><tr><td>c</table>d</table>b", "b"),
        ("<select><option hidden>a<option>b</select>", "b"),
        ("<b hidden>a<i>c</b>b</i>", "b"),
        ("<b hidden>a<p>c</b>b</p>", "b"),
        ("<p><b hidden>a</p><p>c</b>b</p>", "b"),
        ("<a hidden>a<a>b</a>", "b"),
        ("<div hidden>a</span>c</div>b", "b"),
        ("<ul><li></ul><div hidden></li>a</div>b", "b"),
        ("<div hidden><table><tr><td></div>a</table></div>b", "b"),
        ("<span hidden><div></span>a</div></span>b", "b"),
        ("<div hidden><br><img><input><wbr>a</div>b", "b"),
        ("<div hidden><script></div></script>a</div>b", "b"),
        ("<div hidden><!-- </div> -->a</div>b", "b"),
        ("<div hidden><svg><g></svg>a</div>b", "b"),
        ("<div hidden><math><mspace/></math>a</div>b", "b"),
        ("<object><div hidden>a</div>b", "b"),
        ("<h1 hidden>a</h2>b", "b"),
        ("<h1 hidden>a<h2>b</h2>", "b"),
        ("<div hidden>a", ""),
        ("</div></p></b>b", "b"),
    ] {
        assert_eq!(text_of(html), text, "{html}");
    }
}

#[test]
fn elements_beyond_the_tracked_depth_hide_too() {
    let (open, close) = ("<div>".repeat(600), "</div>".repeat(600));
    let html = format!("{open}a<div hidden>b<div>c</div>d</div>e{close}f");
    assert_eq!(text_of(&html), "ae f");
}

#[test]
fn a_page_that_hides_more_than_it_shows_says_so() {
    assert!(page_of("<p>a b</p><p hidden>c d e</p>").hides_most());
    assert!(!page_of("<p>a b c</p><p hidden>d e</p>").hides_most());
    assert!(!page_of("").hides_most());
}

#[test]
fn noscript_is_text_when_it_holds_most_of_the_page() {
    let article = format!("<p>{}<a href=/x>end</a></p>", "word ".repeat(300));
    let text = format!("{}end", "word ".repeat(300));
    assert_eq!(text_of(&format!("a<noscript>{article}</noscript>b")), format!("a {text} b"));
    assert_eq!(text_of(&format!("{article}<noscript>{article}</noscript>")), text);
    assert_eq!(text_of(&format!("a<noscript><img src='{article}'></noscript>b")), "ab");
    assert_eq!(text_of(&format!("a<noscript><div hidden>{article}</div></noscript>b")), "ab");
    assert_eq!(main_text_of(&format!("<noscript><article>{article}</article></noscript>")), text);
    assert_eq!(text_of("<noscript>You need to enable JavaScript.</noscript>"), "");
}
