//! Finds fingerprints within a distance: with our tables, mih-rs and gaoya, and with a linear scan as truth.
//!
//! Fingerprints and queries are files of 8 bytes each, little-endian; fingerprint `i` has id `i`. Writes the ids
//! found for the first queries as one JSON list per query. Times building and searching separately, on one thread.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use gaoya::simhash::SimHashIndex;
use hapax::fingerprint::{Fingerprint, MaxDistance};
use hapax::index::{Collection, Entry, HammingIndex, Query, TableOptions, Tables};
use serde::Deserialize;

use crate::measure::{Report, cpu, repeated, resident_bytes};

#[derive(Deserialize)]
pub(crate) struct Job {
    tool: Tool,
    stored: PathBuf,
    queries: PathBuf,
    /// Number of queries to search.
    limit: usize,
    /// Number of queries whose answers are written.
    scored: usize,
    within: u8,
    out: PathBuf,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Tool {
    /// A linear scan, which shares no code with any engine.
    Truth,
    /// Our tables, with all queries in one call.
    HapaxBatch,
    /// Our tables, one query at a time.
    Hapax,
    MihRs,
    Gaoya,
}

/// Maximum number of our tables; more were never faster with up to 10 M fingerprints.
const MOST_TABLES: usize = 10;

pub(crate) fn run(job: &Job) -> Result<Report> {
    let stored = read(&job.stored)?;
    let mut queries = read(&job.queries)?;
    queries.truncate(job.limit);
    ensure!(queries.len() >= job.scored, "fewer queries than are scored");
    let (report, answers) = match job.tool {
        Tool::Truth => linear_scan(&stored, &queries, job.within),
        Tool::HapaxBatch => hapax(stored, &queries, job.within, true)?,
        Tool::Hapax => hapax(stored, &queries, job.within, false)?,
        Tool::MihRs => mih(stored, &queries, job.within)?,
        Tool::Gaoya => gaoya(&stored, &queries, job.within),
    };
    let scored = answers.get(..job.scored).context("some queries were not answered")?;
    fs::write(&job.out, serde_json::to_vec(scored)?)
        .with_context(|| job.out.display().to_string())?;
    Ok(Report { items: queries.len(), ..report })
}

/// The ids found for each query.
type Found = Vec<Vec<u64>>;

fn linear_scan(stored: &[u64], queries: &[u64], within: u8) -> (Report, Found) {
    let (found, seconds) = cpu(|| {
        let near = |&query: &u64| -> Vec<u64> {
            let all = stored.iter().zip(0..);
            let near = all.filter(|&(it, _)| (it ^ query).count_ones() <= u32::from(within));
            near.map(|(_, id)| id).collect()
        };
        queries.iter().map(near).collect()
    });
    let bytes = Some(size_of_val(stored));
    (Report { setting: "plain loop".into(), seconds, bytes, ..Report::default() }, found)
}

fn hapax(stored: Vec<u64>, queries: &[u64], within: u8, batch: bool) -> Result<(Report, Found)> {
    let bound = MaxDistance::new(within).context("a fingerprint has 64 bits")?;
    let queries: Vec<Query<'_>> =
        queries.iter().map(|&bits| Query::from(Fingerprint::from_bits(bits))).collect();
    let before = resident_bytes();
    let entries = stored.iter().zip(0..);
    let entries =
        entries.map(|(&bits, id)| Entry { fingerprint: Fingerprint::from_bits(bits), id });
    let (index, build) = cpu(|| -> Result<Tables> {
        let options = TableOptions::within(bound).most_tables(MOST_TABLES);
        Ok(Tables::build(Collection::new(entries)?, options)?)
    });
    let index = index?;
    let bytes = index.memory_bytes().max(resident_bytes().saturating_sub(before));
    let ids = |matches: &[hapax::index::Match]| matches.iter().map(|m| m.id).collect();
    let (found, seconds) = if batch {
        let (answers, seconds) = repeated(|| index.find_all_batch(&queries, bound));
        (answers?.iter().map(ids).collect(), seconds)
    } else {
        let (answers, seconds) = repeated(|| {
            let all = queries.iter().map(|query| index.find_all(query, bound));
            all.collect::<Result<Vec<_>, _>>()
        });
        (answers?.iter().map(|matches| ids(matches)).collect(), seconds)
    };
    let tables = index.design().keys().len();
    let how = if batch { "all queries in one call" } else { "one query a call" };
    let setting = format!("{tables} tables, {how}");
    Ok((report(setting, seconds, build, bytes), found))
}

fn mih(stored: Vec<u64>, queries: &[u64], within: u8) -> Result<(Report, Found)> {
    let before = resident_bytes();
    let (index, build) = cpu(|| mih_rs::Index::new(stored).map_err(|error| anyhow!("{error}")));
    let index = index?;
    let bytes = resident_bytes().saturating_sub(before);
    let mut searcher = index.range_searcher();
    let (found, seconds) = repeated(|| {
        let near = |&query: &u64| {
            let found = searcher.run(query, usize::from(within));
            found.iter().map(|&id| u64::from(id)).collect()
        };
        queries.iter().map(near).collect()
    });
    let setting = format!("{} blocks, as it chooses", index.num_blocks());
    Ok((report(setting, seconds, build, bytes), found))
}

/// gaoya reports distances below its bound, so it gets one more; with one block more than the
/// minimum its keys have two blocks.
fn gaoya(stored: &[u64], queries: &[u64], within: u8) -> (Report, Found) {
    let below = usize::from(within) + 1;
    let before = resident_bytes();
    let (index, build) = cpu(|| {
        let mut index: SimHashIndex<u64, u32> = SimHashIndex::new(below + 2, below);
        for (&fingerprint, id) in stored.iter().zip(0..) {
            index.insert(id, fingerprint);
        }
        index
    });
    let bytes = resident_bytes().saturating_sub(before);
    let (found, seconds) = repeated(|| {
        let near = |query: &u64| index.query(query).into_iter().map(|&id| u64::from(id)).collect();
        queries.iter().map(near).collect()
    });
    let setting = format!("{} blocks, bound {below} for at most {within}", below + 2);
    (report(setting, seconds, build, bytes), found)
}

fn report(setting: String, seconds: f64, build: f64, bytes: usize) -> Report {
    Report { setting, seconds, build: Some(build), bytes: Some(bytes), ..Report::default() }
}

fn read(path: &Path) -> Result<Vec<u64>> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    Ok(bytes.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect())
}
