//! Features to bits: SimHash fingerprints, the strength of each bit, sketches, recipes.
//!
//! # Reading order
//!
//! [`bits`] holds the values: [`Fingerprint`], [`MaxDistance`], [`BitSums`]. [`simhash`]
//! makes them, [`sketch`] makes the small set summary that confirms a pair, [`content`] the
//! hash that exact duplicates share.
//!
//! # What this module does not know
//!
//! Where a document came from and where its fingerprint is kept.

pub mod bits;
pub mod content;
pub mod simhash;
pub mod sketch;

pub use bits::{BitSums, Fingerprint, MaxDistance};
pub use content::ContentHash;
pub use simhash::{Tally, Tie};
pub use sketch::{Estimate, Sketch};
