//! A service, asked over HTTP without the interpreter's lock.
//!
//! Connections are not shared between processes: a forked child makes its own. Answers are the
//! service's JSON, which the package reads; what they mean is not known here.

use std::io::Cursor;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hapax_client::client::{Client, ClientError, LineOutcome};
use hapax_dedup::Stop;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::errors::{of_client, raised};
use crate::pages::{Given, of_page_at};
use crate::workers::interruptible;

/// Rows of one answer.
const PIECE: usize = 1000;

/// A service's address and what it takes to speak with it.
#[pyclass(frozen, module = "hapax._hapax")]
pub(crate) struct ClientCore {
    server: String,
    token: Option<String>,
    timeout: Duration,
    /// The process it belongs to.
    client: Mutex<(u32, Client)>,
}

impl ClientCore {
    fn client(&self) -> Client {
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if kept.0 != process {
            let new = Client::new(&self.server, self.token.as_deref(), self.timeout);
            // What the parent uses stays open there; closing it here would say goodbye for both.
            std::mem::forget(std::mem::replace(&mut *kept, (process, new)));
        }
        kept.1.clone()
    }

    /// Asks the service; Ctrl-C ends the waiting.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&Client) -> PyResult<T> + Send + 'static,
    ) -> PyResult<T> {
        let client = self.client();
        interruptible(py, &Stop::default(), move || ask(&client))
    }
}

pub(crate) fn to_json(answer: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(answer).map_err(|error| raised("HapaxError", error.to_string(), None))
}

/// The same of what may be unknown.
pub(crate) fn found_json(answer: Option<impl Serialize>) -> PyResult<Option<String>> {
    answer.map(|found| to_json(&found)).transpose()
}

fn failed(error: ClientError) -> PyErr {
    of_client(&error)
}

#[pymethods]
impl ClientCore {
    #[new]
    fn new(server: String, token: Option<String>, timeout: f64) -> PyResult<Self> {
        let timeout = Duration::try_from_secs_f64(timeout).map_err(|_| {
            raised("ArgumentError", format!("a timeout is seconds, not {timeout}"), None)
        })?;
        let client = Client::new(&server, token.as_deref(), timeout);
        let client = Mutex::new((std::process::id(), client));
        Ok(Self { server, token, timeout, client })
    }

    fn observe(&self, py: Python<'_>, page: &Bound<'_, PyDict>) -> PyResult<String> {
        let page = Given::of(page)?;
        self.ask(py, move |client| to_json(&client.observe(&page.input()?).map_err(failed)?))
    }

    fn observe_many(&self, py: Python<'_>, pages: Vec<Bound<'_, PyDict>>) -> PyResult<String> {
        let (pages, server) = (Given::all(&pages)?, self.server.clone());
        self.ask(py, move |client| {
            let mut lines = Vec::new();
            let mut places = Vec::with_capacity(pages.len());
            for (number, page) in pages.into_iter().enumerate() {
                let (from, url) = (lines.len(), page.url().to_owned());
                let input = page.input().map_err(|error| of_page_at(error, number, &url))?;
                lines.extend_from_slice(to_json(&input)?.as_bytes());
                places.push((url, lines.len() - from));
                lines.push(b'\n');
            }
            let mut answers = Vec::new();
            for answer in client.batch(Cursor::new(lines)) {
                let answer = answer.map_err(failed)?;
                match answer.outcome {
                    LineOutcome::Done(verdict) => answers.push(verdict),
                    LineOutcome::Failed { error } => {
                        let number = (answer.line as usize).saturating_sub(1);
                        let (url, bytes) = places.get(number).cloned().unwrap_or_default();
                        let message = match &*error.code {
                            "too_large" => {
                                format!("it has {bytes} bytes as JSON, and {}", error.message)
                            }
                            _ => error.message,
                        };
                        let refused = ClientError::Refused {
                            server,
                            code: error.code,
                            status: 200,
                            message: format!("page {number} ({url}): {message}"),
                        };
                        return Err(failed(refused));
                    }
                }
            }
            to_json(&answers)
        })
    }

    fn check(&self, py: Python<'_>, page: &Bound<'_, PyDict>) -> PyResult<String> {
        let page = Given::of(page)?;
        self.ask(py, move |client| to_json(&client.check(&page.input()?).map_err(failed)?))
    }

    fn forget(&self, py: Python<'_>, url: String) -> PyResult<bool> {
        self.ask(py, move |client| client.forget(&url).map_err(failed))
    }

    fn score(&self, py: Python<'_>, url: String, score: Option<f64>) -> PyResult<Option<String>> {
        self.ask(py, move |client| found_json(client.score(&url, score).map_err(failed)?))
    }

    fn expire(&self, py: Python<'_>, before: u64) -> PyResult<u64> {
        self.ask(py, move |client| client.expire(before).map_err(failed))
    }

    fn recheck(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, move |client| client.recheck().map_err(failed))
    }

    fn page(&self, py: Python<'_>, url: String) -> PyResult<Option<String>> {
        self.ask(py, move |client| found_json(client.page(&url, None).map_err(failed)?))
    }

    fn group(&self, py: Python<'_>, url: String) -> PyResult<Option<String>> {
        self.ask(py, move |client| {
            found_json(client.page_group(&url, None, PIECE).map_err(failed)?)
        })
    }

    fn groups(&self, py: Python<'_>, limit: usize) -> PyResult<String> {
        self.ask(py, move |client| {
            let (mut all, mut after) = (Vec::new(), None);
            while all.len() < limit {
                let asked = (limit - all.len()).min(PIECE);
                let rows = client.groups(after.as_deref(), asked).map_err(failed)?;
                all.extend(rows.rows);
                after = rows.next;
                if after.is_none() {
                    break;
                }
            }
            to_json(&all)
        })
    }

    fn events(
        &self,
        py: Python<'_>,
        after: u64,
        limit: usize,
        wait: u64,
        epoch: Option<String>,
    ) -> PyResult<String> {
        self.ask(py, move |client| {
            if let Some(epoch) = epoch {
                client.continue_in(&epoch);
            }
            to_json(&client.events(after, limit, wait).map_err(failed)?.rows)
        })
    }

    #[getter]
    fn epoch(&self) -> Option<String> {
        self.client().epoch()
    }

    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, move |client| to_json(&client.stats().map_err(failed)?))
    }

    /// What its repository was made with.
    fn settings(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, move |client| to_json(&client.settings().map_err(failed)?.repository))
    }
}
