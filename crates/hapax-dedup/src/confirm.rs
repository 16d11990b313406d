//! Confirms near removals by comparing full texts, between the decision and writing: [`Confirm::Exact`].
//!
//! Reads every document that is removed as a near-duplicate and its winner again and compares their complete
//! shingle sets, two at a time; the sets wait in a temporary file. Drops pairs that fail and groups their pages
//! again.
//!
//! The result does not depend on the number of threads. Does not confirm matches with documents of an earlier
//! job: only their signatures are available.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hapax::fingerprint::keyed::jaccard;
use hapax::fingerprint::{ContentHash, Key, KeyedReader};
use hapax_corpus::{Batch, Entry, Source};

use crate::decide::Decision;
use crate::error::Error;
use crate::inputs::StreamName;
use crate::options::{Confirm, Options};
use crate::read::Corpus;
use crate::signature::known;
use crate::watch::Watch;

/// How often a page that lost its match may find another one.
const ROUNDS: usize = 4;

const SETS: &str = "shingles";

/// The contents of a removed page and of its winner.
pub(crate) type Contents = (ContentHash, ContentHash);

/// Reads near-duplicates and their winners again, and undoes removals whose texts are not similar
/// enough.
pub(crate) fn confirm(
    source: &Source,
    names: &StreamName,
    corpus: &Corpus,
    decision: &mut Decision<'_>,
    options: &Options,
    scratch: &Path,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    let (Confirm::Exact, Some(key)) = (options.confirm, options.fingerprinter.key()) else {
        return Ok(());
    };
    let pages = &corpus.pages;
    let mut asked: BTreeSet<Contents> = BTreeSet::new();
    for _ in 0..ROUNDS {
        let mut open: BTreeMap<Contents, (u32, u32)> = BTreeMap::new();
        for (page, winner) in decision.near_removals() {
            if let (Some(a), Some(b)) = (pages.content(page), pages.content(winner)) {
                open.entry((a, b)).or_insert((page, winner));
            }
        }
        open.retain(|contents, _| !asked.contains(contents));
        if open.is_empty() {
            return Ok(());
        }
        let second = SecondReading { source, names, corpus, options, key };
        let wanted = open.iter().flat_map(|((a, b), (page, winner))| [(*a, *page), (*b, *winner)]);
        let texts = second.read(&wanted.collect(), scratch, watch)?;
        let mut refuted = BTreeMap::new();
        for contents in open.into_keys() {
            let similarity = texts.compare(contents)?;
            if similarity < options.policy.min_similarity.jaccard() {
                refuted.insert(contents, similarity as f32);
            }
            asked.insert(contents);
        }
        if refuted.is_empty() {
            return Ok(());
        }
        decision.refute(&refuted, options)?;
    }
    // A removal that was never compared by text does not stand. Refuted pairs are gone already.
    decision.keep_only(|contents| asked.contains(&contents))
}

/// Reads a part of the corpus a second time.
struct SecondReading<'a> {
    source: &'a Source,
    names: &'a StreamName,
    corpus: &'a Corpus,
    options: &'a Options,
    key: &'a Key,
}

impl SecondReading<'_> {
    /// Reads one document of each wanted content.
    fn read(
        &self,
        wanted: &BTreeMap<ContentHash, u32>,
        scratch: &Path,
        watch: &mut dyn Watch,
    ) -> Result<Texts, Error> {
        let by_position: BTreeMap<u32, ContentHash> =
            wanted.iter().map(|(content, page)| (*page, *content)).collect();
        let mut texts = Texts::new(scratch.join(SETS))?;
        let idle: Mutex<Vec<KeyedReader>> = Mutex::new(Vec::new());
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        self.source.in_order(
            self.options.threads,
            |batch| {
                let (from, to) = self.corpus.documents_of(batch.part, batch.index);
                if by_position.range(from..to).next().is_none() {
                    return Ok(Vec::new());
                }
                let ready = lock().pop();
                let keyed = || self.options.fingerprinter.keyed(self.key);
                let mut reader = ready.unwrap_or_else(keyed);
                let found = self.batch(batch, from, &by_position, &mut reader);
                lock().push(reader);
                found
            },
            |found: Result<Vec<(ContentHash, Vec<u64>)>, Error>| {
                for (content, set) in found? {
                    texts.add(content, &set)?;
                }
                if watch.stopped() { Err(Error::Stopped) } else { Ok(()) }
            },
        )?;
        texts.finish()
    }

    fn batch(
        &self,
        mut batch: Batch,
        from: u32,
        wanted: &BTreeMap<u32, ContentHash>,
        reader: &mut KeyedReader,
    ) -> Result<Vec<(ContentHash, Vec<u64>)>, Error> {
        let mut found = Vec::new();
        let mut position = from;
        for entry in batch.entries() {
            let Entry::Document(document) = entry? else { continue };
            if let Some(content) = wanted.get(&position) {
                let changed = || Error::Changed { path: document.id.to_string() };
                if self.names.clean(&document.id) != self.corpus.pages.id(position) {
                    return Err(changed());
                }
                let document = known(&document).map_err(|_| changed())?;
                let set = reader.shingles(&document).map_err(|_| changed())?;
                found.push((*content, set.to_vec()));
            }
            position += 1;
        }
        Ok(found)
    }
}

/// The shingle sets that were read, by content.
struct Texts {
    /// Offset of each set in the file, and its number of shingles.
    sets: BTreeMap<ContentHash, (u64, u32)>,
    path: PathBuf,
    file: BufWriter<File>,
    written: u64,
}

impl Texts {
    fn new(path: PathBuf) -> Result<Self, Error> {
        let file = File::create(&path).map_err(|error| Error::io("create", &path, error))?;
        Ok(Self { sets: BTreeMap::new(), path, file: BufWriter::new(file), written: 0 })
    }

    fn add(&mut self, content: ContentHash, set: &[u64]) -> Result<(), Error> {
        let bytes: Vec<u8> = set.iter().flat_map(|it| it.to_le_bytes()).collect();
        self.file.write_all(&bytes).map_err(|error| Error::io("write", &self.path, error))?;
        self.sets.insert(content, (self.written, set.len() as u32));
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn finish(mut self) -> Result<Self, Error> {
        self.file.flush().map_err(|error| Error::io("write", &self.path, error))?;
        Ok(self)
    }

    /// Jaccard similarity of two texts; 0 if either was not found.
    fn compare(&self, (one, other): Contents) -> Result<f64, Error> {
        Ok(jaccard(&self.set(one)?, &self.set(other)?))
    }

    fn set(&self, content: ContentHash) -> Result<Vec<u64>, Error> {
        let Some(&(from, count)) = self.sets.get(&content) else { return Ok(Vec::new()) };
        let mut bytes = vec![0; count as usize * 8];
        let read = |bytes: &mut [u8]| {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(from))?;
            file.read_exact(bytes)
        };
        read(&mut bytes).map_err(|error| Error::io("read", &self.path, error))?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|it| u64::from_le_bytes(*it)).collect())
    }
}

impl Drop for Texts {
    /// A failure is ignored: the owner of the folder removes what is left.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
