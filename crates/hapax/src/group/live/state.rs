//! Storage of the records.
//!
//! A [`GroupState`] keeps them in memory ([`MemoryState`](super::MemoryState)) or in a transactional store. An
//! operation fails half-way if the state fails; a store then drops its transaction, so nothing has happened.

use super::record::{Change, GroupId, GroupRecord, PageId, PageRecord};
use std::ops::ControlFlow;

/// Records of pages and groups, and the log of changes.
///
/// The state also maintains two lists that follow from page records: the members of a group (pages
/// whose record has this group) and the sources of a page (pages whose record redirects to it; the
/// target may have no record). It may visit them in any order, as long as the same history gives
/// the same order.
pub trait GroupState {
    /// [`Infallible`](std::convert::Infallible) in memory.
    type Error;

    /// The page's record; `None` if it is unknown.
    fn page(&self, page: PageId) -> Result<Option<PageRecord>, Self::Error>;

    /// Writes a page's record; `None` removes it.
    fn put_page(&mut self, page: PageId, record: Option<PageRecord>) -> Result<(), Self::Error>;

    fn group(&self, group: GroupId) -> Result<Option<GroupRecord>, Self::Error>;

    /// Writes a group's record; `None` ends the group, whose members have left before.
    fn put_group(&mut self, group: GroupId, record: Option<GroupRecord>)
    -> Result<(), Self::Error>;

    /// An unused group number.
    fn new_group(&mut self) -> Result<GroupId, Self::Error>;

    /// Calls `visit` for every member until it breaks.
    fn members(&self, group: GroupId, visit: Visit<'_, PageId>) -> Result<(), Self::Error>;

    /// Calls `visit` for every page that redirects directly to this one, until it breaks.
    fn sources(&self, page: PageId, visit: Visit<'_, PageId>) -> Result<(), Self::Error>;

    /// Calls `visit` for every group until it breaks.
    fn groups(&self, visit: Visit<'_, GroupId>) -> Result<(), Self::Error>;

    /// Appends a change to the log with the next sequence number.
    fn append(&mut self, change: Change) -> Result<(), Self::Error>;
}

/// Called once per item; breaks to stop.
pub type Visit<'a, T> = &'a mut dyn FnMut(T) -> ControlFlow<()>;

/// The first `limit` items of a visit.
pub(super) fn collect<T, E>(
    limit: usize,
    walk: impl FnOnce(Visit<'_, T>) -> Result<(), E>,
) -> Result<Vec<T>, E> {
    let mut items = Vec::new();
    walk(&mut |item| {
        if items.len() < limit {
            items.push(item);
        }
        if items.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(items)
}
