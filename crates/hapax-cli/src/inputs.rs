//! From `INPUT...` to a stream of pages.
//!
//! A file that is named is always read; `-` is standard input, one page. A folder is walked
//! depth first, the entries of each folder in the order of their names' bytes; in it, hidden
//! files are skipped, files without one of [`PAGE_ENDINGS`] are counted and left out, and
//! links to folders are not followed, so a walk ends and meets no page twice.
//!
//! The list is made while it is used: of a tree, only the listings on the way down to the
//! current file are in memory. What cannot be listed or read is an item too, so that it is
//! named in its place.

use crate::failure::{Failure, io_error};
use crate::overwriting;
use crate::readable;
use clap::Args;
use hapax::page::Limits;
use hapax_corpus::PAGE_ENDINGS;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// The arguments of every command that reads many pages.
#[derive(Args, Debug)]
pub(crate) struct InputArguments {
    /// HTML or text files, folders, or `-` for standard input; where a command says so, corpora
    ///
    /// Folders are read recursively in sorted order. In them, .html, .htm, .shtml, .xhtml, .xht,
    /// .txt, .text, .md and .markdown files count as pages; hidden files and links to folders are
    /// skipped. A file that is named is read whatever it is called.
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// Read every file in folders, whatever it is called (hidden ones excepted)
    #[arg(long)]
    all_files: bool,

    /// Name, count and leave out what cannot be read, instead of stopping
    #[arg(long)]
    pub(crate) skip_bad: bool,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// No progress and no summary; errors are still told
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// A number of threads as a user writes it.
pub(crate) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(n) if n.get() <= 1024 => Ok(n),
        _ => Err("a number of threads is 1 to 1024".to_owned()),
    }
}

impl InputArguments {
    /// The pages these arguments mean.
    ///
    /// # Errors
    ///
    /// `-` is given twice; or something named does not exist and bad input is not skipped.
    pub(crate) fn pages(&self) -> Result<Pages, Failure> {
        self.check_standard()?;
        // A misspelt name should not be found out after an hour.
        for input in self.inputs.iter().filter(|input| !self.skip_bad && !is_standard(input)) {
            input.metadata().map_err(|e| Failure::io("read", input, e))?;
        }
        Ok(Pages {
            inputs: self.inputs.clone().into_iter(),
            folder: None,
            all_files: self.all_files,
            ignored: 0,
        })
    }

    fn check_standard(&self) -> Result<(), Failure> {
        match self.inputs.iter().filter(|input| is_standard(input)).count() {
            0 | 1 => Ok(()),
            _ => Err(Failure::Arguments(
                "INPUT `-` is given more than once: standard input can be read once".to_owned(),
            )),
        }
    }

    /// Refuses to write a result over one of the pages.
    ///
    /// # Errors
    ///
    /// It would be; both are named.
    pub(crate) fn spare(&self, option: &str, out: Option<&Path>) -> Result<(), Failure> {
        let pages = self.pages().into_iter().flatten().filter_map(Result::ok);
        overwriting::refuse(option, out, &self.inputs)?;
        overwriting::refuse(option, out, pages.map(|page| page.path().to_owned()))
    }

    /// The number of pages, if it is known without looking into folders.
    pub(crate) fn known_total(&self) -> Option<u64> {
        (!self.inputs.iter().any(|input| input.is_dir())).then_some(self.inputs.len() as u64)
    }

    /// The inputs as the readers of corpora take them, if one of them holds many documents.
    ///
    /// # Errors
    ///
    /// `-` is given twice, or a path is not Unicode, which such readers cannot do.
    pub(crate) fn collections(&self, forced: bool) -> Result<Option<Vec<String>>, Failure> {
        self.check_standard()?;
        let named: Option<Vec<String>> =
            self.inputs.iter().map(|input| input.to_str().map(str::to_owned)).collect();
        match named {
            Some(named) if forced || named.iter().any(|it| hapax_corpus::is_collection(it)) => {
                Ok(Some(named))
            }
            None if forced => Err(Failure::Arguments("an INPUT is not Unicode".to_owned())),
            Some(_) | None => Ok(None),
        }
    }

    /// How many threads to use.
    pub(crate) fn thread_count(&self) -> NonZeroUsize {
        let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(all)
    }
}

/// Where a page is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard input.
    Standard,
    /// A file.
    File(PathBuf),
}

/// The bytes of a page, or their beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of them.
    Whole,
    /// There were more than a page may have.
    Beginning,
}

impl Source {
    /// `-` or a path, as a user writes them.
    pub(crate) fn new(given: PathBuf) -> Self {
        if is_standard(&given) { Self::Standard } else { Self::File(given) }
    }

    /// How the page is called in results.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Standard => Path::new("-"),
            Self::File(path) => path,
        }
    }

    /// What the name says about the content.
    pub(crate) fn content_type(&self) -> Option<&'static str> {
        match self {
            Self::Standard => None,
            Self::File(path) => page_type(path),
        }
    }

    /// Replaces `bytes` with those of the page, up to what the engine would look at.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(crate) fn read(&self, bytes: &mut Vec<u8>) -> Result<Extent, anyhow::Error> {
        bytes.clear();
        let limit = Limits::default().max_input_bytes;
        // One more byte tells the engine that the page was cut.
        let most = limit as u64 + 1;
        let read = match self {
            Self::Standard => std::io::stdin().lock().take(most).read_to_end(bytes),
            Self::File(path) => {
                File::open(path).and_then(|file| file.take(most).read_to_end(bytes))
            }
        };
        let length = read.map_err(|error| match self {
            Self::Standard => anyhow::Error::new(error).context("cannot read standard input"),
            Self::File(path) => io_error("read", path, error),
        })?;
        Ok(if length > limit { Extent::Beginning } else { Extent::Whole })
    }
}

/// The pages of all inputs in order; an input that is none is an error in its place.
pub(crate) struct Pages {
    inputs: std::vec::IntoIter<PathBuf>,
    folder: Option<Folder>,
    all_files: bool,
    ignored: u64,
}

impl Pages {
    /// Files met in folders so far that do not count as pages.
    pub(crate) fn ignored(&self) -> u64 {
        self.ignored
    }
}

impl Iterator for Pages {
    type Item = Result<Source, anyhow::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(folder) = &mut self.folder {
                if let Some(page) = folder.next_page(self.all_files) {
                    return Some(page.map(Source::File));
                }
                self.ignored += folder.ignored;
                let done = self.folder.take()?;
                if !done.found_any {
                    return Some(Err(done.has_no_pages()));
                }
            }
            match self.inputs.next()? {
                input if is_standard(&input) => return Some(Ok(Source::Standard)),
                input if input.is_dir() => self.folder = Some(Folder::open(input)),
                input => return Some(Ok(Source::File(input))),
            }
        }
    }
}

/// A folder while it is walked.
struct Folder {
    root: PathBuf,
    /// What is left of each open folder, the innermost last.
    open: Vec<std::vec::IntoIter<PathBuf>>,
    found_any: bool,
    ignored: u64,
}

impl Folder {
    fn open(root: PathBuf) -> Self {
        Self { open: vec![vec![root.clone()].into_iter()], root, found_any: false, ignored: 0 }
    }

    fn next_page(&mut self, all_files: bool) -> Option<Result<PathBuf, anyhow::Error>> {
        loop {
            let Some(path) = self.open.last_mut()?.next() else {
                self.open.pop();
                continue;
            };
            // The root may be a link; what is inside is not followed.
            let is_root = path == self.root && self.open.len() == 1;
            let kind = if is_root { path.metadata() } else { path.symlink_metadata() };
            match kind {
                Ok(kind) if kind.is_dir() => match listing(&path) {
                    Ok(entries) => self.open.push(entries.into_iter()),
                    Err(error) => return Some(Err(self.bad(io_error("list", &path, error)))),
                },
                Ok(kind) if kind.is_symlink() && path.is_dir() => {}
                Ok(_) if !all_files && page_type(&path).is_none() => self.ignored += 1,
                Ok(kind) if kind.is_file() || path.is_file() => {
                    self.found_any = true;
                    return Some(Ok(path));
                }
                // A dangling link, or a socket or pipe that might never end.
                Ok(_) if path.exists() => self.ignored += 1,
                Ok(_) => {
                    let error = anyhow::anyhow!("{}: link to nothing", readable::path(&path));
                    return Some(Err(self.bad(error)));
                }
                Err(error) => return Some(Err(self.bad(io_error("read", &path, error)))),
            }
        }
    }

    /// One complaint about a folder is enough.
    fn bad(&mut self, error: anyhow::Error) -> anyhow::Error {
        self.found_any = true;
        error
    }

    fn has_no_pages(&self) -> anyhow::Error {
        let extensions: Vec<String> =
            PAGE_ENDINGS.iter().map(|(extension, _)| format!(".{extension}")).collect();
        let others = match self.ignored {
            0 => String::new(),
            n => format!("; --all-files would read its {}", readable::counted(n, "other file")),
        };
        anyhow::anyhow!(
            "folder {} holds no pages ({}){others}",
            readable::path(&self.root),
            extensions.join(" ")
        )
    }
}

/// The entries of a folder that are not hidden, sorted by name.
fn listing(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut names: Vec<OsString> = Vec::new();
    for entry in folder.read_dir()? {
        let name = entry?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

fn page_type(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    let known = |(known, _): &&(&str, &str)| extension.eq_ignore_ascii_case(known);
    PAGE_ENDINGS.iter().find(known).map(|(_, content_type)| *content_type)
}

fn is_standard(input: &Path) -> bool {
    input.as_os_str() == "-"
}
