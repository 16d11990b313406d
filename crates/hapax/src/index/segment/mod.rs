//! Segments: the immutable parts of a live index, in memory or in a file.
//!
//! A segment is a set of entries sorted by fingerprint, each distinct fingerprint and each id once. It is
//! searched by an engine of the caller's choice, or directly in its bytes:
//!
//! ```
//! use hapax::fingerprint::{Fingerprint, MaxDistance, RecipeId};
//! use hapax::index::segment::{Encoding, Segment, SegmentEngine, SegmentView};
//! use hapax::index::{Entry, HammingIndex};
//!
//! let recipe: RecipeId = "web-2:0123456789abcdef".parse()?;
//! let page = |id, bits| Entry { fingerprint: Fingerprint::from_bits(bits), id };
//! let three = MaxDistance::new(3).unwrap();
//! let segment = Segment::build(vec![page(7, 0xff00), page(9, 0xff01)], SegmentEngine::Scan, three)?;
//!
//! let bytes = segment.to_bytes(&recipe, Encoding::Plain)?;
//! let view = SegmentView::open(&bytes)?;
//! view.must_be(&recipe)?;
//! let found = view.find_all(&Fingerprint::from_bits(0xff00).into(), three)?;
//! assert_eq!(found.iter().map(|m| (m.distance, m.id)).collect::<Vec<_>>(), [(0, 7), (1, 9)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Guarantees that any bytes give an error or a segment, that a flipped bit or a truncation gives an error, and
//! that equal entries give equal bytes on every machine. `docs/internals/format.md` specifies the bytes. Does
//! not open files: the caller reads or maps them.

mod bits;
mod format;
mod monotone;
mod owned;
mod removed;
mod sorted;
mod view;
mod writer;

pub use format::{Encoding, SegmentError};
pub use owned::{Segment, SegmentBuildError, SegmentEngine, SharedBytes};
pub use removed::Removed;
pub use view::SegmentView;

#[cfg(test)]
mod tests;
