//! Groups: the largest, all of them, those with a part of an address, and the members of one.
//!
//! Every list goes on where the one before ended. The largest are few and may be a little old in
//! a large repository; members are compared with the winner when they are shown.

use super::{Asked, Named, rows};
use crate::error::{ApiError, Code};
use crate::state::{LARGEST, Service};
use axum::Json;
use axum::extract::State;
use hapax::group::live::{GroupId, PageId};
use hapax_client::wire::{Group, GroupDetail, PageDetail, Rows};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Debug, Deserialize)]
pub struct ListParameters {
    /// `largest` (the default) or `number`.
    #[serde(default)]
    sort: Sort,
    /// Any part of an address.
    search: Option<String>,
    after: Option<String>,
    limit: Option<usize>,
    /// With `sort=number`, only groups with at least so many members.
    least: Option<u32>,
    /// With `sort=number`, the winners under the rules of this market.
    market: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sort {
    #[default]
    Largest,
    Number,
}

/// `GET /v1/groups`
pub async fn list(
    State(service): State<Arc<Service>>,
    Asked(asked): Asked<ListParameters>,
) -> Result<Json<Rows<Group>>, ApiError> {
    let limit = rows(&service, asked.limit)?;
    let work = move |service: &Service| {
        let after = asked.after.as_deref();
        match asked.search.as_deref().map(str::trim) {
            Some(text) if !text.is_empty() => search(service, text, after, limit),
            Some(_) | None if asked.sort == Sort::Largest => largest(service, after, limit),
            Some(_) | None => by_number(service, &asked, limit),
        }
    };
    service.work(work).await.map(Json)
}

fn bad_cursor() -> ApiError {
    ApiError::invalid("after must be what an answer gave as next")
}

fn by_number(
    service: &Service,
    asked: &ListParameters,
    limit: usize,
) -> Result<Rows<Group>, ApiError> {
    let after = asked.after.as_deref();
    let after =
        after.map(|after| after.parse().map(GroupId).map_err(|_| bad_cursor())).transpose()?;
    let reader = service.repository.reader();
    let market = service.market(&reader, asked.market.as_deref())?;
    let found = reader.groups(after, limit, asked.least.unwrap_or(1), market.as_deref())?;
    let next = (found.len() == limit).then(|| found.last().map(|group| group.id.to_string()));
    Ok(Rows { rows: found.into_iter().map(Group::from).collect(), next: next.flatten() })
}

/// Only the first few hundred are kept in order; the others are listed by number.
fn largest(service: &Service, after: Option<&str>, limit: usize) -> Result<Rows<Group>, ApiError> {
    let skip: usize = after.map_or(Ok(0), str::parse).map_err(|_| bad_cursor())?;
    let sizes = service.group_sizes()?;
    let rows = sizes.largest.iter().skip(skip.min(LARGEST)).take(limit);
    let rows: Vec<Group> = rows.cloned().map(Group::from).collect();
    let end = skip.saturating_add(rows.len());
    let next = (end < sizes.largest.len()).then(|| end.to_string());
    Ok(Rows { rows, next })
}

/// Addresses that one request compares with the part it searches for.
const COMPARED: usize = 100_000;

/// How an address begins that is this text, or on this host.
fn beginnings(text: &str) -> Vec<String> {
    if text.contains("://") {
        return vec![text.to_owned()];
    }
    ["https://", "https://www.", "http://", "http://www."]
        .map(|start| format!("{start}{text}"))
        .into()
}

/// The groups of the pages whose address contains a text: first where addresses begin with it, which
/// the order of addresses finds at once, then anywhere, so many addresses a request. The cursor
/// is the step (a beginning, or after the last of them the search anywhere) and the last address
/// that was compared.
fn search(
    service: &Service,
    text: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Rows<Group>, ApiError> {
    let store = &service.repository;
    let (mut step, mut after) = match after {
        Some(cursor) => {
            let (step, url) = cursor.split_once(' ').ok_or_else(bad_cursor)?;
            (step.parse().map_err(|_| bad_cursor())?, Some(url.to_owned()))
        }
        None => (0usize, None),
    };
    let beginnings = beginnings(text);
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    let mut take = |pages: Vec<(PageId, String)>| -> Result<(), ApiError> {
        for (page, _) in pages {
            if let Some(group) = store.group_of(page)?
                && seen.insert(group)
                && let Some(group) = store.group_numbered(group)?
            {
                rows.push(group.into());
            }
        }
        Ok(())
    };
    while let Some(beginning) = beginnings.get(step) {
        let pages = store.pages_from(beginning, after.as_deref(), limit)?;
        let last = (pages.len() == limit).then(|| pages.last().map(|(_, url)| url.clone()));
        take(pages)?;
        if let Some(last) = last.flatten() {
            return Ok(Rows { rows, next: Some(format!("{step} {last}")) });
        }
        (step, after) = (step + 1, None);
    }
    let mut found = store.pages_containing(text, after.as_deref(), limit, COMPARED)?;
    found.pages.retain(|(_, url)| !beginnings.iter().any(|start| url.starts_with(start)));
    take(found.pages)?;
    let next = found.searched_to.map(|url| format!("{} {url}", beginnings.len()));
    Ok(Rows { rows, next })
}

#[derive(Debug, Deserialize)]
pub struct MemberParameters {
    after: Option<u32>,
    limit: Option<usize>,
}

/// `GET /v1/groups/{id}`
pub async fn group(
    State(service): State<Arc<Service>>,
    Named(id): Named<u32>,
    Asked(asked): Asked<MemberParameters>,
) -> Result<Json<GroupDetail>, ApiError> {
    let limit = rows(&service, asked.limit)?;
    let work = move |service: &Service| {
        let unknown = || ApiError::new(Code::NotFound, "there is no group of this number");
        let store = &service.repository;
        let group = store.group_numbered(GroupId(id))?.ok_or_else(unknown)?;
        let members =
            store.members(GroupId(id), asked.after.map(PageId), limit)?.ok_or_else(unknown)?;
        let next =
            (members.len() == limit).then(|| members.last().map(|(page, _)| page.id.to_string()));
        let pages = members.into_iter();
        let rows = pages.map(|(page, decision)| PageDetail::new(page, &decision)).collect();
        Ok(GroupDetail { group: group.into(), pages: Rows { rows, next: next.flatten() } })
    };
    service.work(work).await.map(Json)
}
