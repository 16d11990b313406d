//! A range of a corpus that one of several processes reads.
//!
//! The ranges of all processes are the whole corpus in order, and their sizes differ by at most one part. Files
//! keep their ids, so places mean the same in every process. With fewer parts than processes, some ranges are
//! empty.

use std::fmt;
use std::str::FromStr;

use crate::source::Source;

/// One of several ranges: `3/16` is the fourth of sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// `None` unless `number` is less than `of`.
    pub const fn new(number: u32, of: u32) -> Option<Self> {
        if number < of { Some(Self { number, of }) } else { None }
    }

    pub const fn number(self) -> u32 {
        self.number
    }

    pub const fn of(self) -> u32 {
        self.of
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// The text is not a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a shard is K/N with K from 0 to N - 1, such as 3/16, not `{given}`")]
pub struct ParseShardError {
    pub given: String,
}

impl FromStr for Shard {
    type Err = ParseShardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text
            .split_once('/')
            .and_then(|(number, of)| Self::new(number.parse().ok()?, of.parse().ok()?));
        parsed.ok_or_else(|| ParseShardError { given: text.to_owned() })
    }
}

impl Source {
    /// Restricts the source to this range of its parts. [`files`](Self::files) still lists all
    /// files.
    #[must_use]
    pub fn shard(mut self, shard: Shard) -> Self {
        let all = self.parts.len() as u64;
        let start = |number: u32| (all * u64::from(number) / u64::from(shard.of)) as usize;
        self.parts = self.parts[start(shard.number)..start(shard.number + 1)].to_vec();
        self
    }

    /// The files of the parts, as indexes into [`files`](Self::files).
    pub fn file_range(&self) -> std::ops::Range<u32> {
        match (self.parts.first(), self.parts.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadOptions;

    #[test]
    fn shards_are_written_as_they_are_read() {
        let shard: Shard = "3/16".parse().unwrap();
        assert_eq!((shard.number(), shard.of(), shard.to_string()), (3, 16, "3/16".to_owned()));
        for wrong in ["", "3", "16/16", "0/0", "-1/4", "a/b", "1/2/3"] {
            assert!(wrong.parse::<Shard>().unwrap_err().to_string().contains("3/16"), "{wrong}");
        }
    }

    #[test]
    fn runs_of_all_processes_are_the_corpus_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in 0..150 {
            std::fs::write(folder.path().join(format!("{name:03}.txt")), "text").unwrap();
        }
        for name in ["a.jsonl", "b.jsonl", "c.jsonl"] {
            std::fs::write(folder.path().join(name), "{}\n").unwrap();
        }
        let open = || Source::open(&[folder.path()], ReadOptions::default()).unwrap();
        let files = |source: &Source| {
            let parts = (0..source.parts()).map(|part| source.part_files(part));
            parts.flatten().collect::<Vec<u32>>()
        };
        for of in [1, 2, 3, 16] {
            let runs = (0..of).map(|number| open().shard(Shard::new(number, of).unwrap()));
            let runs: Vec<Vec<u32>> = runs
                .map(|run| {
                    assert_eq!(files(&run), run.file_range().collect::<Vec<u32>>());
                    files(&run)
                })
                .collect();
            assert_eq!(runs.concat(), files(&open()), "{of}");
        }
    }
}
