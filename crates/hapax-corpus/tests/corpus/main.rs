//! Tests of the crate through its public interface: files in, documents out, files out.
//!
//! [`make`] makes fixtures; the other modules are named after what they test.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod archives;
mod bombs;
mod damage;
mod fetching;
mod folders;
mod jsonl;
mod make;
mod misnamed;
mod order;
mod random;
mod tables;
mod writing;
