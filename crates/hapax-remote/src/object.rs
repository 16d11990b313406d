//! An object with the size and version it had when it was found.
//!
//! Ranges are always read of that version. For libraries that need random access, ranges are copied to the same
//! places of a temporary file, which takes disk space instead of memory.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::ObjectMeta;
use tokio::task::JoinHandle;

use crate::cloud::Bucket;
use crate::hub::Dataset;
use crate::reader::{Ahead, Reader};
use crate::runtime::runtime;
use crate::web::{Version, Web};

/// Maximum size of a request in bytes.
pub(crate) const PIECE: u64 = 8 << 20;

/// A readable object; cheap to clone.
#[derive(Clone)]
pub struct Object(Arc<Found>);

struct Found {
    place: Place,
    name: String,
}

pub(crate) enum Place {
    Cloud(Arc<Bucket>, ObjectMeta),
    Web(Arc<Web>, String, Version),
    Hub(Arc<Dataset>, String, Version),
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Object").field(&self.name()).finish()
    }
}

impl Object {
    pub(crate) fn new(place: Place, name: String) -> Self {
        Self(Arc::new(Found { place, name }))
    }

    /// Its address, without credentials.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// In bytes.
    pub fn size(&self) -> u64 {
        match &self.0.place {
            Place::Cloud(_, found) => found.size,
            Place::Web(_, _, version) | Place::Hub(_, _, version) => version.size,
        }
    }

    /// Differs for every version, as far as the store distinguishes versions.
    pub fn version(&self) -> String {
        match &self.0.place {
            Place::Cloud(_, found) => {
                found.e_tag.clone().unwrap_or_else(|| found.last_modified.to_rfc3339())
            }
            Place::Web(_, _, version) => {
                version.etag.clone().or_else(|| version.modified.clone()).unwrap_or_default()
            }
            Place::Hub(dataset, ..) => dataset.commit().to_owned(),
        }
    }

    /// A reader that starts at the first byte.
    pub fn reader(&self) -> Reader {
        Reader::new(self.clone())
    }

    /// Like [`reader`](Self::reader), but requests the first bytes at once, for many short objects
    /// in a row.
    pub fn reader_ahead(&self) -> Reader {
        let mut reader = self.reader();
        // A failure here is repeated when the object is read.
        let _ = reader.ask();
        reader
    }

    /// Creates a temporary file as long as the object, with these ranges at their places and zeros
    /// elsewhere. The file has no name and is deleted when it is closed.
    ///
    /// # Errors
    ///
    /// The store fails, the object has changed, or the temporary disk is full.
    pub fn copy(&self, ranges: impl IntoIterator<Item = Range<u64>>) -> io::Result<File> {
        let mut file = tempfile::tempfile()?;
        file.set_len(self.size())?;
        let mut pieces = ranges.into_iter().flat_map(|range| {
            let end = range.end.min(self.size());
            (range.start..end).step_by(PIECE as usize).map(move |at| at..end.min(at + PIECE))
        });
        let mut ahead = Ahead::default();
        loop {
            while let Some(range) = ahead.has_room().then(|| pieces.next()).flatten() {
                ahead.ask(self, range)?;
            }
            let Some((range, bytes)) = ahead.next()? else { break };
            file.seek(SeekFrom::Start(range.start))?;
            file.write_all(&bytes)?;
        }
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }

    /// Starts to read a range, which must not be empty.
    pub(crate) fn ask(&self, range: Range<u64>) -> io::Result<JoinHandle<io::Result<Bytes>>> {
        let found = Arc::clone(&self.0);
        let runtime = runtime()?;
        Ok(match &self.0.place {
            Place::Cloud(..) => runtime.spawn(async move {
                match &found.place {
                    Place::Cloud(bucket, meta) => bucket.get(meta, range).await,
                    _ => Err(io::ErrorKind::Unsupported.into()),
                }
            }),
            Place::Web(..) | Place::Hub(..) => runtime.spawn_blocking(move || match &found.place {
                Place::Web(web, url, version) => web.get(url, version, range),
                Place::Hub(dataset, path, version) => {
                    dataset.web.get(&dataset.file(path), version, range)
                }
                Place::Cloud(..) => Err(io::ErrorKind::Unsupported.into()),
            }),
        })
    }
}
