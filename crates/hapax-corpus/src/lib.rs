//! Reads and writes corpora, whatever they are stored in.
//!
//! Reads WARC, WET, ARC, JSONL, Parquet, folders of HTML and text, and text a document a line; plain,
//! gzip, Zstandard, bzip2 or xz; files, folders, globs, lists of files, standard input;
//! also addresses of object stores, web servers and hubs. Writes JSONL,
//! Parquet, and WARC with the records that were kept.
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
//! # Promises
//!
//! - Documents come in a fixed order: inputs as named, files in order of their names, records as
//!   they lie in the file. It does not depend on the number of threads.
//! - Memory is bounded by [`Limits`], whatever the files hold or claim.
//! - Bad input is an [`Error`] with the file and the place, or with
//!   [`skip_bad`](ReadOptions::skip_bad) an [`Entry::Bad`], and reading goes on behind it.
//! - Every document can be fetched again by its [`Place`].
//!
//! # Reading order
//!
//! [`Source`] finds files, a [`Part`] cuts one into [`Batch`]es, a batch decodes into [`Entry`]s.
//!
//! [`hpx`] stands by itself: the fingerprints of a collection in one file that grows.
//!
//! # What this crate does not know
//!
//! What documents are used for. The versions of arrow and parquet stay inside.

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
pub use document::{Body, Content, Document, Entry, Fact, FileId, Kind, Place, Reason};
pub use error::{At, Error, Remedy};
pub use hapax_remote::{is_address, shown};
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
pub use timestamp::Timestamp;
pub use unpack::{Packing, Unpacked};
pub use write::Writer;
