//! The next crawl: pages that an earlier job has kept need not be kept again.
//!
//! A job leaves the imprints of its kept documents in [`KEPT_IMPRINTS`]. Loaded, they are compared
//! with the new pages before these are compared with each other, so whatever was kept before stays
//! and the new copy goes, whatever the winner rules think. Of several earlier documents that match,
//! the nearest is named, then the most similar, then the first.
//!
//! # What it promises
//!
//! Finds all new pages that match an earlier one, within the bound and confirmed. Work is linear in both
//! and in the number of proposed pairs.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use hapax::group::Outcome;
use hapax::join::matching::{Batch, Chunks, Wanted};
use hapax::join::{Executor, JoinError, PairOptions};

use crate::error::Error;
use crate::imprints::{Header, ImprintBatch, ImprintReader, ImprintWriter};
use crate::options::Options;
use crate::pages::{Pages, Standing};

/// The file in an output folder that has the imprints of the kept documents.
pub const KEPT_IMPRINTS: &str = "kept.imprints";
/// Pages in a batch of that file.
const TOGETHER: usize = 1024;

/// Documents that earlier jobs have kept.
#[derive(Debug, Default)]
pub struct Earlier {
    pages: Pages,
}

/// The earlier document that a new page matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    /// Its position among the earlier documents.
    pub(crate) earlier: u32,
    pub(crate) outcome: Outcome,
    pub(crate) distance: u8,
    pub(crate) similarity: f32,
}

impl Earlier {
    /// Loads what is named: output folders, or their files of imprints. A job on many machines leaves a
    /// folder of such files.
    ///
    /// # Errors
    ///
    /// A file is missing or damaged, or was made by another recipe or for another scope.
    pub fn load(paths: &[PathBuf], options: &Options) -> Result<Self, Error> {
        let ours = header(options);
        let mut pages = Pages::default();
        for path in files_of(paths)? {
            let mut reader = ImprintReader::open(&path)?;
            let theirs = reader.header();
            for (what, ours, theirs) in
                [("recipe", &ours.recipe, &theirs.recipe), ("scope", &ours.scope, &theirs.scope)]
            {
                if ours != theirs {
                    let what = format!(
                        "it was made with {what} {theirs}, and this job has {ours}; use the same"
                    );
                    return Err(Error::Imprints { path, what });
                }
            }
            while let Some(batch) = reader.next()? {
                if pages.len() + batch.pages.len() > Pages::MOST {
                    return Err(Error::TooMany { most: Pages::MOST });
                }
                batch.pages.iter().for_each(|page| pages.push(page));
            }
        }
        Ok(Self { pages })
    }

    /// The documents.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }
}

/// The files of imprints of what is named, in order.
fn files_of(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in paths {
        let inside = path.join(KEPT_IMPRINTS);
        let many = match (inside.is_dir(), path.file_name()) {
            (true, _) => &inside,
            (false, Some(name)) if name == KEPT_IMPRINTS && path.is_dir() => path,
            (false, _) => {
                files.push(if path.is_dir() { inside } else { path.clone() });
                continue;
            }
        };
        let listed = fs::read_dir(many).and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>);
        let listed = listed.map_err(|error| Error::io("read", many, error))?;
        let mut parts: Vec<PathBuf> = listed.into_iter().map(|entry| entry.path()).collect();
        parts.retain(|part| part.extension().is_some_and(|it| it == "imprints"));
        parts.sort();
        if parts.is_empty() {
            let what = "the folder has no file of imprints".to_owned();
            return Err(Error::Imprints { path: many.clone(), what });
        }
        files.extend(parts);
    }
    Ok(files)
}

fn header(options: &Options) -> Header {
    Header {
        recipe: options.fingerprinter.recipe_id().to_string(),
        scope: options.scope.to_string(),
        inputs: None,
    }
}

/// Writes the imprints of documents.
pub(crate) fn write(
    path: &Path,
    options: &Options,
    pages: &Pages,
    kept: impl Iterator<Item = u32>,
) -> Result<(), Error> {
    let mut writer = ImprintWriter::create(path, &header(options))?;
    let mut batch = ImprintBatch::default();
    for page in kept {
        batch.pages.push(pages.get(page));
        if batch.pages.len() >= TOGETHER {
            writer.batch(&batch)?;
            batch.pages.clear();
            batch.index += 1;
        }
    }
    if !batch.pages.is_empty() {
        writer.batch(&batch)?;
    }
    writer.finish()
}

/// New pages that match an earlier document.
pub(crate) fn known(
    pages: &Pages,
    earlier: &Pages,
    options: &Options,
    executor: &impl Executor,
) -> Result<BTreeMap<u32, Known>, Error> {
    let mut known = exact(pages, earlier);
    near(pages, earlier, options, executor, &mut known)?;
    Ok(known)
}

fn exact(pages: &Pages, earlier: &Pages) -> BTreeMap<u32, Known> {
    let key = |pages: &Pages, page| (pages.scope(page), pages.content(page));
    let mut order: Vec<u32> = (0..earlier.len() as u32).collect();
    order.sort_unstable_by_key(|&page| (key(earlier, page), page));
    let same = |page: u32| {
        pages.content(page)?;
        let wanted = key(pages, page);
        let at = order.partition_point(|&old| key(earlier, old) < wanted);
        let old = order.get(at).copied().filter(|&old| key(earlier, old) == wanted)?;
        Some((page, Known { earlier: old, outcome: Outcome::Exact, distance: 0, similarity: 1.0 }))
    };
    (0..pages.len() as u32).filter_map(same).collect()
}

/// Sorted fingerprints, all at once.
struct Stored<'f>(Option<&'f [u64]>);

impl Chunks for Stored<'_> {
    fn next_chunk(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, JoinError> {
        fingerprints.clear();
        let Some(all) = self.0.take() else { return Ok(false) };
        fingerprints.extend_from_slice(all);
        Ok(true)
    }
}

fn near(
    pages: &Pages,
    earlier: &Pages,
    options: &Options,
    executor: &impl Executor,
    known: &mut BTreeMap<u32, Known>,
) -> Result<(), Error> {
    let judged = |pages: &Pages, page: u32| pages.standing(page) == Standing::Judged;
    let queries: Vec<u32> = (0..pages.len() as u32)
        .filter(|page| judged(pages, *page) && !known.contains_key(page))
        .collect();
    let mut stored: Vec<(u64, u32)> = (0..earlier.len() as u32)
        .filter(|&page| judged(earlier, page))
        .map(|page| (earlier.fingerprint(page).to_bits(), page))
        .collect();
    stored.sort_unstable();
    let sorted: Vec<u64> = stored.iter().map(|&(fingerprint, _)| fingerprint).collect();
    let bits: Vec<u64> = queries.iter().map(|&page| pages.fingerprint(page).to_bits()).collect();
    let batch = Batch::new(&bits, PairOptions::within(options.within)?, executor)?;
    let twins = batch.twins().to_vec();
    batch.stream(Wanted::All, &mut Stored(Some(&sorted)), executor, |hit| {
        let from = twins.partition_point(|twin| twin.a < hit.query);
        let others = twins[from..].iter().take_while(|twin| twin.a == hit.query);
        let same = std::iter::once(hit.query).chain(others.map(|twin| twin.b));
        let first = hit.position as usize;
        for page in same.map(|query| queries[query as usize]) {
            for &(_, old) in &stored[first..first + hit.copies as usize] {
                let estimate = pages.sketch(page).estimate(earlier.sketch(old));
                let alike = options.min_similarity.admits(&estimate);
                if !alike || pages.scope(page) != earlier.scope(old) {
                    continue;
                }
                let found = Known {
                    earlier: old,
                    outcome: Outcome::Near,
                    distance: hit.distance,
                    similarity: estimate.jaccard as f32,
                };
                let best = known.entry(page).or_insert(found);
                if found.nearer(best) {
                    *best = found;
                }
            }
        }
        Ok(())
    })?;
    Ok(())
}

impl Known {
    fn nearer(&self, other: &Self) -> bool {
        let by_similarity = other.similarity.total_cmp(&self.similarity);
        let order = self.distance.cmp(&other.distance).then(by_similarity);
        order.then(self.earlier.cmp(&other.earlier)).is_lt()
    }
}
