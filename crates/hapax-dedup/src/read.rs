//! The first reading: every document becomes a line of [`Pages`].
//!
//! Threads decode, purify and fingerprint batches; the results are taken in the order of the
//! corpus, so nothing depends on how many threads there are. A thread holds one batch.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hapax_corpus::{Batch, Entry, Fact, Original, Reason, Source};

use crate::error::Error;
use crate::imprint::Imprinter;
use crate::inputs::StreamName;
use crate::options::{KeptFormat, Options};
use crate::pages::{NewPage, Pages};
use crate::watch::Watch;

/// What the first reading found.
#[derive(Debug, Default)]
pub struct Corpus {
    /// The documents.
    pub pages: Pages,
    /// What archives say about addresses.
    pub facts: Vec<Fact>,
    /// What was counted on the way.
    pub counts: ReadCounts,
}

/// What was read, and what was passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Bytes of all documents' bodies.
    pub body_bytes: u64,
    /// Records that are no documents: requests, error pages, blank lines.
    pub passed: u64,
    /// Of these, how many for being an answer with an error status.
    pub error_pages: u64,
    /// Damaged records that were skipped.
    pub bad: u64,
    /// Documents from WARC and ARC files.
    pub archived: u64,
    /// Documents from tables.
    pub rows: u64,
}

impl Corpus {
    /// What kept documents are written as unless the caller says otherwise.
    pub fn natural_format(&self) -> KeptFormat {
        let all = self.pages.len() as u64;
        match &self.counts {
            counts if counts.archived == all => KeptFormat::WarcGzip,
            counts if counts.rows == all => KeptFormat::Parquet,
            _ => KeptFormat::Jsonl,
        }
    }
}

/// Reads all of a source.
///
/// # Errors
///
/// The first bad record in the order of the corpus, unless bad records are skipped.
pub(crate) fn read(
    source: &Source,
    names: &StreamName,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Corpus, Error> {
    let idle: Mutex<Vec<Imprinter>> = Mutex::new(Vec::new());
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    let mut corpus = Corpus::default();
    source.in_order(
        options.threads,
        |batch| {
            let ready = lock().pop();
            let mut imprinter =
                ready.unwrap_or_else(|| Imprinter::new(&options.fingerprinter, &options.scope));
            let decoded = Decoded::of(batch, names, &mut imprinter);
            lock().push(imprinter);
            decoded
        },
        |decoded| corpus.take(decoded, watch),
    )?;
    Ok(corpus)
}

impl Corpus {
    fn take(&mut self, decoded: Decoded, watch: &mut dyn Watch) -> Result<(), Error> {
        for bad in &decoded.bad {
            watch.skipped(bad);
        }
        if let Some(error) = decoded.stopped {
            return Err(error.into());
        }
        if self.pages.len() + decoded.pages.len() > Pages::MOST {
            return Err(Error::TooMany { most: Pages::MOST });
        }
        decoded.pages.iter().for_each(|page| self.pages.push(page));
        self.facts.extend(decoded.facts);
        let counts = &mut self.counts;
        counts.body_bytes += decoded.body_bytes;
        counts.archived += decoded.archived;
        counts.rows += decoded.rows;
        counts.bad += decoded.bad.len() as u64;
        for (reason, count) in decoded.passed {
            counts.passed += count;
            counts.error_pages += if matches!(reason, Reason::Status(_)) { count } else { 0 };
        }
        watch.progress(decoded.pages.len() as u64, decoded.input_bytes);
        Ok(())
    }
}

/// A batch after all the work on it.
#[derive(Default)]
struct Decoded {
    pages: Vec<NewPage>,
    facts: Vec<Fact>,
    passed: BTreeMap<Reason, u64>,
    bad: Vec<hapax_corpus::Error>,
    stopped: Option<hapax_corpus::Error>,
    body_bytes: u64,
    input_bytes: u64,
    archived: u64,
    rows: u64,
}

impl Decoded {
    fn of(mut batch: Batch, names: &StreamName, imprinter: &mut Imprinter) -> Self {
        let mut decoded = Self { input_bytes: batch.input_bytes, ..Self::default() };
        for entry in batch.entries() {
            match entry {
                Ok(Entry::Document(document)) => {
                    decoded.body_bytes += document.body.content.as_bytes().len() as u64;
                    match &document.original {
                        Original::Warc(_) | Original::Arc(_) => decoded.archived += 1,
                        Original::Row(_) => decoded.rows += 1,
                        Original::Nothing | Original::Json(_) => {}
                    }
                    let mut page = imprinter.page(&document);
                    if let Cow::Owned(id) = names.clean(&page.id) {
                        page.id = id;
                    }
                    decoded.pages.push(page);
                }
                Ok(Entry::Fact(fact)) => decoded.facts.push(fact),
                Ok(Entry::Passed { reason, .. }) => *decoded.passed.entry(reason).or_default() += 1,
                Ok(Entry::Bad(error)) => decoded.bad.push(error),
                Err(error) => decoded.stopped = Some(error),
            }
        }
        decoded
    }
}
