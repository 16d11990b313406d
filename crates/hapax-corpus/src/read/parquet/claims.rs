//! Checks the sizes claimed by the pages of a Parquet file before the library allocates memory for them.
//!
//! The library reserves what a page claims, unpacks gzip and LZ4 without a limit, and copies a dictionary value
//! for every row that refers to it, so a few kilobytes could take all memory. Reads all page headers of a
//! column first. Guarantees that no page unpacks to more than [`VALUES`] times the longest value allowed
//! (`limits.record`). [`Claims::rows`] is the number of rows that can be decoded together so that copied values
//! stay within one value's length, or one row. Does not bound time, because nulls take no space.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use parquet::basic::{Compression, Type};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::header::{DELTA_BYTE_ARRAY, DICTIONARY_PAGE, Header};

/// A page may be this many times as long as the longest value, because it holds several.
const VALUES: u64 = 4;

/// Maximum expansion by compression: deflate and LZ4 by their formats, Snappy by copies of up to 64
/// bytes in three.
const GZIP_GROWTH: u64 = 1032;
const LZ4_GROWTH: u64 = 255;
const SNAPPY_GROWTH: u64 = 22;
/// Additional bytes for headers of the formats.
const SLACK: u64 = 64;

/// Minimum decoded size of an element of a list.
const ELEMENT_BYTES: u64 = 4;

/// Why a column is not read.
#[derive(Debug)]
pub(super) enum Refusal {
    Io(io::Error),
    /// It violates the format or cannot be true.
    Damaged(String),
    /// It may be true, but exceeds the limit.
    TooLong {
        /// The limit.
        limit: u64,
    },
}

/// Upper bounds for the checked columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claims {
    longest: u64,
    /// The longest value that rows may share, 0 if each row has its own.
    shared: u64,
}

impl Claims {
    /// Before any column was checked; `longest` is the longest value allowed.
    pub(super) fn new(longest: u64) -> Self {
        Self { longest: longest.max(1), shared: 0 }
    }

    /// Checks the columns of a row group for which `wanted` is true.
    pub(super) fn check(
        &mut self,
        file: &File,
        group: &RowGroupMetaData,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<(), Refusal> {
        for (number, column) in group.columns().iter().enumerate() {
            if wanted(number) {
                let rows = u64::try_from(group.num_rows()).unwrap_or(0);
                self.check_column(file, column, rows)?;
            }
        }
        Ok(())
    }

    /// How many rows, at most `most`, can be decoded together.
    pub(super) fn rows(&self, most: usize) -> usize {
        match self.longest.checked_div(self.shared) {
            Some(rows) => usize::try_from(rows).unwrap_or(usize::MAX).clamp(1, most.max(1)),
            None => most,
        }
    }

    fn check_column(
        &mut self,
        file: &File,
        column: &ColumnChunkMetaData,
        rows: u64,
    ) -> Result<(), Refusal> {
        let limit = self.longest.saturating_mul(VALUES);
        let kind = column.column_type();
        if kind == Type::FIXED_LEN_BYTE_ARRAY {
            // Rows without a value take space all the same.
            let length = u64::try_from(column.column_descr().type_length()).unwrap_or(0);
            if length > limit {
                return Err(Refusal::TooLong { limit });
            }
            self.shared = self.shared.max(length);
        }
        let (start, mut left) = column.byte_range();
        // Nothing is read after the last row, and some writers state a wrong length. Pages of lists
        // do not state their number of rows.
        let mut values = if column.column_descr().max_rep_level() == 0 { rows } else { u64::MAX };
        let mut source = BufReader::with_capacity(16 << 10, file);
        source.seek(SeekFrom::Start(start)).map_err(Refusal::Io)?;
        while left > 0 && values > 0 {
            let mut bounded = (&mut source).take(left);
            let page = Header::read(&mut bounded).map_err(Refusal::of_header)?;
            left = bounded.limit();
            if page.packed > left {
                return Err(damaged("a page claims more bytes than its column has"));
            }
            left -= page.packed;
            if page.unpacked > limit || page.values.saturating_mul(ELEMENT_BYTES) > limit {
                return Err(Refusal::TooLong { limit });
            }
            if kind == Type::BYTE_ARRAY
                && (page.kind == DICTIONARY_PAGE || page.encoding == DELTA_BYTE_ARRAY)
            {
                self.shared = self.shared.max(page.unpacked);
            }
            let used = unpack(&mut source, column.compression(), &page, limit)?;
            skip(&mut source, page.packed - used).map_err(Refusal::Io)?;
            if page.kind != DICTIONARY_PAGE {
                values = values.saturating_sub(page.values);
            }
        }
        Ok(())
    }
}

impl Refusal {
    fn of_header(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Self::Damaged(error.to_string()),
            io::ErrorKind::UnexpectedEof => damaged("a column ends inside the header of a page"),
            _ => Self::Io(error),
        }
    }
}

/// Refuses impossible claims, unpacking a page to nowhere if only that shows its length. Returns
/// the number of bytes read.
fn unpack(
    source: &mut BufReader<&File>,
    compression: Compression,
    page: &Header,
    limit: u64,
) -> Result<u64, Refusal> {
    let filled_first = |growth: u64| {
        if page.unpacked > page.packed.saturating_mul(growth).saturating_add(SLACK) {
            return Err(damaged("a page claims to unpack to more than its bytes can hold"));
        }
        Ok(())
    };
    let growth = match compression {
        Compression::GZIP(_) => GZIP_GROWTH,
        Compression::LZ4 => LZ4_GROWTH,
        Compression::SNAPPY => return filled_first(SNAPPY_GROWTH).map(|()| 0),
        Compression::LZ4_RAW => return filled_first(LZ4_GROWTH).map(|()| 0),
        _ => return Ok(0),
    };
    filled_first(growth)?;
    let levels = page.levels.min(page.packed);
    let packed = page.packed - levels;
    if packed.saturating_mul(growth) <= limit {
        return Ok(0);
    }
    skip(source, levels).map_err(Refusal::Io)?;
    let mut body = source.take(packed);
    let most = limit.saturating_add(1);
    // Invalid streams end early; the library reports them.
    let unpacked = match compression {
        Compression::GZIP(_) => length(flate2::read::MultiGzDecoder::new(&mut body), most),
        _ => length(lz4_flex::frame::FrameDecoder::new(&mut body), most),
    };
    if unpacked > limit {
        return Err(Refusal::TooLong { limit });
    }
    Ok(page.packed - body.limit())
}

/// The length of a stream, up to `most` or to damage.
fn length(stream: impl Read, most: u64) -> u64 {
    let (mut stream, mut buffer, mut sum) = (stream.take(most), [0; 16 << 10], 0);
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        sum += read as u64;
    }
    sum
}

fn skip(source: &mut BufReader<&File>, bytes: u64) -> io::Result<()> {
    source.seek_relative(i64::try_from(bytes).map_err(io::Error::other)?)
}

fn damaged(what: &str) -> Refusal {
    Refusal::Damaged(what.to_owned())
}
