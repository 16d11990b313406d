//! Tests of the job as callers use it: inputs in, an output folder out. Each module is named after what it
//! tests.

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
