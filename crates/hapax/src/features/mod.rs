//! Words to weighted hashes.
//!
//! Every word that passes the filters becomes a 64-bit hash; every run of `n` words, a
//! *shingle*, becomes one hash made of theirs. A weighting says how much a shingle counts:
//! once, as often as it occurs, or the more the rarer it is in a collection.
//!
//! All weights are integers, so that sums do not depend on order, machine or compiler.
//!
//! # Reading order
//!
//! [`hash`] has the two hash functions. [`words`] filters and hashes the words of a text, most of them as `short_words`.
//! [`frequency`] learns in how many documents a feature occurs.
//!
//! # What this module does not know
//!
//! Fingerprints, and what becomes of the hashes.

#[cfg(feature = "text")]
pub mod frequency;
pub mod hash;
#[cfg(feature = "text")]
pub(crate) mod short_words;
#[cfg(feature = "text")]
pub mod words;

#[cfg(feature = "text")]
pub use frequency::{Frequencies, FrequencyError, FrequencyWeights};
pub use hash::{ShingleSize, shingles, shingles_by};
#[cfg(feature = "text")]
pub use words::{WordFilter, WordHasher};
