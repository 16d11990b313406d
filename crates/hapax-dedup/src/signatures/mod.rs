//! Files of page signatures: `kept.signatures` for the next crawl, the checkpoint of an interrupted job, and
//! the signatures of a shard.
//!
//! Numbers are little-endian. A checksum is the first 8 bytes of the BLAKE3 hash of the bytes between the
//! length and the checksum. [`batch`] specifies a batch; in a shard's file, [`records`] follow each. The magic
//! `HAPAXIMP` is the format's original name. Guarantees that any input ends in batches or an error, in memory
//! bounded by the file size.
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
