//! A client for the service, with the operations of a repository.
//!
//! Blocking; keeps one connection open for the next request. Errors of the service have the code, status and
//! message of its table.

mod batch;
mod calls;

use crate::wire::{
    Changed, Event, Forgotten, Group, GroupStatuses, PageDetail, PageInput, Promoted, Rows,
    RulesInput, RulesShown, SettingsShown, StatsShown, Verdict,
};
use std::io::{BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use batch::{Batch, LineAnswer, LineOutcome};

/// The environment variable for the token.
pub const TOKEN_VARIABLE: &str = "HAPAX_TOKEN";

/// Maximum size of an answer in bytes; batches are read line by line.
const LONGEST_ANSWER: u64 = 256 << 20;

/// A request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    #[error("the service at {server} answers {code} ({status}): {message}")]
    Refused {
        server: String,
        /// From the service's table of errors.
        code: String,
        status: u16,
        message: String,
    },
    #[error("no answer from {server}: {source}")]
    Unreachable { server: String, source: Box<ureq::Error> },
    /// The answer is not what this version expects.
    #[error("{server} does not answer like a Hapax service of this version: {what}")]
    Strange { server: String, what: String },
}

/// An error of the service.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct ErrorAnswer {
    /// From the service's table of errors.
    pub code: String,
    pub message: String,
}

/// A service, reached over HTTP.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    server: String,
    token: Option<String>,
    /// The epoch of the last events that were read.
    epoch: Arc<Mutex<Option<String>>>,
}

impl std::fmt::Debug for Client {
    /// Without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Client {
    /// For the service at an address such as `http://127.0.0.1:8017`.
    pub fn new(server: &str, token: Option<&str>, timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_connect(Some(timeout))
            .timeout_recv_response(Some(timeout))
            .build();
        Self {
            agent: config.new_agent(),
            server: server.trim_end_matches('/').to_owned(),
            token: token.map(|token| format!("Bearer {token}")),
            epoch: Arc::default(),
        }
    }

    pub fn observe(&self, page: &PageInput) -> Result<Verdict, ClientError> {
        self.send("POST", "/v1/pages", page)
    }

    /// The verdict that this page would get.
    pub fn check(&self, page: &PageInput) -> Result<Verdict, ClientError> {
        self.send("POST", "/v1/check", page)
    }

    /// Records pages, given as lines of JSON, in several requests; the answers come in order.
    ///
    /// The iterator ends after its first error.
    pub fn batch<R: BufRead>(&self, lines: R) -> Batch<R> {
        Batch::new(self.clone(), lines)
    }

    /// The data and status of a page, in a market if one is given; `None` for an unknown address.
    pub fn page(&self, url: &str, market: Option<&str>) -> Result<Option<PageDetail>, ClientError> {
        let path = page_path(url, &in_market('?', market));
        self.known_in(market, self.get(&path))
    }

    /// The group of a page with the status of all its pages, read in requests of this many; `None`
    /// for an unknown address.
    pub fn page_group(
        &self,
        url: &str,
        market: Option<&str>,
        piece: usize,
    ) -> Result<Option<GroupStatuses>, ClientError> {
        let mut all: Option<GroupStatuses> = None;
        loop {
            let next = all.as_mut().and_then(|all| all.pages.next.take());
            let after = next.map(|next| format!("&after={}", encoded(&next))).unwrap_or_default();
            let rest = format!("/group?limit={piece}{after}{}", in_market('&', market));
            let found = self.known_in(market, self.get(&page_path(url, &rest)))?;
            let Some(mut found): Option<GroupStatuses> = found else { return Ok(None) };
            if let Some(before) = all.take() {
                found.pages.rows.splice(..0, before.pages.rows);
            }
            match found.pages.next {
                Some(_) => all = Some(found),
                None => return Ok(Some(found)),
            }
        }
    }

    /// Groups by number with at least `least` members, after a previous answer.
    pub fn groups_by_number(
        &self,
        after: Option<&str>,
        limit: usize,
        least: u32,
        market: Option<&str>,
    ) -> Result<Rows<Group>, ClientError> {
        let after = after.map(|after| format!("&after={}", encoded(after))).unwrap_or_default();
        let market = in_market('&', market);
        self.get(&format!("/v1/groups?sort=number&limit={limit}&least={least}{after}{market}"))
    }

    /// The settings of the service and its repository.
    pub fn settings(&self) -> Result<SettingsShown, ClientError> {
        self.get("/v1/settings")
    }

    /// What a copy at this position lacks, or everything, as of one commit. The service waits up to
    /// `wait` seconds for something new; `standby` is the caller's name as a standby.
    pub fn increment(
        &self,
        after: Option<&str>,
        wait: u64,
        standby: Option<&str>,
    ) -> Result<impl Read + use<>, ClientError> {
        let after = after.map(|after| format!("&after={}", encoded(after))).unwrap_or_default();
        let standby = standby.map(|name| format!("&standby={}", encoded(name))).unwrap_or_default();
        let path = format!("/v1/backup?wait={wait}{after}{standby}");
        let response = self.good(self.call_patiently("POST", &path)?)?;
        Ok(response.into_body().into_with_config().limit(u64::MAX).reader())
    }

    /// Makes the service the primary, and begins an epoch.
    pub fn promote(&self) -> Result<Promoted, ClientError> {
        let response = self.call("POST", "/v1/promote", Some(("application/json", Vec::new())))?;
        self.read(response)
    }

    pub fn stats(&self) -> Result<StatsShown, ClientError> {
        self.get("/v1/stats?since=9999-12-31")
    }

    /// The rules, and those of markets.
    pub fn rules(&self) -> Result<RulesShown, ClientError> {
        self.get("/v1/rules")
    }

    /// Sets the rules; every group elects its winner again.
    pub fn set_rules(&self, rules: &str) -> Result<RulesShown, ClientError> {
        self.send("PUT", "/v1/rules", &RulesInput { rules: rules.to_owned() })
    }

    /// Sets the rules of a market, or removes it (`None`), whether it exists or not.
    pub fn set_market(&self, name: &str, rules: Option<&str>) -> Result<(), ClientError> {
        let path = format!("/v1/markets/{}", encoded(name));
        match rules {
            Some(rules) => {
                let body = RulesInput { rules: rules.to_owned() };
                self.send::<_, RulesShown>("PUT", &path, &body).map(drop)
            }
            None => {
                let response = self.call("DELETE", &path, None)?;
                known(self.read::<RulesShown>(response)).map(drop)
            }
        }
    }

    /// "Not found" is about the page, unless the market does not exist.
    fn known_in<T>(
        &self,
        market: Option<&str>,
        answer: Result<T, ClientError>,
    ) -> Result<Option<T>, ClientError> {
        match (market, &answer) {
            (Some(name), Err(ClientError::Refused { status: 404, .. }))
                if !self.rules()?.markets.contains_key(name) =>
            {
                answer.map(Some)
            }
            _ => known(answer),
        }
    }

    /// Deletes a page; returns whether it was known.
    pub fn forget(&self, url: &str) -> Result<bool, ClientError> {
        let response = self.call("DELETE", &page_path(url, ""), None)?;
        Ok(known(self.read::<Changed>(response))?.is_some())
    }

    /// Deletes pages, all in one commit or none; returns those that were not known.
    pub fn forget_many(&self, urls: &[String]) -> Result<Vec<String>, ClientError> {
        let body = serde_json::json!({ "urls": urls });
        Ok(self.send::<_, Forgotten>("POST", "/v1/forget", &body)?.unknown)
    }

    /// Sets or clears a page's score; returns its new status, or `None` for an unknown address.
    pub fn score(&self, url: &str, score: Option<f64>) -> Result<Option<Verdict>, ClientError> {
        let body = serde_json::json!({ "score": score });
        known(self.send("PUT", &page_path(url, "/score"), &body))
    }

    /// Records that a page redirects.
    pub fn redirect(
        &self,
        url: &str,
        to: &str,
        fetched: Option<u64>,
    ) -> Result<Verdict, ClientError> {
        let body = serde_json::json!({ "to": to, "fetched": fetched });
        self.send("PUT", &page_path(url, "/redirect"), &body)
    }

    /// Deletes pages last fetched before a time; returns their number.
    pub fn expire(&self, before: u64) -> Result<u64, ClientError> {
        let body = serde_json::json!({ "before": before });
        Ok(self.send::<_, Changed>("POST", "/v1/expire", &body)?.pages)
    }

    /// Compares pages again that were compared under an older frame of their host; returns their
    /// number.
    pub fn recheck(&self) -> Result<u64, ClientError> {
        Ok(self.send::<_, Changed>("POST", "/v1/recheck", &serde_json::json!({}))?.pages)
    }

    /// The largest groups, after a previous answer.
    pub fn groups(&self, after: Option<&str>, limit: usize) -> Result<Rows<Group>, ClientError> {
        let after = after.map(|after| format!("&after={}", encoded(after))).unwrap_or_default();
        self.get(&format!("/v1/groups?limit={limit}{after}"))
    }

    /// The epoch of the last events that were read, with which another client continues.
    pub fn epoch(&self) -> Option<String> {
        self.epoch.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Continues after events of this epoch.
    pub fn continue_in(&self, epoch: &str) {
        let known = Some(encoded(epoch));
        *self.epoch.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Events after a number; waits up to `wait` seconds for the next one. Once it knows an epoch,
    /// it is refused events of another history.
    pub fn events(&self, after: u64, limit: usize, wait: u64) -> Result<Rows<Event>, ClientError> {
        let epoch = self.epoch().filter(|_| after > 0);
        let epoch = epoch.map(|epoch| format!("&epoch={epoch}")).unwrap_or_default();
        let path = format!("/v1/events?after={after}&limit={limit}&wait={wait}{epoch}");
        let response = self.call("GET", &path, None)?;
        let epoch = response.headers().get("hapax-epoch").and_then(|value| value.to_str().ok());
        let epoch = epoch.map(str::to_owned);
        let events = self.read(response)?;
        if let Some(epoch) = epoch {
            self.continue_in(&epoch);
        }
        Ok(events)
    }
}

/// Treats "not found" as an answer.
fn known<T>(answer: Result<T, ClientError>) -> Result<Option<T>, ClientError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(ClientError::Refused { status: 404, .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

fn in_market(separator: char, market: Option<&str>) -> String {
    market.map(|name| format!("{separator}market={}", encoded(name))).unwrap_or_default()
}

fn page_path(url: &str, rest: &str) -> String {
    format!("/v1/pages/{}{rest}", encoded(url))
}

/// Percent-encodes an address as one segment of a path.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte))
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}
