//! Reads and writes corpora in every format: WARC, WET, ARC, JSONL, Parquet, HTML, text; plain, gzip, Zstandard,
//! bzip2 or xz; from files, folders, globs, lists, standard input, object stores, web servers and hubs. Writes
//! JSONL, Parquet and WARC.
//!
//! ```no_run
//! use std::num::NonZero;
//! use hapax_corpus::{ReadOptions, Source};
//!
//! let source = Source::open(&["crawl/*.warc.gz"], ReadOptions::default())?;
//! let mut bytes = 0;
//! source.in_order(
//!     NonZero::new(4).expect("four is not zero"),
//!     |mut batch| {
//!         let lengths = batch.documents().map(|it| it.map(|it| it.body.content.as_bytes().len()));
//!         lengths.sum::<Result<usize, _>>()
//!     },
//!     |sum| sum.map(|sum| bytes += sum),
//! )?;
//! # Ok::<(), hapax_corpus::Error>(())
//! ```
//!
//! Guarantees: documents come in a fixed order with any number of threads. Memory is bounded by [`Limits`]. Bad
//! input is an [`Error`] with file and place or, with [`skip_bad`](ReadOptions::skip_bad), an [`Entry::Bad`].
//! Every document can be read again by its [`Place`]. [`Source`] finds files, a [`Part`] splits one into
//! [`Batch`]es of [`Entry`]s; [`hpx`] is independent. Does not know how documents are used, and does not expose
//! types of arrow and parquet.

mod batch;
mod document;
mod error;
mod fetch;
pub mod hpx;
mod inputs;
mod occurrence;
mod options;
mod origin;
mod original;
mod part;
mod pipeline;
mod read;
mod shard;
mod sniff;
mod source;
mod timestamp;
mod unpack;
mod window;
pub mod write;

pub use batch::Batch;
pub use document::{Bad, Body, Content, Document, Entry, Fact, FileId, Kind, Place, Reason};
pub use error::{At, Error, Remedy};
pub use hapax_remote::{is_address, shown};
pub use inputs::Ignored;
pub use occurrence::{Absent, check_fields};
pub use options::{Fields, Format, Limits, ReadOptions, Role, WarcId};
pub use origin::{Stamp, open_file};
pub use original::{Archived, Original};
pub use part::Part;
pub use pipeline::AHEAD;
pub use read::parquet::{Row, rows_at_a_time};
pub use shard::{ParseShardError, Shard};
pub use sniff::page_type;
pub use source::Source;
pub use timestamp::{NoSuchTime, Timestamp};
pub use unpack::{Packing, Unpacked};
pub use write::Writer;
