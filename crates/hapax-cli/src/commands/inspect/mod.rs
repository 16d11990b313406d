//! `hapax inspect`: describes a repository, checks its integrity, and repairs it.
//!
//! Describing and checking change nothing. The exit code is 1 if damage was found or could not be repaired. The store
//! knows what is checked and repaired.

use crate::failure::Failure;
use crate::output;
use crate::readable::{self, count, counted, harmless};
use crate::repositories::{StoreArguments, failure};
use clap::Args;
use hapax_client::repository::Description;
use hapax_client::wire::{Checked, Repaired};
use hapax_store::{Integrity, Repair, StoreError, Unreadable, check_folder, repair_folder};

/// Describe, check or repair a repository
///
/// A check reads everything and compares redundant data: checksums, addresses, records, places,
/// groups and their winners, the order of events, and the index. It changes nothing; the exit code
/// is 1 if anything is wrong.
#[derive(Args, Debug)]
#[command(after_help = "\
--repair rebuilds what can be derived: the index, addresses, places and lists, winners and counts
of groups, counters, unreachable records. If the file has damaged pages, every row that can be read
goes into a new file, and the damaged file is kept as pages.redb.damaged. If page records cannot be
read, they are listed and nothing is changed; with --forget-unreadable such pages are forgotten and
the rest is repaired.

Examples:
  hapax inspect seen
  hapax inspect --server http://127.0.0.1:8017
  hapax inspect seen --check
  hapax inspect seen --repair")]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,

    /// Verify everything
    #[arg(long)]
    check: bool,

    /// Rebuild what can be derived, then check everything
    #[arg(long)]
    repair: bool,

    /// With --repair, forget pages whose record cannot be read
    #[arg(long, requires = "repair")]
    forget_unreadable: bool,

    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.repair {
        let folder = arguments.store.folder("--repair")?;
        let unreadable = match arguments.forget_unreadable {
            true => Unreadable::Forget,
            false => Unreadable::Refuse,
        };
        let repair = repair_folder(folder, unreadable).map_err(unreadable_store)?;
        output::answer(arguments.json, &Repaired::from(&repair), &repair_text(&repair))?;
        return repair_outcome(arguments, &repair);
    }
    if arguments.check {
        let folder = arguments.store.folder("--check")?;
        let found = check_folder(folder).map_err(failure)?;
        output::answer(arguments.json, &Checked::from(&found), &check_text(&found))?;
        return sound(arguments, &found);
    }
    let answer = arguments.store.open()?.describe()?;
    output::answer(arguments.json, &answer, &description_text(&answer))
}

/// Drops the advice to repair, which other commands give.
fn unreadable_store(error: StoreError) -> Failure {
    match error {
        StoreError::Damaged { file, what } => Failure::Run(anyhow::anyhow!(
            "{} is damaged beyond what can be mended: {}; restore a snapshot, or feed the pages to a \
             new repository",
            readable::path(&file),
            harmless(&what)
        )),
        other => failure(other),
    }
}

fn sound(arguments: &Arguments, found: &Integrity) -> Result<(), Failure> {
    if found.is_clean() {
        return Ok(());
    }
    let store = readable::path(&arguments.store.store);
    Err(Failure::Run(anyhow::anyhow!(
        "repository {store} contradicts itself; `hapax inspect {store} --repair` mends what can be \
         derived"
    )))
}

fn repair_outcome(arguments: &Arguments, repair: &Repair) -> Result<(), Failure> {
    match &repair.check {
        Some(found) => sound(arguments, found),
        None => Err(Failure::Run(anyhow::anyhow!(
            "repository {} was not changed: what is lost cannot be derived; restore a snapshot, or \
             add --forget-unreadable and fetch those pages again",
            readable::path(&arguments.store.store)
        ))),
    }
}

fn listed(text: &mut String, details: &[String], all: u64) {
    for what in details {
        text.push_str(&format!("\n  {}", harmless(what)));
    }
    if all > details.len() as u64 {
        text.push_str(&format!("\n  and {} more", count(all - details.len() as u64)));
    }
}

fn check_text(found: &Integrity) -> String {
    let mut text = format!(
        "{}, {}, {} checked: ",
        counted(found.pages, "page"),
        counted(found.groups, "group"),
        counted(found.events, "event"),
    );
    if found.is_clean() {
        text.push_str("sound");
    } else {
        text.push_str(&counted(found.problems, "contradiction"));
        listed(&mut text, &found.details, found.problems);
    }
    text
}

fn repair_text(repair: &Repair) -> String {
    let mut text = String::new();
    if repair.lost.count > 0 {
        text.push_str("cannot be had again:");
        listed(&mut text, &repair.lost.details, repair.lost.count);
        text.push('\n');
    }
    match repair.mended.count {
        0 => text.push_str("nothing mended"),
        _ => {
            text.push_str("mended:");
            listed(&mut text, &repair.mended.details, repair.mended.count);
        }
    }
    if let Some(check) = &repair.check {
        text.push('\n');
        text.push_str(&check_text(check));
    }
    text
}

fn description_text(of: &Description) -> String {
    let Description { settings, stats, index_origin } = of;
    let (within, similarity) = (settings.within, settings.min_similarity);
    let mut rows = vec![
        ("recipe", settings.recipe.id.clone()),
        ("matching", format!("within {within} bits, {similarity} alike")),
        ("rules", settings.rules.clone()),
        ("scope", settings.scope.clone()),
    ];
    let markets = settings.markets.iter();
    rows.extend(markets.map(|(name, rules)| ("market", format!("{name}: {rules}"))));
    rows.extend([
        (
            "pages",
            format!("{}, {} with content", count(stats.pages), count(stats.pages_with_content)),
        ),
        ("groups", count(stats.groups)),
        ("last event", count(stats.events)),
        ("commits", count(stats.commits)),
        ("file", readable::bytes(stats.file_bytes)),
        ("index", format!("{} in memory, {index_origin}", readable::bytes(stats.index_bytes))),
    ]);
    output::columns(&rows)
}
