//! What is remembered of pages, in a file.
//!
//! Two uses: `kept.signatures` beside the kept documents, for the next crawl to be compared with; and the
//! checkpoint from which an interrupted job goes on.
//!
//! ```text
//!   "HAPAXIMP"  version u32  length u32  header (JSON)  checksum
//!   length u32  batch  checksum
//!   length u32  batch  checksum
//!   ...
//! ```
//!
//! Numbers are little-endian. A checksum is the first 8 bytes of the BLAKE3 hash of what stands between the
//! length and it. A batch is what [`batch`] says.
//!
//! # What it promises
//!
//! Whatever the bytes are, reading ends in batches or an error, in memory bounded by the file.

mod batch;
pub(crate) mod checkpoint;
mod file;
mod inputs;

pub(crate) use batch::{SignatureBatch, page_bytes, page_of_bytes};
pub(crate) use file::{Header, SignatureReader, SignatureWriter};
pub(crate) use inputs::Inputs;
