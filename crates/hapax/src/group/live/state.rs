//! Where the records are kept.
//!
//! The groups decide, a [`GroupState`] remembers: in memory ([`MemoryState`](super::MemoryState))
//! or in a transactional store. An operation may fail half-way when the state does; a store
//! then drops its transaction, and nothing has happened.

use super::record::{Change, GroupId, GroupRecord, PageId, PageRecord};
use std::ops::ControlFlow;

/// Records of pages and groups, and the log of changes.
///
/// Two lists follow from the page records and are the state's to keep: the members of a group
/// are the pages whose record names it, the sources of a page are those whose record redirects
/// to it (the page itself may have no record). Both are visited in an order of the state's
/// choice, the same for the same history.
pub trait GroupState {
    /// What can go wrong; [`Infallible`](std::convert::Infallible) in memory.
    type Error;

    /// The page's record, if it is known.
    fn page(&self, page: PageId) -> Result<Option<PageRecord>, Self::Error>;

    /// Writes a page's record, or removes it.
    fn put_page(&mut self, page: PageId, record: Option<PageRecord>) -> Result<(), Self::Error>;

    fn group(&self, group: GroupId) -> Result<Option<GroupRecord>, Self::Error>;

    /// Writes a group's record, or ends the group, whose members have left before.
    fn put_group(&mut self, group: GroupId, record: Option<GroupRecord>)
    -> Result<(), Self::Error>;

    /// A number that no group has.
    fn new_group(&mut self) -> Result<GroupId, Self::Error>;

    /// Calls `visit` with every member until it breaks.
    fn members(&self, group: GroupId, visit: Visit<'_, PageId>) -> Result<(), Self::Error>;

    /// Calls `visit` with every page that redirects to this one directly, until it breaks.
    fn sources(&self, page: PageId, visit: Visit<'_, PageId>) -> Result<(), Self::Error>;

    /// Calls `visit` with every group until it breaks.
    fn groups(&self, visit: Visit<'_, GroupId>) -> Result<(), Self::Error>;

    /// Adds a change to the log and gives it the next sequence number.
    fn append(&mut self, change: Change) -> Result<(), Self::Error>;
}

/// Called once an item; breaks when it has seen enough.
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
