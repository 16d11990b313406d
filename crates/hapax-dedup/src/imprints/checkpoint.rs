//! Going on where an interrupted job stopped.
//!
//! Reading, purifying and fingerprinting is nearly all of the work. Every batch's imprints are appended
//! to a file in the hidden part of the output folder as soon as it is their turn; a job that finds
//! such a file, made from the same inputs in the same way, takes over what is whole in it and goes
//! on behind. Files are told apart by name, size and time of change.
//!
//! What is read again of a file is not decoded, only passed.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

use hapax_corpus::Source;

use super::{Header, ImprintBatch, ImprintReader, ImprintWriter};
use crate::error::Error;
use crate::options::Options;

/// The name of the file.
pub(crate) const CHECKPOINT: &str = "imprints";

/// A file that grows with the job.
pub(crate) struct Checkpoint {
    writer: ImprintWriter,
    /// The last batch that needs no more work.
    done: Option<(u64, u64)>,
}

impl Checkpoint {
    /// Takes over what an interrupted job left at `path`, if it fits, and hands it to `take`;
    /// otherwise starts anew.
    pub(crate) fn open(
        path: &Path,
        header: &Header,
        mut take: impl FnMut(ImprintBatch) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let reader = ImprintReader::open(path).ok().filter(|reader| reader.header() == header);
        let Some(mut reader) = reader else {
            // What is there may have another name elsewhere: it goes, and is not emptied.
            let _ = std::fs::remove_file(path);
            return Ok(Self { writer: ImprintWriter::create(path, header)?, done: None });
        };
        let mut done = None;
        // A batch that was being written when the job ended is not whole, and is made again.
        while let Ok(Some(batch)) = reader.next() {
            done = Some((batch.part, batch.index));
            take(batch)?;
        }
        let end = reader.end();
        drop(reader);
        let cannot = |cause| Error::io("go on writing", path, cause);
        let mut file = OpenOptions::new().write(true).open(path).map_err(cannot)?;
        file.set_len(end).map_err(cannot)?;
        file.seek(SeekFrom::Start(end)).map_err(cannot)?;
        Ok(Self { writer: ImprintWriter::append_to(path, file), done })
    }

    /// Is this batch among those taken over?
    pub(crate) fn done(&self) -> Option<(u64, u64)> {
        self.done
    }

    pub(crate) fn add(&mut self, batch: &ImprintBatch) -> Result<(), Error> {
        self.writer.batch(batch)?;
        self.writer.flush()
    }
}

/// What a checkpoint must have been made from to be taken over.
pub(crate) fn header(source: &Source, options: &Options) -> Header {
    let mut hasher = blake3::Hasher::new_derive_key("hapax-dedup: inputs of a checkpoint");
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    add(env!("CARGO_PKG_VERSION"));
    add(&format!("{:?} {:?}", options.read, options.languages));
    for file in source.files() {
        add(&file);
        let changed = std::fs::metadata(&file).map(|it| (it.len(), it.modified().ok()));
        if let Ok((length, time)) = changed {
            let time = time.and_then(|it| it.duration_since(UNIX_EPOCH).ok());
            add(&format!("{length} {}", time.map_or(0, |it| it.as_nanos())));
        }
    }
    Header {
        recipe: options.fingerprinter.recipe_id().to_string(),
        scope: options.scope.to_string(),
        inputs: Some(hasher.finalize().to_hex().to_string()),
    }
}
