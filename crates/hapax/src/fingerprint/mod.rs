//! Makes signatures from features: SimHash fingerprints, the strength of each bit, sketches, recipes.
//!
//! Start at [`bits`] for the values and [`fingerprinter`] for making them; [`recipe`] defines every step from
//! bytes to bits, and [`document`] handles a document with its metadata. Does not know where documents come
//! from or where fingerprints are stored.

pub mod bits;
pub mod content;
#[cfg(feature = "text")]
pub mod document;
#[cfg(feature = "text")]
pub mod explain;
#[cfg(feature = "text")]
pub mod fingerprinter;
#[cfg(feature = "text")]
pub mod keyed;
#[cfg(feature = "text")]
mod part_words;
#[cfg(feature = "text")]
pub mod recipe;
#[cfg(feature = "text")]
mod recipe_file;
pub mod recipe_id;
pub mod short_sketch;
#[cfg(feature = "text")]
pub mod side_by_side;
pub mod simhash;
pub mod sketch;
#[cfg(feature = "text")]
mod verdict;

pub use bits::{BitSums, Fingerprint, MaxDistance};
pub use content::ContentHash;
#[cfg(feature = "text")]
pub use document::SignedPage;
#[cfg(feature = "text")]
pub use explain::{Comparison, compare};
#[cfg(feature = "text")]
pub use fingerprinter::{Comparable, FeatureReader, Fingerprinter, Signature};
#[cfg(feature = "text")]
pub use keyed::{Key, KeyedReader};
#[cfg(feature = "text")]
pub use recipe::{Recipe, RecipeError, Weighting};
pub use recipe_id::{ParseRecipeIdError, RecipeId, RecipeMismatch};
pub use short_sketch::ShortSketch;
pub use simhash::{Tally, Tie};
pub use sketch::{Estimate, ParseSketchError, Sketch};
