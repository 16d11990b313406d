//! What the caller named, as a list of files in a fixed order.
//!
//! | input | means |
//! |---|---|
//! | `-` | standard input |
//! | `@names.txt` | every line of that file is an input; no lists inside lists |
//! | a folder | all files below it that can be read, in order of their names; hidden ones are left out |
//! | `crawl/*.warc.gz` | a glob, where no file has exactly that name; in order of the names |
//! | anything else | that file |
//!
//! In a folder a file counts by its name (`.html`, `.txt`, `.jsonl`, ...); one whose name says
//! nothing counts when its first bytes are a format that cannot be mistaken. Links to folders are
//! not followed, so there is no going round in circles.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::options::Format;
use crate::sniff;
use crate::unpack::Packing;

/// A file to be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Named by the caller: whatever it is, it is read.
    File(PathBuf),
    /// Found in a folder, with the format its name promises.
    Found(PathBuf, Option<Format>),
    Stdin,
}

/// The longest list of names that is read.
const LONGEST_LIST: u64 = 1 << 30;

/// What inputs stand for.
#[derive(Debug, Default)]
pub(crate) struct Expanded {
    /// All files in order.
    pub(crate) files: Vec<Input>,
    /// How many others there are in folders, hidden ones not counted.
    pub(crate) ignored: u64,
}

/// All files in order.
pub(crate) fn expand<S: AsRef<str>>(inputs: &[S]) -> Result<Expanded, Error> {
    let mut all = Expanded::default();
    for input in inputs {
        let input = input.as_ref();
        match input.strip_prefix('@') {
            // A file may really be called so.
            Some(list) if !Path::new(input).exists() => {
                for line in read_list(list)?.lines().map(str::trim) {
                    if !line.is_empty() {
                        expand_one(line, &mut all)?;
                    }
                }
            }
            _ => expand_one(input, &mut all)?,
        }
    }
    Ok(all)
}

fn read_list(path: &str) -> Result<String, Error> {
    let file = File::open(path).map_err(|cause| Error::io("open the list", path, cause))?;
    let mut text = String::new();
    file.take(LONGEST_LIST)
        .read_to_string(&mut text)
        .map_err(|cause| Error::io("read the list", path, cause))?;
    Ok(text)
}

fn expand_one(input: &str, all: &mut Expanded) -> Result<(), Error> {
    if input == "-" {
        all.files.push(Input::Stdin);
        return Ok(());
    }
    let path = Path::new(input);
    if path.is_dir() {
        let before = all.files.len();
        walk(path, all)?;
        if all.files.len() == before {
            let what = "holds no file that can be read as documents";
            return Err(Error::NoInput { pattern: input.to_owned(), what });
        }
        return Ok(());
    }
    let is_glob = input.contains(['*', '?', '[']);
    if path.exists() || !is_glob {
        all.files.push(Input::File(path.to_owned()));
        return Ok(());
    }
    let no_match = |what| Error::NoInput { pattern: input.to_owned(), what };
    let paths = glob::glob(input).map_err(|_| no_match("is not a valid pattern"))?;
    let mut found = Vec::new();
    for path in paths {
        let path = path.map_err(|error| {
            let path = error.path().to_owned();
            Error::io("look into", path, error.into())
        })?;
        found.push(path);
    }
    if found.is_empty() {
        return Err(no_match("matches no file"));
    }
    found.sort();
    for path in found {
        if path.is_dir() {
            walk(&path, all)?;
        } else {
            all.files.push(Input::File(path));
        }
    }
    Ok(())
}

fn walk(folder: &Path, found: &mut Expanded) -> Result<(), Error> {
    // A list of folders still to be seen, not recursion: nesting cannot exhaust the stack.
    let mut pending = vec![(folder.to_owned(), true)];
    while let Some((path, is_folder)) = pending.pop() {
        if !is_folder {
            let promised = sniff::by_name(&path);
            match promised.is_some() || is_unmistakable(&path)? {
                true => found.files.push(Input::Found(path, promised)),
                false => found.ignored += 1,
            }
            continue;
        }
        let listing = fs::read_dir(&path).map_err(|cause| Error::io("list", &path, cause))?;
        let mut entries = Vec::new();
        for entry in listing {
            let entry = entry.map_err(|cause| Error::io("list", &path, cause))?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let kind = entry.file_type().map_err(|cause| Error::io("list", &path, cause))?;
            let path = entry.path();
            if kind.is_dir() || path.is_file() {
                entries.push((path, kind.is_dir()));
            }
        }
        entries.sort();
        pending.extend(entries.into_iter().rev());
    }
    Ok(())
}

/// HTML, WARC, ARC or Parquet under a name that does not say so.
fn is_unmistakable(path: &Path) -> Result<bool, Error> {
    let cannot_read = |cause| Error::io("read", path, cause);
    let mut file = File::open(path).map_err(|cause| Error::io("open", path, cause))?;
    let mut first = [0; 16];
    let mut length = 0;
    while length < first.len() {
        match file.read(&mut first[length..]).map_err(cannot_read)? {
            0 => break,
            count => length += count,
        }
    }
    let first = &first[..length];
    Ok(Packing::of(first) == Packing::Plain
        && matches!(
            sniff::format_of(first),
            Format::Warc | Format::Arc | Format::Parquet | Format::Html
        ))
}
