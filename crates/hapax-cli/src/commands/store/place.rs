//! The location of backups: a folder, or an address of an object store.

use crate::failure::Failure;
use hapax_remote::{Finder, Folder, Found, is_address};
use hapax_store::backups::Place;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;

pub(super) fn of(text: &str) -> Result<Box<dyn Place>, Failure> {
    if !is_address(text) {
        return Ok(Box::new(PathBuf::from(text)));
    }
    let folder = Folder::open(text).map_err(anyhow::Error::new)?;
    Ok(Box::new(Objects(folder)))
}

struct Objects(Folder);

impl Place for Objects {
    /// Only the folder's own names, as for a local folder.
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = self.0.list()?;
        names.retain(|name| !name.contains('/'));
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Box<dyn Read>> {
        let address = self.0.name(name);
        match Finder::default().find(&address)? {
            Found::One(object) => Ok(Box::new(object.reader_ahead())),
            Found::Matching(_) | Found::Below(_) => {
                Err(io::Error::new(io::ErrorKind::NotFound, format!("{address} is not an object")))
            }
        }
    }

    /// The object appears after all of it was sent.
    fn write(
        &self,
        name: &str,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut whole = tempfile::NamedTempFile::new()?;
        let mut out = BufWriter::with_capacity(1 << 20, &mut whole);
        fill(&mut out)?;
        out.flush()?;
        drop(out);
        self.0.send(whole.path(), name, &mut |_| Ok(()), &mut |_| true)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
}
