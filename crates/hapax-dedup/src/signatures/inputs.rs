//! The inputs of a checkpoint or shard, and how they differ from those of the current job.
//!
//! Compares files by name and size and, for a checkpoint, by time of change (in an object store, by version);
//! machines that read shards may have copies. Lists the first [`LISTED`] files, so that a changed one can be
//! named; the digest covers all.

use hapax_corpus::{Source, Stamp};
use serde::{Deserialize, Serialize};

use super::Header;
use crate::options::Options;

/// Number of files listed by name.
const LISTED: usize = 1000;

/// The inputs of a job and its read options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inputs {
    version: String,
    reading: String,
    files: u64,
    bytes: u64,
    digest: String,
    listed: Vec<InputFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InputFile {
    name: String,
    bytes: u64,
    /// Time of change or version, as in [`hapax_corpus::Stamp`].
    changed: u64,
}

impl Inputs {
    /// The inputs for a checkpoint.
    pub(crate) fn of(source: &Source, options: &Options) -> Self {
        Self::of_files(source.files().zip(source.stamps()), true, options)
    }

    /// The inputs with or without times of change.
    pub(crate) fn of_files(
        files: impl Iterator<Item = (String, Option<Stamp>)>,
        times: bool,
        options: &Options,
    ) -> Self {
        let mut inputs = Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            reading: reading(options),
            files: 0,
            bytes: 0,
            digest: String::new(),
            listed: Vec::new(),
        };
        let mut hasher = blake3::Hasher::new_derive_key("hapax-dedup: inputs of a checkpoint");
        for (name, stamp) in files {
            let (bytes, changed) = stamp.map_or((0, 0), |it| (it.bytes, it.changed));
            let file = InputFile { name, bytes, changed: if times { changed } else { 0 } };
            for number in [file.name.len() as u64, file.bytes, file.changed] {
                hasher.update(&number.to_le_bytes());
            }
            hasher.update(file.name.as_bytes());
            inputs.files += 1;
            inputs.bytes += file.bytes;
            if inputs.listed.len() < LISTED {
                inputs.listed.push(file);
            }
        }
        inputs.digest = hasher.finalize().to_hex().to_string();
        inputs
    }

    /// The same files, read with the given options by this version.
    pub(crate) fn read_with(&self, options: &Options) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { version, reading: reading(options), ..self.clone() }
    }

    fn difference(&self, then: &Self) -> Option<String> {
        if self.version != then.version {
            let (now, then) = (&self.version, &then.version);
            return Some(format!("version {then} began it, and this is {now}"));
        }
        if self.reading != then.reading {
            let what = "formats, fields, languages, damaged records or frames were to be read in another way";
            return Some(what.to_owned());
        }
        if self.digest == then.digest {
            return None;
        }
        if (self.files, self.bytes) != (then.files, then.bytes)
            && self.listed.len() != then.listed.len()
        {
            let described = |it: &Self| format!("{} files of {} bytes", it.files, it.bytes);
            return Some(format!(
                "it read {}, and now there are {}",
                described(then),
                described(self)
            ));
        }
        let changed = self.listed.iter().zip(&then.listed).find(|(now, then)| now != then);
        Some(match changed {
            Some((now, then)) if now.name != then.name => {
                format!("it read {}, and now there is {}", then.name, now.name)
            }
            Some((now, then)) if now.bytes != then.bytes => {
                format!("{} had {} bytes then and has {} now", now.name, then.bytes, now.bytes)
            }
            Some((now, _)) => format!("{} has been written to since", now.name),
            None => "some of its files have changed since".to_owned(),
        })
    }
}

/// Every option that affects which documents are read and what is taken from them.
fn reading(options: &Options) -> String {
    format!("{:?} {:?} {:?}", options.read, options.languages, options.frames)
}

impl Header {
    /// How this job differs from the one that wrote `then`; `None` if it does not.
    pub(crate) fn difference(&self, then: &Self) -> Option<String> {
        for (what, now, then) in
            [("recipe", &self.recipe, &then.recipe), ("scope", &self.scope, &then.scope)]
        {
            if now != then {
                return Some(format!("it was begun with {what} {then}, and this job has {now}"));
            }
        }
        let inputs = match (&self.inputs, &then.inputs) {
            (Some(now), Some(then)) => now.difference(then),
            _ => Some("it does not say what it was made from".to_owned()),
        };
        let other_key = "it has another key, or was begun against other earlier runs";
        inputs.or_else(|| (self.key != then.key).then(|| other_key.to_owned()))
    }
}
