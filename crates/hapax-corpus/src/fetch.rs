//! Reads one document again by its place.
//!
//! Seeks to the record in an uncompressed file, and to the record's gzip member in an archive. A file that is
//! one compressed stream must be unpacked up to the record, which costs time but no memory.

use crate::batch::{Batch, Payload};
use crate::document::{Document, Entry, Place};
use crate::error::{At, Error};
use crate::options::Format;
use crate::part::look_at_start;
use crate::read::lines::Lines;
use crate::read::parquet::Table;
use crate::read::records::{RecordReader, Style};
use crate::sniff;
use crate::source::Source;
use crate::unpack::{Packing, Unpack};
use crate::window::Window;

impl Source {
    /// The document at `place`; an error if there is none any more.
    pub fn read_at(&self, place: Place) -> Result<Document<'static>, Error> {
        let mut batch = self.batch_at(place)?;
        let gone = || Error::Damaged {
            path: batch_name(self, place),
            at: At::Row(place.number),
            what: "there is no document here; the file has changed since it was read".to_owned(),
        };
        // With `skip_bad` an error would be an entry; here it is the result.
        let entry = batch.entries().next().ok_or_else(gone)?;
        match entry? {
            Entry::Document(document) => Ok(document.into_owned()),
            Entry::Bad(bad) => Err(bad.error),
            Entry::Fact(_) | Entry::Passed { .. } => Err(gone()),
        }
    }

    /// A batch with this record only.
    fn batch_at(&self, place: Place) -> Result<Batch, Error> {
        let context = self.context(place.file);
        let limits = &self.options.limits;
        let cannot_read = |cause| Error::io("read", &*context.name, cause);
        let Some(origin) = self.files.origin(place.file) else {
            return Err(Error::Unsupported {
                path: context.path(),
                what: "cannot be gone back in; save it to a file first".to_owned(),
            });
        };
        let mut opened = self.files.open(place.file)?;
        let packing = opened.packing;
        let batch = |payload| Batch {
            context: context.clone(),
            payload,
            bad: None,
            part: 0,
            index: 0,
            input_bytes: 0,
        };
        // Other formats can only be recognized at the start of the file.
        let format = match self.options.format.or_else(|| self.files.page_format(place.file)) {
            Some(format) => format,
            None => self.format_at_start(place)?,
        };
        match format {
            Format::Parquet => {
                let table = Table::open(&context.name, origin, &self.options)?;
                let group = table.groups().find(|group| place.number <= group.last());
                let group = group.ok_or_else(|| Error::Damaged {
                    path: context.path(),
                    at: At::Row(place.number),
                    what: "the file has fewer rows than when it was read".to_owned(),
                })?;
                return Ok(batch(Payload::Rows(group, Some(place.number))));
            }
            Format::Html | Format::Text => {
                let ids = place.file.0..place.file.0 + 1;
                return Ok(batch(Payload::Pages(self.files.clone(), ids, Some(format))));
            }
            Format::Warc | Format::Arc | Format::Jsonl | Format::Lines => {}
        }
        let (start, within) = match packing {
            Packing::Plain => (place.within, 0),
            _ => (place.member, place.within),
        };
        if start > 0 {
            opened.input.seek(start).map_err(cannot_read)?;
        }
        let unpack = Unpack::new(opened.input, packing).map_err(cannot_read)?;
        let mut window = Window::new(unpack, packing, limits);
        let length = place.length as usize;
        if !window.discard(within, false) {
            return Err(self.stops_early(&mut window, place));
        }
        if matches!(format, Format::Warc | Format::Arc) {
            let style = if format == Format::Warc { Style::Warc } else { Style::Arc };
            let mut just_one = limits.clone();
            just_one.batch = 1;
            let mut reader = RecordReader::new(window, style, context.path(), &just_one, false)
                .numbered_from(place.number);
            let Some(mut records) = reader.next_batch() else {
                return Ok(batch(Payload::Nothing));
            };
            if let Some(error) = records.bad.take() {
                return Err(error);
            }
            return Ok(batch(Payload::Records(records)));
        }
        while window.data.len() < length && window.more() {}
        if window.data.len() < length {
            return Err(self.stops_early(&mut window, place));
        }
        window.data.truncate(length);
        let chunk = Window::chunk_of(std::mem::take(&mut window.data), place, packing);
        let lines = Lines { chunk, first: place.number, bad: None };
        Ok(batch(if format == Format::Jsonl { Payload::Json(lines) } else { Payload::Text(lines) }))
    }

    fn format_at_start(&self, place: Place) -> Result<Format, Error> {
        let name = self.files.name(place.file);
        let cannot_read = |cause| Error::io("read", &name, cause);
        let opened = self.files.open(place.file)?;
        let packing = opened.packing;
        let mut window = opened.window(&self.options.limits).map_err(cannot_read)?;
        look_at_start(&mut window);
        let path = self.files.path(place.file).unwrap_or("".as_ref());
        let first = &window.data[..window.data.len().min(4096)];
        // An empty file has no document in any format.
        let format = sniff::look(first, path).format(&name, first, packing)?;
        Ok(format.unwrap_or(Format::Text))
    }

    fn stops_early(&self, window: &mut Window, place: Place) -> Error {
        let path = batch_name(self, place);
        window.recover(&path).unwrap_or_else(|| Error::Damaged {
            path,
            at: window.at(0),
            what: "the file is shorter than when it was read".to_owned(),
        })
    }
}

fn batch_name(source: &Source, place: Place) -> String {
    source.files.name(place.file)
}
