//! Determines the encoding of a page and decodes its bytes to UTF-8. Invalid bytes become U+FFFD.
//!
//! Follows the WHATWG encoding sniffing algorithm, in which a byte order mark beats the header, with one step
//! added for undeclared pages. Labels that no browser supports (`hz-gb-2312`, `utf-7`, ...) are ignored. In
//! this order:
//
// 1. a byte order mark (UTF-8, UTF-16);
// 2. `charset` of the `Content-Type` header;
// 3. a `<meta>` tag or an XML declaration in the first 1,024 bytes ([`prescan`](super::prescan));
// 4. bytes that are UTF-8, or almost: at least ten valid multi-byte characters per
//    damaged one; zero bytes at every other position mean UTF-16;
// 5. `chardetng` on 8 KiB from the first byte beyond ASCII, with the host's top-level domain
//    as a hint. ISO-2022-JP is never guessed: it would change the meaning of ASCII bytes.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::document::EncodingSource;
use super::prescan;

/// An encoding and its source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charset {
    pub(super) encoding: &'static Encoding,
    pub(super) source: EncodingSource,
    /// Length of the byte order mark, which is not text.
    pub(super) mark_length: usize,
}

impl Charset {
    pub(super) fn is_utf16(&self) -> bool {
        self.encoding == UTF_16LE || self.encoding == UTF_16BE
    }
}

/// Bytes of an undeclared page given to the detector.
const DETECTION_BYTES: usize = 8 << 10;

/// Bytes examined to distinguish damaged UTF-8 from another encoding.
const DAMAGE_BYTES: usize = 64 << 10;

/// Determines the encoding of `bytes`.
pub(super) fn charset_of(bytes: &[u8], content_type: Option<&str>, url: Option<&str>) -> Charset {
    if let Some((encoding, mark_length)) = Encoding::for_bom(bytes) {
        return Charset { encoding, source: EncodingSource::Bom, mark_length };
    }
    let (encoding, source) = if let Some(encoding) = content_type.and_then(header_charset) {
        (encoding, EncodingSource::Header)
    } else if let Some(encoding) = utf16_by_zeros(bytes) {
        (encoding, EncodingSource::Detected)
    } else if let Some(encoding) = prescan::declared_encoding(bytes) {
        (encoding, EncodingSource::Meta)
    } else if is_almost_utf8(bytes) {
        (UTF_8, EncodingSource::Utf8)
    } else {
        (detect(bytes, url), EncodingSource::Detected)
    };
    Charset { encoding, source, mark_length: 0 }
}

/// Appends `bytes` to `text`, decoded. If `cut`, drops an incomplete character at the end.
pub(super) fn decode_into(bytes: &[u8], encoding: &'static Encoding, cut: bool, text: &mut String) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut rest = bytes;
    loop {
        // Enough in the common case; the loop reserves more if needed.
        text.reserve(decoder.max_utf8_buffer_length(rest.len().min(1 << 20)).unwrap_or(0).max(64));
        let (result, read, _) = decoder.decode_to_string(rest, text, !cut);
        rest = &rest[read..];
        if result == encoding_rs::CoderResult::InputEmpty {
            return;
        }
    }
}

/// The encoding in the `charset` parameter of a `Content-Type` value.
fn header_charset(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("charset") {
            return None;
        }
        let label = value.trim().trim_matches(['"', '\'']);
        Encoding::for_label_no_replacement(label.as_bytes())
    })
}

/// UTF-16 without a byte order mark: zeros at most of the odd or the even positions and at hardly
/// any of the others.
fn utf16_by_zeros(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = &bytes[..bytes.len().min(512)];
    if sample.len() < 16 {
        return None;
    }
    let (mut even, mut odd) = (0, 0);
    for pair in sample.chunks_exact(2) {
        even += usize::from(pair[0] == 0);
        odd += usize::from(pair[1] == 0);
    }
    let (most, few) = (sample.len() * 2 / 5, sample.len() / 40);
    // Positions of one parity are half the sample: four fifths of them are two fifths of it.
    if odd >= most && even <= few {
        Some(UTF_16LE)
    } else if even >= most && odd <= few {
        Some(UTF_16BE)
    } else {
        None
    }
}

fn is_almost_utf8(bytes: &[u8]) -> bool {
    let Err(first) = str::from_utf8(bytes) else { return true };
    if first.error_len().is_none() && first.valid_up_to() > 0 {
        // Only the last character is truncated; this could also be a single byte of another
        // encoding.
        return bytes[..first.valid_up_to()].iter().any(|&byte| byte >= 0x80);
    }
    let (mut whole, mut damaged) = (0usize, 0usize);
    for chunk in bytes[..bytes.len().min(DAMAGE_BYTES)].utf8_chunks() {
        whole += chunk.valid().bytes().filter(|&byte| byte >= 0xc0).count();
        damaged += usize::from(!chunk.invalid().is_empty());
    }
    whole >= 10 * damaged.max(1)
}

fn detect(bytes: &[u8], url: Option<&str>) -> &'static Encoding {
    let start = bytes.iter().position(|&byte| byte >= 0x80).unwrap_or(0).saturating_sub(256);
    let end = bytes.len().min(start + DETECTION_BYTES);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&bytes[start..end], end == bytes.len());
    let domain = url.and_then(top_level_domain);
    detector.guess(domain.as_deref().map(str::as_bytes), Utf8Detection::Deny)
}

/// The last label of the host, if it consists of lower-case ASCII letters, digits and hyphens.
fn top_level_domain(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    let label = url.domain()?.trim_end_matches('.').rsplit('.').next()?;
    let valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (!label.is_empty() && label.bytes().all(valid)).then(|| label.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], content_type: Option<&str>) -> (String, &'static str, EncodingSource) {
        let charset = charset_of(bytes, content_type, None);
        let mut text = String::new();
        decode_into(&bytes[charset.mark_length..], charset.encoding, false, &mut text);
        (text, charset.encoding.name(), charset.source)
    }

    #[test]
    fn a_mark_wins_over_the_header_and_the_header_over_meta() {
        let (text, name, source) =
            decoded(b"\xef\xbb\xbf\xc3\xa9", Some("text/html; charset=iso-8859-1"));
        assert_eq!((text.as_str(), name, source), ("é", "UTF-8", EncodingSource::Bom));

        let page = b"<meta charset=koi8-r>\xe9";
        let (text, name, source) = decoded(page, Some("text/html; Charset=\"ISO-8859-1\""));
        assert!(text.ends_with('é'));
        assert_eq!((name, source), ("windows-1252", EncodingSource::Header));

        let (text, name, source) = decoded(page, Some("text/html"));
        assert!(text.ends_with('И'));
        assert_eq!((name, source), ("KOI8-R", EncodingSource::Meta));
    }

    #[test]
    fn utf16_is_read_with_and_without_a_mark() {
        let words = "<p>Grüße, 世界, and a few more words";
        let little: Vec<u8> = words.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = words.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (mark, body, name) in
            [(b"\xff\xfe", &little, "UTF-16LE"), (b"\xfe\xff", &big, "UTF-16BE")]
        {
            let marked = [mark.as_slice(), body].concat();
            assert_eq!(decoded(&marked, None), (words.to_owned(), name, EncodingSource::Bom));
            assert_eq!(decoded(body, None), (words.to_owned(), name, EncodingSource::Detected));
        }
    }

    #[test]
    fn undeclared_legacy_text_is_detected() {
        for (bytes, expected, name) in [
            (
                b"\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0! \xdd\xf2\xee \xf2\xe5\xea\xf1\xf2 \xed\xe0 \xf0\xf3\xf1\xf1\xea\xee\xec \xff\xe7\xfb\xea\xe5.".as_slice(),
                "Привет, мир! Это текст на русском языке.",
                "windows-1251",
            ),
            (
                b"\x82\xb1\x82\xea\x82\xcd\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x95\xb6\x8f\xcd\x82\xc5\x82\xb7\x81\x42",
                "これは日本語の文章です。",
                "Shift_JIS",
            ),
            (
                b"\xd5\xe2\xca\xc7\xd2\xbb\xb8\xf6\xd6\xd0\xce\xc4\xcd\xf8\xd2\xb3\xa3\xac\xbb\xb6\xd3\xad\xb7\xc3\xce\xca\xa1\xa3",
                "这是一个中文网页，欢迎访问。",
                "GBK",
            ),
            (
                b"\xc0\xcc \xb9\xae\xc0\xe5\xc0\xba \xc7\xd1\xb1\xb9\xbe\xee\xb7\xce \xb5\xc7\xbe\xee \xc0\xd6\xbd\xc0\xb4\xcf\xb4\xd9.",
                "이 문장은 한국어로 되어 있습니다.",
                "EUC-KR",
            ),
            (
                b"Les \xe9l\xe8ves fran\xe7ais \xe9taient d\xe9j\xe0 l\xe0, o\xf9 \xe7a ?",
                "Les élèves français étaient déjà là, où ça ?",
                "windows-1252",
            ),
        ] {
            let expected = (expected.to_owned(), name, EncodingSource::Detected);
            assert_eq!(decoded(bytes, None), expected);
        }
    }

    #[test]
    fn damaged_utf8_stays_utf8() {
        let mut bytes = "Съешь же ещё этих мягких французских булок".as_bytes().to_vec();
        bytes[20] = 0xff;
        let (text, name, source) = decoded(&bytes, None);
        assert_eq!((name, source), ("UTF-8", EncodingSource::Utf8));
        assert!(text.contains('\u{fffd}') && text.ends_with("булок"));
        // Truncated inside the last character.
        let cut = "déjà vu €".as_bytes();
        assert_eq!(decoded(&cut[..cut.len() - 1], None).1, "UTF-8");
    }

    #[test]
    fn labels_that_no_browser_decodes_are_not_declarations() {
        let (text, name, source) = decoded("é".as_bytes(), Some("text/html; charset=hz-gb-2312"));
        assert_eq!((text.as_str(), name, source), ("é", "UTF-8", EncodingSource::Utf8));
        assert_eq!(decoded(b"abc", Some("text/html; charset=nonsense")).1, "UTF-8");
    }

    #[test]
    fn the_top_level_domain_is_given_in_the_form_the_detector_demands() {
        assert_eq!(top_level_domain("http://WWW.Example.RU./x").as_deref(), Some("ru"));
        assert_eq!(top_level_domain("http://пример.рф/").as_deref(), Some("xn--p1ai"));
        for odd in ["http://127.0.0.1/", "nonsense", "http://[::1]/", "file:///x", "http://a_b/"] {
            assert_eq!(top_level_domain(odd), None, "{odd}");
        }
        detect(b"\xe9\xe8", Some("http://example.xn--p1ai/"));
    }
}
