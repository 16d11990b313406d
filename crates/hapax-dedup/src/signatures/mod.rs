//! What is remembered of pages, in a file.
//!
//! Three uses: `kept.signatures` beside the kept documents, for the next crawl to be compared with; the
//! checkpoint from which an interrupted job goes on; and the signatures of a shard, for one process to decide about
//! all of them.
//!
//! ```text
//!   "HAPAXIMP"  version u32  length u32  header (JSON)  checksum
//!   length u32  batch  checksum
//!   length u32  batch  checksum
//!   ...
//! ```
//!
//! Numbers are little-endian. A checksum is the first 8 bytes of the BLAKE3 hash of what stands between the
//! length and it. A batch is what [`batch`] says; of a shard, each is followed by what [`records`] says.
//!
//! # What it promises
//!
//! Whatever the bytes are, reading ends in batches or an error, in memory bounded by the file.

mod batch;
pub(crate) mod checkpoint;
mod file;
mod inputs;
mod records;

pub(crate) use batch::{SignatureBatch, page_bytes, page_of_bytes};
pub(crate) use file::{Block, Header, ShardInputs, SignatureReader, SignatureWriter};
pub(crate) use inputs::Inputs;
pub(crate) use records::{BatchRecords, Passed};
