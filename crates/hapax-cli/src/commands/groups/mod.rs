//! `hapax groups`: turns pairs into groups with winners.

use crate::commands::fingerprint_files::{failed, open};
use crate::failure::Failure;
use crate::output;
use crate::overwriting::ResultFile;
use crate::progress::say;
use crate::readable::counted;
use clap::Args;
use hapax::group::Rules;
use hapax::group::rules::DEFAULT_RULES;
use hapax_dedup::stages::escaped;
use hapax_dedup::stages::grouping::Pairs;
use serde::Serialize;
use std::path::PathBuf;

/// Group documents by their pairs, and choose which copy to keep
///
/// Reads what `hapax pairs` writes. A document is removed only if it is paired with the kept one.
#[derive(Args, Debug)]
#[command(after_help = "\
Writes lines of group, outcome (kept, exact, near), distance, similarity and name, separated by
tabs, the kept document of each group first; with --json, objects with the winner and the reason as
well.

Example:
  hapax fingerprint crawl/ --json | hapax pairs - | hapax groups - --keep shortest-url")]
pub(crate) struct Arguments {
    /// What `hapax pairs` wrote, or `-` for standard input
    #[arg(value_name = "PAIRS")]
    input: PathBuf,

    /// Which copy to keep: rules, most important first; names count as addresses where none is
    /// known
    #[arg(long, value_name = "RULES", default_value = DEFAULT_RULES, value_parser = super::dedup::rules)]
    keep: Rules,

    /// One JSON object a line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    out: ResultFile,

    /// No summary; errors are still printed
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    group: usize,
    outcome: &'static str,
    distance: u8,
    similarity: f32,
    document: &'a str,
    winner: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.out.check([&arguments.input])?;
    let mut reader = open(&arguments.input)?;
    let pairs = Pairs::read(&mut reader).map_err(|error| failed(&arguments.input, error))?;
    let grouping = pairs.group(&arguments.keep).map_err(anyhow::Error::new)?;
    let facts = pairs.facts();
    let mut output = arguments.out.open()?;
    let mut removed = 0;
    for (group, star) in grouping.stars().iter().enumerate() {
        for &page in grouping.members(star) {
            let placement = &grouping.placements()[page as usize];
            removed += u64::from(placement.outcome.removable());
            let reason = grouping.reason(&arguments.keep, &facts, page);
            let line = Line {
                group,
                outcome: placement.outcome.name(),
                distance: placement.distance,
                similarity: placement.similarity,
                document: &pairs.names[page as usize],
                winner: &pairs.names[star.winner as usize],
                reason: reason.map(|it| it.to_string()),
            };
            output.line(&match arguments.json {
                true => output::json(&line)?,
                false => format!(
                    "{}\t{}\t{}\t{:.4}\t{}",
                    line.group,
                    line.outcome,
                    line.distance,
                    line.similarity,
                    escaped(line.document)
                ),
            })?;
        }
    }
    output.finish()?;
    if !arguments.quiet {
        say(&format!(
            "{} of {} can go, in {}",
            counted(removed, "document"),
            counted(pairs.names.len() as u64, "paired document"),
            counted(grouping.stars().len() as u64, "group"),
        ));
    }
    Ok(())
}
