//! Learns the frames of all hosts before any page is signed: [`Frames::Own`](crate::Frames).
//!
//! Costs one more reading of the corpus and keeps only the frames. Exact copies count once, so the result
//! depends on the set of pages alone. Skips damaged records; the next reading reports them.

use std::path::Path;

use hapax::fingerprint::ContentHash;
use hapax::frame::{least_pages_alone, pieces};
use hapax_corpus::Source;

use crate::error::Error;
use crate::frames::{Gathering, HostFrames, packed};
use crate::options::Options;
use crate::signature::known;
use crate::stages::signing::each_document;
use crate::threads::Threads;
use crate::watch::Watch;

pub(crate) fn learn(
    source: &Source,
    options: &Options,
    scratch: &Path,
    threads: &Threads,
    watch: &mut dyn Watch,
) -> Result<HostFrames, Error> {
    let mut gathering = Gathering::new(scratch, least_pages_alone);
    each_document(
        source,
        options.threads,
        || (options.fingerprinter.clone(), Vec::new()),
        |(by, found), document| {
            let url = document.url.as_deref().filter(|url| !url.is_empty())?;
            let page = by.extract(&known(document).ok()?).ok()?;
            pieces(&page.text, found);
            Some((url.to_owned(), ContentHash::of(&page.text), packed(found)))
        },
        |page| -> Result<(), Error> {
            if let Ok(Some((url, content, pieces))) = page {
                gathering.add(0, &url, content, &pieces)?;
            }
            if watch.stopped() { Err(Error::Stopped) } else { Ok(()) }
        },
    )?;
    threads.run(|_| gathering.all())
}
