//! Reads rows of a Parquet file as documents.
//!
//! A row group is the unit of work, decoded a few megabytes of rows at a time. Columns are resolved by name
//! once per file; text may be string or binary, plain or dictionary-encoded. The claims of a file about its
//! schema and sizes are checked first ([`schema`], [`claims`]), and a panic of the library becomes an error.
//! Does not expose types of arrow and parquet.

mod claims;
mod header;
mod schema;

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;

use self::claims::{Claims, Refusal};
use super::cell::Cell;
use crate::batch::Context;
use crate::document::{Body, Content, Document, Entry, FileId, Kind, Place, Reason};
use crate::error::{At, Error};
use crate::options::{Limits, ReadOptions, Role};
use crate::origin::Origin;
use crate::original::Original;
use crate::timestamp::{NoSuchTime, Timestamp};

/// Approximate bytes of rows decoded at a time.
const ROWS_BYTES: u64 = 4 << 20;
const MOST_ROWS: u64 = 4096;

/// A row of a table with all its columns.
#[derive(Clone, Debug)]
pub struct Row {
    pub(crate) rows: RecordBatch,
    pub(crate) row: usize,
    /// Key-value pairs of the file, which other programs may need.
    pub(crate) metadata: Arc<Vec<KeyValue>>,
}

impl Row {
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        Cell::of(self.rows.column_by_name(name)?, self.row).into_text()
    }
}

/// A Parquet file with resolved columns.
#[derive(Clone)]
pub(crate) struct Table {
    path: Arc<str>,
    origin: Origin,
    footer: ArrowReaderMetadata,
    /// For each role, the index of its column among those that are read.
    columns: [Option<usize>; Role::ALL.len()],
    /// Indexes of the columns to read; `None` for all.
    only: Option<Vec<usize>>,
    metadata: Arc<Vec<KeyValue>>,
}

/// A row group to read.
pub(crate) struct RowGroup {
    table: Table,
    group: usize,
    /// Number of its first row, from 1.
    first: u64,
}

impl Table {
    pub(crate) fn open(path: &str, origin: &Origin, options: &ReadOptions) -> Result<Self, Error> {
        let file = origin.footer().map_err(|cause| Error::io("open", path, cause))?;
        let footer = guarded(path, At::File, || load_footer(path, &file))?;
        let schema = footer.schema();
        let mut columns =
            Role::ALL.map(|role| options.fields.find(role, |name| schema.index_of(name).ok()));
        let body = columns[Role::Html as usize].or(columns[Role::Text as usize]);
        let Some(body) = body else {
            let names: Vec<&str> =
                schema.fields().iter().map(|field| field.name().as_str()).collect();
            return Err(Error::Missing {
                path: path.to_owned(),
                at: At::File,
                wanted: options.fields.body_names().replace("field", "column"),
                found: names.join(", "),
            });
        };
        let field = schema.field(body);
        if !is_text(field.data_type()) {
            return Err(Error::WrongType {
                path: path.to_owned(),
                at: At::File,
                field: format!("column {}", field.name()),
                found: field.data_type().to_string(),
                expected: "text or bytes",
            });
        }
        let only = options.only_known_columns.then(|| {
            let mut wanted: Vec<usize> = columns.iter().flatten().copied().collect();
            wanted.sort_unstable();
            wanted.dedup();
            for column in columns.iter_mut().flatten() {
                *column = wanted.partition_point(|known| known < column);
            }
            wanted
        });
        let pairs = footer.metadata().file_metadata().key_value_metadata();
        // Every writer encodes the schema again.
        let kept = pairs.into_iter().flatten().filter(|pair| pair.key != "ARROW:schema");
        let metadata = Arc::new(kept.cloned().collect());
        let (path, origin) = (path.into(), origin.clone());
        Ok(Self { path, origin, footer, columns, only, metadata })
    }

    /// The row groups in order.
    pub(crate) fn groups(self) -> impl Iterator<Item = RowGroup> {
        let mut first = 1;
        (0..self.footer.metadata().num_row_groups()).map(move |group| {
            let rows = self.footer.metadata().row_group(group).num_rows();
            let item = RowGroup { table: self.clone(), group, first };
            first += u64::try_from(rows).unwrap_or(0);
            item
        })
    }
}

impl RowGroup {
    /// Its compressed size in bytes.
    pub(crate) fn packed_bytes(&self) -> u64 {
        let group = self.table.footer.metadata().row_group(self.group);
        u64::try_from(group.compressed_size()).unwrap_or(0)
    }

    /// The names of all columns of the file.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.table.footer.schema().fields().iter().map(|field| field.name().as_str())
    }

    /// The range of its row numbers.
    pub(crate) fn extent(&self) -> Range<u64> {
        self.first..self.last() + 1
    }

    /// The number of its last row; one less than the first if it is empty.
    pub(crate) fn last(&self) -> u64 {
        let rows = self.table.footer.metadata().row_group(self.group).num_rows();
        self.first + u64::try_from(rows).unwrap_or(0) - 1
    }

    fn reader(
        &self,
        only_row: Option<u64>,
        longest: u64,
    ) -> Result<ParquetRecordBatchReader, Error> {
        let path = &*self.table.path;
        let at = At::Row(self.first);
        let footer = self.table.footer.clone();
        let group = footer.metadata().row_group(self.group);
        let bytes = u64::try_from(group.total_byte_size()).unwrap_or(0).max(1);
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        let at_a_time = (rows.saturating_mul(ROWS_BYTES) / bytes).clamp(1, MOST_ROWS);
        let schema = footer.parquet_schema();
        let mask = match &self.table.only {
            Some(only) => ProjectionMask::roots(schema, only.iter().copied()),
            None => ProjectionMask::all(),
        };
        let places = || {
            let leaves = group.columns().iter().enumerate();
            let wanted = leaves.filter(|(leaf, _)| mask.leaf_included(*leaf));
            wanted.map(|(_, column)| column.byte_range()).map(|(at, size)| at..at + size).collect()
        };
        let file = self.table.origin.parts(places);
        let file = file.map_err(|cause| Error::io("open", path, cause))?;
        let mut claims = Claims::new(longest);
        claims
            .check(&file, group, |leaf| mask.leaf_included(leaf))
            .map_err(|refusal| refused(path, at, refusal))?;
        let at_a_time = claims.rows(at_a_time as usize);
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, footer)
            .with_row_groups(vec![self.group])
            .with_batch_size(at_a_time)
            .with_projection(mask);
        if let Some(row) = only_row {
            let before = (row - self.first) as usize;
            let selectors = vec![RowSelector::skip(before), RowSelector::select(1)];
            builder = builder.with_row_selection(RowSelection::from(selectors));
        }
        guarded(path, at, || builder.build().map_err(|error| damaged(path, at, &error)))
    }

    /// All rows, or the one with this number.
    pub(crate) fn entries<'a>(
        &'a self,
        context: &'a Context,
        only_row: Option<u64>,
    ) -> impl Iterator<Item = Result<Entry<'a>, Error>> + 'a {
        let longest = context.options.limits.record() as u64;
        let (mut reader, mut failed) = match self.reader(only_row, longest) {
            Ok(reader) => (Some(reader), None),
            Err(error) => (None, Some(error)),
        };
        let mut number = only_row.unwrap_or(self.first);
        let mut rows: Option<RecordBatch> = None;
        let mut row = 0;
        std::iter::from_fn(move || {
            loop {
                if let Some(error) = failed.take() {
                    return Some(Err(error));
                }
                if let Some(current) = rows.as_ref().filter(|it| row < it.num_rows()) {
                    let entry = self.entry(context, current, row, number);
                    row += 1;
                    number += 1;
                    return Some(entry);
                }
                let (path, at) = (&*self.table.path, At::Row(number));
                let current = reader.as_mut()?;
                let next = guarded(path, at, || {
                    current.next().transpose().map_err(|error| {
                        let what = error.to_string();
                        Error::Damaged { path: path.to_owned(), at, what }
                    })
                });
                match next {
                    Ok(next) => (rows, row) = (Some(next?), 0),
                    Err(error) => (reader, failed) = (None, Some(error)),
                }
            }
        })
    }

    fn entry(
        &self,
        context: &Context,
        rows: &RecordBatch,
        row: usize,
        number: u64,
    ) -> Result<Entry<'static>, Error> {
        let cell = |role: Role| match self.table.columns[role as usize] {
            Some(column) => Cell::of(rows.column(column), row),
            None => Cell::Null,
        };
        let (kind, content) = match (cell(Role::Html), cell(Role::Text)) {
            (Cell::Str(html), _) => (Kind::Html, Content::Str(Cow::Owned(html))),
            (Cell::Bytes(html), _) => (Kind::Html, Content::Bytes(Cow::Owned(html))),
            (_, Cell::Str(text)) => (Kind::Text, Content::Str(Cow::Owned(text))),
            (_, Cell::Bytes(text)) => (Kind::Text, Content::Bytes(Cow::Owned(text))),
            _ => {
                let place = place(context.file, number);
                let name = cell(Role::Id).into_text().or_else(|| cell(Role::Url).into_text());
                let name = name.map(Cow::Owned);
                return Ok(Entry::Passed { reason: Reason::NoBody, place, name });
            }
        };
        let limit = context.options.limits.record() as u64;
        if content.as_bytes().len() as u64 > limit {
            return Err(Error::TooLong {
                path: context.path(),
                at: At::Row(number),
                part: "a value",
                limit,
                knob: "record",
            });
        }
        let url = cell(Role::Url).into_text();
        let id = cell(Role::Id).into_text().or_else(|| url.clone());
        let original = if self.table.only.is_some() {
            Original::Nothing
        } else {
            let metadata = Arc::clone(&self.table.metadata);
            Original::Row(Row { rows: rows.clone(), row, metadata })
        };
        Ok(Entry::Document(Document {
            id: Cow::Owned(id.unwrap_or_else(|| context.fallback_id(number))),
            url: url.map(Cow::Owned),
            body: Body { kind, content },
            content_type: None,
            score: cell(Role::Score).into_number().filter(|score| !score.is_nan()),
            fetched: fetched(context, number, cell(Role::Fetched))?,
            language: cell(Role::Language).into_text().map(Cow::Owned),
            http_language: None,
            http_link: None,
            place: place(context.file, number),
            original,
        }))
    }
}

fn fetched(context: &Context, number: u64, cell: Cell) -> Result<Option<Timestamp>, Error> {
    Ok(match cell {
        Cell::Seconds(seconds) => Some(Timestamp::from_seconds(seconds)),
        Cell::Whole(number) => Some(Timestamp::from_number(number)),
        Cell::Number(number) => Some(Timestamp::from_number(number as i64)),
        Cell::Str(text) => Timestamp::of_field(&text)
            .map_err(|NoSuchTime| Error::no_such_time(context.path(), At::Row(number), &text))?,
        Cell::Null | Cell::Bytes(_) | Cell::Other => None,
    })
}

fn place(file: FileId, number: u64) -> Place {
    Place { file, number, member: 0, within: 0, length: 0 }
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// How many rows, at most `most`, of a table that is not a corpus can be decoded together, after
/// checking the sizes that the table claims against the default [`Limits`].
///
/// # Errors
///
/// Not a valid Parquet file, or a page is too long.
pub fn rows_at_a_time(file: &File, most: usize) -> Result<usize, Error> {
    let path = "the table";
    guarded(path, At::File, || {
        let footer = load_footer(path, file)?;
        let mut claims = Claims::new(Limits::default().record() as u64);
        for group in footer.metadata().row_groups() {
            claims.check(file, group, |_| true).map_err(|it| refused(path, At::File, it))?;
        }
        Ok(claims.rows(most))
    })
}

/// Checks sizes and offsets that the library trusts.
fn load_footer(path: &str, file: &File) -> Result<ArrowReaderMetadata, Error> {
    schema::check(file).map_err(|refusal| refused(path, At::File, refusal))?;
    let footer = ArrowReaderMetadata::load(file, ArrowReaderOptions::new())
        .map_err(|error| damaged(path, At::File, &error))?;
    let length = file.metadata().map_err(|cause| Error::io("read", path, cause))?.len();
    let columns = footer.metadata().row_groups().iter().flat_map(|group| group.columns());
    for column in columns {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let inside = u64::try_from(start)
            .ok()
            .zip(u64::try_from(column.compressed_size()).ok())
            .and_then(|(start, size)| start.checked_add(size))
            .is_some_and(|end| end <= length);
        if !inside {
            let what = format!("the footer puts column {} outside the file", column.column_path());
            return Err(Error::Damaged { path: path.to_owned(), at: At::File, what });
        }
    }
    Ok(footer)
}

/// Turns panics of the library on damaged files into errors.
fn guarded<T>(path: &str, at: At, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // Anything left inconsistent by a panic is dropped with the reader.
    hapax_guard::guarded(read).unwrap_or_else(|_| {
        let what = "the Parquet reader gave up on damaged data".to_owned();
        Err(Error::Damaged { path: path.to_owned(), at, what })
    })
}

fn refused(path: &str, at: At, refusal: Refusal) -> Error {
    match refusal {
        Refusal::Io(cause) => Error::io("read", path, cause),
        Refusal::Damaged(what) => Error::Damaged { path: path.to_owned(), at, what },
        Refusal::TooLong { limit } => {
            Error::TooLong { path: path.to_owned(), at, part: "a page", limit, knob: "record" }
        }
    }
}

fn damaged(path: &str, at: At, error: &ParquetError) -> Error {
    Error::Damaged { path: path.to_owned(), at, what: error.to_string() }
}
