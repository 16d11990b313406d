//! One error for callers that do not distinguish causes; every operation also has its own error type.

use crate::index::segment::SegmentBuildError;
use crate::index::{BuildError, SearchError};

/// Any error of the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A page without words has no fingerprint: it would match every other empty page.
    #[error("the text has no words, so it has no fingerprint")]
    NoWords,
    #[cfg(feature = "text")]
    #[error(transparent)]
    Page(#[from] crate::page::PageError),
    #[cfg(feature = "text")]
    #[error(transparent)]
    Recipe(#[from] crate::fingerprint::RecipeError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Segment(#[from] SegmentBuildError),
    #[error(transparent)]
    Search(#[from] SearchError),
}
