//! Recognizes files that hold no fingerprints, for errors that name the right command.

use super::super::LinesError;

/// First bytes of a file, what it is, and what to do with it.
const KINDS: &[(&[u8], &str)] = &[
    (
        b"\x1f\x8b",
        "it is packed with gzip: unpack a list of fingerprints first; hapax fingerprint reads packed documents",
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "it is packed with zstd: unpack a list of fingerprints first; hapax fingerprint reads packed documents",
    ),
    (b"WARC/", "it is a WARC file: hapax fingerprint makes fingerprints of its pages"),
    (b"filedesc:", "it is an ARC file: hapax fingerprint makes fingerprints of its pages"),
    (b"<", "it is a page: hapax fingerprint makes a fingerprint of it"),
    (b"%PDF", "it is a PDF; fingerprints are made of HTML and text by hapax fingerprint"),
    (
        b"hapaxNAM",
        "it holds the names of an index of version 0.1: give the index itself, without .names",
    ),
    (b"hapaxdf\0", "it is a frequency table: hapax fingerprint --frequencies reads it"),
    (
        b"SQLite format 3",
        "it is an SQLite database; a repository is read by hapax inspect, and hapax page",
    ),
];

/// The error for a file that begins with these bytes; `None` if it may hold fingerprints.
pub(super) fn foreign(first: &[u8]) -> Option<LinesError> {
    let text = first.trim_ascii_start();
    let known = KINDS.iter().find(|(start, _)| first.starts_with(start) || text.starts_with(start));
    let what = known.map(|(_, what)| *what).or_else(|| {
        first.contains(&0).then_some(
            "it is neither text nor a file of fingerprints; 8-byte words are read with --binary",
        )
    });
    what.map(LinesError::foreign)
}

pub(super) fn folder() -> LinesError {
    LinesError::foreign("it is a folder: hapax fingerprint makes fingerprints of the pages in it")
}

/// The error for a JSON object without a fingerprint.
pub(super) fn json_without_fingerprint(is_pair: bool) -> String {
    match is_pair {
        true => "this is a pair: hapax groups reads pairs",
        false => {
            "it has no `fingerprint`, not even null: make these lines with `hapax fingerprint --json`"
        }
    }
    .to_owned()
}

/// The error for a table without a required column.
pub(super) fn table_without(column: &str, columns: &[&str]) -> LinesError {
    let has = |name| columns.contains(&name);
    LinesError::foreign(&if has("text") || has("html") || has("content") && !has("fingerprint") {
        format!(
            "the column `{column}` is missing: it is a table of documents, and hapax fingerprint makes \
             fingerprints of them"
        )
    } else if has("winner") {
        format!(
            "the column `{column}` is missing: it is a table of groups that hapax dedup wrote, and \
             holds no fingerprints"
        )
    } else {
        format!("the column `{column}` is missing; hapax fingerprint writes tables that have it")
    })
}
