//! Writes the results of the survey, as one commit.
//!
//! Compares lists and groups with the places, and rewrites them where they differ. A wrong group gets a record
//! that claims nothing; it elects its winner and is verified when the repository is open again.

use super::survey::Survey;
use crate::codec;
use crate::contents;
use crate::error::Outcome;
use crate::tables::{self, pair};
use hapax::group::live::{Check, GroupId, GroupRecord, PageId, PageRecord};
use redb::{Database, ReadableTable, ReadableTableMetadata};
use std::collections::BTreeMap;

/// The state of a group according to the places.
#[derive(Clone, Copy)]
struct Counted {
    first: PageId,
    members: u32,
    checked: u32,
    failing: u32,
    winner_is_in: bool,
    bare: bool,
}

pub(super) fn write(db: &Database, survey: &mut Survey) -> Outcome<()> {
    let writing = db.begin_write()?;
    {
        let mut urls = writing.open_table(tables::URLS)?;
        let mut names = writing.open_table(tables::NAMES)?;
        let mut pages = writing.open_table(tables::PAGES)?;
        for url in &survey.remove_urls {
            urls.remove(url.as_str())?;
        }
        for (url, page) in &survey.add_urls {
            urls.insert(url.as_str(), page)?;
        }
        for page in &survey.remove_names {
            names.remove(page)?;
        }
        for (page, url) in &survey.add_names {
            names.insert(page, url.as_str())?;
        }
        for (page, known) in (0u32..).zip(&survey.pages) {
            if !known.is_whole() {
                pages.remove(page)?;
                if let Some(url) = names.remove(page)? {
                    let url = url.value();
                    if urls.get(url)?.is_some_and(|row| row.value() == page) {
                        urls.remove(url)?;
                    }
                }
            }
        }
    }
    write_groups(&writing, survey)?;
    write_places(&writing, survey)?;
    // In a file of saved rows, it is empty.
    let were_there = writing.open_table(contents::CONTENTS)?.len()? > 0;
    let differ = contents::rebuild(&writing)?;
    if were_there && differ > 0 {
        survey.mended.add(|| format!("{differ} rows by which pages are found by their contents"));
    }
    if survey.drop_events {
        writing.open_table(tables::EVENTS)?.retain(|_, _| false)?;
        survey.counters.dropped_events = survey.counters.last_event;
    }
    survey.counters.commits += 1;
    survey.counters.write(&mut writing.open_table(tables::COUNTERS)?)?;
    Ok(writing.commit()?)
}

fn write_groups(writing: &redb::WriteTransaction, survey: &mut Survey) -> Outcome<()> {
    let mut groups = writing.open_table(tables::GROUPS)?;
    let mut counted: BTreeMap<GroupId, Counted> = BTreeMap::new();
    for page in 0..survey.pages.len() as u32 {
        let known = survey.pages[page as usize];
        let Some(PageRecord::Content { group, .. } | PageRecord::Bare { group, .. }) = known.place
        else {
            continue;
        };
        let bare = matches!(known.place, Some(PageRecord::Bare { .. }));
        let mut group = group;
        // Pages without content are alone in their groups.
        if counted.get(&group).is_some_and(|other| bare || other.bare) {
            survey.mended.add(|| format!("page {page} shared group {group} without a reason"));
            group = survey.new_group();
            survey.pages[page as usize].place = known.place.map(|place| match place {
                PageRecord::Bare { why, .. } => PageRecord::Bare { group, why },
                _ => PageRecord::Content { group, check: Check::Unchecked },
            });
            if !bare {
                survey.ungrouped.push(PageId(page));
            }
        }
        let stored = groups.get(group.0)?.and_then(|row| codec::read_group(row.value()));
        let (winner, term) = stored.map_or((None, 0), |record| (Some(record.winner), record.term));
        let count = counted.entry(group).or_insert(Counted {
            first: PageId(page),
            members: 0,
            checked: 0,
            failing: 0,
            winner_is_in: false,
            bare,
        });
        count.members += 1;
        count.winner_is_in |= winner == Some(PageId(page));
        if let Some(PageRecord::Content { check, .. }) = survey.pages[page as usize].place {
            let (checked, failing) = match check {
                Check::Matches(of) if of == term => (1, 0),
                Check::Fails(of) if of == term => (1, 1),
                Check::Unchecked | Check::Matches(_) | Check::Fails(_) => (0, 0),
            };
            count.checked += checked;
            count.failing += failing;
        }
    }
    for (&group, count) in &counted {
        let stored = groups.get(group.0)?.and_then(|row| codec::read_group(row.value()));
        let right = stored.is_some_and(|record| {
            count.winner_is_in
                && (record.members, record.checked, record.failing)
                    == (count.members, count.checked, count.failing)
        });
        if right && !survey.groups.contains(&group) {
            continue;
        }
        let winner = match stored {
            Some(record) if count.winner_is_in => record.winner,
            _ => count.first,
        };
        // Maximal until distances are measured.
        let radius = if count.members == 1 { 0 } else { 64 };
        let members = count.members;
        let record = GroupRecord { members, radius, ..GroupRecord::alone(winner) };
        groups.insert(group.0, &codec::write_group(&record))?;
        survey.mended.add(|| format!("group {group}: its record"));
        if !count.bare {
            survey.groups.insert(group);
        }
    }
    let mut empty = Vec::new();
    for row in groups.iter()? {
        let group = GroupId(row?.0.value());
        if !counted.contains_key(&group) {
            empty.push(group);
        }
    }
    for group in empty {
        groups.remove(group.0)?;
        survey.mended.add(|| format!("group {group} had no pages"));
    }
    // The checks of a group that will be verified again are void.
    for known in &mut survey.pages {
        if let Some(PageRecord::Content { group, check }) = &mut known.place
            && survey.groups.contains(group)
        {
            *check = Check::Unchecked;
        }
    }
    Ok(())
}

fn write_places(writing: &redb::WriteTransaction, survey: &mut Survey) -> Outcome<()> {
    let mut places = writing.open_table(tables::PLACES)?;
    let mut members = writing.open_table(tables::MEMBERS)?;
    let mut sources = writing.open_table(tables::SOURCES)?;
    let place_of = |page: u32| survey.pages.get(page as usize).and_then(|known| known.place);
    let mut stray = 0u64;
    members.retain(|pair, ()| {
        let right = match place_of(pair as u32) {
            Some(PageRecord::Content { group, .. } | PageRecord::Bare { group, .. }) => {
                u64::from(group.0) == pair >> 32
            }
            Some(PageRecord::Redirects { .. }) | None => false,
        };
        stray += u64::from(!right);
        right
    })?;
    sources.retain(|pair, ()| {
        let to = PageId((pair >> 32) as u32);
        let right = place_of(pair as u32) == Some(PageRecord::Redirects { to });
        stray += u64::from(!right);
        right
    })?;
    let mut unlisted = 0u64;
    for page in 0..survey.pages.len() as u32 {
        let Some(place) = survey.pages[page as usize].place else {
            places.remove(page)?;
            continue;
        };
        let bytes = codec::write_place(place);
        if places.get(page)?.is_none_or(|row| *row.value() != bytes) {
            places.insert(page, &bytes)?;
        }
        let (list, key) = match place {
            PageRecord::Redirects { to } => (&mut sources, pair(to.0, page)),
            PageRecord::Content { group, .. } | PageRecord::Bare { group, .. } => {
                (&mut members, pair(group.0, page))
            }
        };
        if list.get(key)?.is_none() {
            list.insert(key, ())?;
            unlisted += 1;
        }
    }
    for (count, what) in [(stray, "listed without a reason"), (unlisted, "not listed")] {
        if count > 0 {
            survey.mended.add(|| format!("{count} pages were {what}"));
        }
    }
    Ok(())
}
