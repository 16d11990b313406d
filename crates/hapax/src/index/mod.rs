//! Searches for all stored fingerprints within `k` bits of a query.
//!
//! A [`Collection`] holds the entries, each distinct fingerprint once; an engine is built from it and searched
//! through [`HammingIndex`]:
//!
//! ```
//! use hapax::fingerprint::{Fingerprint, MaxDistance};
//! use hapax::index::{Collection, Entry, HammingIndex, Query, TableOptions, Tables};
//!
//! let page = |id, bits| Entry { fingerprint: Fingerprint::from_bits(bits), id };
//! let pages = Collection::new([page(1, 0xff00), page(2, 0xff01), page(3, 0x1234)])?;
//! let three = MaxDistance::new(3).unwrap();
//! let index = Tables::build(pages, TableOptions::within(three))?;
//!
//! let found = index.find_all(&Query::from(Fingerprint::from_bits(0xff00)), three)?;
//! assert_eq!(found.iter().map(|m| (m.distance, m.id)).collect::<Vec<_>>(), [(0, 1), (1, 2)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | engine | idea | recall |
//! |---|---|---|
//! | [`Scan`] | compares all fingerprints, many at a time | exact |
//! | [`Tables`] | bits that must agree select buckets | exact |
//! | [`LiveIndex`](live::LiveIndex) | a mutable head and immutable segments, each with an engine | exact |
//! | [`SegmentView`](segment::SegmentView) | one sorted array, searched directly in the bytes of a file | exact |
//! | [`WeakBits`] | flips the bits most likely to differ; one table | as requested |
//!
//! Guarantees: an exact engine reports exactly what a scan reports, each entry once, sorted by distance, then
//! id. Engines start no threads. `memory_bytes` counts every byte of heap. [`plan`] chooses an engine. Does not
//! handle text, documents or disks.

pub mod collection;
mod ids;
pub mod live;
pub mod near;
pub mod packed;
pub mod plan;
pub mod scan;
pub mod segment;
pub mod tables;
pub mod weak;

pub use collection::{BuildError, Collection, Entry};
pub use near::{Answers, Effort, HammingIndex, Match, Query, SearchError};
pub use scan::Scan;
pub use tables::{Costs, Design, TableOptions, Tables};
pub use weak::{Aim, Calibration, Measured, Recall, Shape, Unmeasured, WeakBits, WeakOptions};

#[cfg(test)]
mod tests;
