//! Runs random operations on a repository whose process is killed, whose disk fails, fills up or is slow, and whose
//! clock jumps, and compares it with a model in memory.
//!
//! ```text
//!   script ──► operations ──► a process: the library or the service ──► its end
//!     │                                                                  │
//!     └──────► model  ◄── as many as were acknowledged, and then some ◄──┘
//! ```
//!
//! An acknowledged operation must have happened with the model's answer. Those in progress at the end of a process
//! may have happened, in order and each completely. [`Repository::verify`] must find nothing. The seed determines
//! operations and faults, but not where a kill hits; so repeat a failure by running its seed again.
#![expect(clippy::print_stdout, reason = "a program that says how far it has come")]

mod child;
mod drive;
mod line;
mod model;
mod operation;

use anyhow::{Context, Result, bail, ensure};
use child::DiskFault;
use clap::{Args, Parser, Subcommand};
use drive::{End, Lived};
use hapax_store::Repository;
use line::{FAMILIES, MEMBERS, recipe, settings, url};
use model::{Model, Status};
use operation::{Operation, Script};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A repository under faults, compared with a model.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run lives in sequence, up to a time or a number
    Run(RunOptions),
    /// The library's process, behind a pipe
    #[command(hide = true)]
    Library {
        folder: PathBuf,
        #[arg(long, value_enum, default_value_t = DiskFault::None)]
        fault: DiskFault,
        #[arg(long, default_value_t = 0)]
        at: u64,
    },
    /// The service's process
    #[command(hide = true)]
    Service { folder: PathBuf },
}

#[derive(Args)]
struct RunOptions {
    /// Determines everything except the time of a kill
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Minutes
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Maximum number of lives
    #[arg(long, default_value_t = u64::MAX)]
    lives: u64,
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Run(options) => run(&options),
        Command::Library { folder, fault, at } => child::library(&folder, fault, at),
        Command::Service { folder } => child::service(&folder),
    }
}

#[derive(Debug, Default)]
struct Counts {
    /// By kind: number of lives, and of those in which the fault caused a failure.
    lives: BTreeMap<&'static str, (u64, u64)>,
    acknowledged: u64,
    /// Operations that were in progress at the end of a life and happened.
    happened: u64,
    /// Operations that were in progress and did not happen.
    lost: u64,
}

fn chosen_end(script: &mut Script, operations: usize) -> End {
    let random = &mut script.random;
    let answers = random.below(operations as u64 + 1) as usize;
    match random.below(20) {
        0..9 => End::Killed { answers },
        9..11 => End::Slow { answers: answers.min(6) },
        11..16 => {
            let faults =
                [DiskFault::Write, DiskFault::ShortWrite, DiskFault::Full, DiskFault::Sync];
            End::DiskFault(faults[random.below(4) as usize], random.below(120))
        }
        16..18 => End::Limited { kilobytes: random.below(8) },
        _ => End::Clean,
    }
}

fn run(options: &RunOptions) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let folder = scratch.path().join("store");
    drop(Repository::create(&folder, settings()?)?);
    let mut model = Model::new()?;
    let mut script = Script::new(options.seed);
    let mut counts = Counts::default();
    let start = Instant::now();
    let most = Duration::from_secs_f64(options.minutes * 60.0);
    let mut printed = 0;
    let mut life = 0;
    while life < options.lives && start.elapsed() < most {
        life += 1;
        let lived = one_life(&folder, &mut model, &mut script, &mut counts);
        lived.with_context(|| format!("seed {}, life {life}", options.seed))?;
        let minute = start.elapsed().as_secs() / 60;
        if minute > printed {
            printed = minute;
            println!("minute {minute}: {life} lives, {} acknowledged", counts.acknowledged);
        }
    }
    let pages = Repository::open(&folder, Some(&recipe()?))?.stats()?.pages;
    println!("seed {}, {life} lives in {:.0} s", options.seed, start.elapsed().as_secs_f64());
    for (kind, (lives, failed)) in &counts.lives {
        println!("  {lives:>6} {kind}; {failed} were refused something");
    }
    println!("{} operations acknowledged, none lost", counts.acknowledged);
    println!(
        "{} under way at an end: {} had happened, {} had not, none in part",
        counts.happened + counts.lost,
        counts.happened,
        counts.lost
    );
    println!("{} jumps of the clock", script.jumps);
    println!("{pages} of {} pages known at the end", FAMILIES * MEMBERS);
    Ok(())
}

fn one_life(
    folder: &Path,
    model: &mut Model,
    script: &mut Script,
    counts: &mut Counts,
) -> Result<()> {
    let count = 1 + script.random.below(40) as usize;
    let operations: Vec<Operation> = (0..count).map(|_| script.next()).collect();
    let end = chosen_end(script, count);
    let over_http =
        !matches!(end, End::DiskFault(..) | End::Slow { .. }) && script.random.below(3) == 0;
    let (asked, lived): (Vec<Operation>, Lived) = if over_http {
        let requests = drive::lines(operations);
        let lived = drive::service(folder, &requests, end, &mut script.random)?;
        (requests.into_iter().flatten().collect(), lived)
    } else {
        let lived = drive::library(folder, &operations, end, &mut script.random)?;
        (operations, lived)
    };
    let (lives, failed) = counts.lives.entry(kind(end, over_http)).or_default();
    *lives += 1;
    *failed += u64::from(lived.failure.is_some());
    if end == End::Clean {
        ensure!(lived.failure.is_none(), "nothing was wrong, and yet: {:?}", lived.failure);
        ensure!(lived.answers.len() == asked.len(), "not everything was answered");
    }
    ensure!(lived.answers.len() <= asked.len(), "more answers than questions");
    for (operation, answer) in asked.iter().zip(&lived.answers) {
        let expected = model.apply(operation)?;
        ensure!(*answer == expected, "{operation:?} was answered {answer}, not {expected}");
    }
    counts.acknowledged += lived.answers.len() as u64;
    resolve(folder, model, &asked[lived.answers.len()..], counts)
        .with_context(|| format!("{end:?}, over HTTP: {over_http}, failure: {:?}", lived.failure))
}

const fn kind(end: End, over_http: bool) -> &'static str {
    match (end, over_http) {
        (End::Clean, false) => "library, closed properly",
        (End::Clean, true) => "service, SIGTERM",
        (End::Killed { .. }, false) => "library, SIGKILL",
        (End::Killed { .. }, true) => "service, SIGKILL",
        (End::DiskFault(DiskFault::Full, _), _) => "library, disk full",
        (End::DiskFault(..), _) => "library, write or sync refused or cut short",
        (End::Slow { .. }, _) => "library, slow disk and SIGKILL",
        (End::Limited { .. }, false) => "library, file size limited",
        (End::Limited { .. }, true) => "service, file size limited",
    }
}

/// Determines how many of the operations in progress happened.
fn resolve(
    folder: &Path,
    model: &mut Model,
    under_way: &[Operation],
    counts: &mut Counts,
) -> Result<()> {
    let found = statuses(folder)?;
    let mut left = under_way.iter();
    loop {
        let expected = model.statuses()?;
        if expected == found {
            counts.lost += left.len() as u64;
            return Ok(());
        }
        let Some(operation) = left.next() else {
            let differs = (0..).zip(expected.iter().zip(&found)).find(|(_, (a, b))| a != b);
            bail!("the repository is like the model at no moment; first difference: {differs:?}");
        };
        model.apply(operation)?;
        counts.happened += 1;
    }
}

/// The status of every page in the repository, which must be intact.
fn statuses(folder: &Path) -> Result<Vec<Status>> {
    let store = Repository::open(folder, Some(&recipe()?)).context("it does not open again")?;
    let found = store.verify()?;
    ensure!(found.is_clean(), "it contradicts itself: {:?}", found.details);
    let mut all = Vec::new();
    for page in 0..FAMILIES * MEMBERS {
        let Some(info) = store.page(&url(page))? else {
            all.push(None);
            continue;
        };
        let mut urls = Vec::new();
        if let Some(group) = store.group(&url(page))? {
            urls.extend(group.pages.into_iter().map(|(_, url)| url));
            urls.sort();
            urls.insert(0, group.winner_url);
        }
        all.push(Some((urls, info.score.map(|score| score as u32), info.fetched)));
    }
    Ok(all)
}
