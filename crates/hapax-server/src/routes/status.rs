//! The status of a page, and of all pages of its group.
//!
//! Searches nothing: a page is compared with the winner of its group. With `market`, the winner is that of the
//! market's rules; the groups are the same.

use super::pages::unknown;
use super::{PathParameter, QueryParameters, rows};
use crate::error::ApiError;
use crate::state::Service;
use axum::Json;
use axum::extract::State;
use hapax_client::local;
use hapax_client::wire::{GroupStatuses, PageDetail, Rows, Verdict};
use serde::Deserialize;
use std::sync::Arc;

/// The market whose rules apply.
#[derive(Debug, Deserialize)]
pub struct PageParameters {
    market: Option<String>,
}

/// `GET /v1/pages/{url}`
pub async fn page(
    State(service): State<Arc<Service>>,
    PathParameter(url): PathParameter<String>,
    QueryParameters(parameters): QueryParameters<PageParameters>,
) -> Result<Json<PageDetail>, ApiError> {
    let work = move |service: &Service| {
        let reader = service.repository.reader();
        let market = service.market(&reader, parameters.market.as_deref())?;
        local::page(&reader, &url, market.as_deref())?.ok_or_else(unknown)
    };
    service.work(work).await.map(Json)
}

/// The market whose rules apply, and which pages.
#[derive(Debug, Deserialize)]
pub struct GroupParameters {
    market: Option<String>,
    after: Option<u32>,
    limit: Option<usize>,
}

/// `GET /v1/pages/{url}/group`
pub async fn group(
    State(service): State<Arc<Service>>,
    PathParameter(url): PathParameter<String>,
    QueryParameters(parameters): QueryParameters<GroupParameters>,
) -> Result<Json<GroupStatuses>, ApiError> {
    let limit = rows(&service, parameters.limit)?;
    let work = move |service: &Service| {
        let reader = service.repository.reader();
        let market = service.market(&reader, parameters.market.as_deref())?;
        let mut found = reader.group(&url, market.as_deref())?.ok_or_else(unknown)?;
        let wanted = |page: u32| parameters.after.is_none_or(|after| page > after);
        found.pages.retain(|(page, _)| wanted(page.0));
        let more = found.pages.len() > limit;
        found.pages.truncate(limit);
        let next = found.pages.last().filter(|_| more).map(|(page, _)| page.to_string());
        let pages = reader.members(&found, market.as_deref())?.into_iter();
        let rows = pages.map(|(page, decision)| Verdict::known(page.url, &decision)).collect();
        Ok(GroupStatuses { group: found.into(), pages: Rows { rows, next } })
    };
    service.list(limit, work).await.map(Json)
}
