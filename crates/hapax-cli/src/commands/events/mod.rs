//! `hapax events`: prints the changes of a repository in order.

use crate::failure::Failure;
use crate::output::{self, Output};
use crate::repositories::StoreArguments;
use crate::repositories::answers::change;
use clap::Args;
use hapax_client::wire::Event;
use serde::Serialize;
use std::time::Duration;

/// Number of events read at a time.
const PIECE: usize = 1000;

/// List or follow the changes of a repository
///
/// Every change has a number, without gaps. Remember the last one, and continue with --after.
#[derive(Args, Debug)]
#[command(after_help = "\
With --json each line is an object with sequence, change (joined, left, merged, split, winner,
changed, gone, redirected, returned), at (the time, RFC 3339), group, other_group, url and
other_url; fields that do not apply are null. In a merge, group is the one that ended and
other_group the one that has its pages.

A repository that was restored, or whose standby became the primary, has another history after
some event. Its service then refuses --after beyond that event, unless --epoch says which history
event N was read from: the epoch in the line of event N with --json.

--follow opens the repository only while it reads, so that other commands can use it between two
reads.

Examples:
  hapax events seen
  hapax events seen --after 1200 --json
  hapax events seen --after 1200 --follow
  hapax events --server http://127.0.0.1:8017 --follow")]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,

    /// Only events after this number
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,

    /// The epoch that --json printed with event N of --after; for a service
    #[arg(long, value_name = "EPOCH", requires = "after")]
    epoch: Option<String>,

    /// At most this many
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    limit: u64,

    /// Keep printing new events
    #[arg(long)]
    follow: bool,

    /// With --follow, seconds between two reads
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, requires = "follow", value_parser = seconds)]
    every: f64,

    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'e> {
    #[serde(flatten)]
    event: &'e Event,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<String>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("seconds are 0.01 to 86400".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut events = arguments.store.events(arguments.epoch.as_deref())?;
    let mut output = Output::open(None)?;
    let (mut after, mut left) = (arguments.after, arguments.limit);
    while left > 0 {
        let piece = left.min(PIECE as u64) as usize;
        let found = match events.next(after, piece)? {
            Some(found) => found,
            None if arguments.follow => Vec::new(),
            None => return Err(in_use(arguments)),
        };
        for event in &found {
            after = event.sequence;
            left -= 1;
            output.line(&match arguments.json {
                true => output::json(&Line { event, epoch: events.epoch() })?,
                false => change(event),
            })?;
        }
        // A service may return fewer events than requested.
        if !found.is_empty() {
            continue;
        }
        if !arguments.follow {
            break;
        }
        output.flush()?;
        std::thread::sleep(Duration::from_secs_f64(arguments.every));
    }
    output.finish()
}

fn in_use(arguments: &Arguments) -> Failure {
    Failure::Run(anyhow::anyhow!(
        "repository {} is in use; --follow waits for it, or ask the service that has it open \
         with --server URL",
        crate::readable::path(&arguments.store.store)
    ))
}
