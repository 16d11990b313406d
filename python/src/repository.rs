//! A repository in a folder of this machine, answering in the service's words.
//!
//! Every answer is the JSON that the service would give, so that one set of Python classes reads
//! both. A repository has a thread and a lock on its file: it is of no use to a forked child,
//! which is told so and must not even close it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hapax::fingerprint::recipe::DEFAULT_RECIPE;
use hapax::group::live::PageId;
use hapax_server::prepare::{Prepared, Tools, prepare};
use hapax_server::wire::{
    Event, Group, GroupStatuses, MATCHES, PageDetail, Rows, StatsShown, Verdict,
};
use hapax_store::{
    Action, Decision, Effect, Observation, Repository, Settings, StoreError, Wanted,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::dedup::scope_of;
use crate::errors::{of_request, of_store, raised};
use crate::index::bound;
use crate::pages::Given;
use crate::recipes;
use crate::stages::{rules, similarity};

/// Pages, duplicate groups and their index in a folder.
#[pyclass(frozen, module = "hapax._hapax")]
pub(crate) struct RepositoryCore {
    /// `None` when it is closed.
    store: Mutex<Option<Arc<Repository>>>,
    tools: Mutex<Vec<Tools>>,
    first: Tools,
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
}

impl Making {
    fn fingerprinter(&self, name: &str) -> PyResult<hapax::fingerprint::Fingerprinter> {
        recipes::fingerprinter(name, self.frequencies.as_deref(), self.main_content)
    }

    fn wanted(&self) -> PyResult<Wanted> {
        Ok(Wanted {
            within: self.within.map(bound).transpose()?,
            min_similarity: self.min_similarity.map(similarity).transpose()?,
            rules: self.keep.as_deref().map(rules).transpose()?,
            scope: self.scope.as_deref().map(scope_of).transpose()?,
        })
    }

    fn create(&self, path: &std::path::Path) -> PyResult<(Repository, Tools)> {
        let by = self.fingerprinter(self.recipe.as_deref().unwrap_or(DEFAULT_RECIPE))?;
        let settings = self.wanted()?.made_of(Settings::new(by.recipe_id().clone()));
        Ok((Repository::create(path, settings).map_err(of_store)?, Tools::new(by)))
    }

    fn open(&self, path: &std::path::Path) -> PyResult<Result<(Repository, Tools), StoreError>> {
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
        Ok(Ok((store, Tools::new(by))))
    }

    fn make(&self, path: &std::path::Path) -> PyResult<(Repository, Tools)> {
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

fn to_json(answer: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(answer).map_err(|error| raised("HapaxError", error.to_string(), None))
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

    fn idle(&self) -> MutexGuard<'_, Vec<Tools>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prepared(&self, page: Given) -> PyResult<Prepared> {
        let input = page.input()?;
        let lent = self.idle().pop();
        let mut tools = lent.unwrap_or_else(|| self.first.clone());
        let prepared = prepare(&mut tools, input);
        self.idle().push(tools);
        prepared.map_err(|error| of_request(&error))
    }
}

/// A decision in the service's words.
fn verdict(
    store: &Repository,
    url: String,
    decision: &Decision,
    recorded: bool,
) -> PyResult<Verdict> {
    let shown = decision.verdict.matches.iter().take(MATCHES);
    let shown: Vec<PageId> = shown.map(|near| near.page).collect();
    let names = store.addresses(&shown).map_err(of_store)?;
    Ok(Verdict::new(url, decision, names, recorded))
}

/// Adds the known page most like this one, unless the verdict has it.
fn find_nearest(store: &Repository, seen: &Observation, verdict: &mut Verdict) -> PyResult<()> {
    if verdict.nearest.is_none() {
        verdict.nearest = store.nearest(seen).map_err(of_store)?.map(Into::into);
    }
    Ok(())
}

#[pymethods]
impl RepositoryCore {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, making: Making) -> PyResult<Self> {
        let (store, first) = py.detach(|| making.make(&path))?;
        Ok(Self {
            store: Mutex::new(Some(Arc::new(store))),
            tools: Mutex::default(),
            first,
            path,
            process: std::process::id(),
        })
    }

    fn observe_many(&self, py: Python<'_>, pages: Vec<Bound<'_, PyDict>>) -> PyResult<String> {
        let (store, pages) = (self.store()?, Given::all(&pages)?);
        py.detach(|| {
            let mut urls = Vec::with_capacity(pages.len());
            let mut actions = Vec::with_capacity(pages.len());
            for page in pages {
                let prepared = self.prepared(page)?;
                urls.push(prepared.url);
                actions.push(prepared.action);
            }
            let effects = store.apply(actions).map_err(of_store)?;
            let mut answers = Vec::with_capacity(effects.len());
            for (url, effect) in urls.into_iter().zip(effects) {
                if let Effect::Decided(decision) = effect {
                    answers.push(verdict(&store, url, &decision, true)?);
                }
            }
            to_json(&answers)
        })
    }

    fn observe(&self, py: Python<'_>, page: &Bound<'_, PyDict>) -> PyResult<String> {
        let (store, page) = (self.store()?, Given::of(page)?);
        py.detach(|| {
            let Prepared { url, action, .. } = self.prepared(page)?;
            let seen = match &action {
                Action::Observe(seen) => Some(seen.clone()),
                Action::Redirect { .. } | Action::Forget { .. } | Action::Score { .. } => None,
            };
            let effect = store.apply(vec![action]).map_err(of_store)?.pop();
            let Some(Effect::Decided(decision)) = effect else {
                return Err(raised("HapaxError", "the repository gave no decision", None));
            };
            let mut verdict = verdict(&store, url, &decision, true)?;
            if let Some(seen) = seen {
                find_nearest(&store, &seen, &mut verdict)?;
            }
            to_json(&verdict)
        })
    }

    fn check(&self, py: Python<'_>, page: &Bound<'_, PyDict>) -> PyResult<String> {
        let (store, page) = (self.store()?, Given::of(page)?);
        py.detach(|| {
            let Prepared { url, action, .. } = self.prepared(page)?;
            let Action::Observe(seen) = action else {
                return Err(raised("ArgumentError", "a redirect cannot be checked", None));
            };
            let decision = store.check(&seen).map_err(of_store)?;
            let mut verdict = verdict(&store, url, &decision, false)?;
            find_nearest(&store, &seen, &mut verdict)?;
            to_json(&verdict)
        })
    }

    fn forget(&self, py: Python<'_>, url: &str) -> PyResult<bool> {
        let store = self.store()?;
        py.detach(|| store.forget(url)).map_err(of_store)
    }

    fn score(&self, py: Python<'_>, url: &str, score: Option<f64>) -> PyResult<bool> {
        let store = self.store()?;
        if score.is_some_and(|score| !score.is_finite()) {
            return Err(raised("ArgumentError", "a score is a finite number", None));
        }
        py.detach(|| store.score(url, score)).map_err(of_store)
    }

    fn expire(&self, py: Python<'_>, before: u64) -> PyResult<u64> {
        let store = self.store()?;
        py.detach(|| store.expire(before)).map_err(of_store)
    }

    fn set_rules(&self, py: Python<'_>, keep: &str) -> PyResult<()> {
        let (store, rules) = (self.store()?, rules(keep)?);
        py.detach(|| store.set_rules(rules)).map_err(of_store)
    }

    fn page(&self, py: Python<'_>, url: &str) -> PyResult<Option<String>> {
        let store = self.store()?;
        py.detach(|| {
            let reader = store.reader();
            let Some(info) = reader.page(url).map_err(of_store)? else { return Ok(None) };
            let decision = reader.status(url, None).map_err(of_store)?;
            decision.map(|decision| to_json(&PageDetail::new(info, &decision))).transpose()
        })
    }

    fn group(&self, py: Python<'_>, url: &str) -> PyResult<Option<String>> {
        let store = self.store()?;
        py.detach(|| {
            let reader = store.reader();
            let Some(group) = reader.group(url, None).map_err(of_store)? else { return Ok(None) };
            let pages = reader.members(&group, None).map_err(of_store)?.into_iter();
            let rows = pages.map(|(page, decision)| Verdict::known(page.url, &decision)).collect();
            let pages = Rows { rows, next: None };
            to_json(&GroupStatuses { group: group.into(), pages }).map(Some)
        })
    }

    fn groups(&self, py: Python<'_>, limit: usize) -> PyResult<String> {
        let store = self.store()?;
        py.detach(|| {
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

    #[getter]
    fn recipe(&self) -> String {
        self.first.fingerprinter.recipe_id().to_string()
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
