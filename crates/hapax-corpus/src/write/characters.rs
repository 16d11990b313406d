//! Decodes a body to characters, for formats that hold nothing else.
//!
//! Tries, in this order: a byte order mark, the charset of the content type, valid UTF-8, a charset named in
//! the first 1,024 bytes of a page, windows-1252. Browsers do the same, except for guessing by frequency;
//! callers that know more put [`Content::Str`] into the document.

use std::borrow::Cow;

use encoding_rs::{Encoding, WINDOWS_1252};

use crate::document::{Content, Document};

/// The body as text; undecodable bytes become U+FFFD.
pub(crate) fn of<'d>(document: &'d Document<'_>) -> Cow<'d, str> {
    let bytes = match &document.body.content {
        Content::Str(text) => return Cow::Borrowed(text),
        Content::Bytes(bytes) => bytes,
    };
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0;
    }
    let stated = document.content_type.as_deref().and_then(|it| charset(it.as_bytes()));
    if let Some(encoding) = stated {
        return encoding.decode_without_bom_handling(bytes).0;
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let named = charset(&bytes[..bytes.len().min(1024)]);
    named.unwrap_or(WINDOWS_1252).decode_without_bom_handling(bytes).0
}

/// The first `charset=...` with a known name.
fn charset(bytes: &[u8]) -> Option<&'static Encoding> {
    let lower = bytes.to_ascii_lowercase();
    memchr::memmem::find_iter(&lower, b"charset").find_map(|at| {
        let rest = lower[at + 7..].trim_ascii_start().strip_prefix(b"=")?;
        let rest = rest.trim_ascii_start();
        let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"';,>/".contains(byte);
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        Encoding::for_label(&rest[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{KOI8_R, WINDOWS_1251};

    #[test]
    fn the_charset_is_found_in_a_header_and_in_a_tag() {
        assert_eq!(charset(b"text/html; Charset=KOI8-R"), Some(KOI8_R));
        assert_eq!(charset(b"<meta charset = 'windows-1251'>"), Some(WINDOWS_1251));
        assert_eq!(charset(b"charset=nonsense; charset=\"koi8-r\""), Some(KOI8_R));
        assert_eq!(charset(b"text/html"), None);
    }
}
