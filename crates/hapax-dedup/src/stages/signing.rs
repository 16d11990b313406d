//! From documents to signatures, in the order of the corpus.
//!
//! Documents are read and extracted exactly as the whole job does it. What is neither HTML nor text has an
//! signature without a mark, whose content is the hash of its bytes.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use hapax::fingerprint::{Fingerprinter, Signature};
use hapax::page::Page;
use hapax_corpus::{Batch, Document, Entry, Source};

use crate::signature::{hash_of_bytes, sign};

/// One document and what the recipe makes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Signed {
    pub id: String,
    /// Its address, if it has one.
    pub url: Option<String>,
    /// How many bytes its body has.
    pub bytes: u64,
    /// What the recipe makes of it.
    pub signature: Signature,
}

/// A document while it is at hand: what was read, what a reader sees, what the recipe makes of it.
#[derive(Debug)]
pub struct AtHand<'a> {
    /// As the corpus has it.
    pub document: &'a Document<'a>,
    /// `None` for what is neither HTML nor text.
    pub page: Option<&'a Page>,
    /// What the recipe makes of it.
    pub signature: Signature,
}

/// Fingerprints all documents of a source. `work` is called on any thread; what it makes of a document, or
/// a damaged record that was passed, is handed to `take` on this thread and in order.
///
/// # Errors
///
/// The first bad record in the order of the corpus, unless bad records are skipped; or what `take`
/// says.
pub fn signature<T: Send, E: From<hapax_corpus::Error>>(
    source: &Source,
    fingerprinter: &Fingerprinter,
    threads: NonZero<usize>,
    work: impl Fn(Signed) -> T + Sync,
    take: impl FnMut(Result<T, hapax_corpus::Error>) -> Result<(), E>,
) -> Result<(), E> {
    let work = |AtHand { document, signature, .. }: AtHand<'_>| {
        work(Signed {
            id: document.id.to_string(),
            url: document.url.as_deref().map(str::to_owned),
            bytes: document.body.content.as_bytes().len() as u64,
            signature,
        })
    };
    each(source, fingerprinter, threads, work, take)
}

/// As [`signature`], for those who need the text as well.
///
/// # Errors
///
/// As for [`signature`].
pub fn each<T: Send, E: From<hapax_corpus::Error>>(
    source: &Source,
    fingerprinter: &Fingerprinter,
    threads: NonZero<usize>,
    work: impl Fn(AtHand<'_>) -> T + Sync,
    mut take: impl FnMut(Result<T, hapax_corpus::Error>) -> Result<(), E>,
) -> Result<(), E> {
    let idle: Mutex<Vec<Fingerprinter>> = Mutex::new(Vec::new());
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    source.in_order(
        threads,
        |batch| {
            let ready = lock().pop();
            let mut ready = ready.unwrap_or_else(|| fingerprinter.clone());
            let done = batch_of(batch, &mut ready, &work);
            lock().push(ready);
            done
        },
        |done| {
            done.taken.into_iter().try_for_each(&mut take)?;
            done.stopped.map_or(Ok(()), |error| Err(error.into()))
        },
    )
}

struct Done<T> {
    taken: Vec<Result<T, hapax_corpus::Error>>,
    stopped: Option<hapax_corpus::Error>,
}

fn batch_of<T>(
    mut batch: Batch,
    fingerprinter: &mut Fingerprinter,
    work: &impl Fn(AtHand<'_>) -> T,
) -> Done<T> {
    let mut done = Done { taken: Vec::new(), stopped: None };
    for entry in batch.entries() {
        match entry {
            Ok(Entry::Document(document)) => {
                let (page, signature) = match sign(fingerprinter, &document) {
                    Ok(signed) => (Some(signed.page), signed.signature),
                    Err(_) => (None, without_text(document.body.content.as_bytes())),
                };
                done.taken.push(Ok(work(AtHand { document: &document, page, signature })));
            }
            Ok(Entry::Bad(error)) => done.taken.push(Err(error)),
            Ok(Entry::Fact(_) | Entry::Passed { .. }) => {}
            Err(error) => done.stopped = Some(error),
        }
    }
    done
}

/// What is remembered of bytes that are neither HTML nor text.
fn without_text(bytes: &[u8]) -> Signature {
    let content = hash_of_bytes(bytes);
    Signature { content, words: 0, features: 0, too_short: true, mark: None }
}
