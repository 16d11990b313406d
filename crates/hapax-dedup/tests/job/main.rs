//! The job as a caller meets it: inputs in, an output folder out.
//!
//! - [`sample`]: the bundled sample against what is known about it.
//! - [`formats`]: the same pages from every format, and what is written.
//! - [`dense clusters`]: repeated pages and templates cost linear work.
//! - [`accounts`]: every record is kept, removed or passed over.
//! - [`again`]: the next crawl, and the same job after an interruption.
//! - [`resume`]: interrupted anywhere, with every format and packing.
//! - [`shards`]: several processes, one result.
//! - [`frames`]: sites whose pages share a large frame.
//! - [`forged`]: texts made to have another one's signature.
//! - [`disguised`]: pages that show something else than their markup says.
//! - [`bad_input`]: nothing half-written, whatever is wrong.
//! - [`folder`]: a temporary folder, jobs run in it, and their tables.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod accounts;
mod again;
mod bad_input;
mod dense;
mod disguised;
mod folder;
mod forged;
mod formats;
mod frames;
mod resume;
mod sample;
mod shards;
