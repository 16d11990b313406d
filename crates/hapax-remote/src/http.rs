//! The HTTP client for all stores: blocking, with reused connections.
//!
//! `object_store` uses it through [`Connector`]; answers are read to their end before they are returned, because no
//! request asks for more than a piece. An interrupted answer is a transport error, which is retried. Plain HTTP is
//! used only if an endpoint or address says so.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE};
use http::{HeaderMap, Method};
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use ureq::Agent;
use ureq::config::{AutoHeaderValue, RedirectAuthHeaders};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// No request asks for a longer range or page of a listing.
const LONGEST_ANSWER: u64 = 64 << 20;
const CONNECT: Duration = Duration::from_secs(20);
/// Maximum wait for the start of an answer, and between two reads of it. [`TIMEOUT`] overrides it.
const SILENCE: Duration = Duration::from_secs(60);
/// Timeout of silence in whole seconds, after which a request is aborted and retried.
const TIMEOUT: &str = "HAPAX_REMOTE_TIMEOUT";
const CONNECTIONS: usize = 64;

/// The certificate authorities for servers: those of the files named by the environment, or the
/// default ones.
fn tls() -> io::Result<TlsConfig> {
    let mut certificates = Vec::new();
    for name in ["AWS_CA_BUNDLE", "SSL_CERT_FILE"] {
        let Some(path) = std::env::var_os(name).filter(|path| !path.is_empty()) else { continue };
        let wrong =
            |what: String| io::Error::new(io::ErrorKind::InvalidInput, format!("{name}: {what}"));
        let pem = std::fs::read(path).map_err(|cause| wrong(cause.to_string()))?;
        let before = certificates.len();
        certificates.extend(parse_pem(&pem).filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        }));
        if certificates.len() == before {
            return Err(wrong("the file holds no certificate in PEM".to_owned()));
        }
    }
    if certificates.is_empty() {
        return Ok(TlsConfig::default());
    }
    Ok(TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(certificates))).build())
}

/// The timeout for a silent server.
fn silence() -> io::Result<Duration> {
    let Some(set) = std::env::var_os(TIMEOUT).filter(|set| !set.is_empty()) else {
        return Ok(SILENCE);
    };
    let seconds = set.to_str().and_then(|text| text.parse().ok()).filter(|&seconds| seconds > 0);
    seconds.map(Duration::from_secs).ok_or_else(|| {
        let what = format!("{TIMEOUT}={}: expected whole seconds from 1", set.display());
        io::Error::new(io::ErrorKind::InvalidInput, what)
    })
}

/// A client that follows this many redirects, from HTTPS only to HTTPS. Credentials are sent only
/// to their host.
pub(crate) fn agent(redirects: u32, https_only: bool) -> io::Result<Agent> {
    let silence = silence()?;
    let config = Agent::config_builder()
        .tls_config(tls()?)
        .http_status_as_error(false)
        .https_only(https_only)
        .max_redirects(redirects)
        .redirect_auth_headers(RedirectAuthHeaders::SameHost)
        .accept_encoding(AutoHeaderValue::None)
        .user_agent(concat!("hapax/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(silence))
        .timeout_per_read(Some(silence))
        .timeout_per_write(Some(silence))
        .max_idle_connections(CONNECTIONS)
        .max_idle_connections_per_host(CONNECTIONS)
        .build();
    Ok(config.new_agent())
}

/// An answer with its whole body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why there is no answer, and whether to retry.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    pub(crate) error: io::Error,
    pub(crate) again: bool,
    kind: HttpErrorKind,
}

/// Sends a request and reads the whole answer.
pub(crate) fn send(agent: &Agent, request: http::Request<Bytes>) -> Result<Answer, NoAnswer> {
    let (parts, body) = request.into_parts();
    let is_head = parts.method == Method::HEAD;
    let sent = match parts.method {
        Method::POST | Method::PUT => agent.run(http::Request::from_parts(parts, &body[..])),
        _ => agent.run(http::Request::from_parts(parts, ())),
    };
    let (parts, body) = sent.map_err(no_answer)?.into_parts();
    let length: Option<u64> = number(&parts.headers, CONTENT_LENGTH.as_str());
    let mut bytes = Vec::with_capacity(length.unwrap_or(0).min(LONGEST_ANSWER) as usize);
    if !is_head {
        let mut reader = body.into_with_config().limit(u64::MAX).reader().take(LONGEST_ANSWER + 1);
        let read = reader.read_to_end(&mut bytes);
        // The client decompresses what a server declares as compressed; a range of that cannot be
        // decompressed.
        if length.is_none() && parts.headers.contains_key(CONTENT_RANGE) && read.is_err() {
            let what = "is stored with a Content-Encoding, of which no range can be read; \
                        store it without, or read a copy";
            return Err(NoAnswer::last(io::ErrorKind::Unsupported, what));
        }
        read.map_err(|error| no_answer(error.into()))?;
        if bytes.len() as u64 > LONGEST_ANSWER {
            return Err(NoAnswer::last(io::ErrorKind::FileTooLarge, "answers with too many bytes"));
        }
        if length.is_some_and(|length| length != bytes.len() as u64) {
            let error = io::Error::new(io::ErrorKind::ConnectionAborted, "the answer broke off");
            return Err(NoAnswer { error, again: true, kind: HttpErrorKind::Interrupted });
        }
    }
    Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body: bytes.into() })
}

pub(crate) fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

impl NoAnswer {
    fn last(kind: io::ErrorKind, what: &str) -> Self {
        let error = io::Error::new(kind, what.to_owned());
        Self { error, again: false, kind: HttpErrorKind::Unknown }
    }
}

/// Describes the error without the address, which may contain secrets.
fn no_answer(error: ureq::Error) -> NoAnswer {
    use io::ErrorKind as Kind;
    let (error, again, kind) = match error {
        ureq::Error::Timeout(_) => {
            let what = "no answer in time";
            (io::Error::new(Kind::TimedOut, what), true, HttpErrorKind::Timeout)
        }
        ureq::Error::HostNotFound => {
            let what = "the host is not known";
            (io::Error::new(Kind::HostUnreachable, what), true, HttpErrorKind::Connect)
        }
        ureq::Error::ConnectionFailed => {
            let what = "cannot connect";
            (io::Error::new(Kind::ConnectionRefused, what), true, HttpErrorKind::Connect)
        }
        ureq::Error::Io(cause) if cause.kind() == Kind::ConnectionRefused => {
            let what = "cannot connect: the connection is refused";
            (io::Error::new(Kind::ConnectionRefused, what), true, HttpErrorKind::Connect)
        }
        // What TLS rejects, such as a certificate, it would reject again.
        ureq::Error::Io(cause) if cause.kind() == Kind::InvalidData => {
            let what = format!("no safe connection: {cause}");
            (io::Error::new(Kind::PermissionDenied, what), false, HttpErrorKind::Unknown)
        }
        ureq::Error::Io(cause) => {
            let what = format!("the connection broke: {cause}");
            (io::Error::new(Kind::ConnectionAborted, what), true, HttpErrorKind::Interrupted)
        }
        ureq::Error::Protocol(cause) => {
            let what = format!("the answer is not HTTP: {cause}");
            (io::Error::new(Kind::ConnectionAborted, what), true, HttpErrorKind::Interrupted)
        }
        ureq::Error::RequireHttpsOnly(_) => {
            let what = "redirects from HTTPS to plain HTTP, which is not followed";
            (io::Error::new(Kind::PermissionDenied, what), false, HttpErrorKind::Unknown)
        }
        ureq::Error::TooManyRedirects => {
            let what = "redirects too often";
            (io::Error::new(Kind::ConnectionAborted, what), false, HttpErrorKind::Unknown)
        }
        other => {
            let what = format!("cannot be asked: {}", kind_of(&other));
            (io::Error::new(Kind::ConnectionAborted, what), false, HttpErrorKind::Unknown)
        }
    };
    NoAnswer { error, again, kind }
}

fn kind_of(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Rustls(cause) => format!("TLS: {cause}"),
        ureq::Error::BadUri(_) | ureq::Error::InvalidProxyUrl => "the address is not valid".into(),
        other => other.to_string(),
    }
}

/// Makes `object_store` use this client.
#[derive(Debug)]
pub(crate) struct Connector;

#[derive(Debug)]
struct Service(Agent);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        // Only the host that a request was signed for may answer it.
        let agent = agent(0, false);
        let agent = agent
            .map_err(|error| object_store::Error::Generic { store: "HTTP", source: error.into() });
        Ok(HttpClient::new(Service(agent?)))
    }
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let agent = self.0.clone();
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let request = http::Request::from_parts(parts, body);
        let sent = tokio::task::spawn_blocking(move || send(&agent, request)).await;
        let answer = sent
            .map_err(|panic| HttpError::new(HttpErrorKind::Unknown, panic))?
            .map_err(|none| HttpError::new(none.kind, none.error))?;
        let mut response = HttpResponse::new(answer.body.into());
        *response.status_mut() = http::StatusCode::from_u16(answer.status)
            .map_err(|error| HttpError::new(HttpErrorKind::Decode, error))?;
        *response.headers_mut() = answer.headers;
        Ok(response)
    }
}
