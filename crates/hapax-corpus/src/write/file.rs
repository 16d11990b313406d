//! A file that appears under its name only when it is complete.
//!
//! Nothing appears under the final name before everything is written and synced; a failure leaves the previous
//! contents.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;

use crate::error::Error;
use crate::unpack::Packing;

const BUFFER: usize = 256 << 10;
/// zlib's default level, which most archives use.
const GZIP_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 3;

/// A hidden file next to its target: renamed when finished, removed when dropped before.
#[derive(Debug)]
pub(crate) struct PendingFile {
    target: PathBuf,
    hidden: PathBuf,
    file: Option<BufWriter<File>>,
}

impl PendingFile {
    pub(crate) fn create(target: &Path) -> Result<Self, Error> {
        let name = target.file_name().ok_or_else(|| Error::Output {
            path: target.display().to_string(),
            what: "is not the name of a file".to_owned(),
        })?;
        let mut hidden_name = std::ffi::OsString::from(".");
        hidden_name.push(name);
        hidden_name.push(".partial");
        let hidden = target.with_file_name(hidden_name);
        // Removes leftovers of an interrupted run, and a link placed there by someone else, which
        // must not be followed.
        let _ = fs::remove_file(&hidden);
        let file =
            File::create_new(&hidden).map_err(|cause| Error::io("create", &hidden, cause))?;
        let file = Some(BufWriter::with_capacity(BUFFER, file));
        Ok(Self { target: target.to_owned(), hidden, file })
    }

    /// The final name, for errors.
    pub(crate) fn name(&self) -> String {
        self.target.display().to_string()
    }

    pub(crate) fn error(&self, cause: io::Error) -> Error {
        Error::io("write", &self.target, cause)
    }

    /// Syncs and renames the file; returns its size.
    pub(crate) fn finish(mut self) -> Result<u64, Error> {
        let written = self.complete();
        let bytes = written.map_err(|cause| self.error(cause))?;
        fs::rename(&self.hidden, &self.target)
            .map_err(|cause| Error::io("rename a finished file to", &self.target, cause))?;
        // The rename is durable once the folder is synced. Not every system can sync a folder.
        let folder = self.target.parent().filter(|it| !it.as_os_str().is_empty());
        if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
            let _ = folder.sync_all();
        }
        Ok(bytes)
    }

    fn complete(&mut self) -> io::Result<u64> {
        let Some(file) = self.file.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        match file.into_inner() {
            Ok(file) => {
                file.sync_all()?;
                Ok(file.metadata()?.len())
            }
            Err(error) => Err(error.into_error()),
        }
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // After a rename nothing is left under this name.
        drop(self.file.take());
        let _ = fs::remove_file(&self.hidden);
    }
}

/// Compresses the bytes as one member or frame.
pub(crate) fn pack(packing: Packing, bytes: &[u8]) -> io::Result<Vec<u8>> {
    match packing {
        Packing::Gzip => {
            let level = flate2::Compression::new(GZIP_LEVEL);
            let mut encoder = GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes)?;
            encoder.finish()
        }
        Packing::Zstd => {
            let mut compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL)?;
            compressor.include_checksum(true)?;
            compressor.compress(bytes)
        }
        Packing::Plain | Packing::Bzip2 | Packing::Xz => Ok(bytes.to_vec()),
    }
}
