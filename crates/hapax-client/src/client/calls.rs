//! A request and its answer.

use super::{Client, ClientError, ErrorAnswer, LONGEST_ANSWER};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use ureq::Body;
use ureq::http::Response;

/// Pages of at least this size are sent with `Expect: 100-continue`, so that a refusal arrives
/// before the service closes the connection. A batch is answered while it is read.
const ASKED_BEFORE: usize = 1 << 20;
/// A service that does not begin to answer for this long is considered dead.
const LONGEST_PAUSE: Duration = Duration::from_secs(90);
const JSON: &str = "application/json";

#[derive(serde::Deserialize)]
struct Envelope {
    error: ErrorAnswer,
}

impl Client {
    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let response = self.call("GET", path, None)?;
        self.read(response)
    }

    pub(super) fn send<B: Serialize, T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &B,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| self.unexpected(error.to_string()))?;
        let response = self.call(method, path, Some((JSON, body)))?;
        self.read(response)
    }

    pub(super) fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<Response<Body>, ClientError> {
        let mut request =
            ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.server));
        if let Some(token) = &self.token {
            request = request.header("authorization", token);
        }
        let unreachable = |source| ClientError::Unreachable {
            server: self.server.clone(),
            source: Box::new(source),
        };
        let strange = |error: ureq::http::Error| self.unexpected(error.to_string());
        let Some((kind, body)) = body else {
            return self.agent.run(request.body(()).map_err(strange)?).map_err(unreachable);
        };
        request = request.header("content-type", kind);
        if kind == JSON && body.len() >= ASKED_BEFORE {
            request = request.header("expect", "100-continue");
        }
        self.agent.run(request.body(body).map_err(strange)?).map_err(unreachable)
    }

    /// Waits for the answer however long it takes, once it has begun.
    pub(super) fn call_patiently(
        &self,
        method: &str,
        path: &str,
    ) -> Result<Response<Body>, ClientError> {
        let mut request =
            ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.server));
        if let Some(token) = &self.token {
            request = request.header("authorization", token);
        }
        // Without a length it would be chunked, and its end might arrive after the answer.
        let request =
            request.body(Vec::new()).map_err(|error| self.unexpected(error.to_string()))?;
        let request = self
            .agent
            .configure_request(request)
            .timeout_recv_response(Some(LONGEST_PAUSE))
            .build();
        self.agent.run(request).map_err(|source| ClientError::Unreachable {
            server: self.server.clone(),
            source: Box::new(source),
        })
    }

    pub(super) fn good(&self, mut response: Response<Body>) -> Result<Response<Body>, ClientError> {
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let text = response.body_mut().read_to_string().unwrap_or_default();
        match serde_json::from_str::<Envelope>(&text) {
            Ok(Envelope { error: ErrorAnswer { code, message } }) => {
                Err(ClientError::Refused { server: self.server.clone(), code, status, message })
            }
            Err(_) => Err(self.unexpected(format!("status {status}"))),
        }
    }

    pub(super) fn read<T: DeserializeOwned>(
        &self,
        response: Response<Body>,
    ) -> Result<T, ClientError> {
        let mut response = self.good(response)?;
        let read = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
        let bytes = read.map_err(|error| self.unexpected(error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| self.unexpected(error.to_string()))
    }

    pub(super) fn unexpected(&self, what: String) -> ClientError {
        ClientError::Strange { server: self.server.clone(), what }
    }
}
