//! Title, canonical address, refresh, language and links.

use super::super::*;
use super::{linked_page, page_of};

fn links(html: &str, url: Option<&str>) -> Vec<(String, String, bool)> {
    let page = linked_page(html, url);
    page.links.into_iter().map(|link| (link.url, link.text, link.nofollow)).collect()
}

fn link(url: &str, text: &str, nofollow: bool) -> (String, String, bool) {
    (url.to_owned(), text.to_owned(), nofollow)
}

#[test]
fn the_first_title_is_the_title() {
    for (html, expected) in [
        ("<title> A &amp;\n <b>B</b> </title><title>C</title>", Some("A & <b>B</b>")),
        ("<svg><title>no</title></svg><title>yes</title>", Some("yes")),
        ("<template><title>no</title></template><TITLE>yes</TITLE>", Some("yes")),
        ("<title></title>", None),
        ("<p>none", None),
    ] {
        assert_eq!(page_of(html).title.as_deref(), expected, "{html}");
    }
}

#[test]
fn links_are_absolute_without_fragments_and_each_once() {
    let html = "<base href='/dir/'><a href=a>one</a> <a href='b?c=1&amp;d=2#top'>two <b>words</b></a>\
        <a href=a#x>again</a><a href='#here'>self</a><area href=map><a name=n>no</a><a href=''>no</a>\
        <a href=mailto:x@y.z>no</a><a href=javascript:x()>no</a><a href='https://Other.org'>o</a>";
    assert_eq!(
        links(html, Some("http://example.org/page?q=1")),
        [
            link("http://example.org/dir/a", "one", false),
            link("http://example.org/dir/b?c=1&d=2", "two words", false),
            link("http://example.org/dir/", "self", false),
            link("http://example.org/dir/map", "", false),
            link("https://other.org/", "o", false),
        ]
    );
    // Without a base, only absolute links are kept.
    assert_eq!(links(html, None), [link("https://other.org/", "o", false)]);
}

#[test]
fn a_repeated_link_keeps_its_place_and_gains_words() {
    let html = "<a rel=nofollow href=/a><img></a><a href=/b rel='external NoFollow'>b</a>\
        <a href=/a>http://x.org/ words</a>";
    assert_eq!(
        links(html, Some("http://x.org/")),
        [link("http://x.org/a", "words", false), link("http://x.org/b", "b", true)]
    );
}

#[test]
fn links_in_hidden_parts_do_not_count() {
    let html = "<a href=/1>x</a><template><a href=/2>y</a></template><svg><a href=/3></a></svg>\
        <noscript><a href=/4></a></noscript><!-- <a href=/5> --><frame src=/6>";
    assert_eq!(
        links(html, Some("http://x.org/")),
        [link("http://x.org/1", "x", false), link("http://x.org/6", "", false)]
    );
    assert_eq!(links("<template><a href=/2>y</a>", Some("http://x.org/")).len(), 1);
}

#[test]
fn too_many_links_are_cut_and_reported() {
    let limits = Limits { max_links: 2, max_url_bytes: 40, ..Limits::default() };
    let options = ExtractOptions { collect_links: true, limits, ..ExtractOptions::default() };
    let mut extractor = Extractor::new(options);
    let hints = Hints { url: Some("http://x.org/"), ..Hints::default() };
    let html = "<a href=/1>a</a><a href=/2>b</a>";
    let page = extractor.extract_html(html, &hints).unwrap();
    assert_eq!((page.links.len(), page.truncated), (2, false));
    let page = extractor.extract_html(&format!("{html}<a href=/3>c</a>"), &hints).unwrap();
    assert_eq!((page.links.len(), page.truncated), (2, true));
    let long = format!("<a href='/{}'>a</a><a href=/ok>b</a>", "x".repeat(30));
    assert_eq!(extractor.extract_html(&long, &hints).unwrap().links.len(), 1);
}

#[test]
fn canonical_and_refresh_are_absolute_when_the_address_is_known() {
    let html = "<link rel=stylesheet href=no><link rel='x Canonical' href='../c'><link rel=canonical href=no>\
        <meta http-equiv=Refresh content='5; url=next'>";
    let page = linked_page(html, Some("http://x.org/a/b"));
    assert_eq!(page.canonical.as_deref(), Some("http://x.org/c"));
    let url = Some("http://x.org/a/next".to_owned());
    assert_eq!(page.refresh, Some(Refresh { delay_seconds: 5, url }));

    let page = page_of(html);
    assert_eq!(page.canonical.as_deref(), Some("../c"));
    assert_eq!(page.refresh.unwrap().url.as_deref(), Some("next"));
    assert_eq!(page_of("<link rel=canonical href='javascript:x'>").canonical, None);
}

#[test]
fn the_language_is_that_of_the_html_tag_first() {
    for (html, expected) in [
        ("<html lang=de><meta http-equiv=content-language content=fr>", Some("de")),
        ("<html xml:lang='pt-BR'>", Some("pt-BR")),
        ("<meta http-equiv=Content-Language content=' fr '>", Some("fr")),
        ("<meta http-equiv=content-language content='en,fr'>", None),
        ("<html lang=''>", None),
    ] {
        assert_eq!(page_of(html).language.as_deref(), expected, "{html}");
    }
}

#[test]
fn attributes_mean_the_same_however_they_are_written() {
    for tag in [
        "<a href=/x>",
        "<a href='/x'>",
        "<a\nhref\t=\n\"/x\"\r>",
        "<A HREF=\"/x\">",
        "<a class=y href=/x />",
        "<a href='&#47;x'>",
        "<a href=/x href=/y>",
        "<a/href=/x>",
        "<a title=\">\" href=/x>",
        "<a =x href=/x>",
        "<a \"b href=/x>",
        "<a title='x'href='/x'>",
    ] {
        let found = links(&format!("{tag}t</a>"), Some("http://x.org/"));
        assert_eq!(found, [link("http://x.org/x", "t", false)], "{tag}");
    }
}

#[test]
fn with_extent_page_the_title_stands_before_the_text() {
    let mut extractor =
        Extractor::new(ExtractOptions { extent: Extent::Page, ..Default::default() });
    for (html, expected) in [
        ("<title> A\n B </title><p>body", "A B body"),
        ("<p>body<title>late</title>", "late body"),
        ("<title>see www.example.org</title><p>body", "see body"),
        ("<title>alone</title>", "alone"),
        ("<p>body", "body"),
    ] {
        let page = extractor.extract_html(html, &Hints::default()).unwrap();
        assert_eq!(page.text, expected, "{html}");
    }
    assert_eq!(extractor.extract_text("a <title>b</title>").unwrap().text, "a <title>b</title>");
}
