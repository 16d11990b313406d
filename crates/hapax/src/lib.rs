//! Near-duplicate detection for the web: the engine of Hapax.
//!
//! Turns a page, as bytes or text, into a 64-bit SimHash fingerprint and a similarity sketch. An index finds
//! every fingerprint within a Hamming distance, and groups keep one page of each cluster. Reads no files,
//! clocks or environment, and starts no threads.
//!
//! ```
//! use hapax::{Entry, Fingerprinter, Index, Policy};
//!
//! let mut fingerprinter = Fingerprinter::default();
//! let index = Index::default();
//! let known = fingerprinter.fingerprint("The council voted on Tuesday to restore the old crane.")?;
//! index.insert(Entry { id: 1, fingerprint: known })?;
//!
//! let query = fingerprinter.fingerprint("The council voted on Tuesday to restore the old crane!")?;
//! let found = index.find(query, Policy::default().within)?;
//! assert_eq!((found[0].id, found[0].distance), (1, 0));
//! # Ok::<(), hapax::Error>(())
//! ```
//!
//! Reading order: [`page`], [`text`], [`features`], [`fingerprint`], [`similarity`], [`frame`], [`hamming`],
//! [`index`], [`join`] and [`group`]. Without the default feature `text`, only fingerprints, sketches,
//! searches, joins and groups are compiled, not HTML and Unicode data.

mod error;
pub mod features;
pub mod fingerprint;
pub mod frame;
pub mod group;
pub mod hamming;
pub mod index;
pub mod join;
#[cfg(feature = "text")]
pub mod page;
pub mod similarity;
#[cfg(feature = "text")]
pub mod text;

pub use error::Error;
pub use fingerprint::{ContentHash, Fingerprint, MaxDistance, RecipeId, Sketch};
#[cfg(feature = "text")]
pub use fingerprint::{Fingerprinter, Recipe, Signature};
pub use index::live::LiveIndex as Index;
pub use index::{Entry, HammingIndex, Match, Query};
pub use similarity::{Likeness, Matching, MinSimilarity, Policy};

/// Tests the example of the README.
#[cfg(all(doctest, feature = "text"))]
#[doc = include_str!("../README.md")]
struct Readme;
