//! Resumes an interrupted job.
//!
//! Reading and fingerprinting take nearly all of the time. Appends the signatures of every batch to a file in
//! the hidden part of the output folder, in corpus order. A later job that finds this file loads the complete
//! batches and continues after them.
//!
//! Refuses a checkpoint made from other inputs or options and names the difference: using it would give a wrong
//! result, and dropping it could lose days of work.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use hapax_corpus::{Batch, Source};

use super::batch::FORMAT;
use super::{Block, Header, Inputs, SignatureBatch, SignatureReader, SignatureWriter};
use crate::error::Error;
use crate::options::Options;

pub(crate) const CHECKPOINT: &str = "signatures";

/// A checkpoint that grows with the job.
pub(crate) struct Checkpoint {
    writer: SignatureWriter,
    done: Done,
}

/// The loaded batches, by part and index, with the range of each in its part and its digest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done(BTreeMap<(u64, u64), (Range<u64>, u64)>);

impl Checkpoint {
    /// Loads the checkpoint at `path` and passes its batches to `take`; starts a new one if there
    /// is none or its header is incomplete.
    pub(crate) fn open(
        path: &Path,
        header: &Header,
        mut take: impl FnMut(SignatureBatch) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let Some(mut reader) = SignatureReader::open_begun(path).map_err(refused)? else {
            // Removed rather than truncated, because it may be a hard link.
            let _ = std::fs::remove_file(path);
            return Ok(Self {
                writer: SignatureWriter::create(path, header)?,
                done: Done::default(),
            });
        };
        if reader.format() != FORMAT {
            let why = "another version began it".to_owned();
            return Err(Error::CannotResume { why });
        }
        if let Some(why) = header.difference(reader.header()) {
            return Err(Error::CannotResume { why });
        }
        let mut done = Done::default();
        // A batch that was being written when the job ended is incomplete and is made again.
        while let Ok(Some(batch)) = reader.next() {
            done.0.insert((batch.part, batch.index), (batch.extent.clone(), batch.digest));
            take(batch)?;
        }
        let end = reader.end();
        drop(reader);
        let cannot = |cause| Error::io("go on writing", path, cause);
        let mut file = OpenOptions::new().write(true).open(path).map_err(cannot)?;
        file.set_len(end).map_err(cannot)?;
        file.seek(SeekFrom::Start(end)).map_err(cannot)?;
        Ok(Self { writer: SignatureWriter::append_to(path, file), done })
    }

    /// The loaded batches.
    pub(crate) fn done(&self) -> Done {
        self.done.clone()
    }

    pub(crate) fn add(&mut self, batch: &Block) -> Result<(), Error> {
        self.writer.add(batch)?;
        self.writer.flush()
    }
}

impl Done {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether this batch was loaded. An error if its range or its bytes differ. The bytes of tables
    /// and of files of one document each are compared by the second reading.
    pub(crate) fn has(&self, batch: &Batch) -> Result<bool, Error> {
        let Some((then, digest)) = self.0.get(&(batch.part as u64, batch.index as u64)) else {
            return Ok(false);
        };
        let now = batch.extent();
        let why = match (*then == now, batch.digest()) {
            (true, Some(bytes)) if bytes != *digest => {
                format!("{batch:?} has been written to since the run was interrupted")
            }
            (true, _) => return Ok(true),
            (false, _) => format!(
                "{batch:?} was {}..{} when the run was interrupted, and is {}..{} now",
                then.start, then.end, now.start, now.end
            ),
        };
        Err(Error::CannotResume { why })
    }
}

/// Refuses a file that is not a checkpoint or whose beginning is damaged.
fn refused(error: Error) -> Error {
    match error {
        Error::Signatures { path, what } => {
            let why = format!("{} cannot be used: {what}", path.display());
            Error::CannotResume { why }
        }
        other => other,
    }
}

/// The header that a checkpoint needs to be resumed by this job.
pub(crate) fn header(source: &Source, options: &Options) -> Header {
    Header::of(options, Some(Inputs::of(source, options)))
}
