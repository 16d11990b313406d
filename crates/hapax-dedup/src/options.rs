//! The options of a job.
//!
//! Every option has a documented default. Invalid values are refused where they are set, before any document is
//! read.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hapax::fingerprint::{Fingerprinter, Key};
use hapax::group::scope::same_domain;
use hapax::group::{Rules, Scope};
use hapax::similarity::Policy;
use hapax_corpus::{Packing, ReadOptions};

use crate::error::Error;
use crate::near::dense::MANY;
use crate::pages::Pages;
use crate::report::Made;
use crate::threads::Stop;

#[derive(Clone, Debug)]
pub struct Options {
    pub read: ReadOptions,
    pub fingerprinter: Fingerprinter,
    pub policy: Policy,
    /// What must be confirmed before a near-duplicate is removed.
    pub confirm: Confirm,
    /// The key of the sketches that confirm; `None` for that of the first of `against`, of the
    /// interrupted job, or a random one. Two runs with one key give the same bytes.
    pub key: Option<Key>,
    /// Whether pages of one host must also match in their own texts, beyond the host's frame.
    pub frames: Frames,
    pub keep: Rules,
    /// Which pages may match each other.
    pub scope: Scope,
    /// Only documents in these languages, and documents that state no language, are compared; all
    /// others are kept. Empty for all languages.
    pub languages: Vec<String>,
    /// Number of threads to read, extract and compare.
    pub threads: NonZero<usize>,
    /// Output format of kept documents; `None` for that of the inputs.
    pub format: Option<KeptFormat>,
    /// Which files the kept documents go to.
    pub layout: Layout,
    /// In WARC output, write a revisit record in place of each removed document.
    pub revisits: bool,
    /// Output folders of earlier jobs; pages that match a document kept there are removed.
    pub against: Vec<PathBuf>,
    /// Approximate memory to use in bytes; `None` for a small multiple of what the pages take.
    pub memory: Option<u64>,
    /// Discard the checkpoint of an interrupted job instead of resuming it.
    pub restart: bool,
    /// Where a job with output in an object store puts its local working folder; `None` for the
    /// user's cache folder.
    pub work: Option<PathBuf>,
    /// Stops the search for pairs early; [`Watch::stopped`](crate::Watch::stopped) stops everything
    /// else.
    pub stop: Stop,
    /// Time and command line for the report, the only part of it besides its nonce that differs
    /// from run to run; `None` leaves them out.
    pub made: Option<Made>,
    /// Number of pages of a scope beyond which bucket keys of dense clusters grow: [`MANY`], or
    /// less in tests, to reach both code paths.
    pub(crate) many: usize,
}

impl Options {
    /// The defaults. Distance and similarity bounds depend on how much of a page the recipe looks
    /// at.
    pub fn new(fingerprinter: Fingerprinter) -> Self {
        let policy = Policy::for_extent(fingerprinter.recipe().extent);
        Self {
            read: ReadOptions::default(),
            fingerprinter,
            policy,
            confirm: Confirm::Keyed,
            key: None,
            frames: Frames::On,
            keep: Rules::default(),
            scope: Scope::None,
            languages: Vec::new(),
            threads: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
            format: None,
            layout: Layout::One,
            revisits: false,
            against: Vec::new(),
            memory: None,
            restart: false,
            work: None,
            stop: Stop::default(),
            made: None,
            many: MANY,
        }
    }

    /// Sets how frames are used, and the bounds that go with it.
    pub fn use_frames(&mut self, frames: Frames) {
        self.frames = frames;
        self.policy = match frames {
            Frames::Own => Policy::for_own_texts(),
            Frames::On | Frames::Off => Policy::for_extent(self.fingerprinter.recipe().extent),
        };
    }

    /// Refuses what own texts alone cannot do: exact confirmation, earlier jobs, and what the
    /// caller names, each with what to do instead.
    pub(crate) fn check_frames(
        &self,
        cannot: Option<(&'static str, &'static str)>,
    ) -> Result<(), Error> {
        let exact = ("exact confirmation, which compares whole texts", "leave it out");
        let earlier = ("earlier jobs, whose frames are not known any more", "clean all documents");
        let cannot = cannot
            .or((self.confirm == Confirm::Exact).then_some(exact))
            .or((!self.against.is_empty()).then_some(earlier));
        match cannot {
            Some((what, instead)) if self.frames == Frames::Own => {
                Err(Error::OwnTexts { what, instead })
            }
            _ => Ok(()),
        }
    }

    /// Bytes that a join may use in addition to the pages.
    pub(crate) fn join_memory(&self, pages: &Pages) -> Result<usize, Error> {
        let Some(memory) = self.memory else { return Ok(ENOUGH_FOR_JOIN.max(2 * pages.bytes())) };
        let pages_take = (pages.bytes() + PER_THREAD * self.threads.get()) as u64;
        let left = memory.checked_sub(pages_take).filter(|left| *left >= LEAST_FOR_JOIN);
        let Some(left) = left else {
            return Err(Error::Memory {
                given: memory,
                documents: pages.len(),
                needed: pages_take + LEAST_FOR_JOIN,
            });
        };
        Ok(usize::try_from(left).unwrap_or(usize::MAX))
    }
}

/// What must be confirmed before a near-duplicate is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// Nothing; signatures decide.
    No,
    /// Keyed sketches must not contradict the match.
    Keyed,
    /// The exact similarity of every pair, and from a bound of 0.5 up also as [`Keyed`](Self::Keyed).
    Exact,
}

impl Confirm {
    /// Whether a near match of two pages stands. A page without an address belongs to no domain.
    #[inline]
    pub(crate) fn stands(self, policy: &Policy, pair: [(&Pages, u32); 2]) -> bool {
        let one_domain = || {
            let [one, other] = pair.map(|(pages, page)| pages.url(page));
            same_domain(one, other)
        };
        self == Self::No || policy.stands(pair.map(|(pages, page)| pages.short(page)), one_domain)
    }

    /// The name in `summary.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Keyed => "keyed",
            Self::Exact => "exact",
        }
    }
}

/// Whether frames of hosts are learned, and what is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    On,
    /// Own texts alone decide, on one host and between hosts.
    Own,
    /// Whole pages alone decide.
    Off,
}

impl Frames {
    /// The name in arguments and in `summary.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Own => "own",
            Self::Off => "off",
        }
    }
}

impl FromStr for Frames {
    type Err = ParseFramesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = [Self::On, Self::Own, Self::Off].into_iter().find(|it| it.name() == text);
        known.ok_or_else(|| ParseFramesError { given: text.to_owned() })
    }
}

/// The text is not a value of `Frames`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("frames are `on`, `off` or `own`, not `{given}`")]
pub struct ParseFramesError {
    pub given: String,
}

/// Which files kept documents go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One file.
    #[default]
    One,
    /// Files of about this many bytes.
    Size(NonZero<u64>),
    /// One file for each input file, in order; one file for each run of small files that hold one
    /// page each.
    AsInput,
}

/// Approximate bytes that each thread uses for reading and fingerprinting.
const PER_THREAD: usize = 12 << 20;
/// Default memory of a join. A join that needs more than this and more than twice the size of the
/// pages uses temporary files.
const ENOUGH_FOR_JOIN: usize = 512 << 20;
/// Minimum memory of a join in bytes.
const LEAST_FOR_JOIN: u64 = 16 << 20;

/// An output format for kept documents; its name is also the file extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptFormat {
    /// One JSON object per line.
    Jsonl,
    /// JSONL compressed with gzip.
    JsonlGzip,
    /// JSONL compressed with Zstandard.
    JsonlZstd,
    Parquet,
    Warc,
    /// WARC, each record a gzip member.
    WarcGzip,
    /// WARC, each record a Zstandard frame.
    WarcZstd,
}

impl KeptFormat {
    pub const ALL: [Self; 7] = [
        Self::Jsonl,
        Self::JsonlGzip,
        Self::JsonlZstd,
        Self::Parquet,
        Self::Warc,
        Self::WarcGzip,
        Self::WarcZstd,
    ];

    /// The default for documents read from these inputs: Parquet for rows of tables, WARC for
    /// archive records, JSONL for others. Compressed as all inputs are, by their names; if these
    /// differ, WARC uses gzip and JSONL is not compressed.
    pub fn as_read<S: AsRef<Path>>(
        documents: u64,
        (archived, rows): (u64, u64),
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        let mut packings = names.into_iter().map(|name| Packing::by_name(name.as_ref()));
        let first = packings.next().unwrap_or(Packing::Plain);
        let common = packings.all(|other| other == first).then_some(first);
        match common {
            _ if rows == documents && archived != documents => Self::Parquet,
            Some(Packing::Plain) if archived == documents => Self::Warc,
            Some(Packing::Zstd) if archived == documents => Self::WarcZstd,
            _ if archived == documents => Self::WarcGzip,
            None | Some(Packing::Plain) => Self::Jsonl,
            Some(Packing::Zstd) => Self::JsonlZstd,
            Some(Packing::Gzip | Packing::Bzip2 | Packing::Xz) => Self::JsonlGzip,
        }
    }

    /// The name in arguments, which is also the file extension.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::JsonlGzip => "jsonl.gz",
            Self::JsonlZstd => "jsonl.zst",
            Self::Parquet => "parquet",
            Self::Warc => "warc",
            Self::WarcGzip => "warc.gz",
            Self::WarcZstd => "warc.zst",
        }
    }
}

impl KeptFormat {
    /// Refuses revisit records in a format other than WARC.
    pub(crate) fn check_revisits(self, revisits: bool) -> Result<(), crate::Error> {
        match self {
            Self::Jsonl | Self::JsonlGzip | Self::JsonlZstd | Self::Parquet if revisits => {
                Err(crate::Error::Revisits { format: self.ending() })
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for KeptFormat {
    type Err = ParseFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|format| format.ending() == text);
        known.ok_or_else(|| ParseFormatError { given: text.to_owned() })
    }
}

/// The text is not a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "nothing can be written as `{given}`; the formats are {}",
    KeptFormat::ALL.map(KeptFormat::ending).join(", ")
)]
pub struct ParseFormatError {
    pub given: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_they_are_written() {
        for format in KeptFormat::ALL {
            assert_eq!(format.ending().parse(), Ok(format));
        }
        assert!("csv".parse::<KeptFormat>().unwrap_err().to_string().contains("warc.gz"));
    }

    #[test]
    fn documents_keep_their_compression_if_all_inputs_share_it() {
        for (names, warc, jsonl) in [
            (&["a.warc"][..], "warc", "jsonl"),
            (&["a.gz", "b.gz"], "warc.gz", "jsonl.gz"),
            (&["a.zst"], "warc.zst", "jsonl.zst"),
            (&["a.gz", "b.zst"], "warc.gz", "jsonl"),
            (&["a.xz"], "warc.gz", "jsonl.gz"),
        ] {
            assert_eq!(KeptFormat::as_read(9, (9, 0), names).ending(), warc, "{names:?}");
            assert_eq!(KeptFormat::as_read(9, (8, 1), names).ending(), jsonl, "{names:?}");
            assert_eq!(KeptFormat::as_read(9, (0, 9), names), KeptFormat::Parquet);
        }
    }
}
