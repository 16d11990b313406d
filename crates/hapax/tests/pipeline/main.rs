//! From bytes to bits, tested through the public interface.
//!
//! * `vectors`: golden vectors, the same for every language binding
//! * `whole_way`: properties of pages, texts and fingerprints that hold for any input
//! * `memory`: what a page costs besides time

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input has failed")]

mod memory;
mod vectors;
mod whole_way;
