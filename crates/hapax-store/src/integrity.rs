//! Consistency check.
//!
//! Addresses, records, places, lists, groups, events and the index hold redundant data. Reads all of it and
//! compares; changes nothing.

use crate::checksums::Tables;
use crate::codec;
use crate::contents;
use crate::disk::{Disk, RealDisk};
use crate::error::{Fault, Outcome, StoreError, guarded, of_search};
use crate::opening;
use crate::page::PageData;
use crate::reader::best_of;
use crate::repository::Repository;
use crate::state::ReadState;
use crate::tables::{self, pairs_of};
use crate::view::{OpenTables, ReadPages, View};
use hapax::fingerprint::{Fingerprint, MaxDistance};
use hapax::group::live::{
    Change, Check, GroupId, GroupRecord, GroupState, Likeness, PageId, PageRecord,
};
use hapax::index::{HammingIndex, Query};
use redb::{Database, ReadableTable, ReadableTableMetadata};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of problems listed individually.
const MAX_DETAILS: usize = 50;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Integrity {
    pub pages: u64,
    pub groups: u64,
    pub events: u64,
    /// Number of contradictions.
    pub problems: u64,
    /// Descriptions of the first of them.
    pub details: Vec<String>,
    /// Groups that contradict their members, for repair.
    pub(crate) wrong_groups: Vec<GroupId>,
    /// Winners with equal texts, for repair.
    pub(crate) twins: Vec<PageId>,
    /// Whether replaying the events does not give the groups.
    pub(crate) wrong_events: bool,
}

impl Integrity {
    pub const fn is_clean(&self) -> bool {
        self.problems == 0
    }

    fn expect(&mut self, right: bool, what: impl FnOnce() -> String) {
        if !right {
            self.problems += 1;
            if self.details.len() < MAX_DETAILS {
                self.details.push(what());
            }
        }
    }
}

/// Checks a repository that is not open: the checksums of the file, then everything that
/// [`Repository::verify`] checks. A file that was not closed properly is recovered first, as on
/// opening.
///
/// # Errors
///
/// It cannot be opened, or its checksums are wrong beyond recovery.
pub fn check_folder(folder: &Path) -> Result<Integrity, StoreError> {
    let file = folder.join(tables::FILE);
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let backend = opening::open_backend(&file, &disk, Arc::default())?;
    let damage = backend.damage(Tables::Content);
    drop(backend);
    let damage = damage.map_err(|source| StoreError::Disk { file: file.clone(), source })?;
    opening::refuse_damaged(&file, &damage)?;
    // Reports what is wrong with a file that is not a repository.
    drop(Repository::open(folder, None)?);
    let sound = guarded(|| Ok(Database::open(&file)?.check_integrity()?));
    let sound = sound.map_err(|fault| fault.at(&file))?;
    let mut found = Repository::open(folder, None)?.verify()?;
    found.expect(sound, || "the file's own bookkeeping was wrong, and was mended".into());
    Ok(found)
}

impl Repository {
    /// Compares all redundant data of the repository, as of the last commit.
    ///
    /// # Errors
    ///
    /// It cannot be read. Contradictions are not errors; they are in the result.
    pub fn verify(&self) -> Result<Integrity, StoreError> {
        self.query(|view| {
            let mut found = Integrity::default();
            check_pages(view, &mut found)?;
            check_groups(view, &mut found)?;
            check_events(view, &mut found)?;
            Ok(found)
        })
    }
}

/// Addresses, records, places, lists and index.
fn check_pages(view: &View, found: &mut Integrity) -> Outcome<()> {
    let OpenTables { names, urls, pages, .. } = &view.tables;
    let groups = view.groups();
    let state = groups.state();
    let mut indexed: Vec<(Fingerprint, u64)> = Vec::new();
    let (mut members, mut sources, mut sought) = (0, 0, 0);
    for row in names.iter()? {
        let (id, url) = row?;
        let (page, url) = (PageId(id.value()), url.value());
        found.pages += 1;
        let at = urls.get(url)?.map(|row| row.value());
        found.expect(at == Some(page.0), || format!("`{url}` is page {page}, yet leads to {at:?}"));
        let in_range = u64::from(page.0) < view.counters.next_page;
        found.expect(in_range, || format!("page {page} has a number not given out yet"));
        let data = match pages.get(page.0)? {
            Some(row) => codec::read_page(page, row.value()),
            None => Err(Fault::Damaged(format!("page {page} has no record"))),
        };
        let data = match data {
            Ok(data) => data,
            Err(fault) => {
                found.expect(false, || fault.to_string());
                continue;
            }
        };
        let next = view.counters.next_recorded;
        found.expect(data.recorded.is_none_or(|recorded| recorded < next), || {
            format!("page {page} has a place in the order of recording not given out yet")
        });
        let place = state.page(page)?;
        let content = matches!(place, Some(PageRecord::Content { .. }));
        found.expect(place.is_some(), || format!("page {page} has no place"));
        found.expect(content == data.comparable.is_some(), || {
            format!("record and place of page {page} differ on whether it has content")
        });
        match place {
            Some(PageRecord::Content { group, .. } | PageRecord::Bare { group, .. }) => {
                members += 1;
                let listed = contains(&view.tables.members, tables::pair(group.0, page.0))?;
                found.expect(listed, || format!("group {group} does not list page {page}"));
            }
            Some(PageRecord::Redirects { to }) => {
                sources += 1;
                let listed = contains(&view.tables.sources, tables::pair(to.0, page.0))?;
                found.expect(listed, || format!("page {to} does not list page {page}"));
                let end = groups.place(page);
                found.expect(matches!(end, Ok(Some(_))), || {
                    format!("the redirects of page {page} end nowhere")
                });
            }
            None => {}
        }
        let keys = contents::keys(page, &data);
        sought += keys.len() as u64;
        for key in &keys {
            let there = view.tables.contents.get(key)?.is_some();
            found.expect(there, || format!("page {page} is not found by its content"));
        }
        indexed.extend(data.indexed().map(|fingerprint| (fingerprint, u64::from(page.0))));
    }
    for (what, rows, expected) in [
        ("addresses", urls.len()?, found.pages),
        ("page records", pages.len()?, found.pages),
        ("places", state.tables.places.len()?, found.pages),
        ("members", state.tables.members.len()?, members),
        ("redirects", state.tables.sources.len()?, sources),
        ("rows of contents", view.tables.contents.len()?, sought),
        ("index entries", view.index.len() as u64, indexed.len() as u64),
    ] {
        found.expect(rows == expected, || format!("there are {rows} {what}, not {expected}"));
    }
    check_index(view, indexed, found)
}

fn contains(table: &redb::ReadOnlyTable<u64, ()>, key: u64) -> Outcome<bool> {
    Ok(table.get(key)?.is_some())
}

/// Checks that the index has exactly the fingerprints of the records.
fn check_index(
    view: &View,
    mut indexed: Vec<(Fingerprint, u64)>,
    found: &mut Integrity,
) -> Outcome<()> {
    let same = const { MaxDistance::new(0).unwrap() };
    indexed.sort_unstable_by_key(|&(fingerprint, id)| (fingerprint.to_bits(), id));
    for copies in indexed.chunk_by(|a, b| a.0 == b.0) {
        let matches = view.index.find_all(&Query::from(copies[0].0), same).map_err(of_search)?;
        let agrees = matches.iter().map(|found| found.id).eq(copies.iter().map(|&(_, id)| id));
        found.expect(agrees, || format!("the index differs from the records at {}", copies[0].0));
    }
    Ok(())
}

/// Winners by their text.
#[derive(Default)]
struct Winners(BTreeMap<([u8; 16], u64), PageId>);

impl Winners {
    /// Returns another winner with the same text.
    fn add(&mut self, world: &ReadPages<'_>, winner: PageId) -> Outcome<Option<PageId>> {
        let data = world.readable(winner)?.filter(|page| page.comparable.is_some());
        let text = data.map(|page| (page.content.to_bytes(), page.scope.0));
        Ok(text.and_then(|text| self.0.insert(text, winner)))
    }
}

/// Winners with the text of another winner. Takes about 40 bytes of memory per group.
pub(crate) fn twins(view: &View) -> Outcome<Vec<PageId>> {
    let mut winners = Winners::default();
    let mut twins = Vec::new();
    view.with_world(|world, _| {
        for row in view.tables.groups.iter()? {
            let Some(record) = codec::read_group(row?.1.value()) else { continue };
            twins.extend(winners.add(world, record.winner)?.map(|_| record.winner));
        }
        Ok(())
    })?;
    Ok(twins)
}

fn check_groups(view: &View, found: &mut Integrity) -> Outcome<()> {
    let groups = view.groups();
    let state = groups.state();
    let mut winners = Winners::default();
    view.with_world(|world, _| {
        for row in state.tables.groups.iter()? {
            let (id, bytes) = row?;
            let group = GroupId(id.value());
            found.groups += 1;
            let Some(record) = codec::read_group(bytes.value()) else { continue };
            let page = record.winner;
            if let Some(twin) = winners.add(world, page)? {
                found.expect(false, || {
                    format!("pages {twin} and {page} have one text and are both kept")
                });
                found.twins.push(page);
            }
            let right = check_group(view, state, world, group, &record)?;
            if let Err(what) = right {
                found.expect(false, || format!("group {group}: {what}: {record:?}"));
                found.wrong_groups.push(group);
            }
        }
        Ok(())
    })
}

/// Checks counts, winner, checks and radius of a group against its members.
fn check_group(
    view: &View,
    state: &ReadState<'_>,
    world: &ReadPages<'_>,
    group: GroupId,
    record: &GroupRecord,
) -> Outcome<Result<(), &'static str>> {
    let (mut members, mut checked, mut failing) = (0u32, 0u32, 0u32);
    let mut winner_is_in = false;
    let winner = world.readable(record.winner)?;
    for row in state.tables.members.range(pairs_of(group.0))? {
        let page = PageId(row?.0.value() as u32);
        members += 1;
        winner_is_in |= page == record.winner;
        let check = match state.page(page)? {
            Some(PageRecord::Content { group: its, check }) if its == group => check,
            Some(PageRecord::Bare { group: its, .. }) if its == group => continue,
            Some(_) | None => return Ok(Err("it lists a page that is not in it")),
        };
        if page == record.winner {
            continue;
        }
        let Some((likeness, same_scope)) = compared(world, page, record.winner, &winner)? else {
            // Reported as a problem of the page with the wrong record.
            return Ok(Ok(()));
        };
        let matches = likeness.matches() && same_scope;
        let (is_checked, fails) = match check {
            Check::Matches(term) if term == record.term => (1, false),
            Check::Fails(term) if term == record.term => (1, true),
            Check::Unchecked | Check::Matches(_) | Check::Fails(_) => (0, !matches),
        };
        checked += is_checked;
        failing += u32::from(fails && is_checked == 1);
        if fails == matches {
            return Ok(Err("it is wrong about who matches its winner"));
        }
        if likeness.distance > record.radius {
            return Ok(Err("a page is farther from its winner than it says"));
        }
    }
    if (members, checked, failing) != (record.members, record.checked, record.failing) {
        return Ok(Err("its counts are not those of its members"));
    }
    if !winner_is_in {
        return Ok(Err("its winner is not in it"));
    }
    if u64::from(group.0) >= view.counters.next_group {
        return Ok(Err("its number has not been given out yet"));
    }
    let best = match members {
        1 => None,
        _ => best_of(state, world, group, &view.settings.rules)?,
    };
    Ok(match best {
        Some(best) if best != record.winner => Err("its winner is not its best page"),
        Some(_) | None => Ok(()),
    })
}

fn compared(
    world: &ReadPages<'_>,
    page: PageId,
    winner: PageId,
    known: &Option<PageData>,
) -> Outcome<Option<(Likeness, bool)>> {
    let (Some(a), Some(b)) = (world.readable(page)?, known) else { return Ok(None) };
    if a.comparable.is_none() || b.comparable.is_none() {
        return Ok(None);
    }
    let likeness = world.likeness_of((page, &a), (winner, b))?;
    Ok(Some((likeness, a.scope == b.scope)))
}

/// Checks that numbers have no gaps and, if no event was dropped, that replaying the events gives
/// the groups.
fn check_events(view: &View, found: &mut Integrity) -> Outcome<()> {
    let whole = view.counters.dropped_events == 0;
    let mut members: BTreeMap<GroupId, (PageId, BTreeSet<PageId>)> = BTreeMap::new();
    let mut next = view.counters.dropped_events + 1;
    for row in view.tables.events.iter()? {
        let (sequence, bytes) = row?;
        let sequence = sequence.value();
        found.events += 1;
        found.expect(sequence == next, || format!("event {sequence} follows where {next} should"));
        next = sequence + 1;
        match codec::read_change(sequence, bytes.value()) {
            Ok((change, _)) if whole => follow(&mut members, change),
            Ok(_) => {}
            Err(fault) => found.expect(false, || fault.to_string()),
        }
    }
    let problems = found.problems;
    let last = view.counters.last_event;
    found.expect(next == last + 1, || format!("the last event should be {last}, not {}", next - 1));
    if !whole {
        return Ok(());
    }
    let groups = view.groups();
    let state = groups.state();
    found.expect(members.len() as u64 == state.tables.groups.len()?, || {
        "following the events gives another number of groups".into()
    });
    for (group, (winner, pages)) in members {
        let mut kept = BTreeSet::new();
        for row in state.tables.members.range(pairs_of(group.0))? {
            kept.insert(PageId(row?.0.value() as u32));
        }
        let kept_winner = state.group(group)?.map(|record| record.winner);
        found.expect(kept == pages && kept_winner == Some(winner), || {
            format!("following the events gives another group {group}")
        });
    }
    found.wrong_events = found.problems > problems;
    Ok(())
}

fn follow(members: &mut BTreeMap<GroupId, (PageId, BTreeSet<PageId>)>, change: Change) {
    match change {
        Change::Joined { page, group } => {
            members.entry(group).or_insert_with(|| (page, BTreeSet::new())).1.insert(page);
        }
        Change::Left { page, group } => {
            if let Some((_, pages)) = members.get_mut(&group) {
                pages.remove(&page);
                if pages.is_empty() {
                    members.remove(&group);
                }
            }
        }
        Change::Merged { from, into } => {
            if let Some((_, pages)) = members.remove(&from)
                && let Some((_, more)) = members.get_mut(&into)
            {
                more.extend(pages);
            }
        }
        Change::WinnerChanged { group, to, .. } => {
            if let Some((winner, _)) = members.get_mut(&group) {
                *winner = to;
            }
        }
        Change::Split { .. }
        | Change::Changed { .. }
        | Change::Gone { .. }
        | Change::Redirected { .. }
        | Change::Returned { .. } => {}
    }
}
