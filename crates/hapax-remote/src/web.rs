//! Files of web servers, read in ranges.
//!
//! A server must support ranges. Every range request checks the version of the file (ETag, or else the modification
//! time). Transport and server failures (408, 429, 5xx) are retried with growing pauses, at most [`TRIES`] times; all
//! other failures are errors at once. Follows up to five redirects, never from HTTPS to HTTP; sends credentials only
//! to their host.

use std::io;
use std::ops::Range;
use std::thread::sleep;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONTENT_RANGE, ETAG, IF_MATCH, IF_UNMODIFIED_SINCE, LAST_MODIFIED, RANGE,
    RETRY_AFTER,
};
use http::{HeaderMap, HeaderValue};
use ureq::Agent;
use url::Url;

use crate::cloud::changed;
use crate::http::{Answer, agent, number, send};
use crate::parse::invalid;

const REDIRECTS: u32 = 5;
const TRIES: u32 = 10;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// A server with its credentials.
pub(crate) struct Web {
    agent: Agent,
    authorization: Option<HeaderValue>,
}

/// A file's size and version, as stated by the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) size: u64,
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
}

impl Web {
    /// For addresses on the same server as this one, with the credentials in it or those of the
    /// caller.
    pub(crate) fn new(url: &Url, bearer: Option<&str>) -> io::Result<Self> {
        let authorization = match bearer {
            Some(token) => Some(format!("Bearer {token}")),
            None if url.username().is_empty() => None,
            None => {
                let decoded = |text| percent_encoding::percent_decode_str(text).collect::<Vec<_>>();
                let (name, password) =
                    (decoded(url.username()), decoded(url.password().unwrap_or("")));
                Some(format!("Basic {}", BASE64_STANDARD.encode([name, password].join(&b':'))))
            }
        };
        let authorization = authorization.map(|text| {
            let value = HeaderValue::from_str(&text);
            value.map_err(|_| {
                invalid("the credentials have characters that cannot be sent".to_owned())
            })
        });
        let mut authorization = authorization.transpose()?;
        authorization.iter_mut().for_each(|value| value.set_sensitive(true));
        Ok(Self { agent: agent(REDIRECTS, url.scheme() == "https")?, authorization })
    }

    /// Size and version. Requests the first byte, because a signed address may be valid for GET
    /// only.
    pub(crate) fn stat(&self, url: &str) -> io::Result<Version> {
        let answer = self.ask(url, &[(RANGE.as_str(), "bytes=0-0")])?;
        let text = |name: &http::HeaderName| {
            let value = answer.headers.get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        let size = match answer.status {
            206 => content_range(&answer.headers).map(|(_, size)| size),
            // An empty file has no first byte.
            416 if text(&CONTENT_RANGE).as_deref() == Some("bytes */0") => Some(0),
            200 if answer.body.is_empty() => Some(0),
            200 => None,
            status => return Err(refused(status)),
        };
        let size = size.ok_or_else(|| {
            let what = "the server does not serve ranges of files; download it first";
            io::Error::new(io::ErrorKind::Unsupported, what)
        })?;
        // A weak tag does not guarantee equal bytes.
        let etag = text(&ETAG).filter(|tag| !tag.starts_with("W/"));
        Ok(Version { size, etag, modified: text(&LAST_MODIFIED) })
    }

    /// Reads a range of the file in the version that was found.
    pub(crate) fn get(&self, url: &str, found: &Version, range: Range<u64>) -> io::Result<Bytes> {
        let bytes = format!("bytes={}-{}", range.start, range.end - 1);
        let mut headers = vec![(RANGE.as_str(), bytes.as_str())];
        match (&found.etag, &found.modified) {
            (Some(etag), _) => headers.push((IF_MATCH.as_str(), etag)),
            (None, Some(time)) => headers.push((IF_UNMODIFIED_SINCE.as_str(), time)),
            (None, None) => {}
        }
        let answer = self.ask(url, &headers)?;
        match answer.status {
            206 => {}
            412 | 416 | 200 => return Err(changed()),
            status => return Err(refused(status)),
        }
        let tag = answer.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
        let other_tag =
            found.etag.as_deref().is_some_and(|etag| tag.is_some_and(|tag| tag != etag));
        match content_range(&answer.headers) {
            Some((got, size)) if size == found.size && got == range && !other_tag => {
                Ok(answer.body)
            }
            _ => Err(changed()),
        }
    }

    /// Reads a small document as a whole.
    pub(crate) fn read(&self, url: &str) -> io::Result<Answer> {
        let answer = self.ask(url, &[])?;
        if answer.status == 200 { Ok(answer) } else { Err(refused(answer.status)) }
    }

    fn ask(&self, url: &str, headers: &[(&str, &str)]) -> io::Result<Answer> {
        let mut pause = FIRST_PAUSE;
        for again in 0.. {
            let mut request = http::Request::get(url);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            if let Some(authorization) = &self.authorization {
                request = request.header(AUTHORIZATION, authorization);
            }
            let request = request.body(Bytes::new());
            let request = request.map_err(|_| invalid("the address is not valid".to_owned()))?;
            let mut wanted = None;
            match send(&self.agent, request) {
                Ok(answer) if !matches!(answer.status, 408 | 429 | 500..) => return Ok(answer),
                Ok(answer) if again == TRIES => return Err(refused(answer.status)),
                Ok(answer) => {
                    wanted = number(&answer.headers, RETRY_AFTER.as_str()).map(Duration::from_secs);
                }
                Err(none) if !none.again || again == TRIES => return Err(none.error),
                Err(_) => {}
            }
            sleep(wanted.unwrap_or(pause).clamp(pause, LONGEST_PAUSE.max(pause)));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Err(refused(503))
    }
}

/// Parses `bytes 0-0/100`: the range and the size of the file.
fn content_range(headers: &HeaderMap) -> Option<(Range<u64>, u64)> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    let (range, size) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let end = last.trim().parse::<u64>().ok()?.checked_add(1)?;
    Some((first.trim().parse().ok()?..end, size.trim().parse().ok()?))
}

fn refused(status: u16) -> io::Error {
    use io::ErrorKind as Kind;
    let (kind, what) = match status {
        401 | 403 => (Kind::PermissionDenied, "the server denies access"),
        404 | 410 => (Kind::NotFound, "the server has no such file"),
        408 | 429 | 500.. => (Kind::ConnectionAborted, "the server fails again and again"),
        _ => (Kind::ConnectionAborted, "the server does not answer as expected"),
    };
    io::Error::new(kind, format!("{what} (HTTP {status})"))
}
