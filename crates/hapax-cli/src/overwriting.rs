//! Prevents a result from replacing an input of the same run, or another file without `--force`.
//!
//! Results are written next to their place and renamed at the end, so nothing else would stop a run from replacing
//! its own input, index or list. Two paths are the same file if the system says so (device and inode), through any
//! links. Does not handle folders as results: those must be new or belong to a job.

use crate::failure::Failure;
use crate::output::{Output, Target};
use crate::readable;
use clap::Args;
use hapax_corpus::{ReadOptions, Source};
use std::path::{Path, PathBuf};

/// What becomes of a result file that is there already.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Replacing {
    /// Replace the result file if it exists
    #[arg(long)]
    force: bool,
}

impl Replacing {
    /// Refuses an `option` whose file exists, unless it may be replaced. Accepts pipes and devices.
    pub(crate) fn check(self, option: &str, out: Option<&Path>) -> Result<(), Failure> {
        let target = out.map(Target::of).transpose()?.flatten();
        let is_there = |out: &Path| match &target {
            Some(target) => target.exists(),
            None => Ok(out.is_file()),
        };
        match out {
            Some(out) if !self.force && is_there(out)? => Err(Failure::Arguments(format!(
                "{option} {} is there already: --force replaces it, or name another file",
                readable::path(out)
            ))),
            _ => Ok(()),
        }
    }
}

/// Where the lines of a command go.
#[derive(Args, Debug)]
pub(crate) struct ResultFile {
    /// Write to a file, which appears when it is complete
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    replacing: Replacing,
}

impl ResultFile {
    /// Refuses a file that is among `read`, or that exists and may not be replaced.
    pub(crate) fn check<P: AsRef<Path>>(
        &self,
        read: impl IntoIterator<Item = P>,
    ) -> Result<(), Failure> {
        refuse("--out", self.path(), read)?;
        self.replacing.check("--out", self.path())
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.out.as_deref()
    }

    pub(crate) fn open(&self) -> Result<Output, Failure> {
        Output::open(self.path())
    }
}

/// Refuses an `option` whose file is among `read`; `-` is standard input.
pub(crate) fn refuse<P: AsRef<Path>>(
    option: &str,
    out: Option<&Path>,
    read: impl IntoIterator<Item = P>,
) -> Result<(), Failure> {
    let Some((out, there)) = out.and_then(|out| Some((out, Identity::of_regular(out)?))) else {
        return Ok(());
    };
    match read.into_iter().find(|read| Identity::of(read.as_ref()).as_ref() == Some(&there)) {
        None => Ok(()),
        Some(read) => Err(Failure::Arguments(format!(
            "{option} {} is the same file as {}, which is read: write to another file",
            readable::path(out),
            match read.as_ref() {
                read if is_standard(read) => "standard input".to_owned(),
                read => readable::path(read),
            },
        ))),
    }
}

/// The same for the files of a corpus: looks into folders, globs and lists.
pub(crate) fn refuse_corpus(
    option: &str,
    out: Option<&Path>,
    inputs: &[impl AsRef<Path>],
    options: ReadOptions,
) -> Result<(), Failure> {
    refuse(option, out, inputs)?;
    if !out.is_some_and(Path::is_file) {
        return Ok(());
    }
    // A corpus that cannot be opened is an error when it is read.
    match Source::open(inputs, ReadOptions { skip_bad: true, ..options }) {
        Ok(source) => refuse(option, out, source.paths().map(Path::to_owned)),
        Err(_) => Ok(()),
    }
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Identifies a file independently of its path.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    #[cfg(unix)]
    Inode(u64, u64),
    #[cfg_attr(unix, expect(dead_code, reason = "for systems without inodes"))]
    Path(PathBuf),
}

impl Identity {
    /// `None` for pipes and devices, which are not replaced.
    fn of_regular(path: &Path) -> Option<Self> {
        path.is_file().then(|| Self::of(path))?
    }

    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        use std::os::fd::AsFd;
        use std::os::unix::fs::MetadataExt;
        let metadata = match is_standard(path) {
            true => {
                let input = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
                std::fs::File::from(input).metadata().ok()?
            }
            false => path.metadata().ok()?,
        };
        Some(Self::Inode(metadata.dev(), metadata.ino()))
    }

    #[cfg(not(unix))]
    fn of(path: &Path) -> Option<Self> {
        path.canonicalize().ok().map(Self::Path)
    }
}
