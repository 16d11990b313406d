//! Where fingerprints go: lines, JSON lines, or a Parquet table.
//!
//! What a format needs of a document is worked out on any thread ([`Rendered`]) and written in order
//! ([`Sink`]). A new format is a variant of each.

use super::record::{PageRecord, line};
use crate::failure::Failure;
use crate::output::Output;
use clap::ValueEnum;
use hapax::fingerprint::Imprint;
use hapax_dedup::stages::table::TableWriter;
use std::path::Path;

/// A format of fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Digits, two spaces, name
    Lines,
    /// A JSON object a line
    Jsonl,
    /// A table
    Parquet,
}

/// One document, ready to be written.
pub(super) enum Rendered {
    /// As bytes.
    Bytes(Vec<u8>),
    /// As a row.
    Row { id: String, url: Option<String>, imprint: Box<Imprint> },
}

impl Rendered {
    /// What the format needs of a document.
    ///
    /// # Errors
    ///
    /// It has no JSON form, which cannot happen.
    pub(super) fn of(
        format: Format,
        name: &[u8],
        url: Option<String>,
        recipe: &str,
        imprint: Imprint,
    ) -> Result<Self, anyhow::Error> {
        let id = || String::from_utf8_lossy(name).into_owned();
        Ok(match format {
            Format::Lines => Self::Bytes(line(name, &imprint)),
            Format::Jsonl => {
                let record = PageRecord::named(id(), url, recipe, &imprint);
                let mut line = serde_json::to_vec(&record)?;
                line.push(b'\n');
                Self::Bytes(line)
            }
            Format::Parquet => Self::Row { id: id(), url, imprint: Box::new(imprint) },
        })
    }
}

/// An open destination.
pub(super) struct Sink {
    output: Output,
    table: Option<TableWriter>,
}

impl Sink {
    /// Opens a file, or standard output.
    ///
    /// # Errors
    ///
    /// Nothing can be written there.
    pub(super) fn open(format: Format, path: Option<&Path>) -> Result<Self, Failure> {
        let output = Output::open(path)?;
        let table = match format {
            Format::Lines | Format::Jsonl => None,
            Format::Parquet if output.on_screen() => {
                let text = "a Parquet table is nothing for a screen: add --out FILE".to_owned();
                return Err(Failure::Arguments(text));
            }
            Format::Parquet => Some(TableWriter::new().map_err(anyhow::Error::new)?),
        };
        Ok(Self { output, table })
    }

    /// Is a person watching results scroll by?
    pub(super) fn on_screen(&self) -> bool {
        self.output.on_screen()
    }

    /// Writes a document behind the others.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(super) fn add(&mut self, rendered: Rendered, recipe: &str) -> Result<(), Failure> {
        match (rendered, &mut self.table) {
            (Rendered::Bytes(bytes), _) => self.output.write(&bytes),
            (Rendered::Row { id, url, imprint }, Some(table)) => {
                table.push(&id, url.as_deref(), recipe, &imprint).map_err(anyhow::Error::new)?;
                let ready = table.ready();
                if ready.is_empty() { Ok(()) } else { self.output.write(&ready) }
            }
            (Rendered::Row { .. }, None) => Ok(()),
        }
    }

    /// Brings everything to its place.
    ///
    /// # Errors
    ///
    /// As for [`add`](Self::add).
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if let Some(table) = self.table.take() {
            let last = table.finish().map_err(anyhow::Error::new)?;
            self.output.write(&last)?;
        }
        self.output.finish()
    }
}
