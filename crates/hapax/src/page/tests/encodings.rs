//! Extracts pages in many encodings.

use super::super::*;

fn extracted(bytes: &[u8], content_type: Option<&str>) -> Page {
    let mut extractor = Extractor::new(ExtractOptions::default());
    extractor.extract(bytes, &Hints { content_type, url: None }).unwrap().clone()
}

#[test]
fn a_page_reads_the_same_in_every_encoding() {
    let pages = [
        ("windows-1252", "Ça va? Déjà vu."),
        ("iso-8859-2", "Zażółć gęślą jaźń."),
        ("koi8-r", "Съешь ещё этих булок."),
        ("windows-1253", "Καλημέρα κόσμε."),
        ("windows-1255", "שלום עולם."),
        ("shift_jis", "日本語のページ。"),
        ("euc-jp", "日本語のページ。"),
        ("iso-2022-jp", "日本語のページ。"),
        ("gbk", "中文网页。"),
        ("big5", "中文網頁。"),
        ("euc-kr", "한국어 문서."),
        ("utf-8", "多 languages, ένα, один."),
    ];
    for (label, words) in pages {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        let html = format!("<meta charset={label}><p>{words}</p>");
        let (bytes, _, unmappable) = encoding.encode(&html);
        assert!(!unmappable);
        let page = extracted(&bytes, None);
        let expected = (words, encoding.name(), EncodingSource::Meta);
        assert_eq!((page.text.as_str(), page.encoding, page.encoding_source), expected);

        let (bytes, _, _) = encoding.encode(words);
        let page = extracted(&bytes, Some(&format!("text/html;charset={label}")));
        assert_eq!((page.text.as_str(), page.encoding_source), (words, EncodingSource::Header));
    }
}

#[test]
fn utf16_pages_are_markup_too() {
    let html = "<title>标题</title><p>Words and more words, 字";
    let bytes: Vec<u8> = html.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for page in
        [extracted(&[b"\xff\xfe", bytes.as_slice()].concat(), None), extracted(&bytes, None)]
    {
        assert_eq!(page.kind, Kind::Html);
        assert_eq!(page.text, "Words and more words, 字");
        assert_eq!(page.title.as_deref(), Some("标题"));
    }
}

#[test]
fn broken_bytes_become_replacement_characters() {
    let page = extracted(b"<p>a\xffb \xe2\x82 c\xf0\x9f", Some("text/html; charset=utf-8"));
    assert_eq!(page.text, "a\u{fffd}b \u{fffd} c\u{fffd}");
}

#[test]
fn a_cut_inside_a_character_leaves_no_trace() {
    for (label, words) in [("utf-8", "日本語"), ("shift_jis", "日本語"), ("utf-16le", "日本語")]
    {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        let bytes: Vec<u8> = if label == "utf-16le" {
            words.encode_utf16().flat_map(u16::to_le_bytes).collect()
        } else {
            encoding.encode(words).0.into_owned()
        };
        let limits = Limits { max_input_bytes: bytes.len() - 1, ..Limits::default() };
        let options = ExtractOptions { limits, ..ExtractOptions::default() };
        let content_type = format!("text/plain; charset={label}");
        let hints = Hints { content_type: Some(&content_type), url: None };
        let mut extractor = Extractor::new(options);
        let page = extractor.extract(&bytes, &hints).unwrap();
        assert_eq!((page.text.as_str(), page.truncated), ("日本", true), "{label}");
    }
}

#[test]
fn decoded_bytes_extract_to_the_text_of_the_bytes() {
    let utf16: Vec<u8> = "<p>Words, 字".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases: [(&[u8], Option<&str>); 5] = [
        (b"<title>Tea</title><p>gr\xfcn", Some("text/html; charset=iso-8859-1")),
        ("\u{feff}<p>grün".as_bytes(), None),
        (b"<p>a\xffb \xe2\x82 c", Some("text/html; charset=utf-8")),
        (&utf16, None),
        (b"plain < text", Some("text/plain")),
    ];
    for (bytes, content_type) in cases {
        let hints = Hints { content_type, url: None };
        let (kind, text) = decoded(bytes, &hints).unwrap();
        let mut extractor = Extractor::new(ExtractOptions::default());
        let page = match kind {
            Kind::Html => extractor.extract_html(&text, &hints),
            Kind::Text => extractor.extract_text(&text),
        };
        assert_eq!(page.unwrap().text, extracted(bytes, content_type).text);
    }
    assert!(decoded(b"%PDF-1.7\n\x00\x01", &Hints::default()).is_err());
}
