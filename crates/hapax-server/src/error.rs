//! Every error that a client can receive: one table of codes, statuses and meanings.
//!
//! An answer is `{"error": {"code", "message"}}`; the message says what to change. Information for the operator
//! only, such as paths, is logged with the request's number and not sent.

use crate::fetch::FetchError;
use crate::turns::caller;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hapax::page::PageError;
use hapax_client::prepare::InputError;
use hapax_store::{Role, StoreError};
use serde::Serialize;

/// The kind of an error; the first column of [`TABLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table says what each means")]
pub enum Code {
    Invalid,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    SlowBody,
    OtherRecipe,
    NotPrimary,
    OtherHistory,
    TooLarge,
    MediaType,
    NotAPage,
    AddressRefused,
    RobotsForbid,
    TooManyRequests,
    Internal,
    FetchFailed,
    NameNotResolved,
    RobotsUnreachable,
    Overloaded,
    Timeout,
    Storage,
    Stopping,
}

/// Code, name in answers, status, meaning.
pub const TABLE: [(Code, &str, u16, &str); 23] = [
    (Code::Invalid, "invalid", 400, "the request cannot be read; the message says where"),
    (Code::Unauthorized, "unauthorized", 401, "a bearer token is needed, or this one is unknown"),
    (Code::Forbidden, "forbidden", 403, "the token, or the place you call from, may not do this"),
    (Code::NotFound, "not_found", 404, "there is no such page, group or path"),
    (Code::MethodNotAllowed, "method_not_allowed", 405, "the path exists, but not this method"),
    (Code::SlowBody, "slow_body", 408, "the body did not arrive in time"),
    (
        Code::OtherRecipe,
        "other_recipe",
        409,
        "a fingerprint of another recipe than the repository's",
    ),
    (Code::NotPrimary, "not_primary", 409, "this service takes no writes; the message says why"),
    (
        Code::OtherHistory,
        "other_history",
        409,
        "a position or an event that is not in this repository's history",
    ),
    (Code::TooLarge, "too_large", 413, "the body or the line is longer than allowed"),
    (Code::MediaType, "media_type", 415, "the body is not of the type this path takes"),
    (Code::NotAPage, "not_a_page", 422, "what was given or fetched is neither HTML nor text"),
    (
        Code::AddressRefused,
        "address_refused",
        422,
        "an address that is not fetched: not http(s), or not public",
    ),
    (
        Code::RobotsForbid,
        "robots_forbid",
        422,
        "the site's robots.txt forbids fetching this address",
    ),
    (
        Code::TooManyRequests,
        "too_many_requests",
        429,
        "your rate limit is reached; wait for Retry-After seconds",
    ),
    (Code::Internal, "internal", 500, "our fault; the log has the request's number"),
    (Code::FetchFailed, "fetch_failed", 502, "the other server did not give the page"),
    (Code::NameNotResolved, "name_not_resolved", 502, "the host's name has no address"),
    (
        Code::RobotsUnreachable,
        "robots_unreachable",
        502,
        "the site's robots.txt could not be fetched, so no page of it is",
    ),
    (Code::Overloaded, "overloaded", 503, "too much at once; try again after Retry-After seconds"),
    (Code::Timeout, "timeout", 503, "it took too long; a write may still have been done"),
    (Code::Storage, "storage", 503, "the repository cannot be read or written; the log says why"),
    (Code::Stopping, "stopping", 503, "the service is shutting down"),
];

impl Code {
    fn row(self) -> (&'static str, StatusCode) {
        let row = TABLE.iter().find(|(code, ..)| *code == self);
        let (name, status) = row.map_or(("internal", 500), |(_, name, status, _)| (*name, *status));
        (name, StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
    }

    /// The name in answers.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    pub fn status(self) -> StatusCode {
        self.row().1
    }
}

/// An error to send to a client.
#[derive(Debug)]
pub struct ApiError {
    pub code: Code,
    pub message: String,
    pub hidden: Option<String>,
}

impl ApiError {
    /// An error with a message for the client.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hidden: None }
    }

    /// An unreadable request.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::Invalid, message)
    }

    /// An internal failure, whose details the client does not see.
    pub fn internal(hidden: impl Into<String>) -> Self {
        let message = "the service failed at this request; its operator finds more in the log";
        Self { hidden: Some(hidden.into()), ..Self::new(Code::Internal, message) }
    }

    /// The service is overloaded.
    pub fn overloaded() -> Self {
        Self::new(Code::Overloaded, "the service is at its limit; try again in a second")
    }

    /// The form in which it is sent, also as a line of a batch.
    pub fn wire(&self) -> Wire<'_> {
        Wire { code: self.code.name(), message: &self.message }
    }

    /// Logs what the client does not see, with the number of the current request.
    pub fn log(&self) {
        if let Some(hidden) = &self.hidden {
            let request = caller().request;
            tracing::error!(target: "hapax::request", request, code = self.code.name(), "{}", one_line(hidden));
        }
    }
}

/// Replaces control characters, because logged text may repeat pieces of pages and addresses, and
/// must neither break the line nor control a terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

#[derive(Clone, Debug, Serialize)]
pub struct Wire<'a> {
    /// From [`TABLE`].
    pub code: &'a str,
    pub message: &'a str,
}

#[derive(Clone, Debug, Serialize)]
pub struct Envelope<'a> {
    pub error: Wire<'a>,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log();
        let mut response =
            (self.code.status(), Json(Envelope { error: self.wire() })).into_response();
        let headers = response.headers_mut();
        if matches!(
            self.code.status(),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.code == Code::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::BadUrl { .. } | StoreError::SelfRedirect { .. } => {
                Self::invalid(error.to_string())
            }
            StoreError::NotPrimary { role: Role::Waiting, .. } => Self::new(
                Code::NotPrimary,
                "this service had a standby, which may be the primary now; write to that one, or make this one \
                 the primary again with POST /v1/promote",
            ),
            StoreError::NotPrimary { .. } => Self::new(
                Code::NotPrimary,
                "this service is a standby; write to its primary, or make it the primary with POST /v1/promote",
            ),
            StoreError::OtherHistory { what, .. } => Self::new(Code::OtherHistory, what),
            other => {
                let message = "the repository cannot be used; its operator finds more in the log";
                Self { hidden: Some(other.to_string()), ..Self::new(Code::Storage, message) }
            }
        }
    }
}

impl From<InputError> for ApiError {
    fn from(error: InputError) -> Self {
        let code = match &error {
            InputError::OtherRecipe(_) => Code::OtherRecipe,
            InputError::NotAPage(_) => Code::NotAPage,
            _ => Code::Invalid,
        };
        Self::new(code, error.to_string())
    }
}

impl From<PageError> for ApiError {
    fn from(error: PageError) -> Self {
        Self::new(Code::NotAPage, error.to_string())
    }
}

impl From<FetchError> for ApiError {
    fn from(error: FetchError) -> Self {
        let code = match &error {
            FetchError::Refused { .. }
            | FetchError::NotAnAddress { .. }
            | FetchError::Port { .. } => Code::AddressRefused,
            FetchError::Robots { .. } => Code::RobotsForbid,
            FetchError::Unresolved { .. } => Code::NameNotResolved,
            FetchError::RobotsUnreachable { .. } => Code::RobotsUnreachable,
            FetchError::Busy { .. } => Code::Overloaded,
            FetchError::TooManyRedirects { .. }
            | FetchError::TooLong { .. }
            | FetchError::Status { .. }
            | FetchError::Failed { .. } => Code::FetchFailed,
        };
        Self::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::{Caller, working_for};
    use std::sync::{Arc, Mutex};

    #[test]
    fn every_code_is_in_the_table_once_and_in_the_order_of_its_status() {
        let names: std::collections::BTreeSet<&str> = TABLE.iter().map(|row| row.1).collect();
        assert_eq!(names.len(), TABLE.len());
        assert!(TABLE.is_sorted_by_key(|row| row.2));
        for (code, name, status, _) in TABLE {
            assert_eq!((code.name(), code.status().as_u16()), (name, status));
        }
    }

    #[test]
    fn logged_text_cannot_forge_another_line() {
        let forged = "a call panicked at `x\n2026-01-01T00:00:00Z  INFO all is well\u{1b}[2J`";
        let line = one_line(forged);
        assert!(!line.contains(['\n', '\u{1b}']) && line.contains("all is well"), "{line}");
    }

    #[test]
    fn a_failure_is_logged_with_the_number_of_the_request_that_it_belongs_to() {
        let log: Arc<Mutex<Vec<u8>>> = Arc::default();
        let lines = log.clone();
        let writer = move || Lines(lines.clone());
        let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(writer);
        tracing::subscriber::with_default(subscriber.finish(), || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let caller = Caller { client: None, request: 77 };
            runtime.block_on(working_for(caller, async { ApiError::internal("why").log() }));
        });
        let line = String::from_utf8(log.lock().unwrap().clone()).unwrap();
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((line["request"].as_u64(), line["message"].as_str()), (Some(77), Some("why")));
    }

    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_path_of_the_server_is_logged_and_not_sent() {
        let folder = std::path::PathBuf::from("/secret/place");
        let error = ApiError::from(StoreError::InUse { folder });
        assert!(!error.message.contains("secret"));
        assert!(error.hidden.as_ref().is_some_and(|text| text.contains("secret")));
    }
}
