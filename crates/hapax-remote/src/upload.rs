//! Uploads files to a folder of a store; each appears atomically.
//!
//! Short files are sent in one request, others in concurrent parts, which the store assembles at the end. The caller
//! gets the store's id of a multipart upload before the first part is sent, so that another process can clean up
//! after a killed one. Aborts an upload that fails or is stopped.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path as LocalPath;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode, PutOptions, PutPayload};

use crate::cloud::{self, Bucket};
use crate::object::PIECE;
use crate::parse::{Address, invalid};
use crate::runtime::runtime;
use crate::shown;

/// The limit of all stores.
const MOST_PARTS: u64 = 10_000;
/// Number of concurrent parts.
const IN_FLIGHT: usize = 4;

/// A folder of a bucket.
pub struct Folder {
    bucket: Arc<Bucket>,
    /// Without a trailing slash.
    prefix: Path,
}

impl Folder {
    /// The folder at an address. Sends no request.
    ///
    /// # Errors
    ///
    /// The address is invalid, or cannot be written to.
    pub fn open(address: &str) -> io::Result<Self> {
        match Address::parse(address)? {
            Address::Cloud { cloud, scheme, bucket, key } => {
                if key.contains(['*', '?', '[']) {
                    return Err(invalid(format!("{address} is a pattern, not a folder")));
                }
                let bucket = Arc::new(Bucket::open(cloud, &scheme, &bucket)?);
                Ok(Self { bucket, prefix: cloud::path(&key)? })
            }
            Address::Web(_) | Address::Hub { .. } => Err(invalid(format!(
                "{} cannot be written to; name a folder, or an address of s3://, gs:// or az://",
                shown(address)
            ))),
        }
    }

    /// The folder and file name of an address. Sends no request.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), or the address has no file name.
    pub fn of_file(address: &str) -> io::Result<(Self, String)> {
        let named = address.rsplit_once('/').filter(|(folder, name)| {
            !name.is_empty() && !folder.ends_with('/') && folder.contains("://")
        });
        match named {
            Some((folder, name)) if !name.contains(['*', '?', '[']) => {
                Ok((Self::open(folder)?, name.to_owned()))
            }
            Some(_) => Err(invalid(format!("{} is a pattern, not a file", shown(address)))),
            None => Err(invalid(format!("{} names a folder, not a file", shown(address)))),
        }
    }

    /// Whether there is an object of this name.
    ///
    /// # Errors
    ///
    /// The store does not answer or denies access.
    pub fn has(&self, file: &str) -> io::Result<bool> {
        match runtime()?.block_on(self.bucket.stat(&self.path(file))) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The address of a file in the folder.
    pub fn name(&self, file: &str) -> String {
        format!("{}{}", self.bucket.root, self.path(file))
    }

    fn path(&self, file: &str) -> Path {
        self.prefix.clone().join(file)
    }

    /// The names of all objects in the folder, sorted.
    pub fn list(&self) -> io::Result<Vec<String>> {
        let found = runtime()?.block_on(self.bucket.list(&self.prefix))?;
        let cut = if self.prefix.as_ref().is_empty() { 0 } else { self.prefix.as_ref().len() + 1 };
        let names = found.iter().filter_map(|it| it.location.as_ref().get(cut..));
        let names = names.filter(|name| !name.is_empty());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        Ok(names)
    }

    /// Makes an object unless there is one, and returns the content that it has then. Of several
    /// processes that do so at the same time one wins.
    ///
    /// # Errors
    ///
    /// The store does not answer, denies access, or has no conditional requests.
    pub fn create(&self, file: &str, bytes: &[u8]) -> io::Result<Vec<u8>> {
        use object_store::Error::{AlreadyExists, Precondition};
        let path = self.path(file);
        let store = &self.bucket.store;
        let put = store.put_opts(&path, bytes.to_vec().into(), PutOptions::from(PutMode::Create));
        match runtime()?.block_on(put) {
            Ok(_) => return Ok(bytes.to_vec()),
            Err(AlreadyExists { .. } | Precondition { .. }) => {}
            Err(error) => return Err(self.bucket.failed(error)),
        }
        let there = runtime()?.block_on(async { store.get(&path).await?.bytes().await });
        there.map(|bytes| bytes.to_vec()).map_err(|error| self.bucket.failed(error))
    }

    /// Deletes an object. Ignores a missing one.
    pub fn remove(&self, file: &str) -> io::Result<()> {
        let path = self.path(file);
        match runtime()?.block_on(self.bucket.store.delete(&path)) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.bucket.failed(error)),
        }
    }

    /// Aborts an upload of another process. Ignores one that has already ended.
    ///
    /// # Errors
    ///
    /// The store does not answer or denies access.
    pub fn abort(&self, file: &str, upload: &str) -> io::Result<()> {
        let path = self.path(file);
        let id = upload.to_owned();
        match runtime()?.block_on(self.bucket.uploads.abort_multipart(&path, &id)) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.bucket.failed(error)),
        }
    }

    /// Uploads a local file. Passes the id of a multipart upload to `on_start`, and the size of every
    /// sent part to `on_part`, which stops the upload by returning `false`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, the store fails, or the upload was stopped
    /// ([`io::ErrorKind::Interrupted`]).
    pub fn send(
        &self,
        local: &LocalPath,
        file: &str,
        on_start: &mut dyn FnMut(&str) -> io::Result<()>,
        on_part: &mut dyn FnMut(u64) -> bool,
    ) -> io::Result<()> {
        let mut input = File::open(local)?;
        let size = input.metadata()?.len();
        let path = self.path(file);
        let runtime = runtime()?;
        if size <= PIECE {
            let payload = PutPayload::from(part(&mut input, size)?);
            let sent = runtime.block_on(self.bucket.store.put(&path, payload));
            sent.map_err(|error| self.bucket.failed(error))?;
            on_part(size);
            return Ok(());
        }
        let uploads = &self.bucket.uploads;
        let id = runtime.block_on(uploads.create_multipart(&path));
        let id = id.map_err(|error| self.bucket.failed(error))?;
        let sent = on_start(&id).and_then(|()| self.parts(&mut input, size, &path, &id, on_part));
        let ended = sent.and_then(|parts| {
            let ended = runtime.block_on(uploads.complete_multipart(&path, &id, parts));
            ended.map_err(|error| self.bucket.failed(error))
        });
        if ended.is_err() {
            // The first error is more informative.
            let _ = runtime.block_on(uploads.abort_multipart(&path, &id));
        }
        ended.map(drop)
    }

    fn parts(
        &self,
        input: &mut File,
        size: u64,
        path: &Path,
        id: &str,
        on_part: &mut dyn FnMut(u64) -> bool,
    ) -> io::Result<Vec<object_store::multipart::PartId>> {
        let length = PIECE.max(size.div_ceil(MOST_PARTS).next_multiple_of(1 << 20));
        let runtime = runtime()?;
        let mut done = Vec::new();
        let mut sending = VecDeque::new();
        let (mut at, mut number) = (0, 0);
        while at < size || !sending.is_empty() {
            while at < size && sending.len() < IN_FLIGHT {
                let bytes = part(input, length.min(size - at))?;
                at += bytes.len() as u64;
                let (uploads, path, id) =
                    (Arc::clone(&self.bucket.uploads), path.clone(), id.to_owned());
                let index = number;
                number += 1;
                let length = bytes.len() as u64;
                let sent = runtime.spawn(async move {
                    uploads.put_part(&path, &id, index, PutPayload::from(bytes)).await
                });
                sending.push_back((length, sent));
            }
            let Some((length, sent)) = sending.pop_front() else { break };
            let sent = runtime.block_on(sent).map_err(io::Error::other)?;
            done.push(sent.map_err(|error| self.bucket.failed(error))?);
            if !on_part(length) {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        Ok(done)
    }
}

/// The next bytes of a file; fails if it has become shorter.
fn part(input: &mut File, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}
