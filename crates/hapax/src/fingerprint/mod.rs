//! Features to bits: SimHash fingerprints, the strength of each bit, and what they are
//! compared by.
//!
//! # Reading order
//!
//! [`bits`] holds the values: [`Fingerprint`], [`MaxDistance`], [`BitSums`].
//!
//! # What this module does not know
//!
//! Where a document came from and where its fingerprint is kept.

pub mod bits;

pub use bits::{BitSums, Fingerprint, MaxDistance};
