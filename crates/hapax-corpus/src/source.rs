//! A corpus given by its inputs, ready to be read.
//!
//! ```text
//!   inputs  ──►  files  ──►  parts  ──►  batches  ──►  entries
//!              in order    one thread   any thread    in order
//! ```
//!
//! A part is a file, or a run of small files of one document each; threads can read parts independently. The
//! corpus is ordered by (part, batch, entry). Memory is one batch per decoding thread and one window per open
//! part, bounded by [`Limits`](crate::Limits), plus the list of files.

use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::batch::Context;
use crate::document::FileId;
use crate::error::Error;
use crate::inputs::{self, Ignored};
use crate::options::{FieldTable, Format, Limits, ReadOptions};
use crate::origin::{Origin, Seekable, Stamp};
use crate::part::Part;
use crate::sniff;
use crate::unpack::{Input, Packing, Unpack};
use crate::window::Window;

/// Number of small files per batch.
const PAGES: u32 = 64;

/// A corpus: files in order, and options for reading them.
pub struct Source {
    pub(crate) files: Arc<Files>,
    pub(crate) options: Arc<ReadOptions>,
    pub(crate) table: Arc<FieldTable>,
    pub(crate) parts: Vec<Range<u32>>,
    ignored: Ignored,
}

pub(crate) struct Files {
    files: Vec<Entry>,
}

struct Entry {
    at: Location,
    /// Set if the file is one document of this format, so that it need not be examined before
    /// decoding.
    page: Option<Format>,
}

type Stream = Box<dyn Read + Send>;

enum Location {
    At(Origin),
    /// Can be read once; with its name, and the id of its document if it is one.
    Stream {
        name: String,
        id: String,
        reader: Mutex<Option<Stream>>,
    },
    /// Cannot be read; the error is reported once.
    Bad(PathBuf, Mutex<Option<Error>>),
}

/// A file opened at its first byte, and its compression.
pub(crate) struct Opened {
    pub(crate) input: Input,
    pub(crate) packing: Packing,
}

impl Opened {
    pub(crate) fn window(self, limits: &Limits) -> io::Result<Window> {
        Ok(Window::new(Unpack::new(self.input, self.packing)?, self.packing, limits))
    }
}

impl Source {
    /// Finds the files: `-` is standard input, `@names.txt` a list of inputs, a folder all readable
    /// files below it ordered by name, `crawl/*.warc.gz` a glob, `s3://bucket/crawl/` the same in a
    /// store, anything else a file. Reads only folders, lists and listings.
    ///
    /// # Errors
    ///
    /// An input does not exist or a folder has no documents, unless bad inputs are skipped.
    pub fn open<S: AsRef<Path>>(inputs: &[S], options: ReadOptions) -> Result<Self, Error> {
        // Pages in a folder are recognized by their names, so that a million need not be opened
        // twice.
        let whole = |promised: Option<Format>| match options.format {
            None => promised.filter(|it| matches!(it, Format::Html | Format::Text)),
            Some(format @ (Format::Html | Format::Text)) => Some(format),
            Some(_) => None,
        };
        let expanded = inputs::expand(inputs, &options)?;
        let files = expanded
            .files
            .into_iter()
            .map(|input| match input {
                inputs::Input::Named(origin) => Entry { at: Location::At(origin), page: None },
                inputs::Input::Found(origin, promised) => {
                    Entry { at: Location::At(origin), page: whole(promised) }
                }
                inputs::Input::Stdin => stream("standard input", "-", Box::new(io::stdin())),
                inputs::Input::Bad(path, error) => {
                    Entry { at: Location::Bad(path, Mutex::new(Some(error))), page: None }
                }
            })
            .collect();
        Ok(Self { ignored: expanded.ignored, ..Self::new(files, options) })
    }

    /// Reads a stream under the given name.
    pub fn from_reader(
        name: &str,
        reader: impl Read + Send + 'static,
        options: ReadOptions,
    ) -> Self {
        Self::new(vec![stream(name, name, Box::new(reader))], options)
    }

    fn new(files: Vec<Entry>, options: ReadOptions) -> Self {
        let mut parts: Vec<Range<u32>> = Vec::new();
        let mut last_is_pages = false;
        for (id, file) in (0..).zip(&files) {
            let joins = last_is_pages && file.page.is_some();
            match parts.last_mut() {
                Some(last) if joins && last.len() < PAGES as usize => last.end = id + 1,
                _ => parts.push(id..id + 1),
            }
            last_is_pages = file.page.is_some();
        }
        let table = Arc::new(options.fields.table());
        Self {
            files: Arc::new(Files { files }),
            options: Arc::new(options),
            table,
            parts,
            ignored: Ignored::default(),
        }
    }

    /// The names of the files, in order: [`FileId`] 0 is the first.
    pub fn files(&self) -> impl ExactSizeIterator<Item = String> {
        (0..self.files.files.len()).map(|id| self.files.name(FileId(id as u32)))
    }

    /// The paths of the local files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.files.iter().filter_map(|file| match &file.at {
            Location::At(Origin::Path(path)) => Some(path.as_path()),
            Location::At(Origin::Remote(_)) | Location::Stream { .. } | Location::Bad(..) => None,
        })
    }

    /// The version of each file; `None` for other inputs.
    pub fn stamps(&self) -> impl Iterator<Item = Option<Stamp>> {
        self.files.files.iter().map(|file| match &file.at {
            Location::At(origin) => origin.stamp(),
            Location::Stream { .. } | Location::Bad(..) => None,
        })
    }

    /// The files in folders that were left out because neither name nor first bytes show that they
    /// hold documents, without hidden ones.
    pub fn ignored(&self) -> &Ignored {
        &self.ignored
    }

    /// Number of parts that can be read independently.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The files of a part, as indexes into [`files`](Self::files).
    ///
    /// # Panics
    ///
    /// There is no such part.
    pub fn part_files(&self, part: usize) -> Range<u32> {
        self.parts[part].clone()
    }

    /// A part, by its index. Its batches come in order.
    ///
    /// # Panics
    ///
    /// There is no such part.
    pub fn part(&self, part: usize) -> Part {
        let ids = self.parts[part].clone();
        let pages = self.files.files[ids.start as usize].page.is_some();
        Part::new(self, part, ids, pages)
    }

    /// All batches of all parts, in order.
    pub fn batches(&self) -> impl Iterator<Item = crate::Batch> {
        (0..self.parts()).flat_map(|part| self.part(part))
    }

    /// The total size of all files, for a progress bar; `None` if one is a stream.
    pub fn input_bytes(&self) -> Option<u64> {
        self.files.files.iter().try_fold(0, |sum, file| match &file.at {
            Location::At(origin) => Some(sum + origin.stamp().map_or(0, |it| it.bytes)),
            Location::Bad(..) => Some(sum),
            Location::Stream { .. } => None,
        })
    }

    /// Number of documents, if every file is known to be one document by its name.
    pub fn single_documents(&self) -> Option<u64> {
        let is_page = |file: &Entry| match &file.at {
            Location::At(origin) => file.page.is_some() || sniff::is_page(origin.name()),
            Location::Stream { .. } | Location::Bad(..) => false,
        };
        self.files.files.iter().all(is_page).then_some(self.files.files.len() as u64)
    }

    pub(crate) fn context(&self, file: FileId) -> Context {
        Context {
            options: Arc::clone(&self.options),
            table: Arc::clone(&self.table),
            file,
            name: self.files.name(file).into(),
        }
    }
}

impl Files {
    pub(crate) fn name(&self, id: FileId) -> String {
        match &self.files[id.0 as usize].at {
            Location::At(origin) => origin.name().display().to_string(),
            Location::Bad(path, _) => path.display().to_string(),
            Location::Stream { name, .. } => name.clone(),
        }
    }

    /// The id of a file that is one document.
    pub(crate) fn document_id(&self, id: FileId) -> String {
        match &self.files[id.0 as usize].at {
            Location::At(_) | Location::Bad(..) => self.name(id),
            Location::Stream { id, .. } => id.clone(),
        }
    }

    /// The path or address of a file that can be read repeatedly.
    pub(crate) fn path(&self, id: FileId) -> Option<&Path> {
        self.origin(id).map(Origin::name)
    }

    pub(crate) fn origin(&self, id: FileId) -> Option<&Origin> {
        match &self.files.get(id.0 as usize)?.at {
            Location::At(origin) => Some(origin),
            Location::Stream { .. } | Location::Bad(..) => None,
        }
    }

    pub(crate) fn page_format(&self, id: FileId) -> Option<Format> {
        self.files[id.0 as usize].page
    }

    pub(crate) fn open(&self, id: FileId) -> Result<Opened, Error> {
        self.open_begun(id, None)
    }

    /// Opens a file that may have been requested ahead ([`Origin::ahead`]).
    pub(crate) fn open_begun(
        &self,
        id: FileId,
        begun: Option<Box<dyn Seekable>>,
    ) -> Result<Opened, Error> {
        let mut input = match &self.files[id.0 as usize].at {
            Location::At(origin) => {
                let open = begun.map_or_else(|| origin.open(), Ok);
                Input::seekable(open.map_err(|cause| Error::io("read", origin.name(), cause))?)
            }
            Location::Bad(path, why) => {
                let why = why.lock().unwrap_or_else(PoisonError::into_inner).take();
                let gone = || Error::io("read", path, io::Error::from(io::ErrorKind::NotFound));
                return Err(why.unwrap_or_else(gone));
            }
            Location::Stream { name, reader, .. } => {
                let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
                Input::stream(reader.take().ok_or_else(|| Error::Unsupported {
                    path: name.clone(),
                    what: "can be read only once; save it to a file first".to_owned(),
                })?)
            }
        };
        let first = input.peek(8).map_err(|cause| Error::io("read", self.name(id), cause))?;
        let packing = Packing::of(first);
        Ok(Opened { input, packing })
    }
}

fn stream(name: &str, id: &str, reader: Stream) -> Entry {
    let (name, id, reader) = (name.to_owned(), id.to_owned(), Mutex::new(Some(reader)));
    Entry { at: Location::Stream { name, id, reader }, page: None }
}
