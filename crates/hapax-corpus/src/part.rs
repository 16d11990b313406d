//! Reads one part of a source from start to end.
//!
//! The file is opened with the first batch, so a part costs nothing before it is read. A file that cannot be
//! opened, or has another format than stated or implied by its name, gives one batch with the error.

use std::ops::Range;
use std::sync::Arc;

use crate::batch::{Batch, Context, Payload};
use crate::document::{FileId, LOOKED_AT};
use crate::error::Error;
use crate::occurrence::Search;
use crate::options::Format;
use crate::read::lines::LineReader;
use crate::read::pages;
use crate::read::parquet::{RowGroup, Table};
use crate::read::records::{RecordReader, Style};
use crate::sniff;
use crate::source::{Files, Source};
use crate::unpack::Packing;
use crate::window::Window;

/// An iterator over the batches of a part; see [`Source::part`].
pub struct Part {
    part: usize,
    index: usize,
    files: Arc<Files>,
    context: Context,
    state: PartReader,
    /// File offset after the last batch.
    offset: u64,
    /// Searches for the fields named by the caller, if this part is the whole corpus.
    search: Option<Search>,
}

enum PartReader {
    Unopened,
    Pages(Range<u32>),
    Json(LineReader),
    Text(LineReader),
    Records(RecordReader),
    Rows(Box<dyn Iterator<Item = RowGroup> + Send>),
    /// A file that is one document.
    Whole(Window, Format),
    Done,
}

impl Part {
    pub(crate) fn new(source: &Source, part: usize, ids: Range<u32>, pages: bool) -> Self {
        let context = source.context(FileId(ids.start));
        let state = if pages { PartReader::Pages(ids) } else { PartReader::Unopened };
        let named = &source.options.named;
        let whole = source.files().len() == 1 && !named.is_empty();
        let search = whole.then(|| Search::of(named.iter().map(|(_, name)| name.as_str())));
        Self { part, index: 0, files: Arc::clone(&source.files), context, state, offset: 0, search }
    }

    /// Opens the file at its first record; also returns damage that was skipped on the way.
    fn open(&self) -> Result<(PartReader, Option<Error>), Error> {
        let context = &self.context;
        let options = &context.options;
        let opened = self.files.open(context.file)?;
        let packing = opened.packing;
        let mut window = opened
            .window(&options.limits)
            .map_err(|cause| Error::io("read", &*context.name, cause))?;
        look_at_start(&mut window);
        let mut damage = None;
        if window.sound() == 0 {
            damage = window.recover(&context.name);
            look_at_start(&mut window);
        }
        if let Some(error) = damage.take_if(|_| !options.skip_bad || window.data.is_empty()) {
            return Err(error);
        }
        let first = &window.data[..window.data.len().min(LOOKED_AT)];
        let name = self.files.path(context.file).unwrap_or("".as_ref());
        let format = match options.format {
            Some(format) if sniff::fits(first, format) => format,
            Some(expected) => {
                let found = sniff::describe(&window.data, packing);
                return Err(Error::WrongFormat { path: context.path(), expected, found });
            }
            None => match sniff::look(first, name).format(&context.name, first, packing)? {
                Some(format) => format,
                None => return Ok((PartReader::Done, damage)),
            },
        };
        let lines =
            |window| LineReader::new(window, context.path(), &options.limits, options.skip_bad);
        let records = |window, style| {
            RecordReader::new(window, style, context.path(), &options.limits, options.skip_bad)
        };
        let state = match format {
            Format::Jsonl => PartReader::Json(lines(window)),
            Format::Lines => PartReader::Text(lines(window)),
            Format::Warc => PartReader::Records(records(window, Style::Warc)),
            Format::Arc => PartReader::Records(records(window, Style::Arc)),
            Format::Html | Format::Text => match damage {
                // A document must not be read in part.
                Some(error) => return Err(error),
                None => PartReader::Whole(window, format),
            },
            Format::Parquet => PartReader::Rows(Box::new(self.table(packing)?.groups())),
        };
        Ok((state, damage))
    }

    fn table(&self, packing: Packing) -> Result<Table, Error> {
        let context = &self.context;
        if packing != Packing::Plain {
            return Err(Error::Unsupported {
                path: context.path(),
                what: format!("Parquet inside {packing} cannot be read; unpack it first"),
            });
        }
        let Some(origin) = self.files.origin(context.file) else {
            return Err(Error::Unsupported {
                path: context.path(),
                what: "Parquet cannot be read from a stream; save it to a file first".to_owned(),
            });
        };
        Table::open(&context.name, origin, &context.options)
    }

    fn batch(&mut self, payload: Payload, bad: Option<Error>, offset: u64) -> Batch {
        let index = self.index;
        self.index += 1;
        let input_bytes = offset.saturating_sub(self.offset);
        self.offset = self.offset.max(offset);
        if bad.is_some() && !self.context.options.skip_bad {
            self.state = PartReader::Done;
            self.search = None;
        }
        let (context, part) = (self.context.clone(), self.part);
        Batch { context, payload, bad, part, index, input_bytes }
    }
}

/// Reads enough to see past a byte order mark, blank lines and an XML declaration, and until the
/// bytes are reliable: a damaged first member must not decide the format.
pub(crate) fn look_at_start(window: &mut Window) {
    while window.sound() < LOOKED_AT && window.more() {}
}

impl Iterator for Part {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let read = self.read();
        let Some(search) = &self.search else { return read };
        let (batch, absent) = match read {
            // A stream can be read only once, so this is the only chance to check its fields.
            Some(mut batch) => {
                search.look_into(&mut batch);
                let stream = self.files.path(self.context.file).is_none();
                (Some(batch), search.absent().filter(|_| stream))
            }
            None => (None, search.absent()),
        };
        let Some(absent) = absent else { return batch };
        self.state = PartReader::Done;
        self.search = None;
        let error = absent.error(&self.context.options, batch.is_some());
        Some(self.batch(Payload::Nothing, Some(error), self.offset))
    }
}

impl Part {
    fn read(&mut self) -> Option<Batch> {
        if matches!(self.state, PartReader::Unopened) {
            match self.open() {
                Ok((state, damage)) => {
                    self.state = state;
                    if damage.is_some() {
                        return Some(self.batch(Payload::Nothing, damage, 0));
                    }
                }
                Err(error) => {
                    self.state = PartReader::Done;
                    return Some(self.batch(Payload::Nothing, Some(error), 0));
                }
            }
        }
        let (payload, bad, offset) = match &mut self.state {
            PartReader::Unopened | PartReader::Done => return None,
            PartReader::Json(reader) => {
                let mut lines = reader.next_batch()?;
                let bad = lines.bad.take();
                (Payload::Json(lines), bad, reader.offset())
            }
            PartReader::Text(reader) => {
                let mut lines = reader.next_batch()?;
                let bad = lines.bad.take();
                (Payload::Text(lines), bad, reader.offset())
            }
            PartReader::Records(reader) => {
                let mut records = reader.next_batch()?;
                let bad = records.bad.take();
                (Payload::Records(records), bad, reader.offset())
            }
            PartReader::Rows(groups) => {
                let group = groups.next()?;
                let offset = self.offset + group.packed_bytes();
                (Payload::Rows(group, None), None, offset)
            }
            PartReader::Pages(ids) => {
                let ids = ids.clone();
                self.state = PartReader::Done;
                (Payload::Pages(Arc::clone(&self.files), ids, None), None, 0)
            }
            PartReader::Whole(window, format) => {
                let (context, format) = (&self.context, *format);
                let id = self.files.document_id(context.file);
                let page = pages::whole(context, id, context.file, window, format);
                let offset = window.offset();
                self.state = PartReader::Done;
                match page {
                    Ok(page) => (Payload::Page(Some(Box::new(page))), None, offset),
                    Err(error) => (Payload::Nothing, Some(error), offset),
                }
            }
        };
        Some(self.batch(payload, bad, offset))
    }
}
