//! The tables of the file, and the row that identifies the file.
//!
//! Keys are numbers wherever order of arrival is order of writing, so a batch appends to the ends of the trees.
//! Only `urls` has unordered keys, which a batch sorts first.

use crate::codec::{ChangeBytes, GroupBytes, PlaceBytes, UntimedBytes};
use crate::confirm::{self, Confirm};
use crate::contents;
use crate::error::{Fault, Outcome};
use crate::frames::{self, Frames};
use crate::settings::Settings;
use hapax::fingerprint::MaxDistance;
use hapax::group::Rules;
use hapax::group::live::LiveOptions;
use hapax::similarity::Policy;
use redb::{ReadableTable, TableDefinition};
use std::collections::BTreeMap;

/// The format that is written, and the newest that can be read.
pub(crate) const FORMAT: u32 = 5;
/// Set while groups must elect winners again after an upgrade from an older format.
const CHOOSE_AGAIN: &str = "choose again";
/// Set while winners with equal texts must be merged after an upgrade from an older format.
const MERGE_TWINS: &str = "merge twins";
/// Prefix of the names of markets in `meta`.
const MARKET: &str = "market ";
/// File name in the folder.
pub const FILE: &str = "pages.redb";

pub(crate) const PAGES: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("pages");
pub(crate) const URLS: TableDefinition<'_, &str, u32> = TableDefinition::new("urls");
pub(crate) const NAMES: TableDefinition<'_, u32, &str> = TableDefinition::new("names");
/// Addresses of deleted pages that events still refer to: by number, with the sequence number of
/// the last event that can be about the page.
pub(crate) const FORMER: TableDefinition<'_, u32, (u64, &str)> = TableDefinition::new("former");
pub(crate) const PLACES: TableDefinition<'_, u32, &PlaceBytes> = TableDefinition::new("places");
pub(crate) const GROUPS: TableDefinition<'_, u32, &GroupBytes> = TableDefinition::new("groups");
/// Group (high bits) and page in one number.
pub(crate) const MEMBERS: TableDefinition<'_, u64, ()> = TableDefinition::new("members");
/// Target (high bits) and redirecting page in one number.
pub(crate) const SOURCES: TableDefinition<'_, u64, ()> = TableDefinition::new("sources");
pub(crate) const EVENTS: TableDefinition<'_, u64, &ChangeBytes> =
    TableDefinition::new("timed events");
/// The events of format 1.
pub(crate) const UNTIMED_EVENTS: TableDefinition<'_, u64, &UntimedBytes> =
    TableDefinition::new("events");
pub(crate) const META: TableDefinition<'_, &str, &str> = TableDefinition::new("meta");
pub(crate) const COUNTERS: TableDefinition<'_, &str, u64> = TableDefinition::new("counters");

pub(crate) const fn pair(above: u32, below: u32) -> u64 {
    (above as u64) << 32 | below as u64
}

/// The keys of all pairs with this high number.
pub(crate) const fn pairs_of(above: u32) -> std::ops::RangeInclusive<u64> {
    pair(above, 0)..=pair(above, u32::MAX)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) next_page: u64,
    pub(crate) next_group: u64,
    /// The next number in the order of recorded contents.
    pub(crate) next_recorded: u64,
    /// Sequence number of the last event.
    pub(crate) last_event: u64,
    /// Sequence number of the last dropped event.
    pub(crate) dropped_events: u64,
    /// Number of commits; an index file belongs to one of them.
    pub(crate) commits: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            next_page: 0,
            next_group: 0,
            next_recorded: 1,
            last_event: 0,
            dropped_events: 0,
            commits: 0,
        }
    }
}

impl Counters {
    pub(crate) fn read(table: &impl ReadableTable<&'static str, u64>) -> Outcome<Self> {
        let of = |name: &'static str| -> Outcome<u64> {
            let row = table.get(name)?;
            row.map(|row| row.value()).ok_or_else(|| Fault::Damaged(format!("no counter {name}")))
        };
        Ok(Self {
            next_page: of("next page")?,
            next_group: of("next group")?,
            // Missing in format 1, which used page numbers, from 1.
            next_recorded: match table.get("next recorded")? {
                Some(row) => row.value(),
                None => of("next page")? + 1,
            },
            last_event: of("last event")?,
            dropped_events: of("dropped events")?,
            commits: of("commits")?,
        })
    }

    pub(crate) fn write(&self, table: &mut redb::Table<'_, &'static str, u64>) -> Outcome<()> {
        for (name, value) in [
            ("next page", self.next_page),
            ("next group", self.next_group),
            ("next recorded", self.next_recorded),
            ("last event", self.last_event),
            ("dropped events", self.dropped_events),
            ("commits", self.commits),
        ] {
            table.insert(name, value)?;
        }
        Ok(())
    }
}

pub(crate) fn write_settings(
    table: &mut redb::Table<'_, &'static str, &'static str>,
    settings: &Settings,
) -> Outcome<()> {
    let groups = settings.groups;
    for (name, value) in [
        ("format", FORMAT.to_string()),
        ("recipe", settings.recipe.to_string()),
        ("within", settings.policy.within.bits().to_string()),
        ("min similarity", settings.policy.min_similarity.to_string()),
        ("rules", settings.rules.to_string()),
        ("scope", settings.scope.to_string()),
        ("confirm", settings.confirm.to_string()),
        ("frames", settings.frames.to_string()),
        ("repair share", groups.repair_share.to_string()),
        ("verify at once", groups.verify_at_once.to_string()),
        ("max matches", groups.max_matches.to_string()),
    ] {
        table.insert(name, value.as_str())?;
    }
    table.retain(|name, _| !name.starts_with(MARKET) && name != CHOOSE_AGAIN)?;
    for (name, rules) in &settings.markets {
        table.insert(format!("{MARKET}{name}").as_str(), rules.to_string().as_str())?;
    }
    Ok(())
}

fn read_markets(
    table: &impl ReadableTable<&'static str, &'static str>,
) -> Outcome<BTreeMap<String, Rules>> {
    let mut markets = BTreeMap::new();
    for row in table.range(MARKET..)? {
        let (name, rules) = row?;
        let Some(name) = name.value().strip_prefix(MARKET) else { break };
        let rules = rules.value();
        let bad = |_| Fault::Damaged(format!("the rules of its market {name} are `{rules}`"));
        markets.insert(name.to_owned(), rules.parse().map_err(bad)?);
    }
    Ok(markets)
}

type MetaRow<'a> = redb::AccessGuard<'a, &'static str>;

fn meta<'a>(
    table: &'a impl ReadableTable<&'static str, &'static str>,
    name: &'static str,
) -> Outcome<MetaRow<'a>> {
    table.get(name)?.ok_or_else(|| Fault::Damaged(format!("it does not state its {name}")))
}

fn parsed<T: std::str::FromStr>(
    table: &impl ReadableTable<&'static str, &'static str>,
    name: &'static str,
) -> Outcome<T> {
    let row = meta(table, name)?;
    let value = row.value();
    value.parse().map_err(|_| Fault::Damaged(format!("its {name} is `{value}`")))
}

pub(crate) fn read_format(table: &impl ReadableTable<&'static str, &'static str>) -> Outcome<u32> {
    parsed(table, "format")
}

/// Upgrades an older file to the current format, in one commit. Formats 1 to 4 did not find pages
/// by their content hash, so two groups could keep one text. Formats 1 to 3 had no frames: their
/// pages are still compared as a whole. Formats 1 and 2 had no key: their pages have no keyed
/// sketches, so their matches are kept until the pages are seen again.
pub(crate) fn upgrade(transaction: &redb::WriteTransaction, from: u32) -> Outcome<()> {
    let mut meta = transaction.open_table(META)?;
    meta.insert("format", FORMAT.to_string().as_str())?;
    contents::rebuild(transaction)?;
    meta.insert(MERGE_TWINS, "equal texts did not find each other")?;
    if from >= 4 {
        return Ok(());
    }
    meta.insert("frames", Frames::Off.name())?;
    frames::make(transaction)?;
    if from >= 3 {
        return Ok(());
    }
    meta.insert("confirm", Confirm::Public.name())?;
    confirm::make(transaction)?;
    if from >= 2 {
        return Ok(());
    }
    meta.insert(CHOOSE_AGAIN, "rules went by the last fetch")?;
    let mut events = transaction.open_table(EVENTS)?;
    let untimed = transaction.open_table(UNTIMED_EVENTS)?;
    for row in untimed.iter()? {
        let (sequence, bytes) = row?;
        events.insert(sequence.value(), &crate::codec::timed(bytes.value()))?;
    }
    drop(untimed);
    transaction.delete_table(UNTIMED_EVENTS)?;
    Ok(())
}

/// Whether winners with equal texts must be merged; reset by [`twins_are_merged`].
pub(crate) fn must_merge_twins(
    table: &impl ReadableTable<&'static str, &'static str>,
) -> Outcome<bool> {
    Ok(table.get(MERGE_TWINS)?.is_some())
}

pub(crate) fn twins_are_merged(
    table: &mut redb::Table<'_, &'static str, &'static str>,
) -> Outcome<()> {
    table.remove(MERGE_TWINS)?;
    Ok(())
}

/// Whether groups must elect winners again; reset by writing the settings.
pub(crate) fn must_choose_again(
    table: &impl ReadableTable<&'static str, &'static str>,
) -> Outcome<bool> {
    Ok(table.get(CHOOSE_AGAIN)?.is_some())
}

pub(crate) fn read_settings(
    table: &impl ReadableTable<&'static str, &'static str>,
) -> Outcome<Settings> {
    let bits: u8 = parsed(table, "within")?;
    let within = MaxDistance::new(bits)
        .ok_or_else(|| Fault::Damaged(format!("its distance is {bits} bits")))?;
    Ok(Settings {
        recipe: parsed(table, "recipe")?,
        policy: Policy { within, min_similarity: parsed(table, "min similarity")? },
        rules: parsed(table, "rules")?,
        scope: parsed(table, "scope")?,
        confirm: parsed(table, "confirm")?,
        frames: parsed(table, "frames")?,
        groups: LiveOptions {
            repair_share: parsed(table, "repair share")?,
            verify_at_once: parsed(table, "verify at once")?,
            max_matches: parsed(table, "max matches")?,
        },
        markets: read_markets(table)?,
    })
}
