//! A whole run, and undoing it.
//!
//! Everything is computed and written aside before the index is changed, and files are moved into place
//! afterwards. A dry run, or one that fails before the change, changes nothing. Does not know where queries
//! come from, or how an engine changes.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;
use serde::Serialize;

use super::effect::{Effect, Revealing, bring};
use super::figures::{Coverage, DuplicatesByRank, Times, bounds};
use super::folder::{FolderError, LEDGER, LastRun, OutFolder, RECORD, STATE, Status};
use super::summary::{LogCounts, Run, Summary};
use super::{record, report};
use crate::authority::WithScores;
use crate::choose::{Sample, by_fresh_documents, sketches};
use crate::engine::Engine;
use crate::job::difference::Difference;
use crate::job::ledger::LedgerError;
use crate::job::{
    JobError, JobOptions, Ledger, Outcome, QueryOutcome, Ranked, all_at_once, one_by_one, ranked,
};
use crate::log::Log;
use crate::policy::Policy;
use crate::rank::scores::Scores;

/// The sample for comparing queries by the documents they cover.
const SAMPLE: Sample = Sample { one_of: 8 };

/// How queries are processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// All independently; removals are combined at the end.
    #[default]
    Parallel,
    /// One after the other; each sees what the previous ones left.
    Sequential,
}

/// Which queries are processed, if not all are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    #[default]
    Frequency,
    /// Those with the most new documents, weighted by frequency.
    Overlap,
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// How strictly results are compared.
    pub policy: Policy,
    pub mode: Mode,
    pub choice: Choice,
    /// Maximum number of queries; `None` for all.
    pub queries: Option<usize>,
    /// Whether to compute the paper's Table I and figures.
    pub figures: bool,
    /// Whether to process queries in the other mode as well, and report the differences.
    pub compare: bool,
    /// What is done with duplicates; `None` for a dry run.
    pub effect: Option<Effect>,
    /// Authority by address, instead of that in the index.
    pub scores: Option<Scores>,
    /// Ignores the results of the last run.
    pub from_scratch: bool,
    /// The name of the index, as given by its owner.
    pub index_name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Examines results to choose queries.
    Choosing,
    Asking,
    /// Processes queries in the other mode.
    Comparing,
    Changing,
}

#[derive(Clone, Debug)]
pub struct Finished {
    pub summary: Summary,
    pub run: Run,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undone {
    /// Number of documents that are found again.
    pub restored: u64,
    /// Number of documents that are no longer marked.
    pub unmarked: u64,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E: std::error::Error + 'static> {
    #[error("the log has no query: nothing is left of its {rows} rows")]
    NoQueries {
        /// Number of rows read.
        rows: u64,
    },
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The index was rebuilt with another recipe.
    #[error(
        "{path} is of an index with recipe {before}, which has recipe {now} now; --from-scratch begins anew"
    )]
    OtherRecipe {
        path: String,
        /// The recipe of the last run.
        before: String,
        now: String,
    },
    /// The ledger cannot be used.
    #[error("{path}: {source}")]
    Ledger { path: String, source: LedgerError },
    /// Processing queries failed. Nothing was changed.
    #[error(transparent)]
    Job(#[from] JobError<E>),
    /// Reading or changing the index failed.
    #[error("the search engine failed")]
    Engine(#[source] E),
    /// Writing a table failed.
    #[error("the results cannot be written as a table")]
    Table(#[from] parquet::errors::ParquetError),
    /// Writing JSON failed.
    #[error("the results cannot be written as JSON")]
    Json(#[from] serde_json::Error),
}

/// Runs the job. With a folder, writes results there; with an effect, changes the index. Calls
/// `watch` for each stage, with its number of queries, and for each query.
pub fn run<E: Revealing>(
    engine: &mut E,
    log: &Log,
    counts: LogCounts,
    settings: &Settings,
    out: Option<&Path>,
    watch: &(dyn Fn(Option<(Stage, u64)>) + Sync),
) -> Result<Finished, RunError<E::Error>> {
    let started = Instant::now();
    if log.queries.is_empty() {
        return Err(RunError::NoQueries { rows: log.counted.rows });
    }
    let folder = out.map(OutFolder::open).transpose()?;
    let before = Before::read(folder.as_ref(), engine.recipe(), settings)?;
    engine.reveal(&before.status.removed).map_err(RunError::Engine)?;

    let view = WithScores::new(&*engine, settings.scores.as_ref());
    let queries = chosen(&view, log, settings, watch)?;
    watch(Some((Stage::Asking, queries.len() as u64)));
    let outcome = process(&view, &queries, settings, before.ledger.as_ref(), watch)?;

    let coverage = Coverage::of(&queries, &outcome.queries, SAMPLE);
    let mut summary = Summary {
        recipe: view.recipe().to_owned(),
        mode: settings.mode,
        choice: settings.choice,
        effect: settings.effect,
        log: counts,
        queries: 0,
        without_results: 0,
        examined: 0,
        documents: 0,
        marks: 0,
        removed: 0,
        distances: Default::default(),
        decided_by: Default::default(),
        duplicates_by_rank: settings
            .figures
            .then(|| DuplicatesByRank::of(&bounds(), &queries, &outcome)),
        coverage: Vec::new(),
        difference: None,
    };
    summary.count(&queries, &outcome, &coverage);
    if settings.compare {
        watch(Some((Stage::Comparing, queries.len() as u64)));
        summary.difference = Some(compare(&view, &queries, settings, &outcome, watch)?);
    }
    let times = |get: fn(&QueryOutcome) -> std::time::Duration| -> f64 {
        outcome.queries.iter().map(|it| get(it).as_secs_f64()).sum()
    };
    let mut run = Run {
        threads: rayon::current_num_threads(),
        known: outcome.queries.iter().filter(|it| it.known).count() as u64,
        retrieval_seconds: times(|it| it.retrieval),
        dedup_seconds: times(|it| it.dedup),
        duplicates_by_rank_seconds: summary
            .duplicates_by_rank
            .as_ref()
            .map(|it| Times::of(it, &outcome.queries)),
        ..Run::default()
    };
    if let Some(mut folder) = folder {
        let recipe = view.recipe().to_owned();
        let wanted: BTreeSet<String> = outcome.removed.iter().map(|it| it.name.clone()).collect();
        folder.make(RECORD, &record::removed(&outcome.removed, &queries)?)?;
        folder.make("queries.parquet", &record::queries(&queries, &outcome, &coverage)?)?;
        folder.make(LEDGER, &Ledger::of(&queries, &outcome).to_bytes())?;
        if let Some(effect) = settings.effect {
            watch(Some((Stage::Changing, wanted.len() as u64)));
            run.changed = change(engine, &folder, &before, effect, &wanted)?;
        }
        run.seconds = started.elapsed().as_secs_f64();
        let page = report::page(&summary, &run, &queries, &outcome);
        folder.make("report.html", page.as_bytes())?;
        folder.make("summary.json", &json(&summary)?)?;
        folder.make("run.json", &json(&run)?)?;
        let duplicates = wanted.len() as u64;
        let index = settings.index_name.clone();
        let state = LastRun::new(index, recipe, before.run + 1, settings.effect, duplicates);
        folder.make(STATE, &json(&state)?)?;
        folder.publish(&[
            RECORD,
            "queries.parquet",
            LEDGER,
            "report.html",
            "run.json",
            "summary.json",
            STATE,
        ])?;
    }
    run.seconds = started.elapsed().as_secs_f64();
    Ok(Finished { summary, run })
}

fn json<E: std::error::Error>(value: &impl Serialize) -> Result<Vec<u8>, RunError<E>> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The state left by earlier runs.
struct Before {
    status: Status,
    ledger: Option<Ledger>,
    run: u64,
}

impl Before {
    fn read<E: std::error::Error>(
        folder: Option<&OutFolder>,
        recipe: &str,
        settings: &Settings,
    ) -> Result<Self, RunError<E>> {
        let nothing = Self { status: Status::default(), ledger: None, run: 0 };
        let Some(folder) = folder else { return Ok(nothing) };
        let state = folder.state()?;
        if let Some(state) = &state
            && state.index != settings.index_name
        {
            return Err(RunError::Folder(FolderError::OtherIndex {
                path: folder.path().display().to_string(),
                of: state.index.clone(),
                given: settings.index_name.clone(),
            }));
        }
        if let Some(state) = &state
            && state.recipe != recipe
            && !settings.from_scratch
        {
            return Err(RunError::OtherRecipe {
                path: folder.path().display().to_string(),
                before: state.recipe.clone(),
                now: recipe.to_owned(),
            });
        }
        let usable = !settings.from_scratch && settings.mode == Mode::Parallel;
        let bytes = if usable { folder.bytes(LEDGER)? } else { None };
        let ledger = bytes.map(|bytes| Ledger::from_bytes(&bytes)).transpose();
        let path = folder.path().join(LEDGER).display().to_string();
        Ok(Self {
            status: folder.status()?,
            ledger: ledger.map_err(|source| RunError::Ledger { path, source })?,
            run: state.map_or(0, |state| state.run),
        })
    }
}

fn chosen<E: Engine>(
    engine: &E,
    log: &Log,
    settings: &Settings,
    watch: &(dyn Fn(Option<(Stage, u64)>) + Sync),
) -> Result<Vec<Ranked>, RunError<E::Error>> {
    let all = ranked(&log.queries);
    let most = settings.queries.unwrap_or(all.len()).min(all.len());
    if settings.choice == Choice::Frequency {
        return Ok(all.into_iter().take(most).collect());
    }
    watch(Some((Stage::Choosing, all.len() as u64)));
    let sketches = sketches(engine, &log.queries, &settings.policy, SAMPLE, || watch(None));
    let order = by_fresh_documents(&sketches.map_err(RunError::Engine)?);
    Ok(order.iter().take(most).map(|chosen| all[chosen.query].clone()).collect())
}

fn process<E: Engine>(
    engine: &E,
    queries: &[Ranked],
    settings: &Settings,
    earlier: Option<&Ledger>,
    watch: &(dyn Fn(Option<(Stage, u64)>) + Sync),
) -> Result<Outcome, JobError<E::Error>> {
    let policy = &settings.policy;
    match settings.mode {
        Mode::Parallel => {
            let sweep = if settings.figures { bounds() } else { Vec::new() };
            let options = JobOptions { policy, sweep, sample: SAMPLE, earlier, remember: true };
            all_at_once(engine, queries, &options, |_| watch(None))
        }
        Mode::Sequential => {
            let mut outcome = one_by_one(engine, queries, policy, SAMPLE, |_| watch(None))?;
            if settings.figures {
                // Each bound starts with the whole index.
                let others: Vec<Outcome> = bounds()
                    .into_par_iter()
                    .map(|bound| {
                        let policy = policy.with_within(bound);
                        one_by_one(engine, queries, &policy, SAMPLE, |_| ())
                    })
                    .collect::<Result<_, _>>()?;
                for other in others {
                    outcome.sweep.push(other.removed.iter().map(|it| it.mark).collect());
                    for (query, other) in outcome.queries.iter_mut().zip(&other.queries) {
                        query.sweep_times.push(other.dedup);
                    }
                }
            }
            Ok(outcome)
        }
    }
}

fn compare<E: Engine>(
    engine: &E,
    queries: &[Ranked],
    settings: &Settings,
    outcome: &Outcome,
    watch: &(dyn Fn(Option<(Stage, u64)>) + Sync),
) -> Result<Difference, JobError<E::Error>> {
    let policy = &settings.policy;
    Ok(match settings.mode {
        Mode::Parallel => {
            let other = one_by_one(engine, queries, policy, SAMPLE, |_| watch(None))?;
            Difference::between(&other.removed, &outcome.removed)
        }
        Mode::Sequential => {
            let other = all_at_once(engine, queries, &JobOptions::new(policy), |_| watch(None))?;
            Difference::between(&outcome.removed, &other.removed)
        }
    })
}

fn change<E: Revealing>(
    engine: &mut E,
    folder: &OutFolder,
    before: &Before,
    effect: Effect,
    wanted: &BTreeSet<String>,
) -> Result<u64, RunError<E::Error>> {
    let mut status = before.status.clone();
    match effect {
        Effect::Marked => status.marked.extend(wanted.iter().cloned()),
        Effect::Removed => status.removed.extend(wanted.iter().cloned()),
    }
    folder.pend(&status)?;
    let operation = format!("query-dedup run {}", before.run + 1);
    let both = [(Effect::Marked, &before.status.marked), (Effect::Removed, &before.status.removed)];
    let mut changed = 0;
    for (kind, names) in both {
        let wanted = (kind == effect).then_some((kind, wanted));
        if wanted.is_some() || !names.is_empty() {
            changed +=
                bring(engine, Some((kind, names)), wanted, &operation).map_err(RunError::Engine)?;
        }
    }
    Ok(changed)
}

/// Undoes the effect of runs with this folder on the index. Keeps the record.
pub fn undo<E: Revealing>(engine: &mut E, out: &Path) -> Result<Undone, RunError<E::Error>> {
    let mut folder = OutFolder::open_earlier(out)?;
    let status = folder.status()?;
    let state = folder.state()?;
    folder.pend(&status)?;
    let operation = format!("query-dedup undo of run {}", state.as_ref().map_or(0, |it| it.run));
    let mut back = |effect, names: &BTreeSet<String>| match names.is_empty() {
        true => Ok(0),
        false => bring(engine, Some((effect, names)), None, &operation).map_err(RunError::Engine),
    };
    let undone = Undone {
        restored: back(Effect::Removed, &status.removed)?,
        unmarked: back(Effect::Marked, &status.marked)?,
    };
    match state {
        Some(state) => {
            folder.make(STATE, &json(&LastRun { effect: None, ..state })?)?;
            folder.publish(&[STATE])?;
        }
        None => folder.publish(&[])?,
    }
    Ok(undone)
}
