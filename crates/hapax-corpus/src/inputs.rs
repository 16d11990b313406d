//! Turns the inputs named by the caller into a list of files in a fixed order.
//!
//! In a folder, files with a known extension (`.html`, `.txt`, `.jsonl`, ...) are read, others only if their
//! first bytes are unmistakable or all files are requested. Links to folders are not followed; links to files
//! outside the folder only on request, because the author of the folder could name any file.
//!
//! | input | means |
//! |---|---|
//! | `-` | standard input |
//! | `@names.txt` | every line of the file is an input; lists cannot be nested |
//! | a folder | all readable files below it, ordered by name, without hidden ones |
//! | `crawl/*.warc.gz` | a glob, unless a file has exactly this name; ordered by name |
//! | `s3://bucket/crawl/`, `hf://datasets/…`, `https://…` | an object, folder or glob in a store, by the same rules |
//! | `file:///…` | the local file or folder |
//! | anything else | that file |

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hapax_remote::{Finder, Found, is_address, shown};

use crate::document::LOOKED_AT;
use crate::error::Error;
use crate::options::{Format, ReadOptions};
use crate::origin::Origin;
use crate::sniff;
use crate::unpack::Packing;

#[derive(Debug)]
pub(crate) enum Input {
    /// Named by the caller; always read.
    Named(Origin),
    /// Found in a folder, with the format of its name.
    Found(Origin, Option<Format>),
    Stdin,
    /// A named or found input that cannot be read.
    Bad(PathBuf, Error),
}

/// Maximum size of a list of names.
const LONGEST_LIST: u64 = 1 << 30;

/// The files in folders that are not read, without hidden ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    pub files: u64,
    /// The first of them.
    pub example: Option<PathBuf>,
}

/// The expansion of inputs.
pub(crate) struct Expanded {
    /// All files in order.
    pub(crate) files: Vec<Input>,
    pub(crate) ignored: Ignored,
    finder: Finder,
    all_files: bool,
    follow_links: bool,
    /// Whether unreadable inputs get a place among the files instead of being an error.
    skip_bad: bool,
}

/// All files in order.
pub(crate) fn expand<S: AsRef<Path>>(
    inputs: &[S],
    options: &ReadOptions,
) -> Result<Expanded, Error> {
    let ReadOptions { all_files, follow_links, skip_bad, .. } = *options;
    let (files, ignored, finder) = (Vec::new(), Ignored::default(), Finder::default());
    let mut all = Expanded { files, ignored, finder, all_files, follow_links, skip_bad };
    for input in inputs {
        let input = input.as_ref();
        match input.to_str().and_then(|text| text.strip_prefix('@')) {
            // A file may really have this name.
            Some(list) if !input.exists() => match all.read_list(list) {
                Ok(text) => {
                    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
                    let prepared = all.finder.prepare(lines());
                    prepared.map_err(|cause| Error::io("read the list", &*shown(list), cause))?;
                    for line in lines() {
                        all.add(Path::new(line))?;
                    }
                }
                Err(error) => all.bad(Path::new(&*shown(list)), error)?,
            },
            _ => all.add(input)?,
        }
    }
    Ok(all)
}

impl Expanded {
    fn read_list(&mut self, path: &str) -> Result<String, Error> {
        let mut text = String::new();
        let list: Box<dyn Read> = if is_address(path) {
            let cannot = |cause| Error::io("open the list", &*shown(path), cause);
            match self.finder.find(path).map_err(cannot)? {
                Found::One(object) => Box::new(object.reader()),
                Found::Matching(_) | Found::Below(_) => {
                    return Err(cannot(io::ErrorKind::IsADirectory.into()));
                }
            }
        } else {
            let file = File::open(path);
            Box::new(file.map_err(|cause| Error::io("open the list", path, cause))?)
        };
        list.take(LONGEST_LIST)
            .read_to_string(&mut text)
            .map_err(|cause| Error::io("read the list", &*shown(path), cause))?;
        Ok(text)
    }

    /// Puts an unreadable input in its place.
    fn bad(&mut self, path: &Path, error: Error) -> Result<(), Error> {
        if !self.skip_bad {
            return Err(error);
        }
        self.files.push(Input::Bad(path.to_owned(), error));
        Ok(())
    }

    /// Adds an input of the caller.
    fn add(&mut self, path: &Path) -> Result<(), Error> {
        if path.as_os_str() == "-" {
            self.files.push(Input::Stdin);
            return Ok(());
        }
        if let Some(address) = path.to_str().filter(|text| is_address(text)) {
            return self.address(address);
        }
        let local = path.to_str().and_then(local_path);
        let path = local.as_deref().unwrap_or(path);
        if path.to_str().is_some_and(|text| text.contains("://")) && !path.exists() {
            let (named, what) = (path.display().to_string(), NO_SCHEME.to_owned());
            return self.bad(path, Error::Unsupported { path: named, what });
        }
        if path.is_dir() {
            let (before, ignored) = (self.files.len(), self.ignored.files);
            self.walk(path)?;
            if self.files.len() == before {
                let (folder, others) = (path.display().to_string(), self.ignored.files - ignored);
                return self.bad(path, Error::NoPages { folder, others });
            }
            return Ok(());
        }
        let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
        let Some(pattern) = pattern.filter(|_| !path.exists()) else {
            // A misspelt name should be reported now, not after an hour.
            return match path.metadata() {
                Err(cause) if !self.skip_bad => Err(Error::io("read", path, cause)),
                _ => {
                    self.files.push(Input::Named(Origin::Path(path.to_owned())));
                    Ok(())
                }
            };
        };
        match matching(pattern) {
            Ok(found) => found.into_iter().try_for_each(|path| match path.is_dir() {
                true => self.walk(&path),
                false => {
                    self.files.push(Input::Named(Origin::Path(path)));
                    Ok(())
                }
            }),
            Err(error) => self.bad(path, error),
        }
    }

    /// Expands an address; of the objects below a folder, the same are read as of local files.
    fn address(&mut self, address: &str) -> Result<(), Error> {
        let shown = shown(address);
        let found = match self.finder.find(address) {
            Ok(found) => found,
            Err(cause) => return self.bad(Path::new(&*shown), Error::io("read", &*shown, cause)),
        };
        let (before, ignored) = (self.files.len(), self.ignored.files);
        match found {
            Found::One(object) => self.files.push(Input::Named(Origin::Remote(object))),
            Found::Matching(objects) => {
                let named = objects.into_iter().map(|it| Input::Named(Origin::Remote(it)));
                self.files.extend(named);
                if self.files.len() == before {
                    let (pattern, what) = (shown.to_string(), "matches no object");
                    return self.bad(Path::new(&*shown), Error::NoInput { pattern, what });
                }
            }
            Found::Below(objects) => {
                let hidden = |below: &str| below.split('/').any(|part| part.starts_with('.'));
                for (object, _) in objects.into_iter().filter(|(_, below)| !hidden(below)) {
                    self.found(Origin::Remote(object), Kind::File)?;
                }
                if self.files.len() == before {
                    let (folder, others) = (shown.to_string(), self.ignored.files - ignored);
                    return self.bad(Path::new(&*shown), Error::NoPages { folder, others });
                }
            }
        }
        Ok(())
    }

    fn walk(&mut self, folder: &Path) -> Result<(), Error> {
        let inside = match self.follow_links {
            true => None,
            false => folder.canonicalize().ok(),
        };
        // A list of pending folders instead of recursion, so that nesting cannot exhaust the stack.
        let mut pending = vec![(folder.to_owned(), Kind::Folder)];
        while let Some((path, kind)) = pending.pop() {
            match kind {
                Kind::Folder => match listing(&path, inside.as_deref()) {
                    Ok(entries) => pending.extend(entries.into_iter().rev()),
                    Err(cause) => self.bad(&path, Error::io("list", &path, cause))?,
                },
                _ => self.found(Origin::Path(path), kind)?,
            }
        }
        Ok(())
    }

    /// Adds an entry of a folder that is not a folder.
    fn found(&mut self, origin: Origin, kind: Kind) -> Result<(), Error> {
        let path = origin.name();
        let promised = sniff::by_name(path);
        let wanted = promised.is_some() || self.all_files;
        let counts = match kind {
            Kind::File if wanted => Ok(true),
            Kind::File => is_unmistakable(&origin),
            Kind::Nothing if wanted => {
                let (path, what) = (path.display().to_string(), "link to nothing".to_owned());
                Err(Error::Unsupported { path, what })
            }
            Kind::Outside if wanted => Err(Error::OutsideLink { path: path.display().to_string() }),
            Kind::Folder | Kind::Nothing | Kind::Outside | Kind::Other => Ok(false),
        };
        match counts {
            Ok(true) => self.files.push(Input::Found(origin, promised)),
            Ok(false) => {
                self.ignored.files += 1;
                self.ignored.example.get_or_insert_with(|| origin.name().to_owned());
            }
            Err(error) => self.bad(origin.name(), error)?,
        }
        Ok(())
    }
}

/// The kind of an entry of a folder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Folder,
    File,
    /// A broken link.
    Nothing,
    /// A link to a file outside the folder.
    Outside,
    /// A socket or pipe, which may never end.
    Other,
}

/// The files and folders that match a glob, in order.
fn matching(pattern: &str) -> Result<Vec<PathBuf>, Error> {
    let no_match = |what| Error::NoInput { pattern: pattern.to_owned(), what };
    let paths = glob::glob(pattern).map_err(|_| no_match("is not a valid pattern"))?;
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
    Ok(found)
}

const NO_SCHEME: &str = "no address that can be read; expected s3://, gs://, az://, hf://datasets/, https://, \
    http:// or file:///PATH";

/// The local path of a `file://` address.
fn local_path(text: &str) -> Option<PathBuf> {
    text.starts_with("file://").then(|| url::Url::parse(text).ok()?.to_file_path().ok())?
}

/// The entries of a folder that are not hidden, in order. Leaves out links to folders.
fn listing(folder: &Path, inside: Option<&Path>) -> io::Result<Vec<(PathBuf, Kind)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let (kind, path) = (entry.file_type()?, entry.path());
        let kind = match kind {
            _ if kind.is_dir() => Kind::Folder,
            _ if kind.is_file() => Kind::File,
            _ => match path.metadata() {
                Ok(linked) if linked.is_dir() => continue,
                Ok(linked) if linked.is_file() => {
                    let leads_out = |top| !path.canonicalize().is_ok_and(|to| to.starts_with(top));
                    if inside.is_some_and(leads_out) { Kind::Outside } else { Kind::File }
                }
                Ok(_) => Kind::Other,
                Err(_) => Kind::Nothing,
            },
        };
        entries.push((path, kind));
    }
    entries.sort();
    Ok(entries)
}

/// Whether the file is HTML, WARC, ARC or Parquet under another name.
fn is_unmistakable(origin: &Origin) -> Result<bool, Error> {
    let cannot_read = |cause| Error::io("read", origin.name(), cause);
    let mut file = origin.open().map_err(|cause| Error::io("open", origin.name(), cause))?;
    let mut first = [0; LOOKED_AT];
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
