//! Removes new pages that match a page kept by an earlier job.
//!
//! Loads [`KEPT_SIGNATURES`] of the earlier job and compares it with the new pages before anything else. The
//! earlier page is kept whatever the winner rules say. Of several matches, reports the nearest, then the most
//! similar, then the first.
//!
//! Guarantees every match within the distance bound that is confirmed; the work is linear in both sets and in
//! the candidate pairs. Where more than 64 kept documents of a scope share a fingerprint, a new page is
//! compared with at most 64 of them for each part of its sketch.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::io;
use std::iter::once;
use std::path::{Path, PathBuf};

use hapax::fingerprint::{Key, Sketch};
use hapax::group::Outcome;
use hapax::join::matching::{Batch, Chunks, Wanted};
use hapax::join::{Executor, JoinError, PairOptions};
use hapax::similarity::Likeness;
use hapax_remote::{Finder, Found, Object, is_address};

use crate::error::Error;
use crate::key;
use crate::near::dense::{FEW_COLLISIONS, PART_BITS, TWIN_PASSES, sketch_part};
use crate::options::Options;
use crate::pages::{Pages, Status};
use crate::signatures::{Block, Header, SignatureBatch, SignatureReader, SignatureWriter};

/// The file of an output folder with the signatures of the kept documents.
pub const KEPT_SIGNATURES: &str = "kept.signatures";
/// The file's name in output folders of releases that said "imprint" for signature.
const FORMER_NAME: &str = "kept.imprints";
/// Pages per batch when the file is written.
const BATCH_SIZE: usize = 1024;
/// Batches in memory at a time.
const BATCHES: usize = 64;

/// Documents kept by earlier jobs.
#[derive(Debug, Default)]
pub struct Earlier {
    pages: Pages,
    key: Option<Key>,
}

/// The earlier document that a new page matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    /// Position among the earlier documents.
    pub(crate) earlier: u32,
    pub(crate) outcome: Outcome,
    pub(crate) distance: u8,
    pub(crate) similarity: f32,
}

impl Earlier {
    /// Loads output folders or files of signatures. A job on many machines leaves a folder of such
    /// files. A folder with the signatures of shards counts as all documents of these shards, kept
    /// or not.
    ///
    /// # Errors
    ///
    /// A file is missing or damaged, or has another recipe or scope.
    pub fn load(paths: &[PathBuf], options: &Options) -> Result<Self, Error> {
        let ours = Header::of(options, None);
        let mut pages = Pages::default();
        let mut key: Option<String> = None;
        for file in files_of(paths)? {
            let mut reader = file.open()?;
            let theirs = reader.header();
            for (what, ours, theirs) in
                [("recipe", &ours.recipe, &theirs.recipe), ("scope", &ours.scope, &theirs.scope)]
            {
                if ours != theirs {
                    let what = format!(
                        "it was made with {what} {theirs}, and this job has {ours}; use the same"
                    );
                    return Err(Error::Signatures { path: file.path, what });
                }
            }
            let theirs = theirs.key.clone();
            key = key.or_else(|| theirs.clone());
            while let Some(mut batch) = reader.next_pages()? {
                if theirs != key {
                    // Sketches made under different keys are not comparable.
                    batch.pages.iter_mut().for_each(|page| page.short = None);
                }
                if pages.len() + batch.pages.len() > Pages::MOST {
                    return Err(Error::TooMany { most: Pages::MOST });
                }
                batch.pages.iter().for_each(|page| pages.push(page));
            }
        }
        Ok(Self { pages, key: key.as_deref().and_then(key::from_hex) })
    }

    /// The key of the first file that has one; `None` if no file has one.
    pub(crate) fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    pub fn pages(&self) -> &Pages {
        &self.pages
    }
}

/// The key that [`Earlier::load`] would return, without loading the documents.
pub(crate) fn key_of(paths: &[PathBuf]) -> Result<Option<Key>, Error> {
    for file in files_of(paths)? {
        if let Some(key) = &file.open()?.header().key {
            return Ok(key::from_hex(key));
        }
    }
    Ok(None)
}

/// A file of signatures on disk or in an object store.
struct SignatureFile {
    path: PathBuf,
    object: Option<Object>,
}

impl SignatureFile {
    fn open(&self) -> Result<SignatureReader, Error> {
        let Some(object) = &self.object else { return SignatureReader::open(&self.path) };
        let copy = object.copy(once(0..object.size()));
        SignatureReader::of(&self.path, copy.map_err(|cause| Error::io("read", &self.path, cause))?)
    }
}

/// The files of signatures under the given paths, in order.
fn files_of(paths: &[PathBuf]) -> Result<Vec<SignatureFile>, Error> {
    let mut finder = Finder::default();
    let mut files = Vec::new();
    for path in paths {
        match path.to_str().filter(|path| is_address(path)) {
            Some(address) => {
                let found = remote_files(&mut finder, address);
                let path = || hapax_corpus::shown(address).into_owned();
                files.extend(found.map_err(|cause| Error::io("read", path(), cause))?);
            }
            None => {
                let local = local_files(path)?.into_iter();
                files.extend(local.map(|path| SignatureFile { path, object: None }));
            }
        }
    }
    Ok(files)
}

/// The files of an output folder in an object store, or one file there.
fn remote_files(finder: &mut Finder, address: &str) -> io::Result<Vec<SignatureFile>> {
    let inside = match address.ends_with(".signatures") {
        true => address.to_owned(),
        false => format!("{}/{KEPT_SIGNATURES}", address.trim_end_matches('/')),
    };
    let objects = match finder.find(&inside)? {
        Found::One(object) => vec![object],
        Found::Matching(objects) => objects,
        Found::Below(objects) => {
            let parts = objects.into_iter().map(|(object, _)| object);
            parts.filter(|part| part.name().ends_with(".signatures")).collect()
        }
    };
    if objects.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no file of signatures"));
    }
    let file = |object: Object| SignatureFile { path: object.name().into(), object: Some(object) };
    Ok(objects.into_iter().map(file).collect())
}

fn local_files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let inside = path.join(KEPT_SIGNATURES);
    let former = path.join(FORMER_NAME);
    let many = match (path.is_dir(), inside.is_dir()) {
        (_, true) => &inside,
        (true, _) if inside.is_file() => return Ok(vec![inside]),
        (true, _) if former.is_file() => return Ok(vec![former]),
        (true, _) => path,
        (false, _) => return Ok(vec![path.to_owned()]),
    };
    let listed = fs::read_dir(many).and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>);
    let listed = listed.map_err(|error| Error::io("read", many, error))?;
    let mut parts: Vec<PathBuf> = listed.into_iter().map(|entry| entry.path()).collect();
    parts.retain(|part| part.extension().is_some_and(|it| it == "signatures"));
    parts.sort();
    let wrong = |what: String| Err(Error::Signatures { path: many.to_owned(), what });
    let Some(first) = parts.first() else {
        return wrong(format!(
            "it has neither {KEPT_SIGNATURES} nor other files of signatures; name the output folder of a finished job"
        ));
    };
    if let Some(shard) = &SignatureReader::open(first)?.header().shard
        && shard.of as usize != parts.len()
    {
        return wrong(format!(
            "it has {} of {} shards; fingerprint the others, too",
            parts.len(),
            shard.of
        ));
    }
    Ok(parts)
}

pub(crate) fn write(
    path: &Path,
    options: &Options,
    pages: &Pages,
    kept: &[u32],
    executor: &dyn Executor,
) -> Result<(), Error> {
    let mut writer = SignatureWriter::create(path, &Header::of(options, None))?;
    let batches: Vec<(u64, &[u32])> = (0..).zip(kept.chunks(BATCH_SIZE)).collect();
    for some in batches.chunks(BATCHES) {
        let blocks = executor.map(some.to_vec(), |(index, kept)| {
            let pages = kept.iter().map(|&page| pages.get(page)).collect();
            Block::of(&SignatureBatch { index, pages, ..SignatureBatch::default() })
        });
        blocks.iter().try_for_each(|block| writer.add(block))?;
    }
    writer.finish()
}

/// Finds the new pages that match an earlier document.
pub(crate) fn known(
    pages: &Pages,
    earlier: &Pages,
    options: &Options,
    executor: &dyn Executor,
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

/// Sorted fingerprints, handed out in one chunk.
pub(crate) struct Stored<'f>(pub(crate) Option<&'f [u64]>);

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
    executor: &dyn Executor,
    known: &mut BTreeMap<u32, Known>,
) -> Result<(), Error> {
    let comparable = |pages: &Pages, page: u32| pages.status(page) == Status::Comparable;
    let queries: Vec<u32> = (0..pages.len() as u32)
        .filter(|page| comparable(pages, *page) && !known.contains_key(page))
        .collect();
    let mut stored: Vec<(u64, u32)> = (0..earlier.len() as u32)
        .filter(|&page| comparable(earlier, page))
        .map(|page| (earlier.fingerprint(page).to_bits(), page))
        .collect();
    stored.sort_unstable_by_key(|&(bits, page)| (bits, earlier.scope(page), page));
    let mut collisions = Collisions { earlier, buckets: BTreeMap::new() };
    let sorted: Vec<u64> = stored.iter().map(|&(fingerprint, _)| fingerprint).collect();
    let bits: Vec<u64> = queries.iter().map(|&page| pages.fingerprint(page).to_bits()).collect();
    let batch = Batch::new(&bits, PairOptions::within(options.policy.within)?, executor)?;
    let twins = batch.twins().to_vec();
    batch.stream(Wanted::All, &mut Stored(Some(&sorted)), executor, |hit| {
        let from = twins.partition_point(|twin| twin.a < hit.query);
        let others = twins[from..].iter().take_while(|twin| twin.a == hit.query);
        let same = std::iter::once(hit.query).chain(others.map(|twin| twin.b));
        let first = hit.position as usize;
        let copies = &stored[first..first + hit.copies as usize];
        for page in same.map(|query| queries[query as usize]) {
            let scope = pages.scope(page);
            let from = copies.partition_point(|&(_, old)| earlier.scope(old) < scope);
            let to = copies.partition_point(|&(_, old)| earlier.scope(old) <= scope);
            for old in
                collisions.worth_comparing(pages.sketch(page), first + from, &copies[from..to])
            {
                let likeness =
                    options.policy.compare(&pages.evidence(page), &earlier.evidence(old));
                let pair = [(pages, page), (earlier, old)];
                if !likeness.matches() || !options.confirm.stands(&options.policy, pair) {
                    continue;
                }
                let Likeness { distance, similarity, .. } = likeness;
                let found = Known { earlier: old, outcome: Outcome::Near, distance, similarity };
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

/// Groups of earlier documents that share a fingerprint and a scope.
struct Collisions<'e> {
    earlier: &'e Pages,
    /// By the first place of a group: its documents, sorted by each part of their sketches.
    buckets: BTreeMap<usize, Vec<(u64, u32)>>,
}

impl Collisions<'_> {
    /// The documents of `copies` (a group that starts at place `first`) to compare with a page that
    /// has this sketch.
    fn worth_comparing(
        &mut self,
        sketch: &Sketch,
        first: usize,
        copies: &[(u64, u32)],
    ) -> Vec<u32> {
        if copies.len() <= FEW_COLLISIONS {
            return copies.iter().map(|&(_, old)| old).collect();
        }
        let earlier = self.earlier;
        let buckets = self.buckets.entry(first).or_insert_with(|| {
            let parts =
                |&(_, old): &(u64, u32)| parts(earlier.sketch(old)).map(move |it| (it, old));
            let mut buckets: Vec<(u64, u32)> = copies.iter().flat_map(parts).collect();
            buckets.sort_unstable();
            buckets
        });
        let mut worth = Vec::new();
        for part in parts(sketch) {
            let from = buckets.partition_point(|&(other, _)| other < part);
            let same = buckets[from..].iter().take_while(|&&(other, _)| other == part);
            worth.extend(same.take(FEW_COLLISIONS).map(|&(_, old)| old));
        }
        worth.sort_unstable();
        worth.dedup();
        worth
    }
}

/// The parts of a sketch, one key per pass.
fn parts(sketch: &Sketch) -> impl Iterator<Item = u64> {
    (0..TWIN_PASSES).map(|pass| (pass as u64) << 32 | sketch_part(sketch, pass, PART_BITS))
}

impl Known {
    fn nearer(&self, other: &Self) -> bool {
        let by_similarity = other.similarity.total_cmp(&self.similarity);
        let order = self.distance.cmp(&other.distance).then(by_similarity);
        order.then(self.earlier.cmp(&other.earlier)).is_lt()
    }
}

#[cfg(test)]
mod tests {
    use hapax::fingerprint::{ContentHash, Fingerprint, Fingerprinter, Recipe};
    use hapax::group::ScopeKey;
    use hapax::join::OneThread;

    use super::*;
    use crate::options::Confirm;
    use crate::pages::NewPage;

    /// A sketch unlike the sketches of other numbers, with some changed bits.
    fn sketch(number: u64, changed: usize) -> Sketch {
        let mut bytes = [0; 128];
        blake3::Hasher::new().update(&number.to_le_bytes()).finalize_xof().fill(&mut bytes);
        (0..changed).for_each(|at| bytes[at * 5] ^= 1);
        Sketch::from_bytes(&bytes)
    }

    fn page(content: String, fingerprint: u64, sketch: Sketch, scope: u64) -> NewPage {
        NewPage {
            id: content.clone(),
            url: String::new(),
            canonical: None,
            content: ContentHash::of(&content),
            status: Status::Comparable,
            fingerprint: Fingerprint::from_bits(fingerprint),
            sketch,
            short: None,
            score: None,
            fetched: None,
            words: 100,
            scope: ScopeKey(scope),
            alone: false,
        }
    }

    fn gather(list: impl Iterator<Item = NewPage>) -> Pages {
        let mut pages = Pages::default();
        list.for_each(|page| pages.push(&page));
        pages
    }

    /// Reference implementation: compares every page with every earlier one.
    fn slowly(pages: &Pages, earlier: &Pages, options: &Options) -> BTreeMap<u32, Known> {
        let mut known = BTreeMap::new();
        for page in 0..pages.len() as u32 {
            for old in 0..earlier.len() as u32 {
                let distance = pages.fingerprint(page).distance(earlier.fingerprint(old));
                let estimate = pages.sketch(page).estimate(earlier.sketch(old));
                let alike = options.policy.min_similarity.admits(&estimate);
                let one_scope = pages.scope(page) == earlier.scope(old);
                if !options.policy.within.admits(distance) || !alike || !one_scope {
                    continue;
                }
                let (outcome, similarity) = (Outcome::Near, estimate.jaccard as f32);
                let found = Known { earlier: old, outcome, distance: distance as u8, similarity };
                let best = known.entry(page).or_insert(found);
                if found.nearer(best) {
                    *best = found;
                }
            }
        }
        known
    }

    #[test]
    fn similar_pages_are_found_among_many_with_the_same_fingerprint() {
        let recipe = Recipe::built_in("web-2").unwrap();
        let mut options = Options::new(Fingerprinter::new(recipe, None).unwrap());
        options.confirm = Confirm::No;
        for collisions in [10, FEW_COLLISIONS as u64, 600] {
            let of = |at: u64| page(format!("old {at}"), 7, sketch(at, 0), at % 2);
            let earlier = gather((0..2 * collisions).map(of));
            // Every third page is in the other scope and has no match; some pages are similar to
            // none.
            let of = |at: u64| {
                let fingerprint = 7 ^ (at % 3);
                let scope = (at % 2) ^ u64::from(at.is_multiple_of(3));
                page(format!("new {at}"), fingerprint, sketch(at * 7, at as usize % 9), scope)
            };
            let pages = gather((0..collisions).map(of));
            let found = known(&pages, &earlier, &options, &OneThread).unwrap();
            assert_eq!(found, slowly(&pages, &earlier, &options));
            assert!(found.len() as u64 > collisions / 10, "{} of {collisions}", found.len());
        }
    }

    #[test]
    fn a_page_is_compared_with_few_of_many_pages_with_its_fingerprint() {
        let count = 20_000;
        let earlier = gather((0..count).map(|at| page(at.to_string(), 7, sketch(at, 0), 1)));
        let copies: Vec<(u64, u32)> = (0..count as u32).map(|old| (7, old)).collect();
        let mut collisions = Collisions { earlier: &earlier, buckets: BTreeMap::new() };
        let few = collisions.worth_comparing(&sketch(count + 1, 0), 0, &copies);
        assert!(few.len() < 40, "by chance about 5 of 20,000 do: {}", few.len());
        assert!(collisions.worth_comparing(&sketch(17, 8), 0, &copies).contains(&17));
        // All share their sketch, too, as an attacker would arrange it.
        let earlier = gather((0..count).map(|at| page(at.to_string(), 7, sketch(1, 0), 1)));
        let mut collisions = Collisions { earlier: &earlier, buckets: BTreeMap::new() };
        let few = collisions.worth_comparing(&sketch(1, 0), 0, &copies);
        assert!(few.len() <= FEW_COLLISIONS * TWIN_PASSES, "{}", few.len());
    }
}
