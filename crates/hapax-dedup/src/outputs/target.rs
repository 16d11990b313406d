//! Publishes results to an object store.
//!
//! A job works in a local folder and uploads its finished files, the summary last: if that object exists, so do
//! the others. Before uploading, it lists object names and multipart uploads in [`SENDING`]. After a failure it
//! deletes the objects again; the next job cleans up after a killed one and aborts its uploads. A store folder
//! that holds anything else is refused, as a local one is.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hapax_remote::Folder;

use super::folder::LAST;
use crate::error::Error;
use crate::watch::Watch;

/// Lists what is uploaded; for a multipart upload a second line has the store's id of it, after a
/// tab.
pub(super) const SENDING: &str = "sending";

/// A folder in an object store.
pub(super) struct Target {
    folder: Folder,
    address: PathBuf,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Target").field(&self.address).finish()
    }
}

/// The store folder that `out` names, if it is an address, and the local folder to work in: below
/// `work`, or below the user's cache folder.
pub(super) fn of(out: &Path, work: Option<&Path>) -> Result<Option<(Target, PathBuf)>, Error> {
    let Some(address) = out.to_str().filter(|out| hapax_corpus::is_address(out)) else {
        return Ok(None);
    };
    let shown = PathBuf::from(hapax_corpus::shown(address.trim_end_matches('/')).into_owned());
    let folder = Folder::open(address).map_err(|cause| Error::io("write to", &shown, cause))?;
    let set = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let cache = || {
        let home = || set("HOME").map(|home| home.join(".cache"));
        Some(set("XDG_CACHE_HOME").or_else(home)?.join("hapax"))
    };
    let work = work.map(Path::to_owned).or_else(cache).ok_or_else(|| {
        let what = "there is neither HOME nor XDG_CACHE_HOME; name a folder to work in";
        Error::io("work for", &shown, io::Error::new(io::ErrorKind::NotFound, what))
    })?;
    let mut hasher = blake3::Hasher::new_derive_key("hapax-dedup: folder for an address");
    hasher.update(shown.as_os_str().as_encoded_bytes());
    let work = work.join(&hasher.finalize().to_hex()[..16]);
    Ok(Some((Target { folder, address: shown }, work)))
}

impl Target {
    /// Takes back what an interrupted job uploaded, and refuses a folder with other contents.
    pub(super) fn prepare(&self, sending: &Path) -> Result<(), Error> {
        let cannot = |cause| Error::io("write to", &self.address, cause);
        let there = self.folder.list().map_err(cannot)?;
        let listed = fs::read_to_string(sending).unwrap_or_default();
        let is_ours = |name: &str| listed.lines().any(|line| line == name);
        let finished = there.iter().any(|name| name == LAST);
        if let Some(found) = there.iter().find(|name| finished || !is_ours(name)) {
            let found = if finished { LAST.to_owned() } else { found.clone() };
            return Err(Error::NotEmpty { path: self.address.clone(), found });
        }
        self.take_back(&listed).map_err(cannot)?;
        let _ = fs::remove_file(sending);
        Ok(())
    }

    fn take_back(&self, listed: &str) -> io::Result<()> {
        for line in listed.lines() {
            match line.split_once('\t') {
                Some((name, upload)) => self.folder.abort(name, upload)?,
                None => self.folder.remove(line)?,
            }
        }
        Ok(())
    }

    /// Uploads files from a folder in this order, and returns their addresses.
    pub(super) fn send(
        &self,
        from: &Path,
        names: &[&str],
        watch: &mut dyn Watch,
    ) -> Result<Vec<PathBuf>, Error> {
        let sending = from.join(SENDING);
        let cannot_list = |cause| Error::io("write", &sending, cause);
        let mut list = File::create(&sending).map_err(cannot_list)?;
        let mut note = |line: &str| {
            list.write_all(line.as_bytes())?;
            list.sync_all()
        };
        note(&format!("{}\n", names.join("\n"))).map_err(cannot_list)?;
        let mut sent = Vec::with_capacity(names.len());
        for name in names {
            let address = PathBuf::from(self.folder.name(name));
            let mut begun = |upload: &str| note(&format!("{name}\t{upload}\n"));
            let done =
                self.folder.send(&from.join(name), name, &mut begun, &mut |_| !watch.stopped());
            if let Err(cause) = done {
                // The first error says more; the next job takes back what is left.
                let listed = fs::read_to_string(&sending).unwrap_or_default();
                if self.take_back(&listed).is_ok() {
                    let _ = fs::remove_file(&sending);
                }
                return Err(match cause.kind() {
                    io::ErrorKind::Interrupted => Error::Stopped,
                    _ => Error::io("write", address, cause),
                });
            }
            sent.push(address);
        }
        Ok(sent)
    }
}
