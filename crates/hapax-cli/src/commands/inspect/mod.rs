//! `hapax inspect`: what a repository is, whether it is sound, and how to mend it.
//!
//! Describing and checking change nothing. The exit code is 1 when something is wrong, or was and
//! could not be mended. What is checked and mended is the store's to know.

use crate::failure::Failure;
use crate::output::Output;
use crate::readable::{self, count, counted, harmless};
use crate::repositories::StoreArguments;
use crate::repositories::local::{Local, failure};
use clap::Args;
use hapax_store::{
    IndexOrigin, Integrity, Repair, Settings, Stats, Unreadable, check_folder, repair_folder,
};
use serde::Serialize;

/// Describe a repository, check it, mend it
///
/// A check reads everything and compares whatever is said twice: the file's checksums, addresses,
/// records, places, groups and their winners, the order of events, and the index. It changes nothing
/// and ends with code 1 if anything is wrong.
#[derive(Args, Debug)]
#[command(after_help = "\
--repair mends what follows from something else: the index, addresses, places and lists, winners and
counts of groups, counters, records that nothing leads to. What does not, a page record that cannot be
read, is refused and told, and then nothing is changed; with --forget-unreadable such pages are
forgotten and the rest is mended.

Examples:
  hapax inspect seen
  hapax inspect seen --check
  hapax inspect seen --repair")]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,

    /// Verify everything
    #[arg(long)]
    check: bool,

    /// Mend what can be derived, then verify everything
    #[arg(long)]
    repair: bool,

    /// With --repair, forget pages whose record cannot be read
    #[arg(long, requires = "repair")]
    forget_unreadable: bool,

    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
///
/// The repository cannot be opened, or something is wrong with it.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = &arguments.store.store;
    if arguments.repair {
        let unreadable = match arguments.forget_unreadable {
            true => Unreadable::Forget,
            false => Unreadable::Refuse,
        };
        let repair = repair_folder(folder, unreadable).map_err(failure)?;
        tell(arguments, &RepairAnswer::new(&repair), &repair_text(&repair))?;
        return repair_outcome(arguments, &repair);
    }
    if arguments.check {
        let found = check_folder(folder).map_err(failure)?;
        tell(arguments, &CheckAnswer::new(&found), &check_text(&found))?;
        return sound(arguments, &found);
    }
    let store = Local::open(folder)?.store;
    let answer = Description::new(&store.settings(), &store.stats().map_err(failure)?);
    let origin = match store.index_origin() {
        IndexOrigin::File | IndexOrigin::New => "from its file",
        IndexOrigin::Rebuilt { .. } => "built from the records",
    };
    tell(arguments, &answer, &answer.text(origin))
}

fn tell(arguments: &Arguments, answer: &impl Serialize, text: &str) -> Result<(), Failure> {
    let mut output = Output::open(None)?;
    let mut text = match arguments.json {
        true => serde_json::to_string(answer).map_err(anyhow::Error::new)?,
        false => text.to_owned(),
    };
    text.push('\n');
    output.write(text.as_bytes())?;
    output.finish()
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

#[derive(Serialize)]
struct CheckAnswer<'a> {
    clean: bool,
    pages: u64,
    groups: u64,
    events: u64,
    problems: u64,
    told: &'a [String],
}

impl<'a> CheckAnswer<'a> {
    fn new(found: &'a Integrity) -> Self {
        let Integrity { pages, groups, events, problems, ref told, .. } = *found;
        Self { clean: found.is_clean(), pages, groups, events, problems, told }
    }
}

fn listed(text: &mut String, told: &[String], all: u64) {
    for what in told {
        text.push_str(&format!("\n  {}", harmless(what)));
    }
    if all > told.len() as u64 {
        text.push_str(&format!("\n  and {} more", count(all - told.len() as u64)));
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
        listed(&mut text, &found.told, found.problems);
    }
    text
}

#[derive(Serialize)]
struct RepairAnswer<'a> {
    refused: bool,
    mended: u64,
    mended_told: &'a [String],
    lost: u64,
    lost_told: &'a [String],
    check: Option<CheckAnswer<'a>>,
}

impl<'a> RepairAnswer<'a> {
    fn new(repair: &'a Repair) -> Self {
        Self {
            refused: repair.is_refused(),
            mended: repair.mended.count,
            mended_told: &repair.mended.told,
            lost: repair.lost.count,
            lost_told: &repair.lost.told,
            check: repair.check.as_ref().map(CheckAnswer::new),
        }
    }
}

fn repair_text(repair: &Repair) -> String {
    let mut text = String::new();
    if repair.lost.count > 0 {
        text.push_str("cannot be had again:");
        listed(&mut text, &repair.lost.told, repair.lost.count);
        text.push('\n');
    }
    match repair.mended.count {
        0 => text.push_str("nothing mended"),
        _ => {
            text.push_str("mended:");
            listed(&mut text, &repair.mended.told, repair.mended.count);
        }
    }
    if let Some(check) = &repair.check {
        text.push('\n');
        text.push_str(&check_text(check));
    }
    text
}

#[derive(Serialize)]
struct Description {
    recipe: String,
    within: u32,
    min_similarity: f64,
    rules: String,
    scope: String,
    markets: std::collections::BTreeMap<String, String>,
    pages: u64,
    with_content: u64,
    groups: u64,
    last_event: u64,
    commits: u64,
    file_bytes: u64,
    index_bytes: u64,
}

impl Description {
    fn new(settings: &Settings, stats: &Stats) -> Self {
        let markets = settings.markets.iter();
        Self {
            recipe: settings.recipe.to_string(),
            within: settings.within.bits(),
            min_similarity: settings.min_similarity,
            rules: settings.rules.to_string(),
            scope: settings.scope.to_string(),
            markets: markets.map(|(name, rules)| (name.clone(), rules.to_string())).collect(),
            pages: stats.pages,
            with_content: stats.with_content,
            groups: stats.groups,
            last_event: stats.last_event,
            commits: stats.commits,
            file_bytes: stats.file_bytes,
            index_bytes: stats.index_bytes,
        }
    }

    fn text(&self, index_origin: &str) -> String {
        let mut rows = vec![
            ("recipe", self.recipe.clone()),
            ("matching", format!("within {} bits, {} alike", self.within, self.min_similarity)),
            ("rules", self.rules.clone()),
            ("scope", self.scope.clone()),
        ];
        let markets = self.markets.iter();
        rows.extend(markets.map(|(name, rules)| ("market", format!("{name}: {rules}"))));
        rows.extend([
            ("pages", format!("{}, {} with content", count(self.pages), count(self.with_content))),
            ("groups", count(self.groups)),
            ("last event", count(self.last_event)),
            ("commits", count(self.commits)),
            ("file", readable::bytes(self.file_bytes)),
            ("index", format!("{} in memory, {index_origin}", readable::bytes(self.index_bytes))),
        ]);
        let rows: Vec<String> =
            rows.into_iter().map(|(name, value)| format!("{name:<11} {value}")).collect();
        rows.join("\n")
    }
}
