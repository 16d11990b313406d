//! The other side: asks a service the way a program asks a repository.
//!
//! Blocking, one connection kept open for the next question. Errors of the service come back with
//! the code, status and message of its table.

use crate::wire::{
    Changed, Event, Forgotten, Group, GroupStatuses, PageDetail, PageInput, Rows, RulesInput,
    RulesShown, SettingsShown, StatsShown, Verdict,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::io::BufRead;
use std::time::Duration;
use ureq::http::Response;
use ureq::{Body, SendBody};

/// The environment variable in which programs look for their token.
pub const TOKEN_VARIABLE: &str = "HAPAX_TOKEN";

/// The longest answer that is read at once; batches are read line by line.
const LONGEST_ANSWER: u64 = 256 << 20;

/// Why a question was not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The service said no.
    #[error("the service at {server} answers {code} ({status}): {message}")]
    Refused {
        server: String,
        /// From its table.
        code: String,
        /// The HTTP status.
        status: u16,
        /// What to change.
        message: String,
    },
    /// There was no answer.
    #[error("no answer from {server}: {source}")]
    Unreachable { server: String, source: Box<ureq::Error> },
    /// The answer is not what this version expects.
    #[error("{server} does not answer like a Hapax service of this version: {what}")]
    Strange {
        server: String,
        /// What was found.
        what: String,
    },
}

/// A line of a batch's answer.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
pub struct LineAnswer {
    /// The number of the line, from 1.
    pub line: u64,
    /// The verdict, or the error.
    #[serde(flatten)]
    pub outcome: LineOutcome,
}

/// What is said of a line.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum LineOutcome {
    /// The line was wrong.
    Failed { error: ErrorAnswer },
    /// The page was recorded.
    Done(Box<Verdict>),
}

/// An error as the service sends it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct ErrorAnswer {
    /// From the table.
    pub code: String,
    /// What to change.
    pub message: String,
}

#[derive(serde::Deserialize)]
struct Envelope {
    error: ErrorAnswer,
}

/// A service, reached over HTTP.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    server: String,
    token: Option<String>,
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
        }
    }

    /// Records a page.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn observe(&self, page: &PageInput) -> Result<Verdict, ClientError> {
        self.send("POST", "/v1/pages", page)
    }

    /// What would be said of a page.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn check(&self, page: &PageInput) -> Result<Verdict, ClientError> {
        self.send("POST", "/v1/check", page)
    }

    /// Records pages, given as lines of JSON, some at a time; the answers come in order.
    ///
    /// The iterator ends after its first error.
    pub fn batch<R: BufRead>(&self, lines: R) -> Batch<R> {
        Batch { client: self.clone(), lines, sent: 0, answers: VecDeque::new(), ended: false }
    }

    /// What is known of a page and how it stands, in a market if one is named; `None` for an
    /// unknown address.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn page(&self, url: &str, market: Option<&str>) -> Result<Option<PageDetail>, ClientError> {
        let path = page_path(url, &in_market('?', market));
        self.known_in(market, self.get(&path))
    }

    /// The group of a page and how all its pages stand, read so many at once; `None` for an
    /// unknown address.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
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

    /// Groups by number with at least `least` members, from where an answer left off.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
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

    /// What the service and its repository were set up with.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn settings(&self) -> Result<SettingsShown, ClientError> {
        self.get("/v1/settings")
    }

    /// How much there is.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn stats(&self) -> Result<StatsShown, ClientError> {
        self.get("/v1/stats?since=1e300")
    }

    /// The rules, and those of markets.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn rules(&self) -> Result<RulesShown, ClientError> {
        self.get("/v1/rules")
    }

    /// Other rules: every group chooses its winner again.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn set_rules(&self, rules: &str) -> Result<RulesShown, ClientError> {
        self.send("PUT", "/v1/rules", &RulesInput { rules: rules.to_owned() })
    }

    /// Names a list of rules, or with `None` forgets the name, whether it is known or not.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
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

    /// "Not found" is an answer about the page, unless it is the market that is not there.
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

    /// Forgets a page. Whether it was there.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn forget(&self, url: &str) -> Result<bool, ClientError> {
        let response = self.call("DELETE", &page_path(url, ""), None)?;
        Ok(known(self.read::<Changed>(response))?.is_some())
    }

    /// Forgets pages, all in one commit or none. Which of them were not known.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn forget_many(&self, urls: &[String]) -> Result<Vec<String>, ClientError> {
        let body = serde_json::json!({ "urls": urls });
        Ok(self.send::<_, Forgotten>("POST", "/v1/forget", &body)?.unknown)
    }

    /// Sets or clears a page's score. Whether the page is known.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn score(&self, url: &str, score: Option<f64>) -> Result<bool, ClientError> {
        let body = serde_json::json!({ "score": score });
        Ok(known(self.send::<_, Changed>("PUT", &page_path(url, "/score"), &body))?.is_some())
    }

    /// A page was found to redirect.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn redirect(
        &self,
        url: &str,
        to: &str,
        fetched: Option<u64>,
    ) -> Result<Verdict, ClientError> {
        let body = serde_json::json!({ "to": to, "fetched": fetched });
        self.send("PUT", &page_path(url, "/redirect"), &body)
    }

    /// Forgets pages last fetched before a time. How many.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn expire(&self, before: u64) -> Result<u64, ClientError> {
        let body = serde_json::json!({ "before": before });
        Ok(self.send::<_, Changed>("POST", "/v1/expire", &body)?.pages)
    }

    /// The largest groups, from where an answer left off.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn groups(&self, after: Option<&str>, limit: usize) -> Result<Rows<Group>, ClientError> {
        let after = after.map(|after| format!("&after={}", encoded(after))).unwrap_or_default();
        self.get(&format!("/v1/groups?limit={limit}{after}"))
    }

    /// Events after a number, waiting up to so many seconds for the next.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn events(&self, after: u64, limit: usize, wait: u64) -> Result<Rows<Event>, ClientError> {
        self.get(&format!("/v1/events?after={after}&limit={limit}&wait={wait}"))
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let response = self.call("GET", path, None)?;
        self.read(response)
    }

    fn send<B: Serialize, T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &B,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| self.strange(error.to_string()))?;
        let response = self.call(method, path, Some(("application/json", body)))?;
        self.read(response)
    }

    fn call(
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
        let (kind, body) = match body {
            Some((kind, body)) => {
                (Some(kind), SendBody::from_owned_reader(std::io::Cursor::new(body)))
            }
            None => (None, SendBody::none()),
        };
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        let request = request.body(body).map_err(|error| self.strange(error.to_string()))?;
        let unreachable = |source| ClientError::Unreachable {
            server: self.server.clone(),
            source: Box::new(source),
        };
        self.agent.run(request).map_err(unreachable)
    }

    fn good(&self, mut response: Response<Body>) -> Result<Response<Body>, ClientError> {
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let text = response.body_mut().read_to_string().unwrap_or_default();
        match serde_json::from_str::<Envelope>(&text) {
            Ok(Envelope { error: ErrorAnswer { code, message } }) => {
                Err(ClientError::Refused { server: self.server.clone(), code, status, message })
            }
            Err(_) => Err(self.strange(format!("status {status}"))),
        }
    }

    fn read<T: DeserializeOwned>(&self, response: Response<Body>) -> Result<T, ClientError> {
        let mut response = self.good(response)?;
        let read = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
        let bytes = read.map_err(|error| self.strange(error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| self.strange(error.to_string()))
    }

    fn strange(&self, what: String) -> ClientError {
        ClientError::Strange { server: self.server.clone(), what }
    }
}

/// Lines of one request. All of it is sent before the answer is read, so it must fit into what
/// the service reads ahead.
const REQUEST_LINES: usize = 1000;
const REQUEST_BYTES: usize = 2 << 20;

/// The answers to a batch; see [`Client::batch`].
#[derive(Debug)]
pub struct Batch<R> {
    client: Client,
    lines: R,
    sent: u64,
    answers: VecDeque<LineAnswer>,
    ended: bool,
}

impl<R: BufRead> Batch<R> {
    /// Sends the next lines and reads their answers.
    fn request(&mut self) -> Result<(), ClientError> {
        let mut body = Vec::new();
        let before = self.sent;
        while self.sent - before < REQUEST_LINES as u64 && body.len() < REQUEST_BYTES {
            let read = self.lines.read_until(b'\n', &mut body);
            if read.map_err(|error| self.client.strange(error.to_string()))? == 0 {
                self.ended = true;
                break;
            }
            self.sent += 1;
        }
        if body.is_empty() {
            return Ok(());
        }
        let client = &self.client;
        let response =
            client.call("POST", "/v1/pages/batch", Some(("application/x-ndjson", body)))?;
        let mut response = client.good(response)?;
        let read = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
        let bytes = read.map_err(|error| client.strange(error.to_string()))?;
        for line in serde_json::Deserializer::from_slice(&bytes).into_iter::<LineAnswer>() {
            let mut answer = line.map_err(|error| client.strange(error.to_string()))?;
            answer.line += before;
            self.answers.push_back(answer);
        }
        Ok(())
    }
}

impl<R: BufRead> Iterator for Batch<R> {
    type Item = Result<LineAnswer, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(answer) = self.answers.pop_front() {
                return Some(Ok(answer));
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.request() {
                self.ended = true;
                return Some(Err(error));
            }
        }
    }
}

/// "Not found" is an answer.
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

/// Percent-encoded, so that an address is one part of a path.
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
