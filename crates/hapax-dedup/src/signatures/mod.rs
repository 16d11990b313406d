//! Keeps signatures of pages in a file: `kept.signatures` for the next crawl, the checkpoint of an interrupted job,
//! the signatures of a shard.
//!
//! Numbers are little-endian. A checksum is the first 8 bytes of the BLAKE3 hash of the bytes between the length
//! and it. [`batch`] specifies a batch; in a shard's file, [`records`] follow each. The magic `HAPAXIMP` keeps the
//! format's first name.
//!
//! Guarantees that any bytes end in batches or an error, in memory bounded by the file.
//!
//! ```text
//!   "HAPAXIMP"  version u32  length u32  header (JSON)  checksum
//!   length u32  batch  checksum
//!   length u32  batch  checksum
//!   ...
//! ```

mod batch;
pub(crate) mod checkpoint;
mod file;
mod inputs;
mod records;

pub(crate) use batch::{SignatureBatch, page_bytes, page_of_bytes};
pub(crate) use file::{Block, Header, ShardInputs, SignatureReader, SignatureWriter};
pub(crate) use inputs::Inputs;
pub(crate) use records::{BatchRecords, Passed};
