//! Sends many pages as lines of JSON, in several requests.

use super::{Client, ClientError, ErrorAnswer, LONGEST_ANSWER};
use crate::wire::Verdict;
use std::collections::VecDeque;
use std::io::BufRead;

/// A line of a batch's answer.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
pub struct LineAnswer {
    /// Number of the line, from 1.
    pub line: u64,
    /// The verdict, or the error.
    #[serde(flatten)]
    pub outcome: LineOutcome,
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum LineOutcome {
    Failed { error: ErrorAnswer },
    Done(Box<Verdict>),
}

/// Limits of a request. It is sent completely before the answer is read, so it must fit into what
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
    pub(super) fn new(client: Client, lines: R) -> Self {
        Self { client, lines, sent: 0, answers: VecDeque::new(), ended: false }
    }

    /// Sends the next lines and reads their answers.
    fn request(&mut self) -> Result<(), ClientError> {
        let mut body = Vec::new();
        let before = self.sent;
        while self.sent - before < REQUEST_LINES as u64 && body.len() < REQUEST_BYTES {
            let read = self.lines.read_until(b'\n', &mut body);
            if read.map_err(|error| self.client.unexpected(error.to_string()))? == 0 {
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
        let bytes = read.map_err(|error| client.unexpected(error.to_string()))?;
        for line in serde_json::Deserializer::from_slice(&bytes).into_iter::<LineAnswer>() {
            let mut answer = line.map_err(|error| client.unexpected(error.to_string()))?;
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
