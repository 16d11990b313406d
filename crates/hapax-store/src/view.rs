//! Reading: everything as of the last commit.
//!
//! A view holds a read transaction of the store and a snapshot of the index taken right after
//! the same commit, so the two agree. The repository keeps one and replaces it at every commit.

use crate::codec;
use crate::error::{Outcome, of_groups};
use crate::page::{Observation, PageInfo};
use crate::session::Decision;
use crate::settings::Settings;
use crate::state::ReadState;
use crate::tables::{self, Counters};
use crate::world::{Pages, Policy, name, page_data};
use hapax::group::live::{
    Change, GroupId, GroupRecord, GroupState, Kind, LiveGroups, PageId, Tier, Verdict,
};
use hapax::group::{PageFacts, Rules, ScopeFacts};
use hapax::index::HammingIndex;
use hapax::index::live::Snapshot;
use redb::{ReadOnlyTable, ReadTransaction, ReadableTableMetadata};
use std::borrow::Cow;

/// A group as the repository knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupInfo {
    /// Its number.
    pub id: GroupId,
    /// Winner, counts, radius.
    pub record: GroupRecord,
    /// The winner's address.
    pub winner_url: String,
    /// All its pages, those that redirect into it included, in increasing order.
    pub pages: Vec<(PageId, String)>,
}

/// A change, with the addresses of the pages it names.
#[derive(Clone, Debug, PartialEq)]
pub struct EventInfo {
    /// 1 for the first; no number is left out.
    pub sequence: u64,
    /// What happened.
    pub change: Change,
    /// The address of the page that the change is about, or of the new winner.
    pub url: Option<String>,
    /// The address of the page redirected to, or of the former winner.
    pub other_url: Option<String>,
}

/// How much there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Pages with an address, awaited ones included.
    pub pages: u64,
    /// Pages with content.
    pub with_content: u64,
    /// Groups.
    pub groups: u64,
    /// The last event's number.
    pub last_event: u64,
    /// Commits since the repository was created.
    pub commits: u64,
    /// Bytes of the index in memory.
    pub index_bytes: u64,
    /// Bytes of the store's file.
    pub file_bytes: u64,
    /// Times the file was synced since it was opened.
    pub syncs: u64,
}

/// The pages of a snapshot.
pub(crate) type ReadPages<'a> =
    Pages<'a, ReadOnlyTable<u32, &'static [u8]>, ReadOnlyTable<u32, &'static str>>;

pub(crate) struct View {
    pub(crate) tables: ReadTransaction,
    pub(crate) index: Snapshot,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
}

impl View {
    pub(crate) fn groups(&self) -> Outcome<LiveGroups<ReadState>> {
        self.groups_under(&self.settings.rules)
    }

    pub(crate) fn groups_under(&self, rules: &Rules) -> Outcome<LiveGroups<ReadState>> {
        let state = ReadState {
            places: self.tables.open_table(tables::PLACES)?,
            groups: self.tables.open_table(tables::GROUPS)?,
            members: self.tables.open_table(tables::MEMBERS)?,
            sources: self.tables.open_table(tables::SOURCES)?,
        };
        Ok(LiveGroups::new(state, rules.clone(), self.settings.groups))
    }

    /// Calls `question` with the pages behind the groups, and their addresses.
    pub(crate) fn with_world<T>(
        &self,
        question: impl FnOnce(&ReadPages<'_>, &ReadOnlyTable<u32, &'static str>) -> Outcome<T>,
    ) -> Outcome<T> {
        let pages = self.tables.open_table(tables::PAGES)?;
        let names = self.tables.open_table(tables::NAMES)?;
        let (index, policy) = (self.index.clone(), Policy::of(&self.settings));
        let world = Pages { pages: &pages, names: &names, index, policy, recent: None };
        question(&world, &names)
    }

    pub(crate) fn id(&self, url: &str) -> Outcome<Option<PageId>> {
        let urls = self.tables.open_table(tables::URLS)?;
        Ok(urls.get(url)?.map(|row| PageId(row.value())))
    }

    /// What would be said of a page that is not recorded, or not like this.
    pub(crate) fn check(&self, seen: &Observation) -> Outcome<Decision> {
        let pages = self.tables.open_table(tables::PAGES)?;
        let names = self.tables.open_table(tables::NAMES)?;
        let Some(contents) = &seen.contents else {
            let verdict = Verdict {
                kind: Kind::Empty,
                group: None,
                winner: None,
                is_winner: true,
                likeness: None,
                matches: Vec::new(),
                reason: None,
                tier: Tier::None,
            };
            return Ok(Decision { page: None, verdict, winner_url: None });
        };
        let known = self.id(&seen.url)?;
        let score = match known {
            Some(page) => page_data(&pages, page)?.score,
            None => None,
        };
        let policy = Policy::of(&self.settings);
        let world =
            Pages { pages: &pages, names: &names, index: self.index.clone(), policy, recent: None };
        let scope = ScopeFacts { url: &seen.url, language: &seen.language, field: &seen.field };
        let scope = self.settings.scope.key(&scope);
        let limit = self.settings.groups.max_matches;
        let found = world.near_content(&seen.content, contents, scope, known, limit)?;
        let facts = PageFacts {
            url: Cow::Borrowed(&seen.url),
            id: 0,
            score: seen.score.or(score),
            fetched: seen.fetched,
            words: seen.words,
            canonical: seen.canonical.as_deref().map(Cow::Borrowed),
            named_canonical: seen.named_canonical,
        };
        let verdict = self.groups()?.check(&world, &facts, found).map_err(of_groups)?;
        let winner_url = verdict.winner.map(|winner| name(&names, winner)).transpose()?;
        Ok(Decision { page: known, verdict, winner_url })
    }

    pub(crate) fn page(&self, url: &str) -> Outcome<Option<PageInfo>> {
        let Some(id) = self.id(url)? else { return Ok(None) };
        let data = page_data(&self.tables.open_table(tables::PAGES)?, id)?;
        let Some(place) = self.groups()?.state().page(id)? else { return Ok(None) };
        Ok(Some(PageInfo {
            url: url.to_owned(),
            id,
            place,
            content: data.content,
            contents: data.contents,
            words: data.words,
            score: data.score,
            fetched: data.fetched,
            changed: data.changed,
            canonical: data.canonical,
        }))
    }

    pub(crate) fn group(&self, url: &str) -> Outcome<Option<GroupInfo>> {
        let Some(id) = self.id(url)? else { return Ok(None) };
        let groups = self.groups()?;
        let Some((group, _)) = groups.place(id).map_err(of_groups)? else { return Ok(None) };
        let Some(record) = groups.state().group(group)? else { return Ok(None) };
        let names = self.tables.open_table(tables::NAMES)?;
        let pages = groups.pages(group).map_err(of_groups)?;
        let pages: Outcome<Vec<_>> =
            pages.into_iter().map(|page| Ok((page, name(&names, page)?))).collect();
        let winner_url = name(&names, record.winner)?;
        Ok(Some(GroupInfo { id: group, record, winner_url, pages: pages? }))
    }

    pub(crate) fn events(&self, after: u64, limit: usize) -> Outcome<Vec<EventInfo>> {
        events_of(&self.tables, after, limit)
    }

    /// Bytes of file and syncs are the repository's to fill in.
    pub(crate) fn stats(&self) -> Outcome<Stats> {
        Ok(Stats {
            pages: self.tables.open_table(tables::NAMES)?.len()?,
            with_content: self.index.len() as u64,
            groups: self.tables.open_table(tables::GROUPS)?.len()?,
            last_event: self.counters.last_event,
            commits: self.counters.commits,
            index_bytes: self.index.memory_bytes() as u64,
            file_bytes: 0,
            syncs: 0,
        })
    }
}

pub(crate) fn events_of(
    tables: &ReadTransaction,
    after: u64,
    limit: usize,
) -> Outcome<Vec<EventInfo>> {
    let events = tables.open_table(tables::EVENTS)?;
    let names = tables.open_table(tables::NAMES)?;
    let former = tables.open_table(tables::FORMER)?;
    let url = |page: Option<PageId>| -> Outcome<Option<String>> {
        let Some(page) = page else { return Ok(None) };
        if let Some(row) = names.get(page.0)? {
            return Ok(Some(row.value().to_owned()));
        }
        Ok(former.get(page.0)?.map(|row| row.value().1.to_owned()))
    };
    let mut found = Vec::new();
    for row in events.range(after.saturating_add(1)..)?.take(limit) {
        let (sequence, bytes) = row?;
        let sequence = sequence.value();
        let change = codec::read_change(sequence, bytes.value())?;
        let (page, other) = match change {
            Change::Joined { page, .. }
            | Change::Left { page, .. }
            | Change::Gone { page }
            | Change::Returned { page } => (Some(page), None),
            Change::WinnerChanged { from, to, .. } => (Some(to), Some(from)),
            Change::Redirected { page, to } => (Some(page), Some(to)),
            Change::Merged { .. } | Change::Split { .. } => (None, None),
        };
        let (url, other_url) = (url(page)?, url(other)?);
        found.push(EventInfo { sequence, change, url, other_url });
    }
    Ok(found)
}
