//! Pages mapped to machines by the lengths of their parts.
//!
//! A dictionary is split into a few sub-dictionaries; the words of a page that are in each make up
//! one length, and the lengths together a [`LengthVector`]. Pages that are nearly the same have
//! nearly the same lengths in every dimension, so a page is stored in one cell of a grid
//! ([`Grid`]) and a new one is sent only to the cells near its own.
//!
//! ```
//! use hapax::partition::{Bounds, Dictionary, Grid, GridSettings};
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
//! assert!(visited.len() <= grid.machines() as usize);
//! # Ok::<(), hapax::partition::PartitionError>(())
//! ```
//!
//! # Reading order
//!
//! [`dictionary`] makes lengths, [`bounds`] says how far the lengths of near-duplicates lie apart,
//! [`slicing`] cuts a dimension into intervals, [`grid`] puts dimensions together and gives cells to
//! machines, [`judge`](mod@judge) says how good the result is.
//!
//! # What it promises
//!
//! A page has one home. A pair whose Jaccard similarity of shingles is above the threshold is
//! brought together as far as the two pages keep to the sampled deviations of [`Bounds`]; what that
//! misses is measured by [`judge`](judge()). **This holds for Jaccard similarity, not for the
//! distance of SimHash fingerprints**: pages with near fingerprints may have quite different
//! lengths.
//!
//! # What this module does not know
//!
//! Machines, networks, languages. A caller that splits by language first keeps a grid for each.
//!
//! Source: Zhu et al. 2012, section 4.

pub mod bounds;
pub mod dictionary;
pub mod grid;
pub mod judge;
pub mod slicing;

pub use bounds::{Bounds, Deviations};
pub use dictionary::{Dictionary, LengthVector};
pub use grid::{Grid, GridSettings};
pub use judge::{Judgement, coefficient_of_variation, judge};

/// Why pages cannot be mapped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// Lengths have few dimensions.
    #[error("{given} dimensions are out of range: 1 to {}", dictionary::MOST_DIMENSIONS)]
    Dimensions {
        /// What was asked for.
        given: usize,
    },
    /// Nobody there.
    #[error("{given} machines are out of range: 1 to {most}")]
    Machines {
        /// What was asked for.
        given: u32,
        /// The most.
        most: u32,
    },
    /// Not a similarity.
    #[error("a similarity of {given} is out of range: it must be above 0 and at most 1")]
    Similarity {
        /// What was asked for.
        given: f64,
    },
    /// Enlarging makes smaller.
    #[error("an enlarging factor of {given} is out of range: it must be at least 1 and finite")]
    Enlargement {
        /// What was asked for.
        given: f64,
    },
    /// Nothing to learn from.
    #[error("a mapping cannot be learnt from no pages: give a sample")]
    NoSample,
    /// Pages of different dictionaries.
    #[error("a page with {found} lengths among pages with {expected}: use one dictionary for all")]
    MixedDimensions {
        /// Lengths of the first page.
        expected: usize,
        /// Lengths of another.
        found: usize,
    },
}
