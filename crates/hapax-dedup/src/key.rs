//! The key of a job, under which forged matches are seen.
//!
//! It is known before the first document is read, the same for the same files, and not known to who writes a
//! page: a hash of the lengths of all files and of the first and last bytes of some. A job that is compared with an
//! earlier one takes its key, so that a chain of jobs has one. Inputs that are no files, which can be read only once,
//! have a random one.
//!
//! Which key it is changes no verdict on texts that nobody forged.

use std::thread;

use hapax::fingerprint::Key;
use hapax_corpus::{FileId, Source};

use crate::error::Error;
use crate::options::{Confirm, Options};

/// Bytes that are read from both ends of a file.
const ENDS: u64 = 4096;
/// Files of which bytes are read, about.
const FILES: usize = 1000;
/// Files of which bytes are read at a time: a store takes its time for each.
const AT_A_TIME: usize = 16;

/// The options with a key, the one that is given or that of the files, where matches are to be confirmed.
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

/// The key of files; a random one of none.
///
/// # Errors
///
/// There is no randomness to be had. A file that cannot be read is the reader's to complain about.
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

/// The bytes of a key, as files have them.
pub fn to_hex(key: &Key) -> String {
    key.bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads what [`to_hex`] wrote; `None` of anything else.
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
    fn the_same_files_have_the_same_key_and_others_another_one() {
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
    fn what_is_no_file_has_a_key_that_nobody_knows() {
        let source = Source::from_reader("pages", io::empty(), ReadOptions::default());
        let key = || of_files(&source).unwrap();
        assert_ne!(key(), key());
    }
}
