//! Access control: bearer tokens, and the rules without tokens.
//!
//! Compares hashes of tokens in constant time, with all of them, so that the time reveals nothing. Without
//! tokens anybody who can connect may read, and only this machine may write. A browser does not lend its rights
//! to the pages it shows: requests under a host name that others could have pointed at our address (DNS
//! rebinding) are refused, and so are writes from another origin. A request forwarded by a proxy does not count
//! as from this machine.

use crate::config::{ConfigError, Tokens};
use crate::error::{ApiError, Code};
use axum::http::{HeaderMap, header};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// No permission needed: health, the web page, the description of the API.
    Open,
    Read,
    Write,
}

/// The tokens, as hashes.
#[derive(Debug)]
pub struct Access {
    read: Vec<blake3::Hash>,
    write: Vec<blake3::Hash>,
    /// Host names of the service, as configured.
    hosts: Vec<String>,
}

impl Access {
    /// From the configured tokens and host names.
    pub fn new(tokens: &Tokens, hosts: &[String]) -> Result<Self, ConfigError> {
        let hashes = |list: &[String]| list.iter().map(|t| blake3::hash(t.as_bytes())).collect();
        let (read, write) = tokens.gathered()?;
        Ok(Self { read: hashes(&read), write: hashes(&write), hosts: hosts.to_vec() })
    }

    /// Whether there are no tokens.
    pub fn is_open(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }

    /// Checks that a request from `peer` with these headers has permission for `scope`.
    ///
    /// # Errors
    ///
    /// Permission is denied.
    pub fn allow(&self, scope: Scope, headers: &HeaderMap, peer: IpAddr) -> Result<(), ApiError> {
        match scope {
            Scope::Open => Ok(()),
            Scope::Read if self.is_open() => self.must_be_ours(headers),
            Scope::Write if self.is_open() => only_this_machine(headers, peer),
            Scope::Read | Scope::Write => self.by_token(scope, headers),
        }
    }

    /// Checks the host name of the request. Anybody can make a name of theirs resolve to our
    /// address, but not a number or a name without a dot.
    fn must_be_ours(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(host) = host_of(headers)? else { return Ok(()) };
        let name = name_of(host);
        let ours = !name.contains('.')
            || name.parse::<IpAddr>().is_ok()
            || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
        match ours {
            true => Ok(()),
            false => Err(ApiError::new(
                Code::Forbidden,
                "no tokens are configured, so the service must be called by its number, or by a \
                 name in `hosts`",
            )),
        }
    }

    fn by_token(&self, scope: Scope, headers: &HeaderMap) -> Result<(), ApiError> {
        let refused = |message: &str| Err(ApiError::new(Code::Unauthorized, message));
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = given.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let Some(token) = token else {
            return refused("send `Authorization: Bearer TOKEN`");
        };
        let hash = blake3::hash(token.as_bytes());
        // `Hash` compares in constant time; do not stop early either.
        let among =
            |list: &[blake3::Hash]| list.iter().fold(false, |found, h| found | (*h == hash));
        match (among(&self.read), among(&self.write), scope) {
            (_, true, _) | (true, _, Scope::Read | Scope::Open) => Ok(()),
            (true, false, Scope::Write) => {
                Err(ApiError::new(Code::Forbidden, "this token may only read"))
            }
            (false, false, _) => refused("this token is unknown"),
        }
    }
}

/// The client that a request counts for: a token or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    Token([u8; 32]),
    Address(IpAddr),
}

impl Access {
    /// The client that an allowed request counts for; `None` for programs on this machine without a
    /// token.
    pub fn client(&self, headers: &HeaderMap, peer: IpAddr) -> Option<Client> {
        if !self.is_open()
            && let Some(given) = headers.get(header::AUTHORIZATION)
        {
            return Some(Client::Token(*blake3::hash(given.as_bytes()).as_bytes()));
        }
        let network = network_of(peer);
        (!network.is_loopback()).then_some(Client::Address(network))
    }
}

/// Limits what each client holds at once, of places for requests or of bytes, to a share.
#[derive(Debug)]
pub struct Shares {
    most: usize,
    held: Mutex<BTreeMap<Client, usize>>,
}

/// What a client holds; released on drop.
#[derive(Debug)]
pub struct Place {
    shares: Arc<Shares>,
    client: Client,
    count: usize,
}

impl Shares {
    /// Each client may hold this share of the places, and at least one.
    pub fn new(places: usize, share: f64) -> Arc<Self> {
        let most = ((places as f64 * share) as usize).max(1);
        Arc::new(Self { most, held: Mutex::default() })
    }

    /// Takes `count` for a client, who always gets its first. Programs of this machine without a
    /// token cannot be told apart, so they have no share.
    ///
    /// # Errors
    ///
    /// With it the client would hold more than its share, which is returned.
    pub fn take(
        self: &Arc<Self>,
        client: Option<Client>,
        count: usize,
    ) -> Result<Option<Place>, usize> {
        let Some(client) = client else { return Ok(None) };
        let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = all.get(&client).copied().unwrap_or(0);
        if held > 0 && held + count > self.most {
            return Err(self.most);
        }
        all.insert(client, held + count);
        Ok(Some(Place { shares: self.clone(), client, count }))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.shares.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.client) {
            *count -= self.count;
            if *count == 0 {
                held.remove(&self.client);
            }
        }
    }
}

/// An owner of one IPv6 address owns its whole network.
fn network_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64))
        }
        other => other,
    }
}

/// Headers added by proxies.
const PROXY_HEADERS: [&str; 4] = ["forwarded", "via", "x-forwarded-for", "x-real-ip"];

fn only_this_machine(headers: &HeaderMap, peer: IpAddr) -> Result<(), ApiError> {
    let refused = |message: &str| Err(ApiError::new(Code::Forbidden, message));
    if !peer.to_canonical().is_loopback() {
        return refused(
            "no tokens are configured, so only programs on the service's machine write",
        );
    }
    if PROXY_HEADERS.iter().any(|name| headers.contains_key(*name)) {
        return refused(
            "no tokens are configured, so nothing is written that a proxy brings; configure tokens",
        );
    }
    let host = host_of(headers)?.unwrap_or_default();
    if !names_this_machine(host) {
        return refused(
            "no tokens are configured, so writes must be sent to localhost or 127.0.0.1",
        );
    }
    let origin = headers.get(header::ORIGIN).map(|value| value.to_str().unwrap_or("?"));
    match origin {
        Some(origin) if origin.strip_prefix("http://") != Some(host) => {
            refused("another web page may not write")
        }
        Some(_) | None => Ok(()),
    }
}

/// The header `Host`. At most one is allowed, because programs differ in which of several they use.
fn host_of(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let mut all = headers.get_all(header::HOST).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(host), None) => Ok(Some(host.to_str().unwrap_or(NO_NAME))),
        (Some(_), Some(_)) => {
            Err(ApiError::new(Code::Invalid, "there are two headers `Host`; send one"))
        }
    }
}

/// Replaces an invalid host name; matches no host.
const NO_NAME: &str = "?.";

/// The host of `[::1]:8017`, `127.0.0.1:8017` or `localhost`, without brackets and port.
fn name_of(host: &str) -> &str {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or((NO_NAME, "")),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    match port.is_empty() || port.strip_prefix(':').is_some_and(is_port) {
        true => name,
        false => NO_NAME,
    }
}

fn names_this_machine(host: &str) -> bool {
    let name = name_of(host);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Maximum number of addresses to remember; beyond it, idle ones are dropped.
const REMEMBERED: usize = 10_000;

/// A rate limit per address, with bursts.
#[derive(Debug)]
pub struct Rate {
    per_second: f64,
    burst: f64,
    clients: Mutex<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    /// The remaining requests of each address, and the time of this count.
    left: BTreeMap<IpAddr, (f64, Instant)>,
    arrived: VecDeque<IpAddr>,
}

impl Rate {
    /// `per_second` 0 means no limit.
    pub fn new(per_second: f64, burst: u32) -> Self {
        Self { per_second, burst: f64::from(burst.max(1)), clients: Mutex::default() }
    }

    /// Whether this address may send a request now.
    pub fn admits(&self, peer: IpAddr, now: Instant) -> bool {
        let peer = network_of(peer);
        if self.per_second <= 0.0 || peer.is_loopback() {
            return true;
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let Clients { left, arrived } = &mut *clients;
        if !left.contains_key(&peer) {
            arrived.push_back(peer);
            if arrived.len() > REMEMBERED
                && let Some(first) = arrived.pop_front()
            {
                left.remove(&first);
            }
        }
        let (tokens, since) = left.entry(peer).or_insert((self.burst, now));
        let gained = now.saturating_duration_since(*since).as_secs_f64() * self.per_second;
        *tokens = (*tokens + gained).min(self.burst);
        *since = now;
        let admitted = *tokens >= 1.0;
        *tokens -= f64::from(u8::from(admitted));
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    fn code(
        access: &Access,
        scope: Scope,
        pairs: &[(header::HeaderName, &str)],
        peer: IpAddr,
    ) -> Option<Code> {
        access.allow(scope, &headers(pairs), peer).err().map(|error| error.code)
    }

    #[test]
    fn without_tokens_anybody_reads_and_only_this_machine_writes() {
        let open = Access::new(&Tokens::default(), &[]).unwrap();
        let host = |name| [(header::HOST, name)];
        assert_eq!(code(&open, Scope::Read, &[], THERE), None);
        assert_eq!(
            code(&open, Scope::Write, &host("127.0.0.1:8017"), THERE),
            Some(Code::Forbidden)
        );
        for name in ["127.0.0.1:8017", "localhost", "[::1]:8017", "LOCALHOST:1"] {
            assert_eq!(code(&open, Scope::Write, &host(name), HERE), None, "{name}");
        }
        for name in [
            "evil.example",
            "127.0.0.1.evil.example",
            "",
            "localhost.evil",
            "[::1].evil.example",
            "[::1]:80.evil.example",
            "localhost:x.evil.example",
            "[::1",
        ] {
            assert_eq!(
                code(&open, Scope::Write, &host(name), HERE),
                Some(Code::Forbidden),
                "{name}"
            );
        }
        for name in ["[::1].evil.example", "127.0.0.1:80.evil.example"] {
            assert_eq!(
                code(&open, Scope::Read, &host(name), HERE),
                Some(Code::Forbidden),
                "{name}"
            );
        }
        let mut two = headers(&host("localhost"));
        two.append(header::HOST, "evil.example".parse().unwrap());
        for scope in [Scope::Read, Scope::Write] {
            let error = open.allow(scope, &two, HERE).unwrap_err();
            assert_eq!(error.code, Code::Invalid);
        }
    }

    #[test]
    fn a_page_of_another_origin_cannot_write_through_a_browser_here() {
        let open = Access::new(&Tokens::default(), &[]).unwrap();
        let from = |origin| [(header::HOST, "localhost:8017"), (header::ORIGIN, origin)];
        assert_eq!(code(&open, Scope::Write, &from("http://localhost:8017"), HERE), None);
        for origin in
            ["http://localhost:9", "https://evil.example", "null", "http://localhost:8017.evil"]
        {
            assert_eq!(
                code(&open, Scope::Write, &from(origin), HERE),
                Some(Code::Forbidden),
                "{origin}"
            );
        }
    }

    #[test]
    fn tokens_are_needed_by_everybody_once_there_is_one() {
        let (read, write) = (vec!["reader".into()], vec!["writer".into()]);
        let tokens = Tokens { read, write, ..Tokens::default() };
        let access = Access::new(&tokens, &[]).unwrap();
        let with = |value| [(header::AUTHORIZATION, value)];
        assert_eq!(code(&access, Scope::Open, &[], THERE), None);
        assert_eq!(code(&access, Scope::Read, &[], HERE), Some(Code::Unauthorized));
        assert_eq!(code(&access, Scope::Read, &with("Bearer reader"), THERE), None);
        assert_eq!(
            code(&access, Scope::Write, &with("Bearer reader"), HERE),
            Some(Code::Forbidden)
        );
        assert_eq!(code(&access, Scope::Write, &with("bearer writer"), THERE), None);
        assert_eq!(
            code(&access, Scope::Read, &with("Bearer write"), THERE),
            Some(Code::Unauthorized)
        );
        assert_eq!(
            code(&access, Scope::Read, &with("Basic reader"), THERE),
            Some(Code::Unauthorized)
        );
    }

    #[test]
    fn a_client_gets_at_most_its_share_of_the_places() {
        let tokens = Tokens { read: vec!["reader".into()], ..Tokens::default() };
        let access = Access::new(&tokens, &[]).unwrap();
        let open = Access::new(&Tokens::default(), &[]).unwrap();
        let client = |access: &Access, token: &str, peer| {
            access.client(&headers(&[(header::AUTHORIZATION, token)]), peer)
        };
        let (one, other) = (client(&access, "Bearer a", HERE), client(&access, "Bearer b", HERE));
        assert_ne!(one, other);
        assert_eq!(client(&open, "Bearer a", THERE), Some(Client::Address(THERE)));
        assert_eq!(client(&open, "Bearer a", HERE), None);
        let shares = Shares::new(10, 0.5);
        let mut held: Vec<_> = (0..5).map(|_| shares.take(one, 1).unwrap()).collect();
        assert_eq!(shares.take(one, 1).unwrap_err(), 5);
        shares.take(other, 5).unwrap();
        assert!(shares.take(None, 50).unwrap().is_none(), "others share nothing");
        held.pop();
        assert_eq!(shares.take(one, 2).unwrap_err(), 5);
        held.push(shares.take(one, 1).unwrap());
        held.clear();
        drop(shares.take(one, 7).unwrap());
        assert!(shares.held.lock().unwrap().is_empty(), "nobody is remembered");
    }

    #[test]
    fn a_client_gets_its_burst_and_then_its_rate() {
        let rate = Rate::new(10.0, 3);
        let start = Instant::now();
        let sent = (0..5).filter(|_| rate.admits(THERE, start)).count();
        assert_eq!(sent, 3);
        assert!(rate.admits(THERE, start + Duration::from_millis(101)));
        assert!(!rate.admits(THERE, start + Duration::from_millis(102)));
        assert!((0..100).all(|_| rate.admits(HERE, start)));
    }

    #[test]
    fn a_client_with_many_addresses_of_one_network_is_one_client() {
        let rate = Rate::new(1.0, 2);
        let start = Instant::now();
        let address = |n: u16| IpAddr::from([0x2001, 0xdb8, 1, 2, 0, 0, 0, n]);
        assert_eq!((0..100).filter(|n| rate.admits(address(*n), start)).count(), 2);
        assert!(rate.admits(IpAddr::from([0x2001, 0xdb8, 1, 3, 0, 0, 0, 1]), start));
    }

    #[test]
    fn only_so_many_clients_are_remembered() {
        let rate = Rate::new(1.0, 1);
        for n in 0..(REMEMBERED as u32 + 500) {
            rate.admits(IpAddr::V4(std::net::Ipv4Addr::from_bits(0x0b00_0000 + n)), Instant::now());
        }
        let clients = rate.clients.lock().unwrap();
        assert_eq!((clients.left.len(), clients.arrived.len()), (REMEMBERED, REMEMBERED));
    }
}
