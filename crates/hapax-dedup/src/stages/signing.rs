//! Makes signatures of documents, in corpus order.
//!
//! Reads and extracts documents exactly as the whole job does. Content that is neither HTML nor text has a
//! signature without fingerprint and sketch, whose content is the hash of its bytes.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use hapax::fingerprint::{Fingerprinter, Signature};
use hapax::page::{Page, PageError};
use hapax_corpus::{Bad, Batch, Document, Entry, Original, Source};

use crate::signature::{hash_of_bytes, sign};

/// A document with its extracted page and its signature.
#[derive(Debug)]
pub struct AtHand<'a> {
    pub document: &'a Document<'a>,
    /// An error if the document is neither HTML nor text.
    pub page: Result<&'a Page, PageError>,
    pub signature: Signature,
}

/// Fingerprints all documents of a source. Calls `work` on any thread; passes its result, or
/// skipped damaged records, to `take` on this thread and in order.
///
/// # Errors
///
/// The first bad record in corpus order, unless bad records are skipped; also any error of `take`.
pub fn each<T: Send, E: From<hapax_corpus::Error>>(
    source: &Source,
    fingerprinter: &Fingerprinter,
    threads: NonZero<usize>,
    work: impl Fn(AtHand<'_>) -> T + Sync,
    take: impl FnMut(Result<T, Bad>) -> Result<(), E>,
) -> Result<(), E> {
    let new = || fingerprinter.clone();
    let sign = |fingerprinter: &mut Fingerprinter, document: &Document<'_>| {
        let (page, signature) = match sign(fingerprinter, document) {
            Ok(signed) => (Ok(signed.page), signed.signature),
            Err(error) => (Err(error), without_text(document.body.content.as_bytes())),
        };
        work(AtHand { document, page, signature })
    };
    each_document(source, threads, new, sign, take).map(drop)
}

/// Calls `work` for all documents of a source on any thread, each with one of the workers made by
/// `new`, at most one per thread. Passes each result, or skipped damaged records, to `take` on
/// this thread and in order. Returns the workers.
pub fn each_document<W: Send, T: Send, E: From<hapax_corpus::Error>>(
    source: &Source,
    threads: NonZero<usize>,
    new: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &Document<'_>) -> T + Sync,
    mut take: impl FnMut(Result<T, Bad>) -> Result<(), E>,
) -> Result<Vec<W>, E> {
    let idle: Mutex<Vec<W>> = Mutex::new(Vec::new());
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    source.in_order(
        threads,
        |batch| {
            let ready = lock().pop();
            let mut ready = ready.unwrap_or_else(&new);
            let done = batch_of(batch, |document| work(&mut ready, document));
            lock().push(ready);
            done
        },
        |done| -> Result<(), E> {
            done.taken.into_iter().try_for_each(&mut take)?;
            done.stopped.map_or(Ok(()), |error| Err(error.into()))
        },
    )?;
    Ok(idle.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The error for a file that is neither HTML nor text; `None` for records of archives and tables,
/// which may hold images.
pub fn not_a_page(document: &Document<'_>, error: PageError) -> Option<hapax_corpus::Error> {
    let (path, what) = (document.id.to_string(), error.to_string());
    matches!(document.original, Original::File)
        .then_some(hapax_corpus::Error::Unsupported { path, what })
}

struct Done<T> {
    taken: Vec<Result<T, Bad>>,
    stopped: Option<hapax_corpus::Error>,
}

fn batch_of<T>(mut batch: Batch, mut work: impl FnMut(&Document<'_>) -> T) -> Done<T> {
    let mut done = Done { taken: Vec::new(), stopped: None };
    for entry in batch.entries() {
        match entry {
            Ok(Entry::Document(document)) => done.taken.push(Ok(work(&document))),
            Ok(Entry::Bad(bad)) => done.taken.push(Err(bad)),
            Ok(Entry::Fact(_) | Entry::Passed { .. }) => {}
            Err(error) => done.stopped = Some(error),
        }
    }
    done
}

/// The signature of content that is neither HTML nor text.
fn without_text(bytes: &[u8]) -> Signature {
    Signature::without_text(hash_of_bytes(bytes))
}
