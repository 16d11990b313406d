//! Is an input a page, or something that holds many?
//!
//! For commands that also take pages one by one, and need to know before they begin. Whatever cannot
//! be looked at is left to whoever reads it and can say why.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::inputs::{self, Input};
use crate::options::Format;
use crate::sniff;
use crate::unpack::Packing;

/// Does this input have to be read by [`Source`](crate::Source)? A list, a glob, a packed file, an archive
/// or a table does, and a folder with one of these in it. Standard input is looked at without taking
/// anything from it.
pub fn is_collection(input: &str) -> bool {
    if input == "-" {
        return std::io::stdin()
            .lock()
            .fill_buf()
            .is_ok_and(|first| holds_many(first, Path::new("")));
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
    found.iter().any(|input| match input {
        Input::Found(path, promised) => {
            let packed = path.extension().is_some_and(|end| {
                ["gz", "zst", "bz2", "xz"].iter().any(|packer| end.eq_ignore_ascii_case(packer))
            });
            let many = |format| !matches!(format, Format::Html | Format::Text | Format::Lines);
            packed || promised.is_some_and(many)
        }
        Input::File(_) | Input::Stdin => false,
    })
}

fn holds_many(first: &[u8], name: &Path) -> bool {
    if Packing::of(first) != Packing::Plain {
        return true;
    }
    match sniff::format_of(first, name) {
        Format::Warc | Format::Arc | Format::Parquet => true,
        // A page may begin with a brace and say so by its name.
        Format::Jsonl => !matches!(sniff::by_name(name), Some(Format::Html | Format::Text)),
        Format::Html | Format::Text | Format::Lines => false,
    }
}
