//! What live groups need from the caller, who holds the pages.
//!
//! The caller compares contents and searches its index. It must know a page's new content and facts before it
//! reports them to the groups.

use super::record::PageId;
use crate::group::facts::PageFacts;
use crate::group::scope::ScopeKey;
pub use crate::similarity::{Likeness, Matching};

/// A page found by the index, and its similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    pub page: PageId,
    pub likeness: Likeness,
}

/// Access to the pages.
///
/// Only pages with content are compared; the groups never ask about others and ignore them in
/// results.
pub trait World {
    /// The error type; must be that of the state.
    type Error;

    /// The facts for the winner rules.
    fn facts(&self, page: PageId) -> Result<PageFacts<'_>, Self::Error>;

    /// Compares the current contents of two pages. Must be symmetric, and distances must obey the
    /// triangle inequality.
    fn compare(&self, a: PageId, b: PageId) -> Result<Likeness, Self::Error>;

    /// Tier 2: the confirmed matches of the page's current content, all of them or the nearest
    /// `limit`. May include the page itself. What an index of limited recall misses is not a match.
    fn near(&self, page: PageId, limit: usize) -> Result<Vec<Near>, Self::Error>;

    /// The page matches only pages with this key.
    fn scope(&self, page: PageId) -> Result<ScopeKey, Self::Error> {
        let _ = page;
        Ok(ScopeKey::ALL)
    }
}
