//! The environment of an experiment: its size, the folder of real pages, and the folder of results.
//!
//! Real pages are optional: a folder with `SET/docs.jsonl.zst` or `SET.jsonl` for each set. An experiment that lacks
//! a set uses the synthetic web instead and says so in its record, or omits the part.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::record::Record;

/// The available time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Size {
    /// Minutes for all experiments together.
    #[default]
    Quick,
    /// About an hour for all.
    Full,
}

impl Size {
    /// Selects a value by size.
    pub(crate) fn of<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

pub(crate) struct Bench<'a> {
    pub(crate) size: Size,
    /// The folder of real pages.
    pub(crate) pages: Option<PathBuf>,
    /// The folder that records are written to.
    pub(crate) out: PathBuf,
    /// Names of requested records; empty for all. A paper's key requests all of its records.
    pub(crate) only: Vec<String>,
    /// Receives a description of the work under way.
    pub(crate) say: &'a dyn Fn(&str),
    /// Records written so far.
    pub(crate) written: Cell<usize>,
}

impl Bench<'_> {
    pub(crate) fn wants(&self, name: &str) -> bool {
        let asked = |it: &String| name == it || name.starts_with(&format!("{it}-"));
        self.only.is_empty() || self.only.iter().any(asked)
    }

    pub(crate) fn say(&self, text: impl AsRef<str>) {
        (self.say)(text.as_ref());
    }

    /// The documents of a set of real pages; `None` if it does not exist.
    pub(crate) fn set(&self, name: &str) -> Option<PathBuf> {
        let folder = self.pages.as_deref()?;
        [folder.join(format!("{name}.jsonl")), folder.join(name).join("docs.jsonl.zst")]
            .into_iter()
            .find(|path| path.is_file())
    }

    /// Writes a result.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn keep(&self, mut record: Record) -> Result<()> {
        record.size = self.size;
        let path = self.out.join(format!("{}.json", record.name));
        let text = serde_json::to_string(&record).context("cannot write a record as JSON")?;
        write(&path, &(text + "\n"))?;
        draw(&self.out, &record)?;
        self.written.set(self.written.get() + 1);
        self.say(format!("  {}: {}: {}", record.name, record.verdict.word(), record.sentence));
        Ok(())
    }
}

/// Writes a record's charts as SVG files.
pub(crate) fn draw(folder: &Path, record: &Record) -> Result<()> {
    for (number, chart) in record.charts.iter().enumerate() {
        write(&folder.join(picture_name(&record.name, number)), &chart.picture())?;
    }
    Ok(())
}

/// File name of a record's chart.
pub(crate) fn picture_name(record: &str, number: usize) -> String {
    match number {
        0 => format!("{record}.svg"),
        more => format!("{record}-{}.svg", more + 1),
    }
}

pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
