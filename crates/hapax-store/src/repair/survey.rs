//! Reads all tables, decides about each page's place, and records what is wrong.
//!
//! Writes nothing. Addresses are compared row by row and not stored; each page number takes a few bytes of
//! memory. What cannot be decided is `lost`; the caller decides whether that matters.

use super::Findings;
use crate::codec;
use crate::error::Outcome;
use crate::tables::{self, Counters};
use hapax::fingerprint::ContentHash;
use hapax::group::live::{Bare, Check, GroupId, PageId, PageRecord};
use redb::{Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable};
use std::collections::BTreeSet;

/// What the tables contain about a page number.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// Whether it has an address in at least one of two tables.
    pub(super) named: bool,
    pub(super) record: Record,
    pub(super) place: Option<PageRecord>,
    /// Where it is listed: in a group, or under the page it redirects to.
    pub(super) listed_group: Option<u32>,
    pub(super) listed_target: Option<u32>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Record {
    #[default]
    Missing,
    Unreadable,
    Content,
    /// Seen, without words.
    Wordless,
    /// Redirects, or was never seen.
    Blank,
}

impl Known {
    /// Whether it is kept: it has an address and a record.
    pub(super) fn is_whole(&self) -> bool {
        let Self { record, .. } = self;
        self.named && matches!(record, Record::Content | Record::Wordless | Record::Blank)
    }
}

pub(super) struct Survey {
    pub(super) pages: Vec<Known>,
    pub(super) counters: Counters,
    /// Addresses to write, and to remove.
    pub(super) add_urls: Vec<(String, u32)>,
    pub(super) remove_urls: Vec<String>,
    pub(super) add_names: Vec<(u32, String)>,
    pub(super) remove_names: Vec<u32>,
    /// Whether all events must be dropped.
    pub(super) drop_events: bool,
    pub(super) mended: Findings,
    pub(super) lost: Findings,
    /// Pages with content whose group must be found.
    pub(super) ungrouped: Vec<PageId>,
    /// Groups that must elect a winner and be verified.
    pub(super) groups: BTreeSet<GroupId>,
}

impl Survey {
    pub(super) fn of(db: &Database) -> Outcome<Self> {
        let reading = db.begin_read()?;
        let mut survey = Self {
            pages: Vec::new(),
            counters: Counters::default(),
            add_urls: Vec::new(),
            remove_urls: Vec::new(),
            add_names: Vec::new(),
            remove_names: Vec::new(),
            drop_events: false,
            mended: Findings::default(),
            lost: Findings::default(),
            ungrouped: Vec::new(),
            groups: BTreeSet::new(),
        };
        survey.read_addresses(&reading)?;
        survey.read_records(&reading)?;
        survey.read_places(&reading)?;
        survey.count(&reading)?;
        for page in 0..survey.pages.len() {
            survey.decide(page as u32);
        }
        survey.end_redirects(&reading)?;
        Ok(survey)
    }

    fn at(&mut self, page: u32) -> &mut Known {
        let page = page as usize;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, Known::default());
        }
        &mut self.pages[page]
    }

    pub(super) fn whole(&self, page: PageId) -> bool {
        self.pages.get(page.0 as usize).is_some_and(Known::is_whole)
    }

    fn read_addresses(&mut self, reading: &ReadTransaction) -> Outcome<()> {
        let names = reading.open_table(tables::NAMES)?;
        let urls = reading.open_table(tables::URLS)?;
        let pages = reading.open_table(tables::PAGES)?;
        for row in names.iter()? {
            let (page, url) = row?;
            let (page, url) = (page.value(), url.value());
            let leads_to = urls.get(url)?.map(|row| row.value());
            if leads_to == Some(page) {
                self.at(page).named = true;
                continue;
            }
            let other = leads_to.map(|other| names.get(other)).transpose()?.flatten();
            if other.is_some_and(|row| row.value() == url) {
                // Another page has the address, too, and is found under it.
                self.mended.add(|| format!("page {page} had the address of another: `{url}`"));
                self.remove_names.push(page);
                continue;
            }
            self.mended.add(|| format!("`{url}` did not lead to page {page}"));
            self.at(page).named = true;
            self.add_urls.push((url.to_owned(), page));
        }
        for row in urls.iter()? {
            let (url, page) = row?;
            let (url, page) = (url.value(), page.value());
            match names.get(page)? {
                Some(name) if name.value() == url => {}
                None if pages.get(page)?.is_some() => {
                    self.mended
                        .add(|| format!("page {page} had no address, but `{url}` led to it"));
                    self.at(page).named = true;
                    self.add_names.push((page, url.to_owned()));
                }
                _ => {
                    self.mended.add(|| format!("`{url}` led to page {page}, which is not there"));
                    if !self.add_urls.iter().any(|(added, _)| added == url) {
                        self.remove_urls.push(url.to_owned());
                    }
                }
            }
        }
        Ok(())
    }

    fn read_records(&mut self, reading: &ReadTransaction) -> Outcome<()> {
        let nothing = ContentHash::from_bytes([0; 16]);
        for row in reading.open_table(tables::PAGES)?.iter()? {
            let (page, bytes) = row?;
            let page = page.value();
            let read = codec::read_page(PageId(page), bytes.value());
            let recorded = read.as_ref().ok().and_then(|data| data.recorded).unwrap_or(0);
            self.counters.next_recorded = self.counters.next_recorded.max(recorded + 1);
            let record = match read {
                Err(_) => Record::Unreadable,
                Ok(data) if data.comparable.is_some() => Record::Content,
                Ok(data) if data.content != nothing => Record::Wordless,
                Ok(_) => Record::Blank,
            };
            self.at(page).record = record;
            if !self.at(page).named {
                self.mended.add(|| format!("the record of page {page} belonged to no address"));
            }
        }
        let names = reading.open_table(tables::NAMES)?;
        for page in 0..self.pages.len() as u32 {
            let known = self.pages[page as usize];
            if known.named && !known.is_whole() {
                let url = address(&names, &self.add_names, page)?;
                let what = match known.record {
                    Record::Missing => "has no record",
                    _ => "has a record that cannot be read",
                };
                self.lost.add(|| format!("page {page}, `{url}`, {what}"));
            }
        }
        Ok(())
    }

    fn read_places(&mut self, reading: &ReadTransaction) -> Outcome<()> {
        for row in reading.open_table(tables::PLACES)?.iter()? {
            let (page, bytes) = row?;
            let page = page.value();
            self.at(page).place = codec::read_place(PageId(page), bytes.value()).ok();
        }
        for row in reading.open_table(tables::MEMBERS)?.iter()? {
            let pair = row?.0.value();
            self.at(pair as u32).listed_group = Some((pair >> 32) as u32);
        }
        for row in reading.open_table(tables::SOURCES)?.iter()? {
            let pair = row?.0.value();
            self.at(pair as u32).listed_target = Some((pair >> 32) as u32);
        }
        Ok(())
    }

    /// Restores counters that are missing or too small.
    fn count(&mut self, reading: &ReadTransaction) -> Outcome<()> {
        let table = reading.open_table(tables::COUNTERS)?;
        let stored = |name: &'static str| -> Outcome<u64> {
            Ok(table.get(name)?.map_or(0, |row| row.value()))
        };
        let former = reading.open_table(tables::FORMER)?;
        let last = former.last()?.map_or(0, |row| u64::from(row.0.value()) + 1);
        let next_page = (self.pages.len() as u64).max(last);
        let mut next_group = 0;
        for row in reading.open_table(tables::GROUPS)?.iter()? {
            next_group = next_group.max(u64::from(row?.0.value()) + 1);
        }
        for known in &self.pages {
            if let Some(PageRecord::Content { group, .. } | PageRecord::Bare { group, .. }) =
                known.place
            {
                next_group = next_group.max(u64::from(group.0) + 1);
            }
        }
        let (mut first, mut last, mut gaps) = (None, 0, false);
        for row in reading.open_table(tables::EVENTS)?.iter()? {
            let (sequence, bytes) = row?;
            let sequence = sequence.value();
            gaps |= first.is_some() && sequence != last + 1;
            gaps |= codec::read_change(sequence, bytes.value()).is_err();
            first = first.or(Some(sequence));
            last = sequence;
        }
        let counters = Counters {
            next_page: stored("next page")?.max(next_page),
            next_group: stored("next group")?.max(next_group),
            next_recorded: stored("next recorded")?.max(self.counters.next_recorded),
            last_event: stored("last event")?.max(last),
            dropped_events: stored("dropped events")?,
            commits: stored("commits")?,
        };
        let kept = Counters::read(&table).ok();
        if kept != Some(counters) {
            self.mended.add(|| "the counters were behind what is used, or not there".into());
        }
        let before = first.map_or(counters.last_event, |first| first.saturating_sub(1));
        self.drop_events = gaps
            || before != counters.dropped_events
            || first.is_some() && last != counters.last_event;
        if self.drop_events {
            self.mended.add(|| {
                "events had gaps or could not be read; all were dropped, and whoever follows them \
                 must read the groups again"
                    .into()
            });
        }
        self.counters = counters;
        Ok(())
    }

    pub(super) fn new_group(&mut self) -> GroupId {
        let group = GroupId(self.counters.next_group as u32);
        self.counters.next_group += 1;
        group
    }

    /// Decides the place of a page from all data about it.
    fn decide(&mut self, page: u32) {
        let known = self.pages[page as usize];
        if !known.is_whole() {
            self.pages[page as usize].place = None;
            return;
        }
        let target = |survey: &Self| known.listed_target.map(PageId).filter(|&to| survey.whole(to));
        let right = match (known.record, known.place) {
            (Record::Content, Some(place @ PageRecord::Content { .. })) => Some(place),
            (Record::Content, None) => {
                let group = known.listed_group.map(GroupId);
                group.map(|group| PageRecord::Content { group, check: Check::Unchecked })
            }
            (Record::Content, Some(_)) => None,
            (_, Some(place @ PageRecord::Redirects { to })) => self.whole(to).then_some(place),
            (_, Some(place @ PageRecord::Bare { why: Bare::Loop { to }, .. })) => {
                self.whole(to).then_some(place)
            }
            (_, Some(place @ PageRecord::Bare { .. })) => Some(place),
            (_, Some(PageRecord::Content { .. }) | None) => {
                target(self).map(|to| PageRecord::Redirects { to })
            }
        };
        if let Some(place) = right {
            if known.place.is_none() {
                self.mended.add(|| format!("page {page} had no place"));
                if let PageRecord::Content { group, .. } = place {
                    self.groups.insert(group);
                }
            }
            self.pages[page as usize].place = Some(place);
            return;
        }
        let place = match known.record {
            Record::Content => {
                self.ungrouped.push(PageId(page));
                PageRecord::Content { group: self.new_group(), check: Check::Unchecked }
            }
            Record::Wordless => PageRecord::Bare { group: self.new_group(), why: Bare::Empty },
            Record::Blank if self.is_redirect_of(page) => {
                PageRecord::Bare { group: self.new_group(), why: Bare::Awaited }
            }
            Record::Blank | Record::Missing | Record::Unreadable => {
                self.lost.add(|| format!("where page {page} redirects"));
                self.pages[page as usize].place = None;
                self.pages[page as usize].record = Record::Unreadable;
                return;
            }
        };
        self.mended.add(|| format!("page {page} had no place, or a wrong one"));
        self.pages[page as usize].place = Some(place);
    }

    /// Whether a page redirects to this one.
    fn is_redirect_of(&self, page: u32) -> bool {
        self.pages.iter().any(|known| {
            known.is_whole() && known.place == Some(PageRecord::Redirects { to: PageId(page) })
        })
    }

    /// Ends cycles of redirects without an end, at the smallest address.
    fn end_redirects(&mut self, reading: &ReadTransaction) -> Outcome<()> {
        let names = reading.open_table(tables::NAMES)?;
        // 0: not examined; 1: on the current path; 2: ends somewhere.
        let mut state = vec![0u8; self.pages.len()];
        for start in 0..self.pages.len() as u32 {
            let mut way = Vec::new();
            let mut page = start;
            while state[page as usize] == 0 {
                state[page as usize] = 1;
                way.push(page);
                match self.pages[page as usize].place {
                    Some(PageRecord::Redirects { to }) => page = to.0,
                    _ => break,
                }
            }
            let runs_in_circle = state[page as usize] == 1
                && matches!(self.pages[page as usize].place, Some(PageRecord::Redirects { .. }));
            if runs_in_circle {
                let from = way.iter().position(|&other| other == page).unwrap_or(0);
                let mut least: Option<(String, u32)> = None;
                for &other in &way[from..] {
                    let url = address(&names, &self.add_names, other)?;
                    if least.as_ref().is_none_or(|(known, _)| url < *known) {
                        least = Some((url, other));
                    }
                }
                if let Some((_, end)) = least
                    && let Some(PageRecord::Redirects { to }) = self.pages[end as usize].place
                {
                    let group = self.new_group();
                    self.mended.add(|| format!("the redirects of page {end} ended nowhere"));
                    let why = Bare::Loop { to };
                    self.pages[end as usize].place = Some(PageRecord::Bare { group, why });
                }
            }
            way.into_iter().for_each(|page| state[page as usize] = 2);
        }
        Ok(())
    }
}

fn address(
    names: &ReadOnlyTable<u32, &'static str>,
    added: &[(u32, String)],
    page: u32,
) -> Outcome<String> {
    if let Some(row) = names.get(page)? {
        return Ok(row.value().to_owned());
    }
    let added = added.iter().find(|(known, _)| *known == page);
    Ok(added.map_or_else(String::new, |(_, url)| url.clone()))
}
