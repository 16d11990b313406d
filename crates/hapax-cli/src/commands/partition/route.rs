//! `hapax partition route`: prints where pages are stored, and where new ones must be sent.

use super::pages::PageArguments;
use crate::failure::{Failure, io_error};
use crate::overwriting::ResultFile;
use crate::progress::Progress;
use crate::readable;
use clap::Args;
use hapax_partition::Mapping;
use serde_json::json;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest possible mapping is far smaller.
const MOST_BYTES: u64 = 64 << 20;

/// Print which machine stores a page, and which machines a new page must visit
#[derive(Args, Debug)]
#[command(after_help = "\
A line has id, language, cell and machine that store the page, cells and machines that a new page
must visit; columns are separated by tabs, lists by commas. Pages without words are in the first
cell of no language.

Examples:
  hapax partition route new.jsonl --mapping mapping.toml
  hapax partition route crawl/*.warc.gz --mapping mapping.toml --json --out routes.jsonl")]
pub(super) struct Arguments {
    #[command(flatten)]
    pages: PageArguments,

    /// The file that `hapax partition learn` wrote
    #[arg(long, value_name = "FILE")]
    mapping: PathBuf,

    /// Write JSON objects
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    out: ResultFile,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.pages.spare("--out", arguments.out.path())?;
    arguments.out.check([&arguments.mapping])?;
    let fingerprinter = arguments.pages.fingerprinter()?;
    let mapping = read(&arguments.mapping)?;
    let recipe = fingerprinter.recipe_id().to_string();
    if mapping.recipe() != recipe {
        return Err(Failure::Run(anyhow::anyhow!(
            "{} was learnt with the words of {}, --recipe is {recipe}: use that recipe, or learn again",
            readable::path(&arguments.mapping),
            mapping.recipe()
        )));
    }
    let mut output = arguments.out.open()?;
    let mut progress = Progress::start(None, arguments.pages.reading.quiet, output.on_screen());
    arguments.pages.each(&fingerprinter, &mut progress, |page| {
        let placed = mapping.place(&page.features);
        let (cell, cells) = (mapping.cell(&placed), mapping.cells_near(&placed));
        let (machine, machines) = (mapping.machine(cell), mapping.machines(&cells));
        let language = mapping.parts().get(usize::from(placed.part));
        let language = language.map_or("", |part| part.language.as_str());
        let line = if arguments.json {
            let route = json!({
                "id": page.id, "language": language, "lengths": placed.lengths.lengths(),
                "cell": cell, "machine": machine, "cells": cells, "machines": machines,
            });
            route.to_string()
        } else {
            format!(
                "{}\t{}\t{cell}\t{machine}\t{}\t{}",
                readable::harmless(&page.id),
                if language.is_empty() { "-" } else { language },
                joined(&cells),
                joined(&machines)
            )
        };
        output.line(&line)
    })?;
    output.finish()?;
    progress.finish(&hapax_corpus::Ignored::default());
    Ok(())
}

fn joined<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

fn read(path: &Path) -> Result<Mapping, Failure> {
    let mut bytes = Vec::new();
    let read = hapax_corpus::open_file(path)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| io_error("read", path, error))?;
    let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MOST_BYTES);
    let text = text.ok_or_else(|| {
        anyhow::anyhow!("{} is not a mapping: not a small UTF-8 text", readable::path(path))
    })?;
    Mapping::from_toml(&text)
        .map_err(|e| Failure::Run(anyhow::Error::new(e).context(readable::path(path))))
}
