//! Searches everything stored within `k` bits of a query.
//!
//! A [`Collection`] holds the entries, each distinct fingerprint once; an engine is made from it and answers
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
//! | [`Scan`] | compare with everything, many words at a time | exact |
//! | [`Tables`] | bits that must agree name a bucket; look only there | exact |
//! | [`LiveIndex`](live::LiveIndex) | a mutable head and immutable segments, each with an engine | exact |
//! | [`SegmentView`](segment::SegmentView) | one sorted array, searched in the bytes of a file | exact |
//! | [`WeakBits`] | flip the bits likeliest to differ; one table | as asked |
//!
//! Guarantees: an exact engine reports all and only what a scan reports, each entry once, sorted by distance, then
//! id. Engines start no thread. `memory_bytes` counts every byte of heap. [`plan`] says which engine to take. Does
//! not know text, documents or disks.

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
