//! Reads and writes files of signatures: header, lengths, checksums.
//!
//! An incomplete batch, left by a killed process or a full disk, ends the reading with an error after the
//! batches before it. Files of another format or a later version are refused.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::batch::{FORMAT, SignatureBatch};
use super::inputs::Inputs;
use super::records::BatchRecords;
use crate::error::Error;
use crate::key;
use crate::options::{Frames, Options};

const MAGIC: &[u8; 8] = b"HAPAXIMP";
/// The oldest format that can be read.
const OLDEST: u32 = 1;
const CHECKSUM: usize = 8;

/// What the signatures were made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Name and digest of the recipe.
    pub(crate) recipe: String,
    /// Which pages may match each other.
    pub(crate) scope: String,
    /// The key of the short sketches, in hexadecimal; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// In a checkpoint or shard: the inputs of the whole job and the read options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) inputs: Option<Inputs>,
    /// In a shard: which one it is. Every batch is then followed by its records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shard: Option<ShardInputs>,
}

/// The inputs of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShardInputs {
    pub(crate) number: u32,
    pub(crate) of: u32,
    /// The inputs as the user gave them; where all shards were given the same, only the first lists
    /// them.
    pub(crate) given: Vec<String>,
    /// Id of the shard's first file in the numbering of its places.
    pub(crate) first_file: u32,
    pub(crate) files: Vec<String>,
}

impl Header {
    pub(crate) fn of(options: &Options, inputs: Option<Inputs>) -> Self {
        Self {
            recipe: match options.frames {
                // Signatures of own texts are comparable only with others of own texts.
                Frames::Own => format!("{} of own texts", options.fingerprinter.recipe_id()),
                Frames::On | Frames::Off => options.fingerprinter.recipe_id().to_string(),
            },
            scope: options.scope.to_string(),
            key: options.fingerprinter.key().map(key::to_hex),
            inputs,
            shard: None,
        }
    }
}

/// An encoded batch with its checksum, so that encoding runs on several threads.
pub(crate) struct Block {
    bytes: Vec<u8>,
    checksum: [u8; CHECKSUM],
}

impl Block {
    pub(crate) fn of(batch: &SignatureBatch) -> Self {
        Self::around(batch.to_bytes())
    }

    fn around(bytes: Vec<u8>) -> Self {
        Self { checksum: checksum(&bytes), bytes }
    }
}

/// Appends batches to a file.
pub(crate) struct SignatureWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl SignatureWriter {
    pub(crate) fn create(path: &Path, header: &Header) -> Result<Self, Error> {
        let file = File::create(path).map_err(|e| Error::io("create", path, e))?;
        let mut writer = Self::append_to(path, file);
        let text = serde_json::to_vec(header).unwrap_or_default();
        writer.write(MAGIC)?;
        writer.write(&FORMAT.to_le_bytes())?;
        writer.add(&Block::around(text))?;
        Ok(writer)
    }

    /// Continues after the existing contents.
    pub(crate) fn append_to(path: &Path, file: File) -> Self {
        Self { path: path.to_owned(), file: BufWriter::new(file) }
    }

    /// Appends the records of a batch; only in a shard, after each batch.
    pub(crate) fn records(&mut self, records: &BatchRecords) -> Result<(), Error> {
        self.add(&Block::around(records.to_bytes()))
    }

    pub(crate) fn add(&mut self, Block { bytes, checksum }: &Block) -> Result<(), Error> {
        let length = u32::try_from(bytes.len()).map_err(|_| Error::Signatures {
            path: self.path.clone(),
            what: "a batch of more than 4 GiB cannot be stored".to_owned(),
        })?;
        self.write(&length.to_le_bytes())?;
        self.write(bytes)?;
        self.write(checksum)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|e| Error::io("write", &self.path, e))
    }

    /// Flushes to the operating system, so that the data survives the end of the process.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.file.flush().map_err(|e| Error::io("write", &self.path, e))
    }

    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        self.file.get_ref().sync_all().map_err(|e| Error::io("write", &self.path, e))
    }
}

/// Reads batches in order.
pub(crate) struct SignatureReader {
    path: PathBuf,
    file: BufReader<File>,
    header: Header,
    format: u32,
    /// Offset of the end of the last complete batch.
    end: u64,
}

impl SignatureReader {
    /// Opens a file whose writer may have been killed; `None` if its header is incomplete.
    pub(crate) fn open_begun(path: &Path) -> Result<Option<Self>, Error> {
        let cannot = |cause| Error::io("read", path, cause);
        let begun = match File::open(path) {
            Ok(mut file) => {
                let mut start = [0; 16];
                let mut read = 0;
                while read < start.len() {
                    match file.read(&mut start[read..]).map_err(cannot)? {
                        0 => break,
                        more => read += more,
                    }
                }
                let length = file.metadata().map_err(cannot)?.len();
                let header = start[12..].try_into().map_or(0, u32::from_le_bytes);
                let end = 16 + u64::from(header) + CHECKSUM as u64;
                let ours = MAGIC.starts_with(&start[..read.min(8)]);
                !(ours && (read < start.len() || length < end))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(cannot(error)),
        };
        if begun { Self::open(path).map(Some) } else { Ok(None) }
    }

    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        Self::of(path, File::open(path).map_err(|e| Error::io("open", path, e))?)
    }

    /// Reads from an open file; `path` is for error messages.
    pub(crate) fn of(path: &Path, file: File) -> Result<Self, Error> {
        let (recipe, scope) = (String::new(), String::new());
        let header = Header { recipe, scope, key: None, inputs: None, shard: None };
        let file = BufReader::new(file);
        let mut reader = Self { path: path.to_owned(), file, header, format: FORMAT, end: 0 };
        let mut start = [0; 12];
        let read = reader.file.read_exact(&mut start);
        let version = start[8..].try_into().map(u32::from_le_bytes).unwrap_or_default();
        if read.is_err() || start[..8] != *MAGIC {
            return Err(reader.wrong("it is not a file of signatures"));
        }
        if !(OLDEST..=FORMAT).contains(&version) {
            let what =
                format!("its format is {version}, and this program reads {OLDEST} to {FORMAT}");
            return Err(reader.wrong(&what));
        }
        reader.format = version;
        reader.end = start.len() as u64;
        let text = reader.block()?.ok_or_else(|| reader.wrong("it ends in its header"))?;
        let header = serde_json::from_slice(&text);
        reader.header = header.map_err(|e| reader.wrong(&format!("its header is damaged: {e}")))?;
        Ok(reader)
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// The version of the file's format.
    pub(crate) fn format(&self) -> u32 {
        self.format
    }

    /// Offset of the end of the last complete batch.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The next batch; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<SignatureBatch>, Error> {
        let before = self.end;
        let Some(bytes) = self.block()? else { return Ok(None) };
        let batch = SignatureBatch::from_bytes(&bytes, self.format);
        if batch.is_none() {
            self.end = before;
        }
        batch.map(Some).ok_or_else(|| self.damaged())
    }

    /// The next batch, without its records if it is a shard; `None` at the end.
    pub(crate) fn next_pages(&mut self) -> Result<Option<SignatureBatch>, Error> {
        match self.header.shard {
            Some(_) => Ok(self.next_with_records()?.map(|(batch, _)| batch)),
            None => self.next(),
        }
    }

    /// The next batch of a shard with its records; `None` at the end.
    pub(crate) fn next_with_records(
        &mut self,
    ) -> Result<Option<(SignatureBatch, BatchRecords)>, Error> {
        let Some(batch) = self.next()? else { return Ok(None) };
        let records = self.block()?.and_then(|bytes| BatchRecords::from_bytes(&bytes));
        match records.filter(|it| it.places.len() == batch.pages.len()) {
            Some(records) => Ok(Some((batch, records))),
            None => Err(self.damaged()),
        }
    }

    fn block(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut length = [0; 4];
        match self.fill(&mut length)? {
            0 => return Ok(None),
            4 => {}
            _ => return Err(self.damaged()),
        }
        let length = u32::from_le_bytes(length) as u64;
        // Grows with the bytes present, not with the claimed length.
        let mut bytes = Vec::new();
        let read = Read::by_ref(&mut self.file).take(length).read_to_end(&mut bytes);
        read.map_err(|e| Error::io("read", &self.path, e))?;
        let mut sum = [0; CHECKSUM];
        let whole = bytes.len() as u64 == length && self.fill(&mut sum)? == CHECKSUM;
        if !whole || sum != checksum(&bytes) {
            return Err(self.damaged());
        }
        self.end += 4 + length + CHECKSUM as u64;
        Ok(Some(bytes))
    }

    /// Fills `into` as far as the file goes, and returns the number of bytes.
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < into.len() {
            match self.file.read(&mut into[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &self.path, error)),
            }
        }
        Ok(filled)
    }

    fn damaged(&self) -> Error {
        self.wrong(&format!("it is damaged or cut behind byte {}", self.end))
    }

    fn wrong(&self, what: &str) -> Error {
        Error::Signatures { path: self.path.clone(), what: what.to_owned() }
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECKSUM]);
    sum
}
