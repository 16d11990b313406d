//! Is an input a page, or something that holds many?
//!
//! For commands that also take pages one by one, and need to know before they begin. Whatever cannot
//! be looked at is left to whoever reads it and can say why.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::inputs::{self, Input};
use crate::options::Format;
use crate::sniff::{self, Look};
use crate::unpack::Packing;

/// Does this input have to be read by [`Source`](crate::Source)? A list, a glob, a packed file, an archive
/// or a table does, and a folder with one of these in it. Standard input is looked at without taking
/// anything from it.
pub fn is_collection(input: &str) -> bool {
    if input == "-" {
        return std::io::stdin()
            .lock()
            .fill_buf()
            // Without a byte it is no page, and `Source` says so.
            .is_ok_and(|first| first.is_empty() || holds_many(first, Path::new("")));
    }
    let path = Path::new(input);
    if path.is_file() {
        let first = File::open(path).map(BufReader::new);
        return first.is_ok_and(|mut file| file.fill_buf().is_ok_and(|it| holds_many(it, path)));
    }
    if !path.is_dir() {
        return !path.exists() && input.contains(['@', '*', '?', '[']);
    }
    let found = inputs::expand(&[input]).unwrap_or_default();
    found.files.iter().any(|input| match input {
        Input::Found(path, promised) => {
            let many = |format| !matches!(format, Format::Html | Format::Text | Format::Lines);
            sniff::is_packed(path) || promised.is_some_and(many)
        }
        Input::File(_) | Input::Stdin => false,
    })
}

fn holds_many(first: &[u8], name: &Path) -> bool {
    if Packing::of(first) != Packing::Plain {
        return true;
    }
    match sniff::look(first, name) {
        Look::Format(Format::Warc | Format::Arc | Format::Parquet) => true,
        // A page may begin with a brace and say so by its name.
        Look::Format(Format::Jsonl) => {
            !matches!(sniff::by_name(name), Some(Format::Html | Format::Text))
        }
        Look::Format(Format::Html | Format::Text | Format::Lines) => false,
        // An empty page is a page, and a corpus without a byte is none.
        Look::Nothing => sniff::promises_records(name),
        // Whoever reads it can say why not.
        Look::Misnamed(_) | Look::Unreadable(_) => true,
    }
}
