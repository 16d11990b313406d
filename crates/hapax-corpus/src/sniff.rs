//! Detects the format of a file by its first bytes and, if they are ambiguous, by its name.
//!
//! Unmistakable bytes beat the name. For other text the name counts: the extension of a page or text makes it a
//! document, that of a record format is an error, because reading a damaged corpus as one long document would
//! look like success.
//!
//! | bytes | name | read as |
//! |---|---|---|
//! | `PAR1`, `WARC/`, `filedesc:` | any | Parquet, WARC, ARC |
//! | `{` | no page or text | JSONL |
//! | none | a page or text | an empty document |
//! | none | any other | no document |
//! | an HTML tag | no promise, or a page or text | HTML |
//! | other text | JSONL | JSONL, which then fails at line 1 |
//! | other | WARC, ARC, Parquet, CSV, TSV | refused |
//! | other | no promise, or a text | text |

use std::path::Path;

use crate::document::{Kind, by_first_bytes};
use crate::error::Error;
use crate::options::Format;
use crate::unpack::Packing;

/// Extensions of files that are a page or a text, with their content types.
pub(crate) const PAGE_ENDINGS: [(&str, &str); 9] = [
    ("html", HTML),
    ("htm", HTML),
    ("shtml", HTML),
    ("xhtml", XHTML),
    ("xht", XHTML),
    ("txt", TEXT),
    ("text", TEXT),
    ("md", TEXT),
    ("markdown", TEXT),
];
const HTML: &str = "text/html";
const XHTML: &str = "application/xhtml+xml";
const TEXT: &str = "text/plain";

const PACKER_ENDINGS: [&str; 4] = ["gz", "zst", "bz2", "xz"];

/// How to read unpacked bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// As documents of this format.
    Format(Format),
    /// The file is empty, and its name is not that of a page.
    Nothing,
    /// They contradict the name.
    Misnamed(Format),
    Table,
    /// They cannot be read; why, and what to do.
    Unreadable(&'static str),
}

const UTF_16: &str = "it is UTF-16, and records are read as UTF-8; `iconv -f UTF-16 -t UTF-8` \
    converts it";
const ARRAY: &str = "it is one JSON array, and JSONL has an object on each line; \
    `jq -c '.[]'` writes it so";

/// The format of unpacked bytes under this name; a stream has no name.
pub(crate) fn look(first_bytes: &[u8], name: &Path) -> Look {
    let promise = promise(name);
    if first_bytes.is_empty() {
        return match promise {
            Promise::Of(format @ (Format::Html | Format::Text)) => Look::Format(format),
            _ => Look::Nothing,
        };
    }
    let page = matches!(promise, Promise::Of(Format::Html | Format::Text));
    match unmistakable(first_bytes) {
        // A page or text may begin with a brace.
        Some(Format::Jsonl) if page => {}
        Some(format) => return Look::Format(format),
        None => {}
    }
    if let Promise::Of(format @ (Format::Html | Format::Text)) = promise {
        let html = by_first_bytes(first_bytes) == Kind::Html;
        return Look::Format(if html { Format::Html } else { format });
    }
    let utf_16 = utf_16(first_bytes);
    let bytes = utf_16.as_deref().unwrap_or(first_bytes);
    let json = is_array(bytes) || bytes.trim_ascii_start().starts_with(b"{");
    let kind = by_first_bytes(first_bytes);
    match promise {
        Promise::Table => Look::Table,
        Promise::Of(_) if utf_16.is_some() => Look::Unreadable(UTF_16),
        Promise::Nothing if utf_16.is_some() && json => Look::Unreadable(UTF_16),
        Promise::Of(Format::Jsonl) | Promise::Nothing if json => Look::Unreadable(ARRAY),
        // Let the parser fail, because its error has the number of the line.
        Promise::Of(Format::Jsonl) if kind == Kind::Text => Look::Format(Format::Jsonl),
        Promise::Of(format) => Look::Misnamed(format),
        Promise::Nothing if kind == Kind::Html => Look::Format(Format::Html),
        Promise::Nothing => Look::Format(Format::Text),
    }
}

impl Look {
    /// The format; `None` if there is no document.
    pub(crate) fn format(
        self,
        path: &str,
        first_bytes: &[u8],
        packing: Packing,
    ) -> Result<Option<Format>, Error> {
        let path = path.to_owned();
        match self {
            Self::Format(format) => Ok(Some(format)),
            Self::Nothing => Ok(None),
            Self::Misnamed(expected) => {
                let found = describe(first_bytes, packing);
                Err(Error::Misnamed { path, expected, found })
            }
            Self::Table => Err(Error::TextTable { path }),
            Self::Unreadable(what) => Err(Error::Unsupported { path, what: what.to_owned() }),
        }
    }
}

/// Formats with a distinct beginning, whatever the name.
fn unmistakable(first_bytes: &[u8]) -> Option<Format> {
    if first_bytes.starts_with(b"PAR1") {
        return Some(Format::Parquet);
    }
    let bytes = first_bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first_bytes);
    let text = bytes.trim_ascii_start();
    if text.starts_with(b"WARC/") {
        Some(Format::Warc)
    } else if text.starts_with(b"filedesc:") {
        Some(Format::Arc)
    } else if text.starts_with(b"{") {
        Some(Format::Jsonl)
    } else {
        None
    }
}

/// The format of bytes without a name.
pub(crate) fn format_of(first_bytes: &[u8]) -> Format {
    match unmistakable(first_bytes) {
        Some(format) => format,
        None if by_first_bytes(first_bytes) == Kind::Html => Format::Html,
        None => Format::Text,
    }
}

/// The ASCII of a text that begins with a UTF-16 byte order mark.
fn utf_16(first_bytes: &[u8]) -> Option<Vec<u8>> {
    let low = match first_bytes {
        [0xff, 0xfe, ..] => 0,
        [0xfe, 0xff, ..] => 1,
        _ => return None,
    };
    Some(first_bytes[2..].chunks_exact(2).map(|unit| unit[low]).collect())
}

/// Whether the text is a JSON array of objects, or an empty one.
fn is_array(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let inside = bytes.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    inside.is_some_and(|inside| inside.starts_with(b"{") || inside == b"]")
}

enum Promise {
    Nothing,
    Of(Format),
    /// Columns of text, which are not documents.
    Table,
}

fn promise(name: &Path) -> Promise {
    match ending(name).as_deref() {
        Some("json") => Promise::Of(Format::Jsonl),
        Some("csv" | "tsv") => Promise::Table,
        Some(other) => format_named(other).map_or(Promise::Nothing, Promise::Of),
        None => Promise::Nothing,
    }
}

/// The format implied by a file's name, without a compression extension. Not for `.json`, which in
/// a folder is as likely a configuration file.
pub(crate) fn by_name(name: &Path) -> Option<Format> {
    format_named(&ending(name)?)
}

fn format_named(ending: &str) -> Option<Format> {
    if let Some((_, content_type)) = PAGE_ENDINGS.iter().find(|(known, _)| *known == ending) {
        return Some(if *content_type == TEXT { Format::Text } else { Format::Html });
    }
    match ending {
        "jsonl" | "ndjson" => Some(Format::Jsonl),
        "warc" | "wet" => Some(Format::Warc),
        "arc" => Some(Format::Arc),
        "parquet" => Some(Format::Parquet),
        _ => None,
    }
}

/// The content type of a file that is a page or text by its name.
pub fn page_type(name: &Path) -> Option<&'static str> {
    let ending = ending(name)?;
    PAGE_ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, content_type)| *content_type)
}

/// Whether the name is that of a page or text.
pub(crate) fn is_page(name: &Path) -> bool {
    matches!(by_name(name), Some(Format::Html | Format::Text))
}

/// The extension in lower case; the rest of the name may be any bytes. `wget -r` saves `/x.html?sid=1` under that
/// name: an extension before a query is the one of the file, and what the query ends in says nothing.
fn ending(name: &Path) -> Option<String> {
    let name = name.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let of = |name: &str| {
        let packed = |end: &&str| name.strip_suffix(*end).and_then(|rest| rest.strip_suffix('.'));
        let name = PACKER_ENDINGS.iter().find_map(packed).unwrap_or(name);
        name.rsplit_once('.').map(|(_, ending)| ending.to_owned())
    };
    name.split_once('?').and_then(|(before, _)| of(before)).or_else(|| of(&name))
}

/// Describes what the bytes look like, for an error.
pub(crate) fn describe(first_bytes: &[u8], packing: Packing) -> String {
    if first_bytes.is_empty() {
        return "an empty file".to_owned();
    }
    let binary = by_first_bytes(first_bytes) == Kind::Other;
    let what = match format_of(first_bytes) {
        Format::Text if utf_16(first_bytes).is_some() => "UTF-16".to_owned(),
        Format::Text if binary => {
            let start = first_bytes[..first_bytes.len().min(16)].escape_ascii();
            format!("something that begins with \"{start}\"")
        }
        format => format.to_string(),
    };
    match packing {
        Packing::Plain => what,
        packing => format!("{what} inside {packing}"),
    }
}

/// Whether these bytes could be read as `format`. Any text can be read as text.
pub(crate) fn fits(first_bytes: &[u8], format: Format) -> bool {
    let found = format_of(first_bytes);
    match format {
        Format::Warc | Format::Arc | Format::Parquet => found == format,
        // A malformed first line gets a better error from the parser.
        Format::Jsonl => {
            !matches!(found, Format::Warc | Format::Arc | Format::Parquet)
                && by_first_bytes(first_bytes) != Kind::Other
        }
        Format::Html | Format::Text | Format::Lines => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_bytes_keeps_its_ending() {
        assert_eq!(by_name(Path::new("a/b.HTML.gz")), Some(Format::Html));
        assert_eq!(by_name(Path::new("x.json")), None);
        assert_eq!(by_name(Path::new("gz")), None);
        assert_eq!(by_name(Path::new("a/x.html?sid=1")), Some(Format::Html));
        assert_eq!(by_name(Path::new("x.html.gz?v=1.2&u=a.b")), Some(Format::Html));
        assert_eq!(page_type(Path::new("x.HTML?sid=1")), Some(HTML));
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            let name = std::ffi::OsStr::from_bytes(b"caf\xe9.warc.gz");
            assert_eq!(by_name(Path::new(name)), Some(Format::Warc));
        }
    }

    #[test]
    fn the_extension_before_a_query_is_the_one_of_the_file() {
        let html = Some(Format::Html);
        for (name, expected) in [
            ("x.html?f=a.jsonl", html),
            ("x.html?to=https:%2F%2Fexample.org%2Fa.parquet", html),
            ("show?id=1.html", html),
            ("photo.jpg?ref=index.html", None),
            ("photo.jpg?x.y=1", None),
            ("x.php?f=a.csv", None),
            ("show.php?id=1.html", None),
        ] {
            assert_eq!(by_name(Path::new(name)), expected, "{name}");
        }
        let page = b"<!doctype html><p>words";
        for name in ["x.php?f=a.csv", "show.php?id=1.html", "x.html?f=a.jsonl"] {
            assert_eq!(look(page, Path::new(name)), Look::Format(Format::Html), "{name}");
        }
    }

    #[test]
    fn bytes_that_contradict_the_name_are_not_a_document() {
        let look = |bytes: &[u8], name: &str| look(bytes, Path::new(name));
        for name in ["x.warc", "x.wet.gz", "x.arc", "x.parquet", "x.csv", "x.tsv.zst"] {
            assert!(!matches!(look(b"some words", name), Look::Format(_)), "{name}");
        }
        for name in ["x.jsonl", "x.ndjson", "x.json", "x", ""] {
            assert_eq!(look(b" [\n {\"text\": 1}]", name), Look::Unreadable(ARRAY), "{name}");
            assert_eq!(look(b"\xff\xfe{\0\"\0", name), Look::Unreadable(UTF_16), "{name}");
            assert_eq!(look(b"", name), Look::Nothing, "{name}");
        }
        assert_eq!(look(b"junk\n{\"text\": 1}", "x.jsonl"), Look::Format(Format::Jsonl));
        assert_eq!(look(b"<html>not found", "x.jsonl"), Look::Misnamed(Format::Jsonl));
        assert_eq!(look(b"\xfe\xff\0a", "x.txt"), Look::Format(Format::Text));
        assert_eq!(look(b"[{]", "x.txt"), Look::Format(Format::Text));
        assert_eq!(look(b"[1] a footnote", "x"), Look::Format(Format::Text));
        assert_eq!(look(b"", "x.html.gz"), Look::Format(Format::Html));
    }
}
