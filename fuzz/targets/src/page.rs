//! Pages: any bytes with any declared type.
//!
//! Text is folded and within its limit, links are absolute, a used extractor answers like a fresh one, and extracting
//! extracted text changes nothing. Bytes that a declared charset can encode survive a round trip.

use crate::{Target, choice, chosen};
use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax::page::{Extent, ExtractOptions, Extractor, Hints, Limits, Page, PageError, decoded};
use std::cell::RefCell;

pub const EXTRACT: Target = Target {
    name: "extract",
    about: "text is folded and bounded, links absolute, and buffers leave no trace",
    run: extract,
    seeds: extract_seeds,
    pieces: MARKUP,
    rounds: 24_000,
};

/// Bytes in any encoding.
pub const CHARSET: Target = Target {
    name: "charset",
    about: "what an encoding can write comes back from it, and UTF-8 is never misread",
    run: charset,
    seeds: charset_seeds,
    pieces: &["charset=", "<meta charset=", "<?xml encoding=", "\u{feff}", "\u{1b}$B", "~{", "é"],
    rounds: 40_000,
};

const MARKUP: &[&str] = &[
    "<p>",
    "</p>",
    "<div class='a",
    "'>",
    "<a href=",
    "</a>",
    "<base href=",
    "<svg>",
    "</svg>",
    "<foreignObject>",
    "<template>",
    "</template>",
    "<script>",
    "</script>",
    "<style>",
    "</style>",
    "<title>",
    "</title>",
    "<textarea>",
    "<noscript>",
    "<!--",
    "-->",
    "--!>",
    "<![CDATA[",
    "]]>",
    "<plaintext>",
    "<xmp>",
    "<iframe>",
    "<nav>",
    "</nav>",
    "<html lang=",
    "<meta http-equiv=refresh",
    "<link rel=canonical href=",
    "&amp;",
    "&#x",
    "&notin",
    "http://",
    "www.",
    "\u{a0}",
    "\u{3000}",
    "<math>",
    "<object>",
    "<rp>",
    "<table><td>",
    "<body",
    "</body>",
    "<frameset>",
    "<select>",
];

const TYPES: [Option<&str>; 6] = [
    None,
    Some("text/html; charset=utf-8"),
    Some("text/plain"),
    Some("application/xhtml+xml"),
    Some("text/html; charset=shift_jis"),
    Some("text/html; charset=utf-16le"),
];

fn options(choice: usize) -> ExtractOptions {
    let small = Limits {
        max_input_bytes: 700,
        max_text_bytes: 64,
        max_links: 3,
        max_link_text_bytes: 8,
        max_url_bytes: 40,
        max_title_bytes: 10,
    };
    ExtractOptions {
        extent: [Extent::Body, Extent::Page, Extent::MainContent][choice % 3],
        collect_links: choice & 8 == 0,
        limits: if choice & 16 == 0 { Limits::default() } else { small },
    }
}

fn is_folded(text: &str) -> bool {
    // The fold uses HTML's and Unicode's definition of white space.
    text.split_whitespace().map(|word| word.len() + 1).sum::<usize>().saturating_sub(1)
        == text.len()
}

fn check(page: &Page, limits: &Limits, bytes: usize) {
    assert!(is_folded(&page.text), "not folded: {:?}", page.text);
    let title = page.title.as_deref().unwrap_or_default();
    // A character of a legacy encoding has at most three bytes; an entity is at least twice as long
    // as its value, and a single zero byte becomes three.
    let most = (3 * bytes + title.len() + 1).min(limits.max_text_bytes + title.len() + 1);
    assert!(page.text.len() <= most, "{} bytes of text from {bytes}", page.text.len());
    assert!(is_folded(title) && title.len() <= limits.max_title_bytes, "title {title:?}");
    assert!(page.links.len() <= limits.max_links);
    for link in &page.links {
        let url = url::Url::parse(&link.url).unwrap();
        assert!(matches!(url.scheme(), "http" | "https") && url.fragment().is_none());
        assert_eq!(url.as_str(), link.url, "an address that is not written as it is read");
        assert!(link.url.len() <= limits.max_url_bytes);
        assert!(is_folded(&link.text) && link.text.len() <= limits.max_link_text_bytes);
    }
    for (at, link) in page.links.iter().enumerate().take(20) {
        assert!(page.links[..at].iter().all(|other| other.url != link.url), "each address once");
    }
}

thread_local! {
    static USED: RefCell<Vec<(usize, Extractor)>> = const { RefCell::new(Vec::new()) };
    static PRINT: RefCell<Fingerprinter> = RefCell::new(
        Fingerprinter::new(Recipe::built_in("web-2").unwrap(), None).unwrap());
}

fn used(options_choice: usize, bytes: &[u8], hints: &Hints<'_>) -> Result<Page, PageError> {
    USED.with_borrow_mut(|all| {
        let at = all.iter().position(|(known, _)| *known == options_choice);
        let at = at.unwrap_or_else(|| {
            all.push((options_choice, Extractor::new(options(options_choice))));
            all.len() - 1
        });
        all[at].1.extract(bytes, hints).cloned()
    })
}

/// The first byte chooses options, the second the declared type.
pub fn extract(data: &[u8]) {
    let (first, rest) = choice(data);
    let (second, bytes) = choice(rest);
    let first = first & 31;
    let hints =
        Hints { content_type: TYPES[second % TYPES.len()], url: Some("http://x.org/d/e?f") };
    let fresh = Extractor::new(options(first)).extract(bytes, &hints).cloned();
    assert_eq!(used(first, bytes, &hints), fresh, "what was read before shows");
    let Ok(page) = fresh else { return };
    check(&page, &options(first).limits, bytes.len());
    let again = Extractor::new(ExtractOptions::default()).extract_text(&page.text).unwrap().clone();
    assert_eq!(again.text, page.text, "extracted text is changed by extracting");
    let signature = PRINT.with_borrow_mut(|by| by.extracted(&page));
    assert!(u64::from(signature.words) <= page.text.len() as u64 * 18);
}

fn extract_seeds() -> Vec<Vec<u8>> {
    let pages = [
        "<!doctype html><html lang=en><head><title>A page</title><link rel=canonical href=/c>\
         <meta http-equiv=refresh content='3; url=/r'></head><body><nav><a href=/>Home</a></nav>\
         <h1>Tea</h1><p>Green tea &amp; <b>black</b> tea, http://x.org/a?b=c. See <a href='//y.org/z#f'>\
         this</a><script>no()</script><!-- no --><svg><foreignObject>yes</foreignObject></svg>\
         <textarea>kept</textarea><img alt=no></body></html>",
        "plain text with www.example.org/x and 中文 and &lt;entities&gt;",
        "<table><tr><td>a<td>b</table><ul><li>one<li>two</ul><pre> x  y </pre>&#x41;&#0;&notin;",
        "<?xml version='1.0' encoding='iso-8859-1'?><html><body><p>x</p></body></html>",
        "<![CDATA[x]]><template>no</template><noscript>no</noscript><plaintext>to the end",
        "<p>a http://http://b.c www.www.d (https://e.f/g). h",
    ];
    let mut seeds = Vec::new();
    for (at, page) in pages.iter().enumerate() {
        for first in [0u8, 1, 2, 16 + at as u8] {
            seeds.push([&[first, at as u8], page.as_bytes()].concat());
        }
    }
    seeds
}

const LABELS: [&str; 8] = [
    "windows-1252",
    "windows-1251",
    "koi8-r",
    "iso-8859-2",
    "utf-8",
    "windows-874",
    "iso-8859-15",
    "macintosh",
];

/// The first byte chooses an encoding; the rest is decoded and encoded with it.
pub fn charset(data: &[u8]) {
    let (first, bytes) = choice(data);
    let label = LABELS[first % LABELS.len()];
    let declared = format!("text/plain; charset={label}");
    for content_type in [None, Some("text/html"), Some(declared.as_str()), TYPES[first % 6]] {
        let hints = Hints { content_type, url: Some("http://x.example.ru/") };
        let page = Extractor::new(ExtractOptions::default()).extract(bytes, &hints).cloned();
        let text = decoded(bytes, &hints);
        assert_eq!(page.is_ok(), text.is_ok(), "two ways to read disagree");
        if let (Ok(page), Ok((kind, text))) = (page, text) {
            assert_eq!(page.kind, kind);
            assert!(text.len() <= 3 * bytes.len());
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let plain = Hints { content_type: Some("text/plain; charset=utf-8"), url: None };
    if let Ok((_, read)) = decoded(bytes, &plain) {
        let marked = bytes.starts_with(b"\xfe\xff") || bytes.starts_with(b"\xff\xfe");
        assert!(marked || read == text.trim_start_matches('\u{feff}') || read == text[3..]);
    }
    let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
    let (written, _, unmappable) = encoding.encode(text);
    let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe"];
    if unmappable || marks.iter().any(|mark| written.starts_with(mark)) {
        return;
    }
    let hints = Hints { content_type: Some(&declared), url: None };
    if let Ok((_, read)) = decoded(&written, &hints) {
        assert_eq!(read, text, "written in {label} and read otherwise");
    }
}

fn charset_seeds() -> Vec<Vec<u8>> {
    let mut seeds = chosen(
        8,
        &[
            "<meta charset=windows-1251><p>text",
            "<meta http-equiv=content-type content='text/html; charset=gbk'>",
            "na\u{ef}ve caf\u{e9} \u{20ac} 100",
            "\u{feff}marked",
            "Съешь же ещё этих мягких французских булок",
        ],
    );
    for (label, text) in [
        ("shift_jis", "日本語のテキスト"),
        ("euc-kr", "한국어 텍스트"),
        ("big5", "繁體中文"),
        ("gb18030", "简体中文"),
        ("iso-2022-jp", "日本語"),
        ("windows-1252", "Grüße naïve"),
    ] {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        seeds.push([&[0], &*encoding.encode(text).0].concat());
    }
    let units = |text: &str| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    seeds.push([vec![0], units("<p>two bytes each")].concat());
    seeds
}
