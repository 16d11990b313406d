//! What the groups ask of whoever keeps the pages.
//!
//! Contents stay outside: the keeper compares them and searches its index. It must know a
//! page's new content and facts before it reports them to the groups.

use super::record::PageId;
use crate::group::facts::PageFacts;
use crate::group::scope::ScopeKey;
pub use crate::similarity::{Likeness, Matching};

/// A page found by the index, and how alike it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    pub page: PageId,
    pub likeness: Likeness,
}

/// The pages behind the groups.
///
/// Only pages with content are compared; the groups never ask about others, and pass over
/// them in answers.
pub trait World {
    /// What can go wrong; the same as the state's.
    type Error;

    /// What the winner rules look at.
    fn facts(&self, page: PageId) -> Result<PageFacts<'_>, Self::Error>;

    /// How alike the present contents of two pages are. Symmetric, and the distance obeys the
    /// triangle inequality.
    fn compare(&self, a: PageId, b: PageId) -> Result<Likeness, Self::Error>;

    /// Tier 2: the pages whose present content matches this one's, confirmed, all of them or
    /// the nearest `limit`. The page itself may be among them. What an index of limited recall
    /// misses is not a match here.
    fn near(&self, page: PageId, limit: usize) -> Result<Vec<Near>, Self::Error>;

    /// The part of the collection that the page is compared with.
    fn scope(&self, page: PageId) -> Result<ScopeKey, Self::Error> {
        let _ = page;
        Ok(ScopeKey::ALL)
    }
}
