//! Assigns pages to machines by the lengths of their parts.
//!
//! A dictionary is split into sub-dictionaries; the numbers of a page's words in each form its [`LengthVector`].
//! Near-duplicates have similar lengths, so a page is stored in one cell of a [`Grid`], and a new page is sent only
//! to nearby cells.
//!
//! ```
//! use hapax_partition::{Bounds, Dictionary, Grid, GridSettings};
//!
//! let two = Dictionary::by_hash(2)?;
//! // Words are hashes; the n-th page has n of them.
//! let words: Vec<u64> = (1..=600u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
//! let pages: Vec<_> = (20..600).map(|n| two.lengths(&words[..n])).collect();
//!
//! let grid = Grid::learn(&pages, &GridSettings::for_machines(4)?)?;
//! let bounds = Bounds::new(0.9, 1.1)?;
//! let page = &pages[300];
//! let visited = grid.machines_near(page, &bounds);
//! assert!(visited.contains(&grid.machine(page)));
//! assert!(visited.len() <= grid.runs().machines() as usize);
//! # Ok::<(), hapax_partition::PartitionError>(())
//! ```
//!
//! Guarantees that a page is stored in one cell, and that a pair above the threshold is compared if both keep to the
//! sampled [`Bounds`]; [`measure`] measures the loss. **This holds for Jaccard similarity of shingles, not for the
//! distance of SimHash fingerprints.** A machine is a number; networks are not handled. Start at [`mapping`].
//!
//! Source: Zhu et al. 2012, section 4.

pub mod bounds;
pub mod compare;
pub mod dictionary;
pub mod exact;
pub mod features;
pub mod grid;
pub mod language;
pub mod mapping;
mod mapping_file;
pub mod quality;
pub mod report;
pub mod sample;
pub mod slicing;
pub mod study;

pub use bounds::{Bounds, Deviations};
pub use compare::StoredPages;
pub use dictionary::{Dictionary, LengthVector};
pub use exact::ExactBounds;
pub use features::{FeatureMaker, PageFeatures};
pub use grid::{Grid, GridSettings};
pub use mapping::{Mapping, MappingSettings, Placed};
pub use quality::{Quality, coefficient_of_variation, measure};
pub use sample::EvenSample;
pub use study::{Study, StudySettings, study};

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    #[error("{given} dimensions are out of range: 1 to {}", dictionary::MOST_DIMENSIONS)]
    Dimensions { given: usize },
    #[error("{given} machines are out of range: 1 to {most}")]
    Machines { given: u32, most: u32 },
    #[error("a similarity of {given} is out of range: it must be above 0 and at most 1")]
    Similarity { given: f64 },
    /// The widening factor would narrow the range.
    #[error("an enlarging factor of {given} is out of range: it must be at least 1 and finite")]
    Enlargement { given: f64 },
    #[error("a mapping cannot be learnt from no pages: give a sample")]
    NoSample,
    /// Pages from different dictionaries.
    #[error("a page with {found} lengths among pages with {expected}: use one dictionary for all")]
    MixedDimensions {
        /// Number of lengths of the first page.
        expected: usize,
        /// Number of lengths of another page.
        found: usize,
    },
    #[error("the word {word:016x} is placed in two dimensions")]
    PlacedTwice { word: u64 },
    #[error("the intervals of dimension {} do not begin at 0 and ascend", dimension + 1)]
    Ends {
        /// From 0.
        dimension: usize,
    },
    #[error("{given} cells are more than the {most} allowed")]
    Cells { given: usize, most: usize },
    #[error("the first cells of machines do not ascend")]
    Runs,
    #[error("languages do not begin with the part for the rest, or do not ascend")]
    Languages,
    /// The text is not a mapping file.
    #[error("{reason}")]
    File { reason: String },
    #[error(
        "version {found} is newer than {newest}, the last one this build reads; learn it again"
    )]
    Version { found: u32, newest: u32 },
}
