//! Output formats of fingerprints: lines, JSON lines, CSV, a Parquet table, or a collection for `hapax near`.
//!
//! A document is rendered on any thread ([`Rendered`]) and written in order ([`Sink`]). A new format is a variant of
//! each.

use crate::commands::near::failed;
use crate::failure::Failure;
use crate::leftovers::Making;
use crate::output::{Growing, Output};
use clap::ValueEnum;
use hapax::fingerprint::Signature;
use hapax_corpus::hpx::Appender;
use hapax_dedup::stages::fingerprints::csv;
use hapax_dedup::stages::fingerprints::record::{PageRecord, line};
use hapax_dedup::stages::fingerprints::table::TableWriter;
use std::path::Path;

/// A format of fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Digits, two spaces, name
    Lines,
    /// A JSON object a line
    Jsonl,
    /// The same with the sums of the bits
    #[value(skip)]
    JsonlWithSums,
    /// Comma-separated values with a header
    Csv,
    /// A table
    Parquet,
    /// A collection that `hapax near` searches
    Hpx,
}

/// A document in its output format.
pub(super) enum Rendered {
    Bytes(Vec<u8>),
    /// An entry of a file of fingerprints.
    Entry {
        bits: u64,
        name: Vec<u8>,
    },
    /// Not written, because it has no fingerprint.
    Nothing,
    Row {
        id: String,
        url: Option<String>,
        signature: Box<Signature>,
    },
}

impl Rendered {
    /// Renders a document.
    pub(super) fn of(
        format: Format,
        name: &[u8],
        url: Option<String>,
        recipe: &str,
        signature: Signature,
    ) -> Result<Self, anyhow::Error> {
        let id = || String::from_utf8_lossy(name).into_owned();
        Ok(match format {
            Format::Lines => Self::Bytes(line(name, &signature)),
            Format::Jsonl | Format::JsonlWithSums => {
                let mut record = PageRecord::named(id(), url, recipe, &signature);
                if let Format::JsonlWithSums = format {
                    record = record.with_sums(&signature);
                }
                let mut line = serde_json::to_vec(&record)?;
                line.push(b'\n');
                Self::Bytes(line)
            }
            Format::Csv => {
                Self::Bytes(csv::record(&id(), url.as_deref(), recipe, &signature).into_bytes())
            }
            Format::Parquet => Self::Row { id: id(), url, signature: Box::new(signature) },
            Format::Hpx => match signature.comparable {
                Some(comparable) => {
                    Self::Entry { bits: comparable.fingerprint.to_bits(), name: name.to_vec() }
                }
                None => Self::Nothing,
            },
        })
    }
}

pub(super) struct Sink {
    output: Output,
    collection: Option<(Appender, Making, Growing)>,
    table: Option<TableWriter>,
}

impl Sink {
    /// Opens a file, or standard output.
    pub(super) fn open(format: Format, path: Option<&Path>, recipe: &str) -> Result<Self, Failure> {
        let refused = |what: &str| Failure::Arguments(format!("{what}: add --out FILE"));
        if let Format::Hpx = format {
            let path = path.ok_or_else(|| refused("a .hpx file cannot be a stream"))?;
            let growing = Growing::of(path)?;
            let create = || Appender::create(growing.path(), recipe).map_err(failed);
            let (appender, making) = Making::of(create, Appender::temporaries)?;
            let collection = Some((appender, making, growing));
            return Ok(Self { output: Output::open(None)?, collection, table: None });
        }
        let mut output = Output::open(path)?;
        if let Format::Csv = format {
            output.write(csv::HEADER.as_bytes())?;
        }
        let table = match format {
            Format::Parquet if output.on_screen() => {
                return Err(refused("a Parquet table is nothing for a screen"));
            }
            Format::Parquet => Some(TableWriter::new().map_err(anyhow::Error::new)?),
            _ => None,
        };
        Ok(Self { output, collection: None, table })
    }

    /// Whether results are printed on a terminal.
    pub(super) fn on_screen(&self) -> bool {
        self.output.on_screen()
    }

    /// Appends a document.
    pub(super) fn add(&mut self, rendered: Rendered, recipe: &str) -> Result<(), Failure> {
        match rendered {
            Rendered::Nothing => Ok(()),
            Rendered::Bytes(bytes) => self.output.write(&bytes),
            Rendered::Entry { bits, name } => match &mut self.collection {
                Some((collection, ..)) => {
                    collection.push(bits, Some(&name)).map(drop).map_err(failed)
                }
                None => Ok(()),
            },
            Rendered::Row { id, url, signature } => {
                let Some(table) = &mut self.table else { return Ok(()) };
                table.push(&id, url.as_deref(), recipe, &signature).map_err(anyhow::Error::new)?;
                let ready = table.ready();
                if ready.is_empty() { Ok(()) } else { self.output.write(&ready) }
            }
        }
    }

    /// Completes and renames the output.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if let Some(table) = self.table.take() {
            let last = table.finish().map_err(anyhow::Error::new)?;
            self.output.write(&last)?;
        }
        if let Some((collection, _making, growing)) = self.collection.take() {
            collection.finish().map_err(failed)?;
            growing.finish()?;
        }
        self.output.finish()
    }
}
