//! A repository in a folder of this machine, answering in the service's words.
//!
//! Every answer is the JSON that the service would give, so that one set of Python classes reads
//! both. A repository has a thread and a lock on its file: it is of no use to a forked child,
//! which gets an error and must not even close it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hapax::fingerprint::Fingerprinter;
use hapax::fingerprint::recipe::DEFAULT_RECIPE;
use hapax_client::local::{self, Done};
use hapax_client::prepare::{Prepared, prepare};
use hapax_client::wire::{Event, Group, RepositorySettings, StatsShown};
use hapax_dedup::Stop;
use hapax_store::{Action, Confirm, Frames, Repository, Settings, StoreError, Wanted};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::{found_json, to_json};
use crate::dedup::scope_of;
use crate::errors::{of_input, of_store, raised};
use crate::index::bound;
use crate::pages::{Given, of_page_at};
use crate::recipes;
use crate::stages::{rules, similarity};
use crate::workers::interruptible;

/// Pages, duplicate groups and their index in a folder.
#[pyclass(frozen, module = "hapax._hapax")]
pub(crate) struct RepositoryCore {
    /// `None` when it is closed.
    store: Mutex<Option<Arc<Repository>>>,
    spare: Mutex<Vec<Fingerprinter>>,
    first: Fingerprinter,
    path: PathBuf,
    process: u32,
}

/// How a repository is made if it is not there; the package always gives all of it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Making {
    /// `open`, `create`, or `auto` to create what is not there.
    mode: String,
    recipe: Option<String>,
    frequencies: Option<String>,
    main_content: bool,
    within: Option<u32>,
    min_similarity: Option<f64>,
    keep: Option<String>,
    scope: Option<String>,
    confirm: Option<String>,
    frames: Option<String>,
}

impl Making {
    fn fingerprinter(&self, name: &str) -> PyResult<Fingerprinter> {
        recipes::fingerprinter(name, self.frequencies.as_deref(), self.main_content)
    }

    fn wanted(&self) -> PyResult<Wanted> {
        Ok(Wanted {
            within: self.within.map(bound).transpose()?,
            min_similarity: self.min_similarity.map(similarity).transpose()?,
            rules: self.keep.as_deref().map(rules).transpose()?,
            scope: self.scope.as_deref().map(scope_of).transpose()?,
            confirm: self.confirm.as_deref().map(confirm).transpose()?,
            frames: self.frames.as_deref().map(frames).transpose()?,
        })
    }

    fn create(&self, path: &std::path::Path) -> PyResult<(Repository, Fingerprinter)> {
        let by = self.fingerprinter(self.recipe.as_deref().unwrap_or(DEFAULT_RECIPE))?;
        let settings = self.wanted()?.made_of(Settings::new(by.recipe_id().clone()));
        Ok((Repository::create(path, settings).map_err(of_store)?, by))
    }

    fn open(
        &self,
        path: &std::path::Path,
    ) -> PyResult<Result<(Repository, Fingerprinter), StoreError>> {
        let store = match Repository::open(path, None) {
            Ok(store) => store,
            Err(error) => return Ok(Err(error)),
        };
        let stored = store.settings().recipe;
        let name = self.recipe.as_deref().unwrap_or(stored.name());
        let by = self.fingerprinter(name).map_err(|error| match &self.recipe {
            Some(_) => error,
            None => raised(
                "RecipeMismatchError",
                format!("the repository's recipe {stored} is not built in; give it as recipe="),
                Some(path),
            ),
        })?;
        if *by.recipe_id() != stored {
            let (folder, ours) = (path.to_owned(), by.recipe_id().clone());
            return Ok(Err(StoreError::OtherRecipe { folder, ours, theirs: stored }));
        }
        if let Err(error) = self.wanted()?.must_be(&store.settings(), path) {
            return Ok(Err(error));
        }
        Ok(Ok((store, by)))
    }

    fn make(&self, path: &std::path::Path) -> PyResult<(Repository, Fingerprinter)> {
        match self.mode.as_str() {
            "create" => self.create(path),
            "open" => self.open(path)?.map_err(of_store),
            "auto" => match self.open(path)? {
                Err(StoreError::Missing { .. }) => self.create(path),
                other => other.map_err(of_store),
            },
            other => {
                let reason = format!("mode {other:?} is none of 'auto', 'open' and 'create'");
                Err(raised("ArgumentError", reason, None))
            }
        }
    }
}

fn confirm(name: &str) -> PyResult<Confirm> {
    name.parse().map_err(|error| raised("ArgumentError", format!("{error}, not {name:?}"), None))
}

fn frames(name: &str) -> PyResult<Frames> {
    name.parse().map_err(|error| raised("ArgumentError", format!("{error}, not {name:?}"), None))
}

impl RepositoryCore {
    fn alive(&self) -> PyResult<()> {
        if std::process::id() == self.process {
            return Ok(());
        }
        let reason = "this repository was opened before the process was forked; open it in one \
                      process only, or ask a service through hapax.Client";
        Err(raised("ForkedError", reason, Some(&self.path)))
    }

    fn store(&self) -> PyResult<Arc<Repository>> {
        self.alive()?;
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = || raised("ClosedError", "the repository is closed", Some(&self.path));
        store.clone().ok_or_else(closed)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Fingerprinter>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prepared(&self, page: Given) -> PyResult<Prepared> {
        let input = page.input()?;
        let lent = self.idle().pop();
        let mut by = lent.unwrap_or_else(|| self.first.clone());
        let prepared = prepare(&mut by, input);
        self.idle().push(by);
        prepared.map_err(|error| of_input(&error))
    }
}

#[pymethods]
impl RepositoryCore {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, making: Making) -> PyResult<Self> {
        let folder = path.clone();
        let (store, by) = interruptible(py, &Stop::default(), move || making.make(&folder))?;
        let first = by.with_key(store.key());
        Ok(Self {
            store: Mutex::new(Some(Arc::new(store))),
            spare: Mutex::default(),
            first,
            path,
            process: std::process::id(),
        })
    }

    fn observe_many(slf: Bound<'_, Self>, pages: Vec<Bound<'_, PyDict>>) -> PyResult<String> {
        let (store, pages) = (slf.get().store()?, Given::all(&pages)?);
        let (py, this, stop) = (slf.py(), slf.unbind(), Stop::default());
        let stopped = stop.clone();
        interruptible(py, &stop, move || {
            let actions = pages.into_iter().enumerate().map(|(number, page)| {
                if stopped.is_set() {
                    return Err(raised("HapaxError", "interrupted", None));
                }
                let url = page.url().to_owned();
                let prepared = this.get().prepared(page);
                Ok(prepared.map_err(|error| of_page_at(error, number, &url))?.action)
            });
            let done = local::apply(&store, actions.collect::<PyResult<_>>()?).map_err(of_store)?;
            let verdict = |done| match done {
                Done::Verdict(verdict) => Some(verdict),
                Done::Known(_) => None,
            };
            to_json(&done.into_iter().filter_map(verdict).collect::<Vec<_>>())
        })
    }

    fn observe(&self, py: Python<'_>, page: &Bound<'_, PyDict>) -> PyResult<String> {
        let (store, page) = (self.store()?, Given::of(page)?);
        py.detach(|| {
            let action = match self.prepared(page)?.action {
                Action::Observe(seen) => {
                    return to_json(&local::observe(&store, *seen).map_err(of_store)?);
                }
                redirect => redirect,
            };
            match local::apply(&store, vec![action]).map_err(of_store)?.pop() {
                Some(Done::Verdict(verdict)) => to_json(&verdict),
                _ => Err(raised("HapaxError", "the repository gave no decision", None)),
            }
        })
    }

    fn check(&self, py: Python<'_>, page: &Bound<'_, PyDict>) -> PyResult<String> {
        let (store, page) = (self.store()?, Given::of(page)?);
        py.detach(|| {
            let Action::Observe(seen) = self.prepared(page)?.action else {
                return Err(raised("ArgumentError", "a redirect cannot be checked", None));
            };
            to_json(&local::check(&store, &seen).map_err(of_store)?)
        })
    }

    fn forget(&self, py: Python<'_>, url: &str) -> PyResult<bool> {
        let store = self.store()?;
        py.detach(|| store.forget(url)).map_err(of_store)
    }

    fn score(&self, py: Python<'_>, url: &str, score: Option<f64>) -> PyResult<Option<String>> {
        let store = self.store()?;
        if score.is_some_and(|score| !score.is_finite()) {
            return Err(raised("ArgumentError", "a score is a finite number", None));
        }
        found_json(py.detach(|| local::score(&store, url, score)).map_err(of_store)?)
    }

    fn expire(&self, py: Python<'_>, before: u64) -> PyResult<u64> {
        let store = self.store()?;
        interruptible(py, &Stop::default(), move || store.expire(before).map_err(of_store))
    }

    fn recheck(&self, py: Python<'_>) -> PyResult<u64> {
        let store = self.store()?;
        interruptible(py, &Stop::default(), move || store.recheck().map_err(of_store))
    }

    fn set_rules(&self, py: Python<'_>, keep: &str) -> PyResult<()> {
        let (store, rules) = (self.store()?, rules(keep)?);
        interruptible(py, &Stop::default(), move || store.set_rules(rules).map_err(of_store))
    }

    /// Copies it to another folder, as of the last commit.
    fn snapshot(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let store = self.store()?;
        interruptible(py, &Stop::default(), move || store.snapshot(&folder).map_err(of_store))
    }

    fn page(&self, py: Python<'_>, url: &str) -> PyResult<Option<String>> {
        let store = self.store()?;
        py.detach(|| found_json(local::page(&store.reader(), url, None).map_err(of_store)?))
    }

    fn group(&self, py: Python<'_>, url: &str) -> PyResult<Option<String>> {
        let store = self.store()?;
        py.detach(|| found_json(local::group(&store.reader(), url, None).map_err(of_store)?))
    }

    fn groups(&self, py: Python<'_>, limit: usize) -> PyResult<String> {
        let store = self.store()?;
        interruptible(py, &Stop::default(), move || {
            let largest = store.group_sizes(limit).map_err(of_store)?.largest;
            to_json(&largest.into_iter().map(Group::from).collect::<Vec<_>>())
        })
    }

    fn events(&self, py: Python<'_>, after: u64, limit: usize) -> PyResult<String> {
        let store = self.store()?;
        py.detach(|| {
            let events = store.events(after, limit).map_err(of_store)?;
            to_json(&events.into_iter().map(Event::from).collect::<Vec<_>>())
        })
    }

    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.store()?;
        let stats = py.detach(|| store.stats()).map_err(of_store)?;
        to_json(&StatsShown::from(stats))
    }

    /// The next addresses behind one, in their order.
    fn urls(&self, py: Python<'_>, after: Option<&str>, limit: usize) -> PyResult<Vec<String>> {
        let store = self.store()?;
        let pages = py.detach(|| store.reader().pages(after, limit, None)).map_err(of_store)?;
        Ok(pages.into_iter().map(|(page, _)| page.url).collect())
    }

    /// What it was made with.
    fn settings(&self) -> PyResult<String> {
        to_json(&RepositorySettings::from(self.store()?.settings()))
    }

    #[getter]
    fn recipe(&self) -> String {
        self.first.recipe_id().to_string()
    }

    #[getter]
    fn closed(&self) -> bool {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.alive()?;
        py.detach(|| drop(self.store.lock().unwrap_or_else(PoisonError::into_inner).take()));
        Ok(())
    }
}

impl Drop for RepositoryCore {
    /// The parent's thread is not in a forked child, and its file is not the child's to write.
    fn drop(&mut self) {
        let store = self.store.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if std::process::id() != self.process {
            std::mem::forget(store);
        }
    }
}
