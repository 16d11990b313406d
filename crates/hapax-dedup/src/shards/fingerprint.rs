//! The first reading of a shard: writes its signatures to one file in a folder shared by all shards.
//!
//! The folder is local or in an object store. The file appears when it is complete and replaces that of an
//! earlier attempt. Memory is one batch per thread, whatever the size of the shard. An interrupted attempt
//! starts over.

use std::path::{Path, PathBuf};
use std::{fs, io};

use hapax::fingerprint::Key;
use hapax_corpus::{Shard, Source};
use hapax_remote::{Folder, is_address};
use serde::Serialize;

use super::ENDING;
use crate::against;
use crate::error::Error;
use crate::inputs::StreamName;
use crate::job;
use crate::key::{with_key, with_shared_key};
use crate::options::Options;
use crate::read::{Signed, sign_batches};
use crate::signatures::checkpoint::Done;
use crate::signatures::{Header, Inputs, ShardInputs, SignatureWriter};
use crate::watch::{Stage, Watch};

/// Result of fingerprinting a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fingerprinted {
    /// Documents read.
    pub documents: u64,
    pub passed_over: u64,
    /// The signature file.
    pub file: PathBuf,
}

/// Why own texts alone cannot be used with shards, and what to do instead.
pub(super) const ONE_SHARD: (&str, &str) = (
    "shards, which do not know the frames of the others' pages",
    "clean the corpus in one process",
);

/// Fingerprints one shard of a corpus. `inputs` are those of all shards: every process lists all
/// files and takes its range of them. The shards share a key through the folder, unless one is given.
///
/// # Errors
///
/// An input is bad or is standard input, or the file cannot be written.
pub fn fingerprint(
    inputs: &[String],
    shard: Shard,
    folder: &Path,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Fingerprinted, Error> {
    if inputs.iter().any(|input| input == "-") {
        return Err(Error::OneStream);
    }
    options.check_frames(Some(ONE_SHARD))?;
    let source = Source::open(inputs, options.read.clone())?;
    let key = against::key_of(&options.against)?;
    let options = &with_shared_key(options, key.as_ref(), folder)?;
    let whole = Inputs::of_files(source.files().zip(source.stamps()), false, options);
    let source = source.shard(shard);
    let given = if shard.number() == 0 { job::shown(inputs) } else { Vec::new() };
    let files = source.file_range();
    let files = source.files().skip(files.start as usize).take(files.len()).collect();
    let header = Header::of(options, Some(whole));
    write(&source, shard, (given, files), header, folder, options, watch)
}

/// Fingerprints one shard in a process that does not see the other inputs. All processes must be
/// given the same key, which must be unknown to authors of pages. The shard is one file, which
/// tables call `name`.
///
/// # Errors
///
/// The input is bad, or the file cannot be written.
pub fn fingerprint_alone(
    input: &str,
    name: &str,
    shard: Shard,
    key: &Key,
    folder: &Path,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Fingerprinted, Error> {
    options.check_frames(Some(ONE_SHARD))?;
    let source = Source::open(&[input], options.read.clone())?;
    let options = &with_key(options, Some(key), None)?;
    let unknown = Inputs::of_files(std::iter::empty(), false, options);
    let header = Header::of(options, Some(unknown));
    let named = vec![name.to_owned()];
    write(&source, shard, (named.clone(), named), header, folder, options, watch)
}

fn write(
    source: &Source,
    shard: Shard,
    (given, files): (Vec<String>, Vec<String>),
    mut header: Header,
    folder: &Path,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Fingerprinted, Error> {
    let (number, of) = (shard.number(), shard.of());
    let first_file = source.file_range().start;
    header.shard = Some(ShardInputs { number, of, given, first_file, files });
    let address = folder.to_str().filter(|folder| is_address(folder));
    let store = address.map(Folder::open).transpose();
    let store = store.map_err(|e| Error::io("write to", folder, e))?;
    // Another attempt at this shard may be running; each writes to its own file until the end.
    let mut making = tempfile::Builder::new();
    let making = match &store {
        Some(_) => making.tempdir(),
        None => {
            fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))?;
            making.prefix(".making-").tempdir_in(folder)
        }
    };
    let making = making.map_err(|e| Error::io("create a folder in", folder, e))?;
    let name = format!("{number:05}-of-{of:05}{ENDING}");
    let unfinished = making.path().join(&name);
    let mut writer = SignatureWriter::create(&unfinished, &header)?;
    watch.stage(Stage::Reading);
    let (mut documents, mut passed_over) = (0, 0);
    let (named, done) = ((source, &StreamName::default()), Done::default());
    sign_batches(named, options, None, &done, true, |decoded| {
        if let Some(Signed { batch, records, block }) = decoded.checked(watch)? {
            documents += batch.pages.len() as u64;
            passed_over += batch.counts.passed_over.values().sum::<u64>();
            block.as_ref().map_or(Ok(()), |block| writer.add(block))?;
            writer.records(&records)?;
        }
        if watch.stopped() { Err(Error::Stopped) } else { Ok(()) }
    })?;
    writer.finish()?;
    if let Some(store) = store {
        let file = PathBuf::from(store.name(&name));
        let sent = store.send(&unfinished, &name, &mut |_| Ok(()), &mut |_| !watch.stopped());
        return match sent {
            Ok(()) => Ok(Fingerprinted { documents, passed_over, file }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(Error::Stopped),
            Err(error) => Err(Error::io("write", file, error)),
        };
    }
    let file = folder.join(name);
    fs::rename(&unfinished, &file).map_err(|e| Error::io("rename a finished file to", &file, e))?;
    Ok(Fingerprinted { documents, passed_over, file })
}
