//! The rules that choose the kept copy of a group, and those of markets.
//!
//! New rules of the repository re-elect every group's winner, which takes a while in a large one; setting a
//! market changes no group.

use super::pages::changing;
use super::{JsonBody, PathParameter};
use crate::error::{ApiError, Code};
use crate::state::Service;
use axum::Json;
use axum::extract::State;
use hapax::group::Rules;
use hapax_client::wire::{RulesInput, RulesShown};
use hapax_store::{Settings, StoreError};
use std::sync::Arc;

type Shared = State<Arc<Service>>;

fn shown(settings: &Settings) -> RulesShown {
    let markets = settings.markets.iter();
    RulesShown {
        rules: settings.rules.to_string(),
        markets: markets.map(|(name, rules)| (name.clone(), rules.to_string())).collect(),
    }
}

fn parsed(input: &RulesInput) -> Result<Rules, ApiError> {
    input.rules.parse().map_err(|error| ApiError::invalid(format!("rules: {error}")))
}

/// `GET /v1/rules`
pub async fn rules(State(service): Shared) -> Json<RulesShown> {
    Json(shown(&service.repository.settings()))
}

/// `PUT /v1/rules`
pub async fn set(
    State(service): Shared,
    JsonBody(input): JsonBody<RulesInput>,
) -> Result<Json<RulesShown>, ApiError> {
    let rules = parsed(&input)?;
    let work = move |service: &Service| {
        service.repository.set_rules(rules)?;
        Ok(shown(&service.repository.settings()))
    };
    changing(&service, work).await.map(Json)
}

/// `PUT /v1/markets/{name}`
pub async fn set_market(
    State(service): Shared,
    PathParameter(name): PathParameter<String>,
    JsonBody(input): JsonBody<RulesInput>,
) -> Result<Json<RulesShown>, ApiError> {
    let rules = parsed(&input)?;
    change_market(&service, name, Some(rules)).await
}

/// `DELETE /v1/markets/{name}`
pub async fn drop_market(
    State(service): Shared,
    PathParameter(name): PathParameter<String>,
) -> Result<Json<RulesShown>, ApiError> {
    if !service.repository.settings().markets.contains_key(&name) {
        return Err(ApiError::new(Code::NotFound, "there is no market of this name"));
    }
    change_market(&service, name, None).await
}

async fn change_market(
    service: &Arc<Service>,
    name: String,
    rules: Option<Rules>,
) -> Result<Json<RulesShown>, ApiError> {
    let work = move |service: &Service| {
        service.repository.set_market(&name, rules).map_err(|error| match error {
            StoreError::BadMarket { .. } => ApiError::invalid(error.to_string()),
            other => other.into(),
        })?;
        Ok(shown(&service.repository.settings()))
    };
    changing(service, work).await.map(Json)
}
