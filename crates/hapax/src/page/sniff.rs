//! Distinguishes markup, plain text and binary data.
//!
//! Follows the WHATWG MIME sniffing standard, reduced to the needs of text extraction. Uses the declared type
//! and the first bytes, in this order:
//
// 1. Bytes that begin like a known binary format are refused, whatever is declared.
// 2. A declared content type decides: HTML, XHTML and anything XML is markup, other `text/`
//    types are text, the rest is refused. An absent or meaningless type
//    (`application/octet-stream`, `unknown/unknown`, `*/*`) decides nothing.
// 3. More than one control byte in twenty (and at least four) among the first 8 KiB is
//    binary, unless the bytes are UTF-16.
// 4. Undeclared bytes are markup if they begin with a tag, a comment or a declaration, or
//    if a tag that every page has occurs in the first 4 KiB; otherwise text.

use std::borrow::Cow;

use super::document::{Kind, PageError};
use super::emitter::Syntax;

/// How to read the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recognised {
    pub(super) kind: Kind,
    /// The rules for markup; meaningless for text.
    pub(super) syntax: Syntax,
}

const HTML: Recognised = Recognised { kind: Kind::Html, syntax: Syntax::Html };
const XHTML: Recognised = Recognised { kind: Kind::Html, syntax: Syntax::Xhtml };
const XML: Recognised = Recognised { kind: Kind::Html, syntax: Syntax::Xml };
const TEXT: Recognised = Recognised { kind: Kind::Text, syntax: Syntax::Html };

/// Decides how to read `bytes`. `utf16` says that they are known to be UTF-16, in which every other
/// byte may be zero.
pub(super) fn recognise(
    bytes: &[u8],
    content_type: Option<&str>,
    utf16: bool,
) -> Result<Recognised, PageError> {
    if let Some(format) = binary_format(bytes) {
        return Err(unsupported(Cow::Borrowed(format)));
    }
    let declared = match content_type.map(essence) {
        None => None,
        Some(essence) => declared_kind(&essence)?,
    };
    if !utf16 && has_many_controls(bytes) {
        return Err(unsupported(Cow::Borrowed("binary data")));
    }
    Ok(match declared {
        Some(recognised) => recognised,
        None if utf16 => sniff(&ascii_of_utf16(bytes)),
        None => sniff(bytes),
    })
}

/// Type and subtype in lower case, without parameters.
fn essence(content_type: &str) -> String {
    content_type.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn declared_kind(essence: &str) -> Result<Option<Recognised>, PageError> {
    Ok(Some(match essence {
        ""
        | "*/*"
        | "unknown"
        | "unknown/unknown"
        | "application/unknown"
        | "content/unknown"
        | "application/octet-stream"
        | "binary/octet-stream"
        | "application/x-unknown" => {
            return Ok(None);
        }
        "text/html" => HTML,
        "application/xhtml+xml" | "application/vnd.wap.xhtml+xml" => XHTML,
        "text/xml" | "application/xml" => XML,
        _ if essence.ends_with("+xml") && !essence.starts_with("image/") => XML,
        _ if essence.starts_with("text/") => TEXT,
        _ => {
            // The header may be arbitrarily long, the error message should not.
            let shown: String = essence.chars().filter(|c| !c.is_control()).take(80).collect();
            return Err(unsupported(Cow::Owned(format!("content type {shown}"))));
        }
    }))
}

fn unsupported(found: Cow<'static, str>) -> PageError {
    PageError::Unsupported { found }
}

/// The name of the binary format that `bytes` begin with; `None` for other bytes.
fn binary_format(bytes: &[u8]) -> Option<&'static str> {
    const FORMATS: &[(&[u8], &str)] = &[
        (b"%PDF-", "PDF document"),
        (b"\x89PNG\r\n\x1a\n", "PNG image"),
        (b"\xff\xd8\xff", "JPEG image"),
        (b"GIF87a", "GIF image"),
        (b"GIF89a", "GIF image"),
        (b"II*\0", "TIFF image"),
        (b"MM\0*", "TIFF image"),
        (b"\0\0\x01\0", "icon"),
        (b"PK\x03\x04", "zip archive"),
        (b"PK\x05\x06", "zip archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"BZh", "bzip2 data"),
        (b"\xfd7zXZ\0", "xz data"),
        (b"\x28\xb5\x2f\xfd", "zstd data"),
        (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
        (b"Rar!\x1a\x07", "RAR archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Microsoft Office document"),
        (b"{\\rtf", "RTF document"),
        (b"%!PS", "PostScript document"),
        (b"\x7fELF", "ELF program"),
        (b"MZ\x90\0", "Windows program"),
        (b"\xca\xfe\xba\xbe", "Java class"),
        (b"\0asm", "WebAssembly module"),
        (b"SQLite format 3\0", "SQLite database"),
        (b"wOFF", "web font"),
        (b"wOF2", "web font"),
        (b"OTTO", "OpenType font"),
        (b"\0\x01\0\0", "TrueType font"),
        (b"ID3", "MP3 audio"),
        (b"OggS", "Ogg media"),
        (b"fLaC", "FLAC audio"),
        (b"FLV\x01", "Flash video"),
        (b"\x1aE\xdf\xa3", "Matroska media"),
    ];
    if let Some((_, format)) = FORMATS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(format);
    }
    match bytes {
        [b'R', b'I', b'F', b'F', _, _, _, _, form @ ..] if form.starts_with(b"WEBP") => {
            Some("WebP image")
        }
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W' | b'A', ..] => Some("RIFF media"),
        [0, 0, 0, _, b'f', b't', b'y', b'p', ..] => Some("MPEG-4 media"),
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Some("bitmap image"),
        _ => None,
    }
}

fn has_many_controls(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(8 << 10)];
    // Excludes escape, which is used by ISO-2022-JP and terminal colours. Counts in bytes, so that
    // the compiler can vectorize.
    let is_control =
        |byte: u8| (byte < 0x20) & (byte.wrapping_sub(b'\t') > 4) & (byte != 0x1b) | (byte == 0x7f);
    let controls: usize = sample
        .chunks(255)
        .map(|chunk| usize::from(chunk.iter().map(|&byte| u8::from(is_control(byte))).sum::<u8>()))
        .sum();
    controls >= 4 && controls * 20 > sample.len()
}

fn ascii_of_utf16(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().take(8 << 10).copied().filter(|byte| (1..0x80).contains(byte)).collect()
}

fn sniff(bytes: &[u8]) -> Recognised {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let sample = bytes[..bytes.len().min(4 << 10)].trim_ascii_start();
    if sample.starts_with(b"<?xml") {
        let page = memchr::memchr_iter(b'<', sample)
            .any(|at| names_tag(&sample[at..], &[b"<html", b"<!doctype html"]));
        return if page { HTML } else { XML };
    }
    if matches!(sample, [b'<', b'!' | b'?' | b'/', ..])
        || matches!(sample, [b'<', letter, ..] if letter.is_ascii_alphabetic())
    {
        return HTML;
    }
    const HTML_TAGS: &[&[u8]] = &[
        b"<!doctype html",
        b"<html",
        b"<head",
        b"<body",
        b"<title",
        b"<br",
        b"<p",
        b"<div",
        b"<table",
        b"<a",
        b"</p",
        b"</div",
        b"</a",
        b"</b",
        b"</i",
        b"</em",
        b"</strong",
        b"</span",
        b"</h1",
        b"</h2",
        b"</h3",
        b"</li",
        b"</ul",
        b"</td",
        b"</table",
        b"</font",
        b"</script",
        b"</style",
        b"</title",
        b"</body",
        b"</html",
    ];
    let html = memchr::memchr_iter(b'<', sample).any(|at| names_tag(&sample[at..], HTML_TAGS));
    if html { HTML } else { TEXT }
}

/// Whether `at` begins with one of `tags` and the name ends there.
fn names_tag(at: &[u8], tags: &[&[u8]]) -> bool {
    tags.iter().any(|tag| {
        at.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
            && matches!(at.get(tag.len()), Some(b' ' | b'\t' | b'\n' | b'\r' | b'/' | b'>'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bytes: &[u8], content_type: Option<&str>) -> String {
        match recognise(bytes, content_type, false) {
            Ok(TEXT) => "Text".to_owned(),
            Ok(Recognised { syntax, .. }) => format!("{syntax:?}"),
            Err(PageError::Unsupported { found }) => found.into_owned(),
        }
    }

    #[test]
    fn the_declared_type_decides_when_it_means_something() {
        for (content_type, expected) in [
            ("text/html; charset=utf-8", "Html"),
            ("TEXT/HTML", "Html"),
            ("application/xhtml+xml", "Xhtml"),
            ("application/rss+xml", "Xml"),
            ("text/xml", "Xml"),
            ("text/plain", "Text"),
            ("text/csv;header=present", "Text"),
            ("application/json", "content type application/json"),
            ("image/svg+xml", "content type image/svg+xml"),
            ("video/mp4", "content type video/mp4"),
        ] {
            assert_eq!(found(b"<p>hello", Some(content_type)), expected);
        }
    }

    #[test]
    fn undeclared_bytes_are_classified_by_their_first_bytes() {
        for (bytes, expected) in [
            (b"".as_slice(), "Text"),
            (b"  \n<!DOCTYPE html><p>x", "Html"),
            (b"\xef\xbb\xbf<html>", "Html"),
            (b"<h1>x</h1>", "Html"),
            (b"Words first, then <b>markup</b> follows", "Html"),
            (b"<?xml version='1.0'?><rss></rss>", "Xml"),
            (b"<?xml version='1.0'?><html xmlns='x'></html>", "Html"),
            (b"#include <stdio.h>\nif (a < b) c();", "Text"),
            (b"a < b and b > c", "Text"),
            (b"<3 you", "Text"),
        ] {
            assert_eq!(found(bytes, None), expected, "{}", bytes.escape_ascii());
            assert_eq!(found(bytes, Some("application/octet-stream")), expected);
        }
    }

    #[test]
    fn binary_is_named_even_when_it_claims_to_be_html() {
        for (bytes, expected) in [
            (b"%PDF-1.7 ...".as_slice(), "PDF document"),
            (b"\x89PNG\r\n\x1a\n....", "PNG image"),
            (b"PK\x03\x04....", "zip archive"),
            (b"\x1f\x8b\x08....", "gzip data"),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", "WebP image"),
            (b"\x01\x02\x03\x04words words", "binary data"),
            (&[0; 100], "binary data"),
        ] {
            assert_eq!(found(bytes, Some("text/html")), expected);
            assert_eq!(found(bytes, None), expected);
        }
    }

    #[test]
    fn a_few_control_bytes_do_not_make_a_page_binary() {
        assert_eq!(found(b"<p>a\0b\0c\0</p> and more text around it", None), "Html");
    }
}
