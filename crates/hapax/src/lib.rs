//! Near-duplicate detection for the web: the engine of Hapax.
//!
//! Bytes of a page go in; a 64-bit SimHash fingerprint, the order of its weak bits, a
//! similarity sketch and an explanation of any pair come out. Sets of fingerprints are
//! searched for everything within a Hamming distance.
//!
//! # Reading order
//!
//! [`page`] turns HTML into the text a reader sees. [`text`] turns text into words.
//! [`features`] turns words into weighted hashes. [`fingerprint`] turns those into bits,
//! under a named recipe. [`hamming`] measures distances and [`index`] finds who is near.
//! [`similarity`] decides whether two pages are near-duplicates.
//! [`group`] makes groups of pages that match and says which copy stays.
//! [`join`] finds all near pairs of a whole set, and a batch's matches in a file.
//!
//! # What this crate does not know
//!
//! Files, sockets, clocks, the environment, and threads the caller did not ask for.

pub mod features;
pub mod fingerprint;
pub mod group;
pub mod hamming;
pub mod index;
pub mod join;
pub mod page;
pub mod partition;
pub mod similarity;
pub mod text;
