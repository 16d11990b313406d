//! Groups: the largest, all of them, those with a part of an address, and the members of one.
//!
//! Every list continues where the previous answer ended. The list of the largest may be slightly outdated in a
//! large repository; members are compared with the winner when they are shown.

use super::{PathParameter, QueryParameters, rows};
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
    /// With `sort=number`, only groups with at least this many members.
    least: Option<u32>,
    /// With `sort=number`, shows the winners of this market.
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
    QueryParameters(parameters): QueryParameters<ListParameters>,
) -> Result<Json<Rows<Group>>, ApiError> {
    let limit = rows(&service, parameters.limit)?;
    let work = move |service: &Service| {
        let after = parameters.after.as_deref();
        match parameters.search.as_deref().map(str::trim) {
            Some(text) if !text.is_empty() => search(service, text, after, limit),
            Some(_) | None if parameters.sort == Sort::Largest => largest(service, after, limit),
            Some(_) | None => by_number(service, &parameters, limit),
        }
    };
    service.list(limit, work).await.map(Json)
}

fn bad_cursor() -> ApiError {
    ApiError::invalid("after must be what an answer gave as next")
}

fn by_number(
    service: &Service,
    parameters: &ListParameters,
    limit: usize,
) -> Result<Rows<Group>, ApiError> {
    let after = parameters.after.as_deref();
    let after =
        after.map(|after| after.parse().map(GroupId).map_err(|_| bad_cursor())).transpose()?;
    let reader = service.repository.reader();
    let market = service.market(&reader, parameters.market.as_deref())?;
    let found = reader.groups(after, limit, parameters.least.unwrap_or(1), market.as_deref())?;
    let next = (found.len() == limit).then(|| found.last().map(|group| group.id.to_string()));
    Ok(Rows { rows: found.into_iter().map(Group::from).collect(), next: next.flatten() })
}

/// Only the first few hundred are sorted by size; the others are listed by number.
fn largest(service: &Service, after: Option<&str>, limit: usize) -> Result<Rows<Group>, ApiError> {
    let skip: usize = after.map_or(Ok(0), str::parse).map_err(|_| bad_cursor())?;
    let sizes = service.group_sizes()?;
    let rows = sizes.largest.iter().skip(skip.min(LARGEST)).take(limit);
    let rows: Vec<Group> = rows.cloned().map(Group::from).collect();
    let end = skip.saturating_add(rows.len());
    let next = (end < sizes.largest.len()).then(|| end.to_string());
    Ok(Rows { rows, next })
}

/// Number of addresses compared per request.
const COMPARED: usize = 100_000;

/// Prefixes of addresses with this text at the start, or on this host.
fn beginnings(text: &str) -> Vec<String> {
    if text.contains("://") {
        return vec![text.to_owned()];
    }
    ["https://", "https://www.", "http://", "http://www."]
        .map(|start| format!("{start}{text}"))
        .into()
}

/// The groups of pages whose address contains a text: first those whose address begins with it,
/// found quickly by the order of addresses, then all others, with bounded work per request. The
/// cursor consists of the step (a prefix, or finally the full search) and the last address
/// compared.
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
    PathParameter(id): PathParameter<u32>,
    QueryParameters(parameters): QueryParameters<MemberParameters>,
) -> Result<Json<GroupDetail>, ApiError> {
    let limit = rows(&service, parameters.limit)?;
    let work = move |service: &Service| {
        let unknown = || ApiError::new(Code::NotFound, "there is no group of this number");
        let store = &service.repository;
        let group = store.group_numbered(GroupId(id))?.ok_or_else(unknown)?;
        let members =
            store.members(GroupId(id), parameters.after.map(PageId), limit)?.ok_or_else(unknown)?;
        let next =
            (members.len() == limit).then(|| members.last().map(|(page, _)| page.id.to_string()));
        let pages = members.into_iter();
        let rows = pages.map(|(page, decision)| PageDetail::new(page, &decision)).collect();
        Ok(GroupDetail { group: group.into(), pages: Rows { rows, next: next.flatten() } })
    };
    service.list(limit, work).await.map(Json)
}
