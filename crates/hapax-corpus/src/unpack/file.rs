//! Reads a compressed file as plain bytes, for lists and logs that are not a corpus.
//!
//! Damage is a read error; does not continue after it.

use std::io::{self, BufRead, Read};
use std::path::Path;

use super::{Input, Packing, Unpack};
use crate::error::Error;
use crate::origin::Origin;

/// Bytes unpacked at a time.
const AT_ONCE: usize = 256 << 10;
/// First bytes needed to recognize the compression.
const FIRST: usize = 16;

/// The unpacked bytes of a file.
pub struct Unpacked {
    unpack: Unpack,
    ready: Vec<u8>,
    taken: usize,
}

impl Unpacked {
    /// Opens a file or an object at an address, compressed with gzip, Zstandard, bzip2, xz or not
    /// at all; `-` is standard input.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or its first bytes cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let shown = |path: &Path| hapax_remote::shown(&path.to_string_lossy()).into_owned();
        let cannot = |cause| Error::io("read", shown(path), cause);
        let mut input = match path.as_os_str() == "-" {
            true => Input::stream(Box::new(io::stdin())),
            false => {
                let open = Origin::find(path).and_then(|origin| origin.open());
                Input::seekable(open.map_err(|cause| Error::io("open", shown(path), cause))?)
            }
        };
        let packing = Packing::of(input.peek(FIRST).map_err(cannot)?);
        let unpack = Unpack::new(input, packing).map_err(cannot)?;
        Ok(Self { unpack, ready: Vec::new(), taken: 0 })
    }
}

impl BufRead for Unpacked {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.ready.len() {
            self.ready.clear();
            self.taken = 0;
            self.unpack.read(&mut self.ready, AT_ONCE).map_err(|damage| damage.cause)?;
            // Member offsets are needed only to return to a record.
            self.unpack.take_marks().for_each(drop);
        }
        Ok(&self.ready[self.taken..])
    }

    fn consume(&mut self, count: usize) {
        self.taken = (self.taken + count).min(self.ready.len());
    }
}

impl Read for Unpacked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let count = ready.len().min(out.len());
        out[..count].copy_from_slice(&ready[..count]);
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<String> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(bytes)?;
        let mut text = String::new();
        Unpacked::open(file.path()).unwrap().read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn a_file_reads_the_same_packed_or_not() {
        let text = "one\ttwo\n".repeat(100_000);
        assert_eq!(read(text.as_bytes()).unwrap(), text);
        let zstd = zstd::encode_all(text.as_bytes(), 3).unwrap();
        assert_eq!(read(&zstd).unwrap(), text);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(read(&gzip).unwrap(), text);
        assert_eq!(read(&[&gzip[..], &gzip[..]].concat()).unwrap().len(), 2 * text.len());
        assert!(read(&gzip[..gzip.len() / 2]).is_err());
        assert_eq!(read(b"").unwrap(), "");
    }
}
