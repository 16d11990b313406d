//! What a caller can ask of a job.
//!
//! Everything has a default that is stated beside it. Values that cannot be are refused where they
//! are set, before any document is read.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hapax::fingerprint::Fingerprinter;
use hapax::group::scope::same_domain;
use hapax::group::{Rules, Scope};
use hapax::similarity::Policy;
use hapax_corpus::{Packing, ReadOptions};

use crate::error::Error;
use crate::near::dense::MANY;
use crate::pages::Pages;
use crate::report::Made;
use crate::threads::Stop;

/// How a corpus is cleaned.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the inputs are read.
    pub read: ReadOptions,
    /// The recipe, ready to run.
    pub fingerprinter: Fingerprinter,
    /// What counts as a near-duplicate.
    pub policy: Policy,
    /// What the texts must confirm before a near-duplicate goes.
    pub confirm: Confirm,
    /// Whether pages of one host must be alike beyond the frame that they share.
    pub frames: Frames,
    pub keep: Rules,
    /// Who is compared with whom.
    pub scope: Scope,
    /// Only documents in these languages are compared, and documents that state none; the others
    /// stay. Empty for all languages.
    pub languages: Vec<String>,
    /// How many threads read, extract and compare.
    pub threads: NonZero<usize>,
    /// What kept documents are written as; `None` for what they were read from.
    pub format: Option<KeptFormat>,
    /// Which files kept documents go to.
    pub layout: Layout,
    /// In WARC, put a revisit record where a document was removed.
    pub revisits: bool,
    /// Output folders of earlier jobs: what they kept is not kept again.
    pub against: Vec<PathBuf>,
    /// How many bytes of memory to use, about; `None` for a few times what the pages take.
    pub memory: Option<u64>,
    /// Drop what an interrupted job left in the output folder, instead of going on with it.
    pub restart: bool,
    /// Where a job works whose results go to a store, in a folder of its own; `None` for the user's folder for caches.
    pub work: Option<PathBuf>,
    /// Ends the search for pairs before it is through; [`Watch::stopped`](crate::Watch::stopped) ends the rest.
    pub stop: Stop,
    /// When and by which command, for the report. The only thing in it, beside its nonce, that differs
    /// from run to run; `None` leaves it out.
    pub made: Option<Made>,
    /// From how many pages of a scope on dense clusters share more bits: [`MANY`], and fewer in tests, which
    /// so come by both ways.
    pub(crate) many: usize,
}

impl Options {
    /// Everything as it is unless the caller says otherwise; the bounds depend on how much of a page
    /// the recipe looks at.
    pub fn new(fingerprinter: Fingerprinter) -> Self {
        let policy = Policy::for_extent(fingerprinter.recipe().extent);
        Self {
            read: ReadOptions::default(),
            fingerprinter,
            policy,
            confirm: Confirm::Keyed,
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

    /// Sets what frames are used for, and with it the bounds.
    pub fn use_frames(&mut self, frames: Frames) {
        self.frames = frames;
        self.policy = match frames {
            Frames::Own => Policy::for_own_texts(),
            Frames::On | Frames::Off => Policy::for_extent(self.fingerprinter.recipe().extent),
        };
    }

    /// Refuses what own texts alone cannot do: exact confirmation, earlier jobs, and what the caller names with the way
    /// out.
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

    /// How much memory a join may take beside the pages.
    pub(crate) fn memory_beside(&self, pages: &Pages) -> Result<usize, Error> {
        let Some(memory) = self.memory else { return Ok(ENOUGH_FOR_JOIN.max(2 * pages.bytes())) };
        let pages_take = (pages.bytes() + BESIDE * self.threads.get()) as u64;
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

/// What the texts must confirm before a near-duplicate goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// Nothing: signatures decide.
    No,
    /// Between domains, that sketches under the key of the job do not contradict.
    Keyed,
    /// That, and the exact similarity of every pair.
    Exact,
}

impl Confirm {
    /// Does a near match of two pages stand? A page without an address is of no domain.
    #[inline]
    pub(crate) fn stands(self, policy: &Policy, pair: [(&Pages, u32); 2]) -> bool {
        let one_domain = || {
            let [one, other] = pair.map(|(pages, page)| pages.url(page));
            same_domain(one, other)
        };
        self == Self::No || policy.stands(pair.map(|(pages, page)| pages.short(page)), one_domain)
    }

    /// As `summary.json` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Keyed => "keyed",
            Self::Exact => "exact",
        }
    }
}

/// Whether the frames of hosts are learned, and pages of one host compared by what they say beyond it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    On,
    /// What pages say beyond the frames of their hosts decides alone, on one host and between hosts.
    Own,
    /// Whole pages decide.
    Off,
}

impl Frames {
    /// As the user writes it and as `summary.json` has it.
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

/// Why a text does not say whether frames are learned.
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
    /// Files of about so many bytes.
    Size(NonZero<u64>),
    /// A file for each input file, in their order; one for each run of small files that are a page each.
    AsInput,
}

/// What each thread takes for reading and fingerprinting, about.
const BESIDE: usize = 12 << 20;
/// A join that needs more than this, and more than twice what the pages take, uses temporary files
/// unless the caller gives it more.
const ENOUGH_FOR_JOIN: usize = 512 << 20;
/// The least that a join can do with.
const LEAST_FOR_JOIN: u64 = 16 << 20;

/// A format that kept documents can be written in; also the ending of their file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptFormat {
    /// One JSON object a line.
    Jsonl,
    /// The same, packed with gzip.
    JsonlGzip,
    /// The same, packed with Zstandard.
    JsonlZstd,
    Parquet,
    Warc,
    /// WARC, every record a gzip member.
    WarcGzip,
    /// WARC, every record a Zstandard frame.
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

    /// What so many documents are written as unless the caller says otherwise: rows as rows, records of archives as
    /// WARC, others as JSONL, packed as the names of all their files say. Where these differ, WARC is packed with gzip and
    /// JSONL not at all.
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

    /// As the user writes it and as the file ends.
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
    /// Refuses revisit records in a format that has none.
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

/// Why a text is not a format.
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
    fn documents_are_packed_as_they_came_where_all_files_agree() {
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
