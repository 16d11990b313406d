//! The key of a job, which makes forged matches detectable.
//!
//! Random, so that nobody who supplies an input can compute it. Kept with the checkpoint and with the signatures
//! of kept documents: a job that is resumed, or compared with an earlier one, takes the key found there, and
//! [`Options::key`](crate::Options::key) makes a run reproducible to the last byte. Shards share one through a file
//! in their folder.
//!
//! From a bound of 0.5 up, the key changes no verdict on texts that nobody forged; below, it refutes a few true pairs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use hapax::fingerprint::Key;
use hapax_remote::{Folder, is_address};

use crate::against;
use crate::error::Error;
use crate::options::{Confirm, Options};
use crate::signatures::SignatureReader;

/// Bytes of a new key.
const BYTES: usize = 32;
/// The file in a folder of shards.
const SHARED: &str = "key";
/// Longer files are not read.
const MOST: u64 = 1 << 16;

/// The options with a key, where matches are confirmed: that of earlier jobs, the given one, that of the
/// interrupted job, or a new one.
pub(crate) fn with_key(
    options: &Options,
    earlier: Option<&Key>,
    checkpoint: Option<&Path>,
) -> Result<Options, Error> {
    let mut options = options.clone();
    if options.confirm != Confirm::No {
        let key = match earlier.or(options.key.as_ref()) {
            Some(key) => key.clone(),
            None => match checkpoint.map_or(Ok(None), interrupted)? {
                Some(key) => key,
                None => random()?,
            },
        };
        options.fingerprinter = options.fingerprinter.with_short_key(&key);
    }
    Ok(options)
}

/// The options with the key that all shards in a folder share: that of earlier jobs, the given one, or that of
/// the folder, which the first shard makes.
pub(crate) fn with_shared_key(
    options: &Options,
    earlier: Option<&Key>,
    folder: &Path,
) -> Result<Options, Error> {
    let known = earlier.or(options.key.as_ref()).cloned();
    let key = match known {
        Some(key) => key,
        None if options.confirm == Confirm::No => return Ok(options.clone()),
        None => shared(folder)?,
    };
    with_key(options, Some(&key), None)
}

/// A key from the operating system.
pub fn random() -> Result<Key, Error> {
    let mut bytes = [0; BYTES];
    getrandom::getrandom(&mut bytes)
        .map_err(|error| Error::io("read random bytes from", "the system", error.into()))?;
    Ok(Key::new(&bytes))
}

/// The key of an earlier run, given by its output folder or address, or the one in a file of hexadecimal digits.
///
/// # Errors
///
/// There is no key.
pub fn of_run(path: &Path) -> Result<Key, Error> {
    let none = |what: &str| Error::Signatures { path: path.to_owned(), what: what.to_owned() };
    if path.is_file() {
        let mut text = String::new();
        let read = File::open(path).and_then(|file| file.take(MOST).read_to_string(&mut text));
        read.map_err(|error| Error::io("read", path, error))?;
        return from_hex(text.trim())
            .filter(|key| key.bytes().len() >= BYTES)
            .ok_or_else(|| none("a key is at least 64 hexadecimal digits"));
    }
    against::key_of(&[path.to_owned()])?.ok_or_else(|| none("that run had no key"))
}

/// The key in a checkpoint; `None` without a complete header.
fn interrupted(checkpoint: &Path) -> Result<Option<Key>, Error> {
    // What is wrong with a checkpoint is reported when it is resumed.
    let reader = SignatureReader::open_begun(checkpoint).ok().flatten();
    Ok(reader.and_then(|reader| from_hex(reader.header().key.as_deref()?)))
}

/// The key in a folder of shards; makes one if there is none. Of processes that do so at the same time one wins.
fn shared(folder: &Path) -> Result<Key, Error> {
    let failed = |error| Error::io("share a key in", folder, error);
    let new = to_hex(&random()?);
    let text = match folder.to_str().filter(|folder| is_address(folder)) {
        Some(address) => {
            let store = Folder::open(address).map_err(failed)?;
            store.create(SHARED, new.as_bytes()).map_err(failed)?
        }
        None => {
            fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
            let path = folder.join(SHARED);
            // Written elsewhere first, so that no process reads half of it.
            let file = tempfile::Builder::new().prefix(".making-").tempfile_in(folder);
            let file = file.map_err(failed)?;
            fs::write(file.path(), &new).map_err(failed)?;
            match file.persist_noclobber(&path) {
                Ok(_) => new.into_bytes(),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    fs::read(&path).map_err(failed)?
                }
                Err(error) => return Err(failed(error.error)),
            }
        }
    };
    let key = std::str::from_utf8(&text).ok().and_then(|text| from_hex(text.trim()));
    key.filter(|key| key.bytes().len() >= BYTES).ok_or_else(|| Error::Signatures {
        path: folder.join(SHARED),
        what: "it should hold 64 hexadecimal digits; remove it and fingerprint all shards again"
            .to_owned(),
    })
}

/// A key in hexadecimal.
pub fn to_hex(key: &Key) -> String {
    key.bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses what [`to_hex`] wrote; `None` for anything else.
pub fn from_hex(text: &str) -> Option<Key> {
    let pairs = text.as_bytes().chunks(2).map(|pair| {
        let digits = std::str::from_utf8(pair).ok().filter(|it| it.len() == 2)?;
        u8::from_str_radix(digits, 16).ok()
    });
    let bytes: Vec<u8> = pairs.collect::<Option<_>>()?;
    (!bytes.is_empty()).then(|| Key::new(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_random_and_come_back_from_their_digits() {
        let [one, other] = [random().unwrap(), random().unwrap()];
        assert_ne!(one, other);
        assert_eq!(from_hex(&to_hex(&one)).as_ref(), Some(&one));
        assert_eq!(["", "0", "zz", "é"].map(from_hex), [const { None }; 4]);
    }

    #[test]
    fn processes_that_share_a_folder_have_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("new");
        let keys: Vec<Key> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| shared(&place).unwrap())).collect();
            all.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
        fs::write(place.join(SHARED), "no key").unwrap();
        assert!(shared(&place).unwrap_err().to_string().contains("64 hexadecimal digits"));
    }

    #[test]
    fn a_key_is_read_from_a_file_of_digits() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key.txt");
        let key = random().unwrap();
        fs::write(&file, format!("{}\n", to_hex(&key))).unwrap();
        assert_eq!(of_run(&file).unwrap(), key);
        fs::write(&file, "abcd").unwrap();
        assert!(of_run(&file).unwrap_err().to_string().contains("64 hexadecimal digits"));
        assert!(of_run(folder.path()).is_err());
    }
}
