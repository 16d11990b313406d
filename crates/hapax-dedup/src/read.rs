//! The first reading: turns every document into a row of [`Pages`].
//!
//! Threads decode, extract and fingerprint batches; results are taken in corpus order, so nothing depends on
//! the number of threads. Each thread holds one batch.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use hapax::frame::least_pages;
use hapax_corpus::{Bad, Batch, Document, Entry, Fact, Original, Source};

use crate::digest::BatchDigest;
use crate::error::Error;
use crate::frames::{Gathering, HostFrame, HostFrames, packed};
use crate::inputs::StreamName;
use crate::options::{Frames, Options};
use crate::own_texts;
use crate::pages::{Pages, Status};
use crate::passed_over::{PassedCounts, PassedRecord};
use crate::signature::Signer;
use crate::signatures::checkpoint::{self, Checkpoint, Done};
use crate::signatures::{BatchRecords, Block, SignatureBatch};
use crate::threads::Threads;
use crate::watch::Watch;

/// What the first reading found.
#[derive(Debug, Default)]
pub struct Corpus {
    pub pages: Pages,
    /// Redirects and revisits.
    pub facts: Vec<Fact>,
    pub counts: ReadCounts,
    /// The frames of the hosts with most pages.
    pub frames: Vec<HostFrame>,
    /// Hosts with a learned frame.
    pub framed_hosts: u64,
    /// Collects pieces of pages until the frames are learned.
    gathering: Option<Gathering>,
    /// All batches, in order.
    batches: Vec<BatchRead>,
}

/// A batch of the first reading.
#[derive(Clone, Copy, Debug)]
struct BatchRead {
    part: u64,
    index: u64,
    /// Position of the first document.
    first: u32,
    digest: u64,
}

/// Counts of documents and passed-over records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Total size of document bodies in bytes.
    pub body_bytes: u64,
    /// Records that are not documents, by reason.
    pub passed_over: PassedCounts,
    /// Documents from WARC and ARC files.
    pub archived: u64,
    /// Documents from tables.
    pub rows: u64,
    /// Documents with more hidden than visible text.
    pub hides_most: u64,
}

impl ReadCounts {
    /// Counts a document that `signer` has just signed.
    pub(crate) fn add(&mut self, document: &Document<'_>, signer: &Signer) {
        self.body_bytes += document.body.content.as_bytes().len() as u64;
        self.hides_most += u64::from(signer.hides_most());
        match &document.original {
            Original::Warc(_) | Original::Arc(_) => self.archived += 1,
            Original::Row(_) => self.rows += 1,
            Original::File | Original::Nothing | Original::Json(_) => {}
        }
    }
}

impl Corpus {
    /// The documents of a batch, as first position and end (exclusive).
    pub(crate) fn documents_of(&self, part: usize, index: usize) -> (u32, u32) {
        let end = |at: usize| self.batches.get(at).map_or(self.pages.len() as u32, |it| it.first);
        self.place(part, index).map_or((0, 0), |at| (end(at), end(at + 1)))
    }

    /// Whether the first reading read the same in this batch.
    pub(crate) fn read_the_same(&self, part: usize, index: usize, digest: BatchDigest) -> bool {
        self.place(part, index).is_some_and(|at| self.batches[at].digest == digest.finish())
    }

    fn place(&self, part: usize, index: usize) -> Option<usize> {
        let key = (part as u64, index as u64);
        self.batches.binary_search_by_key(&key, |it| (it.part, it.index)).ok()
    }
}

/// Reads a source. Takes batches in the checkpoint from there, and appends new ones to it.
pub(crate) fn read(
    source: &Source,
    names: &StreamName,
    options: &Options,
    checkpoint: Option<&Path>,
    scratch: &Path,
    threads: &Threads,
    watch: &mut dyn Watch,
) -> Result<Corpus, Error> {
    let mut corpus = Corpus::gathering(options, scratch);
    let mut checkpoint = match checkpoint {
        None => None,
        Some(path) => {
            let header = checkpoint::header(source, options);
            Some(Checkpoint::open(path, &header, |batch| corpus.add(batch))?)
        }
    };
    let done = checkpoint.as_ref().map(Checkpoint::done).unwrap_or_default();
    if !done.is_empty() {
        watch.resumed(corpus.pages.len() as u64);
    }
    let frames = match options.frames {
        Frames::Own => Some(Arc::new(own_texts::learn(source, options, scratch, threads, watch)?)),
        Frames::On | Frames::Off => None,
    };
    corpus.framed_hosts = frames.as_ref().map_or(0, |frames| frames.hosts());
    let mut taken_over = 0;
    let stored = checkpoint.is_some();
    sign_batches((source, names), options, frames, &done, stored, |decoded| {
        taken_over += u64::from(matches!(decoded.again, Ok(true)));
        watch.files_done(u64::from(source.part_files(decoded.batch.part as usize).start));
        if let Some(Signed { batch, block, .. }) = decoded.checked(watch)? {
            if let Some((checkpoint, block)) = checkpoint.as_mut().zip(block) {
                checkpoint.add(&block)?;
            }
            corpus.add(batch)?;
        }
        if watch.stopped() {
            return Err(Error::Stopped);
        }
        // Fail now rather than after hours of reading.
        options.join_memory(&corpus.pages).map(drop)
    })?;
    if taken_over < done.len() {
        let why = format!("{taken_over} of the {} batches it read are there", done.len());
        return Err(Error::CannotResume { why });
    }
    corpus.learn_frames(threads)?;
    Ok(corpus)
}

/// Signs the batches of a source, except those that are `done`, and hands them over in order; with
/// [`Signed::block`] if they are to be `stored`.
pub(crate) fn sign_batches(
    (source, names): (&Source, &StreamName),
    options: &Options,
    frames: Option<Arc<HostFrames>>,
    done: &Done,
    stored: bool,
    receive: impl FnMut(Decoded) -> Result<(), Error>,
) -> Result<(), Error> {
    let idle: Mutex<Vec<Signer>> = Mutex::new(Vec::new());
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    let sign = |batch: Batch| {
        let again = done.has(&batch);
        if !matches!(again, Ok(false)) {
            let mut decoded =
                Decoded { again, input_bytes: batch.input_bytes, ..Decoded::default() };
            decoded.batch.part = batch.part as u64;
            return decoded;
        }
        let ready = lock().pop();
        let mut signer = ready.unwrap_or_else(|| Signer::new(options, frames.clone()));
        let mut decoded = Decoded::of(batch, names, &mut signer);
        decoded.block = stored.then(|| Block::of(&decoded.batch));
        lock().push(signer);
        decoded
    };
    source.in_order(options.threads, sign, receive)
}

impl Corpus {
    /// An empty corpus to add batches to.
    pub(crate) fn gathering(options: &Options, scratch: &Path) -> Self {
        let gathering =
            (options.frames == Frames::On).then(|| Gathering::new(scratch, least_pages));
        Self { gathering, ..Self::default() }
    }

    pub(crate) fn learn_frames(&mut self, threads: &Threads) -> Result<(), Error> {
        let Some(gathering) = self.gathering.take() else { return Ok(()) };
        let learned = threads.run(|_| gathering.learn(self.pages.len()))?;
        self.pages.set_owns(learned.owns);
        (self.frames, self.framed_hosts) = (learned.largest, learned.hosts);
        Ok(())
    }

    pub(crate) fn add(&mut self, batch: SignatureBatch) -> Result<(), Error> {
        if self.pages.len() + batch.pages.len() > Pages::MOST {
            return Err(Error::TooMany { most: Pages::MOST });
        }
        let SignatureBatch { part, index, digest, .. } = batch;
        self.batches.push(BatchRead { part, index, first: self.pages.len() as u32, digest });
        for (at, page) in batch.pages.iter().enumerate() {
            if let (Some(gathering), Some(pieces)) = (&mut self.gathering, batch.pieces.get(at))
                && page.status == Status::Comparable
            {
                gathering.add(self.pages.len() as u32, &page.url, page.content, pieces)?;
            }
            self.pages.push(page);
        }
        self.facts.extend(batch.facts);
        let (all, more) = (&mut self.counts, &batch.counts);
        all.body_bytes += more.body_bytes;
        for (why, count) in &more.passed_over {
            *all.passed_over.entry(*why).or_default() += count;
        }
        all.archived += more.archived;
        all.rows += more.rows;
        all.hides_most += more.hides_most;
        Ok(())
    }
}

/// A signed batch.
pub(crate) struct Signed {
    pub(crate) batch: SignatureBatch,
    pub(crate) records: BatchRecords,
    /// The encoded batch, if it is to be stored.
    pub(crate) block: Option<Block>,
}

/// A batch after decoding and signing.
pub(crate) struct Decoded {
    batch: SignatureBatch,
    records: BatchRecords,
    block: Option<Block>,
    bad: Vec<Bad>,
    stopped: Option<hapax_corpus::Error>,
    input_bytes: u64,
    /// `true` if the batch was in the checkpoint; an error if it does not fit the checkpoint.
    again: Result<bool, Error>,
}

impl Default for Decoded {
    fn default() -> Self {
        Self {
            batch: SignatureBatch::default(),
            records: BatchRecords::default(),
            block: None,
            bad: Vec::new(),
            stopped: None,
            input_bytes: 0,
            again: Ok(false),
        }
    }
}

impl Decoded {
    /// The batch, or `None` if it was in the checkpoint. Reports skipped records and progress.
    pub(crate) fn checked(self, watch: &mut dyn Watch) -> Result<Option<Signed>, Error> {
        for bad in &self.bad {
            watch.skipped(bad);
        }
        if let Some(error) = self.stopped {
            return Err(error.into());
        }
        let again = self.again?;
        watch.progress(self.batch.pages.len() as u64, self.input_bytes);
        let Self { batch, records, block, .. } = self;
        Ok((!again).then_some(Signed { batch, records, block }))
    }

    fn of(mut source: Batch, names: &StreamName, signer: &mut Signer) -> Self {
        let mut decoded = Self { input_bytes: source.input_bytes, ..Self::default() };
        let (batch, records) = (&mut decoded.batch, &mut decoded.records);
        (batch.part, batch.index) = (source.part as u64, source.index as u64);
        batch.extent = source.extent();
        let mut digest = BatchDigest::of(&source);
        for entry in source.entries() {
            if let Ok(entry) = &entry
                && let Some(passed) = PassedRecord::of(entry)
            {
                *batch.counts.passed_over.entry(passed.why).or_default() += entry.records();
                records.passed(entry, passed);
            }
            match entry {
                Ok(Entry::Document(document)) => {
                    digest.add(&document);
                    let mut page = signer.page(&document);
                    batch.counts.add(&document, signer);
                    records.document(&document.place);
                    if let Cow::Owned(id) = names.clean(&page.id) {
                        page.id = id;
                    }
                    batch.pages.push(page);
                    batch.pieces.extend(signer.pieces().map(packed));
                }
                Ok(Entry::Fact(fact)) => batch.facts.push(fact),
                Ok(Entry::Passed { .. }) => {}
                Ok(Entry::Bad(bad)) => decoded.bad.push(bad),
                Err(error) => decoded.stopped = Some(error),
            }
        }
        batch.digest = digest.finish();
        decoded
    }
}
