//! Turns words into weighted hashes.
//!
//! Every word that passes the filters becomes a 64-bit hash; every run of `n` words, a *shingle*, becomes one
//! hash of these. A weighting gives each shingle a weight: 1, its number of occurrences, or its rarity in a
//! collection. Weights are integers, so sums do not depend on order, machine or compiler. Does not make
//! fingerprints.

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
