//! Finds the encoding that a page declares in its first 1,024 bytes.
//!
//! Reads `<meta charset>`, `<meta http-equiv=content-type content="...; charset=...">`, and the `encoding` of
//! an XML declaration. Skips comments and other tags, so declarations inside them do not count. UTF-16 declared
//! in readable ASCII means UTF-8, and `x-user-defined` means windows-1252.
//!
//! Source: "prescan a byte stream to determine its encoding" in the HTML standard.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// How far to look for a declaration.
const PRESCAN_BYTES: usize = 1024;

/// The encoding declared at the start of `bytes`; `None` without a declaration.
pub(super) fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let bytes = &bytes[..bytes.len().min(PRESCAN_BYTES)];
    xml_declaration(bytes).or_else(|| Scan { bytes, at: 0 }.run())
}

fn xml_declaration(bytes: &[u8]) -> Option<&'static Encoding> {
    let inside = bytes.strip_prefix(b"<?xml")?;
    let inside = &inside[..memchr::memchr(b'>', inside)?];
    let name = memchr::memmem::find(inside, b"encoding")?;
    let value = inside[name + 8..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (&quote, value) = value.split_first()?;
    if !matches!(quote, b'"' | b'\'') {
        return None;
    }
    usable(&value[..memchr::memchr(quote, value)?])
}

fn usable(label: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label_no_replacement(label)?;
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn run(mut self) -> Option<&'static Encoding> {
        while let Some(found) = memchr::memchr(b'<', &self.bytes[self.at..]) {
            self.at += found;
            let tag = &self.bytes[self.at..];
            if tag.starts_with(b"<!--") {
                // `<!-->` is a complete comment: the dashes may be shared.
                self.at += 2 + memchr::memmem::find(&tag[2..], b"-->")? + 3;
            } else if tag.len() > 5
                && tag[..5].eq_ignore_ascii_case(b"<meta")
                && matches!(tag[5], b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/')
            {
                self.at += 5;
                if let Some(encoding) = self.meta() {
                    return Some(encoding);
                }
            } else if matches!(tag, [b'<', letter, ..] | [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic())
            {
                self.at += tag.iter().position(|byte| {
                    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'>')
                })?;
                while self.attribute()?.is_some() {}
            } else if matches!(tag, [b'<', b'!' | b'/' | b'?', ..]) {
                self.at += memchr::memchr(b'>', tag)?;
            } else {
                self.at += 1;
            }
        }
        None
    }

    fn meta(&mut self) -> Option<&'static Encoding> {
        let mut is_pragma = false;
        let mut charset = None;
        let mut content = None;
        let mut seen: [bool; 3] = [false; 3];
        // A tag that extends past the prescanned bytes declares nothing.
        while let Some((name, value)) = self.attribute()? {
            let which = [b"http-equiv".as_slice(), b"charset", b"content"]
                .iter()
                .position(|known| name.eq_ignore_ascii_case(known));
            match which {
                Some(index) if !seen[index] => {
                    seen[index] = true;
                    match index {
                        0 => is_pragma = value.eq_ignore_ascii_case(b"content-type"),
                        1 => charset = usable(value),
                        _ => content = charset_in_content(value).and_then(usable),
                    }
                }
                _ => {}
            }
        }
        if seen[1] {
            charset
        } else if is_pragma {
            content
        } else {
            None
        }
    }

    /// The next attribute; `Some(None)` at the end of the tag, `None` at the end of the bytes.
    fn attribute(&mut self) -> Option<Option<(&'a [u8], &'a [u8])>> {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| !is_space(*byte) && *byte != b'/')?;
        if self.bytes[self.at] == b'>' {
            return Some(None);
        }
        let name_start = self.at;
        // A leading `=` is part of the name.
        self.at += 1;
        while !matches!(self.bytes.get(self.at)?, b'=' | b'/' | b'>')
            && !is_space(self.bytes[self.at])
        {
            self.at += 1;
        }
        let name = &self.bytes[name_start..self.at];
        while is_space(*self.bytes.get(self.at)?) {
            self.at += 1;
        }
        if self.bytes[self.at] != b'=' {
            return Some(Some((name, b"")));
        }
        self.at += 1;
        while is_space(*self.bytes.get(self.at)?) {
            self.at += 1;
        }
        let rest = &self.bytes[self.at..];
        let value = match rest[0] {
            quote @ (b'"' | b'\'') => {
                let length = memchr::memchr(quote, &rest[1..])?;
                self.at += length + 2;
                &rest[1..=length]
            }
            _ => {
                let length = rest.iter().position(|byte| is_space(*byte) || *byte == b'>')?;
                self.at += length;
                &rest[..length]
            }
        };
        Some(Some((name, value)))
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

/// The label in a value such as `text/html; charset=utf-8`.
fn charset_in_content(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        let found = rest.windows(7).position(|window| window.eq_ignore_ascii_case(b"charset"))?;
        rest = rest[found + 7..].trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b"=") {
            let value = value.trim_ascii_start();
            return match value.first()? {
                quote @ (b'"' | b'\'') => {
                    let inner = &value[1..];
                    Some(&inner[..memchr::memchr(*quote, inner)?])
                }
                _ => {
                    let end = value.iter().position(|byte| is_space(*byte) || *byte == b';');
                    Some(&value[..end.unwrap_or(value.len())])
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn declared(bytes: &[u8]) -> Option<&'static str> {
        declared_encoding(bytes).map(Encoding::name)
    }

    #[test]
    fn both_forms_of_meta_and_the_xml_declaration_are_read() {
        for page in [
            "<meta charset=euc-kr>",
            "<!doctype html><html lang=ko><head><META CharSet = 'EUC-KR' />",
            "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=euc-kr\">",
            "<meta content='text/html;charset=\"ks_c_5601-1987\"' http-equiv=content-type>",
            "<?xml version=\"1.0\" encoding=\"euc-kr\"?><html>",
            "<!-- <meta charset=utf-8> --><meta charset=euc-kr>",
            "<a title='<meta charset=utf-8>'><meta charset=euc-kr>",
            "<meta name=x content=y><meta charset=euc-kr>",
        ] {
            assert_eq!(declared(page.as_bytes()), Some("EUC-KR"), "{page}");
        }
    }

    #[test]
    fn what_is_not_a_declaration_declares_nothing() {
        for page in [
            "",
            "<meta",
            "<meta charset",
            "<meta charset=",
            "<meta charset=nonsense>",
            "<meta content='text/html; charset=utf-8'>",
            "<!-- <meta charset=utf-8>",
            "<title>charset=utf-8</title>",
            "<metal charset=utf-8>",
        ] {
            assert_eq!(declared(page.as_bytes()), None, "{page}");
        }
        let late = format!("{}<meta charset=euc-kr>", " ".repeat(1024));
        assert_eq!(declared(late.as_bytes()), None);
    }

    #[test]
    fn an_ascii_page_cannot_declare_itself_utf16() {
        assert_eq!(declared(b"<meta charset=utf-16>"), Some("UTF-8"));
        assert_eq!(declared(b"<meta charset=x-user-defined>"), Some("windows-1252"));
    }

    proptest! {
        #[test]
        fn no_beginning_of_a_page_makes_the_prescan_fail(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "<meta", "<", ">", "/", "charset", "=", "'", "\"", " ", "utf-8", "<!--", "-->",
                    "content", "http-equiv", "content-type", "<?xml", "encoding", ";", "<a", "</", "!",
                ]),
                0..40,
            ),
        ) {
            declared_encoding(pieces.concat().as_bytes());
        }
    }
}
