//! The list of all routes, and the parsing of requests.
//!
//! A route has a method, a path, a required permission and a class. `openapi.json` describes each; a test
//! compares the two lists.

pub mod backup;
pub mod batch;
pub mod compare;
pub mod events;
pub mod fetching;
pub mod groups;
pub mod operate;
pub mod pages;
pub mod rules;
pub mod search;
pub mod status;
pub mod web;

use crate::access::Scope;
use crate::error::{ApiError, Code};
use crate::middleware::{Guard, RequestClass, guarded};
use crate::state::Service;
use axum::Router;
use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post, put};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

type Handler = MethodRouter<Arc<Service>>;

/// The description of the API.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// Method, path, permission, class, handler.
fn routes() -> Vec<(&'static str, &'static str, Scope, RequestClass, Handler)> {
    use RequestClass::{List, Plain, Probe, Stream};
    use Scope::{Open, Read, Write};
    vec![
        ("POST", "/v1/pages", Write, Plain, post(pages::observe)),
        ("GET", "/v1/pages", Read, List, get(pages::list)),
        ("POST", "/v1/pages/batch", Write, Stream, post(batch::batch)),
        ("GET", "/v1/pages/{url}", Read, Plain, get(status::page)),
        ("GET", "/v1/pages/{url}/group", Read, List, get(status::group)),
        ("DELETE", "/v1/pages/{url}", Write, Plain, delete(pages::forget)),
        ("PUT", "/v1/pages/{url}/score", Write, Plain, put(pages::score)),
        ("PUT", "/v1/pages/{url}/redirect", Write, Plain, put(pages::redirect)),
        ("POST", "/v1/forget", Write, Plain, post(pages::forget_many)),
        ("POST", "/v1/expire", Write, Plain, post(pages::expire)),
        ("POST", "/v1/recheck", Write, Plain, post(pages::recheck)),
        ("POST", "/v1/check", Read, Plain, post(pages::check)),
        ("POST", "/v1/fetch", Write, Plain, post(fetching::fetch)),
        ("POST", "/v1/compare", Read, Plain, post(compare::compare)),
        ("GET", "/v1/search", Read, Plain, get(search::search)),
        ("GET", "/v1/groups", Read, List, get(groups::list)),
        ("GET", "/v1/groups/{id}", Read, List, get(groups::group)),
        ("GET", "/v1/groups/{id}/events", Read, List, get(events::of_group)),
        ("GET", "/v1/rules", Read, Plain, get(rules::rules)),
        ("PUT", "/v1/rules", Write, Plain, put(rules::set)),
        ("PUT", "/v1/markets/{name}", Write, Plain, put(rules::set_market)),
        ("DELETE", "/v1/markets/{name}", Write, Plain, delete(rules::drop_market)),
        ("GET", "/v1/events", Read, Stream, get(events::events)),
        ("GET", "/v1/events/stream", Read, Stream, get(events::stream)),
        ("POST", "/v1/backup", Write, Stream, post(backup::backup)),
        ("POST", "/v1/promote", Write, Plain, post(backup::promote)),
        ("GET", "/v1/stats", Read, Plain, get(operate::stats)),
        ("GET", "/v1/settings", Read, Plain, get(operate::settings)),
        ("GET", "/metrics", Read, Probe, get(operate::metrics)),
        ("GET", "/healthz", Open, Probe, get(operate::healthz)),
        ("GET", "/readyz", Open, Probe, get(operate::readyz)),
        ("GET", "/openapi.json", Open, Probe, get(operate::openapi)),
        ("GET", "/", Open, Plain, get(web::index)),
        ("GET", "/assets/{file}", Open, Plain, get(web::asset)),
    ]
}

/// Method and path of every route.
pub fn list() -> Vec<(&'static str, &'static str)> {
    routes().into_iter().map(|(method, path, ..)| (method, path)).collect()
}

/// All routes, each with its checks.
pub fn router(service: &Arc<Service>) -> Router {
    let mut router = Router::new();
    for (method, path, scope, class, handler) in routes() {
        let metrics = service.metrics.route(method, path);
        let guard = Arc::new(Guard { service: service.clone(), scope, class, metrics });
        let checked = handler.route_layer(axum::middleware::from_fn_with_state(guard, guarded));
        router = router.route(path, checked);
    }
    let router = router
        .fallback(async || {
            ApiError::new(Code::NotFound, "there is no such path; see /openapi.json")
        })
        .method_not_allowed_fallback(async || {
            ApiError::new(Code::MethodNotAllowed, "the path exists, but not this method")
        });
    router.with_state(service.clone())
}

#[derive(Debug)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<Service>> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, service: &Arc<Service>) -> Result<Self, ApiError> {
        must_be(request.headers(), &["application/json"])?;
        let bytes = to_bytes(request.into_body(), service.config.limits.body_bytes).await;
        let bytes = bytes.map_err(|_| ApiError::invalid("the body did not arrive whole"))?;
        read_json(&bytes).map(Self)
    }
}

/// Capacity for most verdicts in bytes.
const ANSWER: usize = 1024;

/// A frequent JSON answer: serialized into one buffer that is large enough for most.
#[derive(Debug)]
pub struct Answer<T>(pub T);

impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        let mut body = Vec::with_capacity(ANSWER);
        match serde_json::to_writer(&mut body, &self.0) {
            Ok(()) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => ApiError::internal(error.to_string()).into_response(),
        }
    }
}

/// Parses JSON, and reports where it is invalid.
///
/// # Errors
///
/// It is not of the expected form.
pub fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::invalid(format!("not the JSON wanted: {error}")))
}

/// Refuses bodies of other types, because browsers send only certain types to other origins without
/// asking.
///
/// # Errors
///
/// The content type is not one of these.
pub fn must_be(headers: &HeaderMap, types: &[&str]) -> Result<(), ApiError> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let given = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    match types.iter().any(|wanted| given.eq_ignore_ascii_case(wanted)) {
        true => Ok(()),
        false => Err(ApiError::new(
            Code::MediaType,
            format!("send `Content-Type: {}`", types.first().copied().unwrap_or_default()),
        )),
    }
}

/// The query parameters.
#[derive(Debug)]
pub struct QueryParameters<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Service>> for QueryParameters<T> {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &Arc<Service>,
    ) -> Result<Self, ApiError> {
        let read = Query::<T>::from_request_parts(parts, service).await;
        read.map(|Query(parameters)| Self(parameters))
            .map_err(|error| ApiError::invalid(error.body_text()))
    }
}

/// The path parameters.
#[derive(Debug)]
pub struct PathParameter<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<Service>> for PathParameter<T> {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &Arc<Service>,
    ) -> Result<Self, ApiError> {
        let read = Path::<T>::from_request_parts(parts, service).await;
        read.map(|Path(named)| Self(named)).map_err(|error| ApiError::invalid(error.body_text()))
    }
}

/// Number of rows of an answer: as requested, within the limit.
fn rows(service: &Service, parameters: Option<usize>) -> Result<usize, ApiError> {
    match parameters {
        Some(0) => Err(ApiError::invalid("limit must be at least 1")),
        parameters => Ok(parameters.unwrap_or(100).min(service.config.limits.rows)),
    }
}
