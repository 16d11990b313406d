//! Fetches pages from untrusted hosts safely and politely. Blocking: call it on a thread.
//!
//! Safe: only http and https, and no port of another service; every address is checked after its name is
//! resolved, and the connection goes to the checked address; every redirect is checked in the same way; time,
//! headers, body and unpacked body are limited; no proxy, cookies or credentials. Polite: one connection per
//! host, a pause between requests, and robots.txt unless the operator disables it.

pub mod list;
pub mod ports;
pub mod ranges;
pub mod robots;

use crate::config;
use ranges::Allowed;
pub use ranges::RangeError;
use robots::Robots;
use std::collections::BTreeMap;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use url::Url;

/// Maximum size of response headers in bytes.
const HEADER_BYTES: usize = 64 * 1024;
/// Maximum number of hosts to remember; beyond it, idle ones are dropped.
const HOSTS: usize = 10_000;
/// Maximum total size of remembered robots.txt files in bytes, because a site may have many names
/// with a long file each; beyond it, idle hosts are dropped.
const ROBOTS_BYTES: usize = 64 << 20;
/// How long a robots.txt is valid.
const ROBOTS_AGE: Duration = Duration::from_secs(24 * 3600);
/// How long to wait after a failure to fetch a robots.txt.
const ROBOTS_RETRY: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, PartialEq)]
pub struct Fetched {
    pub redirects: Vec<(String, String)>,
    /// The final address after redirects.
    pub url: String,
    /// Content type from the server.
    pub content_type: Option<String>,
    /// Its `Content-Language`.
    pub language: Option<String>,
    /// The unpacked body.
    pub body: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Not an address that can be fetched.
    #[error("`{url}` is not an http or https address")]
    NotAnAddress { url: String },
    #[error(
        "{url} is not fetched: its host is not a public address; the operator may allow it in fetch.allow"
    )]
    Refused { url: String },
    /// The port is not allowed.
    #[error(
        "{url} is not fetched: pages are not on its port; `fetch.ports` has those that may be used"
    )]
    Port { url: String },
    #[error("{url} is not fetched: the name {host} cannot be resolved ({why}); check its spelling")]
    Unresolved {
        url: String,
        host: String,
        /// The resolver's error.
        why: String,
    },
    /// The site's robots.txt cannot be fetched; by the standard, nothing may be fetched then.
    #[error(
        "{url} is not fetched: the site's robots.txt could not be fetched ({why}); try again later"
    )]
    RobotsUnreachable {
        url: String,
        /// Why it could not be fetched.
        why: String,
    },
    /// Forbidden by robots.txt.
    #[error("{url} is not fetched: the site's robots.txt forbids it")]
    Robots { url: String },
    #[error("{url} redirects more than {most} times")]
    TooManyRedirects {
        url: String,
        /// Maximum number of redirects.
        most: u32,
    },
    #[error("{url} is longer than {most} bytes")]
    TooLong {
        url: String,
        /// Maximum number of bytes.
        most: u64,
    },
    /// The server answered with another status.
    #[error("{url} was answered with status {status}")]
    Status { url: String, status: u16 },
    /// Too many requests for the same host are waiting.
    #[error("{url} was not fetched: {most} requests to its host are under way; try again")]
    Busy { url: String, most: usize },
    #[error("{url} was not fetched: {why}")]
    Failed { url: String, why: String },
}

/// Resolves names, and returns only addresses that may be connected to.
#[derive(Debug)]
struct CheckedResolver {
    allowed: Arc<Allowed>,
    ports: Vec<u16>,
}

impl CheckedResolver {
    /// On public addresses, only the ports for pages are allowed; in ranges allowed by the
    /// operator, all ports except those of other services.
    fn admits(&self, address: SocketAddr) -> bool {
        self.allowed.admits(address.ip())
            && (self.ports.contains(&address.port()) || self.allowed.names(address.ip()))
    }
}

impl Resolver for CheckedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let all =
            DefaultResolver::default().resolve(uri, config, timeout).map_err(
                |error| match error {
                    timeout @ ureq::Error::Timeout(_) => timeout,
                    other => ureq::Error::Other(Box::new(NoSuchName(other.to_string()))),
                },
            )?;
        let mut admitted = self.empty();
        for address in all.iter().filter(|address| self.admits(**address)) {
            admitted.push(*address);
        }
        match admitted.is_empty() {
            true => Err(ureq::Error::Other(Box::new(NotPublic))),
            false => Ok(admitted),
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("not a public address")]
struct NotPublic;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoSuchName(String);

/// A host, and the number of its requests, including waiting ones.
#[derive(Debug, Default)]
struct Site {
    requests: AtomicUsize,
    host: Mutex<Host>,
}

struct SiteSlot(Arc<Site>);

impl SiteSlot {
    /// `None` if the host has too many requests.
    fn begin(site: Arc<Site>, most: usize) -> Option<Self> {
        let slot = Self(site);
        // Counted before the check; dropping it decrements the count.
        (slot.0.requests.fetch_add(1, Ordering::Relaxed) < most).then_some(slot)
    }
}

impl Drop for SiteSlot {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Host {
    last: Option<Instant>,
    /// When robots.txt was fetched, and its rules or the failure.
    robots: Option<(Instant, Result<Robots, String>)>,
}

impl Host {
    /// Whether robots.txt must be fetched, possibly again.
    fn needs_robots(&self) -> bool {
        self.robots.as_ref().is_none_or(|(since, robots)| {
            since.elapsed() > if robots.is_ok() { ROBOTS_AGE } else { ROBOTS_RETRY }
        })
    }
}

/// Fetches pages. Share it, because it remembers the last request to each host.
#[derive(Debug)]
pub struct Fetcher {
    agent: ureq::Agent,
    allowed: Arc<Allowed>,
    settings: config::Fetch,
    hosts: Mutex<BTreeMap<String, Arc<Site>>>,
    /// Lower bound for the total size of the robots.txt files.
    robots_bytes: AtomicUsize,
}

impl Fetcher {
    ///
    /// # Errors
    ///
    /// A range of addresses is malformed.
    pub fn new(settings: &config::Fetch) -> Result<Self, RangeError> {
        let allowed = Arc::new(Allowed::new(&settings.allow)?);
        let config = ureq::Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .max_response_header_size(HEADER_BYTES)
            .max_idle_connections(0)
            .user_agent(settings.agent.as_str())
            .accept("text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.1")
            .build();
        let resolver = CheckedResolver { allowed: allowed.clone(), ports: settings.ports.clone() };
        let agent = ureq::Agent::with_parts(config, DefaultConnector::default(), resolver);
        Ok(Self {
            agent,
            allowed,
            settings: settings.clone(),
            hosts: Mutex::default(),
            robots_bytes: AtomicUsize::new(0),
        })
    }

    /// Fetches a page, following redirects.
    pub fn fetch(&self, first: &str) -> Result<Fetched, FetchError> {
        self.fetch_among(first, usize::MAX)
    }

    /// As [`fetch`](Self::fetch), unless one of its hosts already has `most` requests, so that one
    /// slow site does not take all places.
    pub fn fetch_among(&self, first: &str, most: usize) -> Result<Fetched, FetchError> {
        let deadline = Instant::now() + Duration::from_secs(self.settings.seconds);
        let mut url = parse(first)?;
        let mut redirects = Vec::new();
        for _ in 0..=self.settings.redirects {
            let busy = || FetchError::Busy { url: url.to_string(), most };
            let slot = SiteSlot::begin(self.host(&url), most).ok_or_else(busy)?;
            // One connection per host: other requests for it wait here.
            let mut host = slot.0.host.lock().unwrap_or_else(PoisonError::into_inner);
            self.obey_robots(&url, &mut host, deadline)?;
            self.pause(&mut host, deadline, &url)?;
            let mut response = self.get(&url, deadline)?;
            host.last = Some(Instant::now());
            let header = |name: &str| -> Option<String> {
                Some(response.headers().get(name)?.to_str().ok()?.to_owned())
            };
            let status = response.status();
            if status.is_redirection()
                && let Some(target) = header("location")
            {
                let target = url.join(&target);
                let next = target.map_err(|_| FetchError::NotAnAddress { url: url.to_string() })?;
                let next = parse(next.as_str())?;
                redirects.push((url.to_string(), next.to_string()));
                url = next;
                continue;
            }
            if !status.is_success() {
                return Err(FetchError::Status { url: url.into(), status: status.as_u16() });
            }
            let (content_type, language) = (header("content-type"), header("content-language"));
            let body = self.read(&url, &mut response, self.settings.body_bytes)?;
            return Ok(Fetched { redirects, url: url.into(), content_type, language, body });
        }
        Err(FetchError::TooManyRedirects { url: first.to_owned(), most: self.settings.redirects })
    }

    fn host(&self, url: &Url) -> Arc<Site> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() > HOSTS || self.robots_bytes.load(Ordering::Relaxed) > ROBOTS_BYTES {
            hosts.retain(|_, host| Arc::strong_count(host) > 1);
            self.robots_bytes.store(0, Ordering::Relaxed);
        }
        // Includes the scheme, because a robots.txt is valid for one scheme, host and port.
        hosts.entry(url.origin().ascii_serialization()).or_default().clone()
    }

    fn obey_robots(&self, url: &Url, host: &mut Host, deadline: Instant) -> Result<(), FetchError> {
        if !self.settings.robots {
            return Ok(());
        }
        if host.needs_robots() {
            let robots = self.ask_robots(url, deadline)?;
            host.last = Some(Instant::now());
            self.remember(host, robots);
        }
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        match &host.robots {
            Some((_, Ok(robots))) if !robots.allows(path) => {
                Err(FetchError::Robots { url: url.to_string() })
            }
            Some((_, Err(why))) => {
                Err(FetchError::RobotsUnreachable { url: url.to_string(), why: why.clone() })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn remember(&self, host: &mut Host, robots: Result<Robots, String>) {
        let bytes = robots.as_ref().map_or(0, Robots::bytes);
        self.robots_bytes.fetch_add(bytes, Ordering::Relaxed);
        host.robots = Some((Instant::now(), robots));
    }

    /// The rules of a site, or why they are unavailable. By RFC 9309, a missing file allows
    /// everything, and a network or server failure allows nothing.
    fn ask_robots(
        &self,
        url: &Url,
        deadline: Instant,
    ) -> Result<Result<Robots, String>, FetchError> {
        let mut at = url
            .join("/robots.txt")
            .map_err(|_| FetchError::NotAnAddress { url: url.to_string() })?;
        for _ in 0..=self.settings.redirects {
            let mut response = match self.get(&at, deadline) {
                Ok(response) => response,
                // Only for the page's own host; elsewhere, the file is unavailable.
                Err(FetchError::Unresolved { host, why, .. }) if at.host() == url.host() => {
                    return Err(FetchError::Unresolved { url: url.to_string(), host, why });
                }
                Err(refused @ (FetchError::Refused { .. } | FetchError::Port { .. })) => {
                    return Err(refused);
                }
                Err(FetchError::Failed { why, .. }) => return Ok(Err(why)),
                Err(other) => return Ok(Err(other.to_string())),
            };
            let status = response.status().as_u16();
            match status {
                200..=299 => {
                    // Of a long file, only the beginning is read.
                    let mut bytes = Vec::new();
                    let reader = response.body_mut().as_reader().take(robots::MOST_BYTES as u64);
                    if let Err(error) = { reader }.read_to_end(&mut bytes) {
                        return Ok(Err(error.to_string()));
                    }
                    let product = self.settings.agent.split(['/', ' ']).next().unwrap_or_default();
                    return Ok(Ok(Robots::parse(&String::from_utf8_lossy(&bytes), product)));
                }
                300..=399 => {
                    let target = response.headers().get("location").and_then(|v| v.to_str().ok());
                    match target.and_then(|target| at.join(target).ok()) {
                        Some(next) => at = parse(next.as_str())?,
                        None => return Ok(Ok(Robots::open())),
                    }
                }
                400..=499 => return Ok(Ok(Robots::open())),
                _ => return Ok(Err(format!("status {status}"))),
            }
        }
        Ok(Ok(Robots::open()))
    }

    fn pause(&self, host: &mut Host, deadline: Instant, url: &Url) -> Result<(), FetchError> {
        let robots = host.robots.as_ref().and_then(|(_, robots)| robots.as_ref().ok());
        let asked = robots.and_then(|robots| robots.delay).unwrap_or_default();
        let delay =
            Duration::from_secs_f64(self.settings.delay_seconds.clamp(0.0, 3600.0)).max(asked);
        let Some(last) = host.last else { return Ok(()) };
        let until = last + delay;
        if until > deadline {
            let why = "its host was asked a moment ago; try again later".into();
            return Err(FetchError::Failed { url: url.to_string(), why });
        }
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        Ok(())
    }

    fn get(
        &self,
        url: &Url,
        deadline: Instant,
    ) -> Result<ureq::http::Response<ureq::Body>, FetchError> {
        // IP addresses need no resolving, and are refused before anything is sent.
        let number = match url.host() {
            Some(url::Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(url::Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(url::Host::Domain(_)) | None => None,
        };
        let refused = || FetchError::Refused { url: url.to_string() };
        if number.is_some_and(|number| !self.allowed.admits(number)) {
            return Err(refused());
        }
        let by_range = match number {
            Some(number) => self.allowed.names(number),
            None => !self.settings.allow.is_empty(),
        };
        let good =
            |port| self.settings.ports.contains(&port) || (by_range && !ports::is_blocked(port));
        if !url.port_or_known_default().is_some_and(good) {
            return Err(FetchError::Port { url: url.to_string() });
        }
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let request = self.agent.get(url.as_str()).config().timeout_global(Some(left)).build();
        request.call().map_err(|error| match error {
            ureq::Error::Other(other) if other.is::<NotPublic>() => refused(),
            ureq::Error::Other(other) if other.is::<NoSuchName>() => FetchError::Unresolved {
                url: url.to_string(),
                host: url.host_str().unwrap_or_default().to_owned(),
                why: other.to_string(),
            },
            other => FetchError::Failed { url: url.to_string(), why: other.to_string() },
        })
    }

    fn read(
        &self,
        url: &Url,
        response: &mut ureq::http::Response<ureq::Body>,
        most: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let mut bytes = Vec::new();
        let read = response.body_mut().as_reader().take(most + 1).read_to_end(&mut bytes);
        match read {
            Ok(read) if read as u64 > most => {
                Err(FetchError::TooLong { url: url.to_string(), most })
            }
            Ok(_) => Ok(bytes),
            Err(error) => Err(FetchError::Failed { url: url.to_string(), why: error.to_string() }),
        }
    }
}

/// Accepts only http and https, without credentials and fragment.
fn parse(text: &str) -> Result<Url, FetchError> {
    let wrong = || FetchError::NotAnAddress { url: text.chars().take(200).collect() };
    let mut url = Url::parse(text).map_err(|_| wrong())?;
    let plain = url.username().is_empty() && url.password().is_none();
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !plain {
        return Err(wrong());
    }
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_robots_files_under_many_names_are_not_all_remembered() {
        let mut layers = config::Layers::new().unwrap();
        layers.set("test", "fetch.enabled", "true").unwrap();
        let fetcher = Fetcher::new(&layers.finish().unwrap().fetch).unwrap();
        let rules = format!("user-agent: *\n{}", "disallow: /x\n".repeat(20_000));
        let robots = Robots::parse(&rules, "hapax");
        for n in 0..200 {
            let host = fetcher.host(&Url::parse(&format!("http://{n}.example/")).unwrap());
            fetcher.remember(&mut host.host.lock().unwrap(), Ok(robots.clone()));
        }
        let hosts = fetcher.hosts.lock().unwrap();
        let bytes: usize = hosts
            .values()
            .filter_map(|host| {
                Some(host.host.lock().unwrap().robots.as_ref()?.1.as_ref().ok()?.bytes())
            })
            .sum();
        assert!(robots.bytes() > 500_000 && bytes <= ROBOTS_BYTES + robots.bytes(), "{bytes}");
    }

    #[test]
    fn a_robots_file_holds_for_the_scheme_host_and_port_it_was_got_from() {
        let mut layers = config::Layers::new().unwrap();
        layers.set("test", "fetch.enabled", "true").unwrap();
        let fetcher = Fetcher::new(&layers.finish().unwrap().fetch).unwrap();
        let host = |url: &str| fetcher.host(&Url::parse(url).unwrap());
        let first = host("http://a.example:8000/x");
        assert!(Arc::ptr_eq(&first, &host("http://A.example:8000/y?z")));
        for other in ["https://a.example:8000/x", "http://a.example/x", "http://b.example:8000/x"] {
            assert!(!Arc::ptr_eq(&first, &host(other)), "{other}");
        }
        assert!(Arc::ptr_eq(&host("https://a.example/"), &host("https://a.example:443/")));
    }
}
