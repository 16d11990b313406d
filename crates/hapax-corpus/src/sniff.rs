//! What a file is, by its first bytes.
//!
//! Names lie more often than bytes, so a name is asked only where bytes cannot tell: whether text
//! without tags is one document or something else.

use std::path::Path;

use crate::document::{Kind, by_first_bytes};
use crate::options::Format;
use crate::unpack::Packing;

/// What unpacked bytes look like. `name` is asked last.
pub(crate) fn format_of(first_bytes: &[u8], name: &Path) -> Format {
    if first_bytes.starts_with(b"PAR1") {
        return Format::Parquet;
    }
    let bytes = first_bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first_bytes);
    let text = bytes.trim_ascii_start();
    if text.starts_with(b"WARC/") {
        Format::Warc
    } else if text.starts_with(b"filedesc:") {
        Format::Arc
    } else if text.starts_with(b"{") {
        Format::Jsonl
    } else if by_first_bytes(bytes) == Kind::Html {
        Format::Html
    } else {
        match by_name(name) {
            Some(Format::Html) => Format::Html,
            Some(Format::Jsonl) if text.is_empty() => Format::Jsonl,
            _ => Format::Text,
        }
    }
}

/// What a file's name promises, behind the ending of a packer.
pub(crate) fn by_name(name: &Path) -> Option<Format> {
    let name = name.file_name()?.to_str()?.to_ascii_lowercase();
    let packers = [".gz", ".zst", ".bz2", ".xz"];
    let name = packers.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let (_, ending) = name.rsplit_once('.')?;
    match ending {
        "html" | "htm" | "xhtml" | "shtml" => Some(Format::Html),
        "txt" | "text" | "md" => Some(Format::Text),
        "jsonl" | "ndjson" => Some(Format::Jsonl),
        "warc" | "wet" => Some(Format::Warc),
        "arc" => Some(Format::Arc),
        "parquet" => Some(Format::Parquet),
        _ => None,
    }
}

/// Says in words what the bytes look like, for an error.
pub(crate) fn describe(first_bytes: &[u8], packing: Packing) -> String {
    if first_bytes.is_empty() {
        return "an empty file".to_owned();
    }
    let binary = by_first_bytes(first_bytes) == Kind::Other;
    let what = match format_of(first_bytes, Path::new("")) {
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

/// Could these bytes be read as `format`? Text can be read as text, whatever it looks like.
pub(crate) fn fits(first_bytes: &[u8], format: Format) -> bool {
    match format {
        Format::Warc | Format::Arc | Format::Parquet => {
            format_of(first_bytes, Path::new("")) == format
        }
        // A broken first line is reported with its number, which says more.
        Format::Jsonl => {
            let found = format_of(first_bytes, Path::new(""));
            !matches!(found, Format::Warc | Format::Arc | Format::Parquet)
                && by_first_bytes(first_bytes) != Kind::Other
        }
        Format::Html | Format::Text | Format::Lines => true,
    }
}
