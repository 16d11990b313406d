//! Browsing: pages by address or a part of it, groups by number and by size.
//!
//! For people and programs that page through a repository. Every result is from one commit, and limited by the
//! caller; only the search for the largest groups reads a row of every group.

use crate::codec;
use crate::error::{Fault, Outcome, StoreError, of_groups};
use crate::page::PageInfo;
use crate::reader::{GroupSummary, both};
use crate::repository::Repository;
use crate::session::Decision;
use crate::view::{EventInfo, View, event_info};
use crate::world::name;
use hapax::group::live::{GroupId, GroupRecord, GroupState, PageId};
use redb::ReadableTable;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Bound;

/// Sizes of the groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupSizes {
    /// The largest groups, largest first, ties by number.
    pub largest: Vec<GroupSummary>,
    /// Element `i`: number of groups with at least `2^i` and fewer than `2^(i+1)` members.
    pub by_doubling: Vec<u64>,
}

/// Pages found by a part of their address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPages {
    /// In order of address.
    pub pages: Vec<(PageId, String)>,
    /// The last address that was compared; `None` if all were.
    pub searched_to: Option<String>,
}

/// A part of a group's history.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupHistory {
    /// Changes of the group, newest first.
    pub events: Vec<EventInfo>,
    /// Older changes have smaller numbers than this; `None` if all changes were examined.
    pub before: Option<u64>,
}

impl Repository {
    /// The last `limit` changes of a group before a number, including merges and splits, newest
    /// first. Examines at most `look` changes of any group, so there may be more although few or
    /// none were found.
    pub fn group_history(
        &self,
        group: GroupId,
        before: Option<u64>,
        limit: usize,
        look: usize,
    ) -> Result<GroupHistory, StoreError> {
        self.query(|view| {
            let mut found = GroupHistory { events: Vec::new(), before: None };
            let end = before.unwrap_or(u64::MAX);
            for (looked, row) in view.tables.events.range(..end)?.rev().enumerate() {
                let (sequence, bytes) = row?;
                let sequence = sequence.value();
                if found.events.len() == limit || looked == look {
                    found.before = Some(sequence.saturating_add(1));
                    break;
                }
                let (change, _) = codec::read_change(sequence, bytes.value())?;
                let (one, other) = change.groups();
                if one == Some(group) || other == Some(group) {
                    found.events.push(event_info(&view.tables, sequence, bytes.value())?);
                }
            }
            Ok(found)
        })
    }

    /// The addresses of pages; `None` for an unknown number.
    pub fn addresses(&self, pages: &[PageId]) -> Result<Vec<Option<String>>, StoreError> {
        self.query(|view| {
            let names = &view.tables.names;
            let of = |page: &PageId| Ok(names.get(page.0)?.map(|row| row.value().to_owned()));
            pages.iter().map(of).collect()
        })
    }

    /// The first `limit` pages whose address begins with `prefix`, in order of address, after
    /// `after`.
    pub fn pages_from(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(PageId, String)>, StoreError> {
        self.query(|view| {
            let urls = &view.tables.urls;
            let start = match after {
                Some(after) if after >= prefix => Bound::Excluded(after),
                Some(_) | None => Bound::Included(prefix),
            };
            let mut found = Vec::new();
            for row in urls.range::<&str>((start, Bound::Unbounded))?.take(limit) {
                let (url, page) = row?;
                if !url.value().starts_with(prefix) {
                    break;
                }
                found.push((PageId(page.value()), url.value().to_owned()));
            }
            Ok(found)
        })
    }

    /// Up to `limit` pages whose address contains `part`, ignoring ASCII case, in order of address,
    /// after `after`. Compares at most `look` addresses, so there may be more although few or none
    /// were found.
    pub fn pages_containing(
        &self,
        part: &str,
        after: Option<&str>,
        limit: usize,
        look: usize,
    ) -> Result<FoundPages, StoreError> {
        let part = part.to_ascii_lowercase();
        self.query(|view| {
            let start = after.map_or(Bound::Unbounded, Bound::Excluded);
            let mut found = FoundPages { pages: Vec::new(), searched_to: None };
            let (mut lower, mut last) = (String::new(), String::new());
            let rows = view.tables.urls.range::<&str>((start, Bound::Unbounded))?;
            for (looked, row) in rows.enumerate() {
                if found.pages.len() == limit || looked == look {
                    found.searched_to = Some(last);
                    break;
                }
                let (url, page) = row?;
                let url = url.value();
                last.clear();
                last.push_str(url);
                lower.clear();
                lower.push_str(url);
                lower.make_ascii_lowercase();
                if lower.contains(&part) {
                    found.pages.push((PageId(page.value()), url.to_owned()));
                }
            }
            Ok(found)
        })
    }

    /// The group of a page, also through redirects.
    pub fn group_of(&self, page: PageId) -> Result<Option<GroupId>, StoreError> {
        self.query(|view| Ok(view.groups().place(page).map_err(of_groups)?.map(|(group, _)| group)))
    }

    pub fn group_numbered(&self, group: GroupId) -> Result<Option<GroupSummary>, StoreError> {
        self.query(|view| {
            let Some(record) = view.groups().state().group(group)? else { return Ok(None) };
            summary(view, group, record).map(Some)
        })
    }

    /// The largest groups and the sizes of all. Reads a row of every group.
    pub fn group_sizes(&self, limit: usize) -> Result<GroupSizes, StoreError> {
        self.query(|view| {
            let mut by_doubling = Vec::new();
            let mut largest = BTreeSet::new();
            for row in view.tables.groups.iter()? {
                let (id, bytes) = row?;
                let members = record(id.value(), bytes.value())?.members.max(1);
                let class = members.ilog2() as usize;
                by_doubling.resize(by_doubling.len().max(class + 1), 0);
                by_doubling[class] += 1;
                largest.insert((Reverse(members), id.value()));
                if largest.len() > limit {
                    largest.pop_last();
                }
            }
            let groups = view.groups();
            let mut found = Vec::new();
            for (_, id) in largest {
                if let Some(record) = groups.state().group(GroupId(id))? {
                    found.push(summary(view, GroupId(id), record)?);
                }
            }
            Ok(GroupSizes { largest: found, by_doubling })
        })
    }

    /// The first `limit` pages of a group after a page, with their status, in order of number,
    /// including those that redirect into it. `None` for an unknown group.
    pub fn members(
        &self,
        group: GroupId,
        after: Option<PageId>,
        limit: usize,
    ) -> Result<Option<Vec<(PageInfo, Decision)>>, StoreError> {
        self.query(|view| {
            let groups = view.groups();
            if groups.state().group(group)?.is_none() {
                return Ok(None);
            }
            let pages = groups.pages(group).map_err(of_groups)?.into_iter();
            let shown = pages.filter(|page| after.is_none_or(|after| *page > after)).take(limit);
            let mut found = Vec::new();
            for page in shown {
                found.extend(both(view, &name(&view.tables.names, page)?, page, None)?);
            }
            Ok(Some(found))
        })
    }
}

fn record(id: u32, bytes: &codec::GroupBytes) -> Outcome<GroupRecord> {
    let damaged = || Fault::Damaged(format!("group {id} cannot be read"));
    codec::read_group(bytes).ok_or_else(damaged)
}

fn summary(view: &View, id: GroupId, record: GroupRecord) -> Outcome<GroupSummary> {
    let winner_url = name(&view.tables.names, record.winner)?;
    Ok(GroupSummary { id, record, winner_url })
}
