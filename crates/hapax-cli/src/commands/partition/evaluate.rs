//! `hapax partition evaluate`: compares mappings of a collection.
//!
//! The study of `hapax-partition` tries them on an even sample; this file prints the result as a table, JSON or a
//! page. Checks all settings before it reads a document.

use super::pages::PageArguments;
use super::{BoundArguments, refused};
use crate::failure::Failure;
use crate::output::{self, write_file};
use crate::overwriting;
use crate::progress::{Progress, say};
use clap::Args;
use hapax_partition::{MappingSettings, Study, StudySettings, report, study};
use serde_json::json;
use std::path::PathBuf;

/// Try mappings on a collection: balance, messages saved, pairs lost, stability
///
/// Learns from half of the pages; the others are stored or new. True pairs come from exact
/// comparison without partitioning; a mapping loses the pairs that it does not compare.
#[derive(Args, Debug)]
#[command(after_help = "\
Columns:
  imbalance   pages of the fullest machine over the average
  avoided     share of messages to other machines that are not sent
  lost        pairs of a new and a stored page, at least TAU alike, that are never compared
  speed-up    comparisons of one machine with everything over those of the busiest machine
  variation   coefficient of variation of the imbalance over parts of the collection

Examples:
  hapax partition evaluate crawl/*.warc.gz --html partition.html
  hapax partition evaluate pages.jsonl --machines 8,16 --dimensions 3 --rho 1.1 --json")]
pub(super) struct Arguments {
    #[command(flatten)]
    pages: PageArguments,

    /// Numbers of machines
    #[arg(long, value_name = "M", value_delimiter = ',', default_values_t = [2, 4, 8, 16, 32, 64])]
    machines: Vec<u32>,

    /// Numbers of lengths of a page, 1 to 4
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 3])]
    dimensions: Vec<usize>,

    #[command(flatten)]
    bounds: BoundArguments,

    /// Use this many pages, spread evenly over all
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    sample: usize,

    /// Number of these that are new
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    new: usize,

    /// Parts of the collection, in its order, that imitate its change
    #[arg(long, value_name = "N", default_value_t = 10)]
    parts: usize,

    /// Write a page with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    replacing: overwriting::Replacing,

    /// Write JSON to standard output
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    for &machines in &arguments.machines {
        for &dimensions in &arguments.dimensions {
            let (tau, rho) = (arguments.bounds.tau, arguments.bounds.rho);
            let how = MappingSettings { dimensions, machines, tau, rho, by_language: true };
            how.check().map_err(refused)?;
        }
    }
    arguments.pages.spare("--html", arguments.html.as_deref())?;
    arguments.replacing.check("--html", arguments.html.as_deref())?;
    let fingerprinter = arguments.pages.fingerprinter()?;
    let quiet = arguments.pages.reading.quiet;
    let mut progress = Progress::start(None, quiet, false);
    let pages = arguments.pages.sample(&fingerprinter, &mut progress, arguments.sample)?;
    let settings = StudySettings {
        dimensions: arguments.dimensions.clone(),
        machines: arguments.machines.clone(),
        tau: arguments.bounds.tau,
        rho: arguments.bounds.rho,
        by_language: !arguments.bounds.one_language,
        new: arguments.new,
        parts: arguments.parts,
    };
    progress.step("trying mappings");
    let mut shown = 0;
    let study = study(&pages, &settings, &mut |share| {
        let percent = (100.0 * share) as u64;
        progress.percent(percent.saturating_sub(shown));
        shown = shown.max(percent);
    });
    progress.clear();
    let study = study.map_err(refused)?;
    if let Some(path) = &arguments.html {
        write_file(path, report::page(&study, &settings).as_bytes())?;
    }
    output::print(&if arguments.json { as_json(&study, &settings) } else { table(&study) })?;
    if !quiet {
        say(&report::tried_on(&study));
    }
    Ok(())
}

fn table(study: &Study) -> String {
    output::table(&report::COLUMNS, study.trials.iter().map(report::cells), 0)
}

fn as_json(study: &Study, settings: &StudySettings) -> String {
    let trials: Vec<_> = study
        .trials
        .iter()
        .map(|trial| {
            let it = &trial.quality;
            json!({
                "dimensions": trial.dimensions, "machines": trial.machines, "rho": trial.rho,
                "cells": trial.cells, "imbalance": it.imbalance, "avoided": it.avoided,
                "lost": 1.0 - it.recall, "speed_up": it.speed_up(), "comparisons": it.work,
                "comparisons_of_busiest": it.slowest, "comparisons_without": it.all,
                "variation": trial.variation,
            })
        })
        .collect();
    let all = json!({
        "sample": study.sample, "stored": study.stored, "new": study.new, "pairs": study.pairs,
        "languages": study.languages.iter().map(|(code, pages)| json!({"code": code, "pages": pages})).collect::<Vec<_>>(),
        "tau": settings.tau, "trials": trials,
    });
    format!("{all:#}\n")
}
