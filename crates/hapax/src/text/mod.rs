//! Splits text into words.
//!
//! A text is split at ASCII white space into *chunks*; each is normalised (NFKC, then full case folding) and
//! split by the rules of UAX
//! 29. Scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) become overlapping pairs of
//!     characters, which need no dictionary and never change, or words from a dictionary. Guarantees the same
//!     words whether the text comes whole or in pieces, and with or without their places. Start at [`segment`];
//!     [`places`] is the slow version that also returns the place of each word. Does not handle HTML or hashes.

mod block;
mod confusables;
pub mod language;
pub mod normalize;
mod parts;
pub mod places;
pub mod segment;
pub mod wordbreak;

pub use language::Language;
pub(crate) use parts::Parts;
pub use places::{Place, PlacedWord};
pub use segment::{Confusables, Joined, Segmenter, Unspaced};
pub(crate) use segment::{Visit, WordSink};
