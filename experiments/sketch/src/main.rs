//! Compares sketches of 64 or 128 bytes per page for confirming pairs.
//!
//! Prints Markdown: error on synthetic sets of chosen size and similarity, error and wrong decisions on pairs of real
//! pages if folders are given, and time per page. Errors are in thousandths of Jaccard similarity.
//! `docs/internals/sketch-choice.md` has the conclusion. [`minima`] and [`method`] contain the candidates,
//! [`synthetic`] and [`real`] the sets, [`tables`] prints.

mod errors;
mod method;
mod minima;
mod real;
mod synthetic;
mod tables;

use anyhow::Result;
use clap::Parser;
use std::io::{Write, stdout};
use std::path::PathBuf;

/// Measures similarity sketches at equal storage
#[derive(Parser)]
struct Arguments {
    /// Folder whose subfolders contain docs.jsonl.zst and refpairs.tsv.zst
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Pairs of synthetic sets for each size and similarity
    #[arg(long, default_value_t = 400)]
    trials: u64,
    /// Sizes of a sketch in bytes
    #[arg(long, value_delimiter = ',', default_values_t = [64, 128])]
    bytes: Vec<usize>,
    /// Subfolders of DIR to read
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "debdocs,web-uci,phpdoc,cjk-lohelp",
        value_name = "NAME"
    )]
    sets: Vec<String>,
    /// Only methods whose name contains this
    #[arg(long, default_value = "", value_name = "TEXT")]
    only: String,
    /// Also print bias and error of every size and similarity
    #[arg(long)]
    full: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut out = stdout().lock();
    let mut real = Vec::new();
    match &arguments.data {
        None => writeln!(out, "No --data: the tables of real pairs are left out.\n")?,
        Some(folder) => {
            for name in &arguments.sets {
                real.push(real::RealSet::read(&folder.join(name))?);
            }
            tables::describe(&mut out, &real)?;
        }
    }
    for &bytes in &arguments.bytes {
        let mut methods = method::all(bytes);
        methods.retain(|method| method.name().contains(&arguments.only));
        writeln!(out, "## {bytes} bytes\n")?;
        let cells = synthetic::cells(&methods, arguments.trials);
        tables::synthetic(&mut out, &methods, &cells)?;
        if arguments.full {
            tables::every_cell(&mut out, &methods, &cells)?;
        }
        if !real.is_empty() {
            tables::real(&mut out, &methods, &real)?;
        }
        tables::time(&mut out, &methods)?;
    }
    tables::stated_error(&mut out, arguments.trials, &real)?;
    Ok(())
}
