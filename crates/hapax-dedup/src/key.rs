//! The key of a job, which makes forged matches detectable.
//!
//! The key is known before the first document is read, is the same for the same files, and is unknown to the
//! author of a page: a hash of the lengths of all files and of the first and last bytes of some. A job that is
//! compared with an earlier one takes its key, so a chain of jobs shares one. Inputs that are not files and can
//! be read only once get a random key.
//!
//! The key does not change any verdict on texts that nobody forged.

use std::thread;

use hapax::fingerprint::Key;
use hapax_corpus::{FileId, Source};

use crate::error::Error;
use crate::options::{Confirm, Options};

/// Bytes hashed at each end of a file.
const ENDS: u64 = 4096;
/// Approximate number of files whose bytes are hashed.
const FILES: usize = 1000;
/// Files read at a time, because each request to an object store takes long.
const AT_A_TIME: usize = 16;

/// The options with a key, where matches are confirmed: the given one, or the key of the files.
pub(crate) fn with_key(
    options: &Options,
    source: &Source,
    given: Option<&Key>,
) -> Result<Options, Error> {
    let mut options = options.clone();
    if options.confirm != Confirm::No {
        let key = match given {
            Some(key) => key.clone(),
            None => of_files(source)?,
        };
        options.fingerprinter = options.fingerprinter.with_short_key(&key);
    }
    Ok(options)
}

/// The key of a set of files; random if an input is not a file.
///
/// # Errors
///
/// The system provides no randomness. Unreadable files are reported later, by the reader.
pub fn of_files(source: &Source) -> Result<Key, Error> {
    let stamps = (0..).map(FileId).zip(source.stamps());
    let files: Vec<(FileId, u64)> =
        stamps.filter_map(|(id, stamp)| Some((id, stamp?.bytes))).collect();
    let mut bytes = [0; 32];
    if files.iter().all(|(_, length)| *length == 0) {
        getrandom::getrandom(&mut bytes)
            .map_err(|error| Error::io("read random bytes from", "the system", error.into()))?;
        return Ok(Key::new(&bytes));
    }
    let mut hasher = blake3::Hasher::new_derive_key("hapax-dedup: key of a job");
    for (_, length) in &files {
        hasher.update(&length.to_le_bytes());
    }
    let chosen: Vec<FileId> =
        files.iter().step_by(files.len().div_ceil(FILES)).map(|(id, _)| *id).collect();
    for some in chosen.chunks(AT_A_TIME) {
        let ends: Vec<[Vec<u8>; 2]> = thread::scope(|scope| {
            let read: Vec<_> =
                some.iter().map(|id| scope.spawn(|| source.ends(*id, ENDS))).collect();
            read.into_iter().filter_map(|it| it.join().ok()?.ok()).collect()
        });
        ends.iter().flatten().for_each(|bytes| _ = hasher.update(bytes));
    }
    Ok(Key::new(hasher.finalize().as_bytes()))
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
    use std::io;

    use hapax_corpus::ReadOptions;

    use super::*;

    #[test]
    fn equal_files_have_equal_keys_and_different_files_different_keys() {
        let folder = tempfile::tempdir().unwrap();
        let key = |texts: &[&str]| {
            let names = texts.iter().enumerate().map(|(at, text)| {
                let path = folder.path().join(at.to_string());
                std::fs::write(&path, text).unwrap();
                path.display().to_string()
            });
            let names: Vec<String> = names.collect();
            of_files(&Source::open(&names, ReadOptions::default()).unwrap()).unwrap()
        };
        let long = "x".repeat(9000);
        let first = key(&["one", &long]);
        assert_eq!(from_hex(&to_hex(&first)).as_ref(), Some(&first));
        assert_eq!(["", "0", "zz", "é"].map(from_hex), [const { None }; 4]);
        assert_eq!(first, key(&["one", &long]));
        let (longer, otherwise) = (format!("{long}x"), format!("{}y", &long[1..]));
        for other in [&["two", &*long][..], &["one", &longer], &["one", &otherwise], &["one"]] {
            assert_ne!(first, key(other));
        }
    }

    #[test]
    fn inputs_that_are_not_files_have_a_random_key() {
        let source = Source::from_reader("pages", io::empty(), ReadOptions::default());
        let key = || of_files(&source).unwrap();
        assert_ne!(key(), key());
    }
}
