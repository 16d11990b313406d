//! Text to words.
//!
//! A text is cut at ASCII white space into *chunks*; each chunk is normalised (NFKC, then
//! full case folding) and cut into words by the rules of UAX 29. Scripts that write without
//! spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) get either overlapping pairs of
//! characters, which need no dictionary and so never change under a library update, or
//! words from a dictionary. The same text gives the same words whether it comes whole or in
//! pieces, and whether or not its places are asked for.
//!
//! # Reading order
//!
//! [`normalize`] folds a chunk. [`wordbreak`] finds the words of a folded chunk, and `confusables`
//! brings look-alike letters to one spelling. `block` finds plain words, which need neither.
//! [`segment`] puts them together and is what callers use. [`places`] does the same slowly
//! and says where in the original each word stood. [`language`] has stop words and stems.
//!
//! # What this module does not know
//!
//! HTML, hashes, and which words matter.

mod block;
mod confusables;
pub mod language;
pub mod normalize;
pub mod places;
pub mod segment;
pub mod wordbreak;

pub use language::Language;
pub use places::{Place, PlacedWord};
pub(crate) use segment::WordSink;
pub use segment::{Confusables, Joined, Segmenter, Unspaced};
