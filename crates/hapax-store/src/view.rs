//! Reads everything as of the last commit.
//!
//! A view holds a read transaction of the store and a snapshot of the index taken right after the same commit,
//! so the two agree. The repository keeps one and replaces it at every commit, before the commit is
//! acknowledged, so callers see what was acknowledged to them. Its tables are opened once, because opening one
//! costs as much as two lookups.

use crate::codec::{self, ChangeBytes, GroupBytes, PlaceBytes};
use crate::contents;
use crate::error::{Outcome, of_groups};
use crate::frames::{self, Frames, Own, OwnShown, host_of};
use crate::page::{Nearest, Observation, PageData, PageInfo, Seen};
use crate::session::Decision;
use crate::settings::Settings;
use crate::state::ReadState;
use crate::tables::{self, Counters};
use crate::world::{Comparing, Memory, Pages, Side, name, page_data};
use hapax::group::live::{
    Bare, Change, GroupId, GroupRecord, GroupState, Kind, LiveGroups, Near, PageId, PageRecord,
    Tier, Verdict,
};
use hapax::group::{PageFacts, Rules, ScopeFacts};
use hapax::index::HammingIndex;
use hapax::index::live::Snapshot;
use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata};
use std::borrow::Cow;

/// A group as the repository knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupInfo {
    pub id: GroupId,
    /// Winner, counts, radius.
    pub record: GroupRecord,
    pub winner_url: String,
    /// All its pages, including those that redirect into it, ascending.
    pub pages: Vec<(PageId, String)>,
}

/// A change, with the addresses of its pages.
#[derive(Clone, Debug, PartialEq)]
pub struct EventInfo {
    /// From 1, without gaps.
    pub sequence: u64,
    pub change: Change,
    /// When it was recorded, in seconds since 1970; `None` for events of versions without times.
    pub at: Option<u64>,
    /// The address of the page concerned, or of the new winner.
    pub url: Option<String>,
    /// The address of the redirect's target, or of the previous winner.
    pub other_url: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Number of pages with an address, including awaited ones.
    pub pages: u64,
    pub with_content: u64,
    pub groups: u64,
    pub last_event: u64,
    /// Number of commits since the repository was created.
    pub commits: u64,
    /// Memory of the index in bytes.
    pub index_bytes: u64,
    /// Size of the store's file in bytes.
    pub file_bytes: u64,
    /// Number of syncs of the file since it was opened.
    pub syncs: u64,
    /// Number of segments of the index; every search reads each of them.
    pub segments: u64,
}

/// The pages of a snapshot.
pub(crate) type ReadPages<'a> = Pages<
    'a,
    ReadOnlyTable<u32, &'static [u8]>,
    ReadOnlyTable<u32, &'static str>,
    ReadOnlyTable<&'static contents::Key, ()>,
>;

/// The tables for queries, as of one commit.
pub(crate) struct OpenTables {
    pub(crate) pages: ReadOnlyTable<u32, &'static [u8]>,
    pub(crate) contents: ReadOnlyTable<&'static contents::Key, ()>,
    pub(crate) urls: ReadOnlyTable<&'static str, u32>,
    pub(crate) names: ReadOnlyTable<u32, &'static str>,
    pub(crate) former: ReadOnlyTable<u32, (u64, &'static str)>,
    pub(crate) places: ReadOnlyTable<u32, &'static PlaceBytes>,
    pub(crate) groups: ReadOnlyTable<u32, &'static GroupBytes>,
    pub(crate) members: ReadOnlyTable<u64, ()>,
    pub(crate) sources: ReadOnlyTable<u64, ()>,
    pub(crate) events: ReadOnlyTable<u64, &'static ChangeBytes>,
    pub(crate) hosts: ReadOnlyTable<u64, &'static [u8]>,
    pub(crate) frames: ReadOnlyTable<u64, &'static [u8]>,
    pub(crate) host_texts: ReadOnlyTable<u64, &'static [u8]>,
}

impl OpenTables {
    pub(crate) fn of(transaction: &ReadTransaction) -> Outcome<Self> {
        Ok(Self {
            pages: transaction.open_table(tables::PAGES)?,
            contents: transaction.open_table(contents::CONTENTS)?,
            urls: transaction.open_table(tables::URLS)?,
            names: transaction.open_table(tables::NAMES)?,
            former: transaction.open_table(tables::FORMER)?,
            places: transaction.open_table(tables::PLACES)?,
            groups: transaction.open_table(tables::GROUPS)?,
            members: transaction.open_table(tables::MEMBERS)?,
            sources: transaction.open_table(tables::SOURCES)?,
            events: transaction.open_table(tables::EVENTS)?,
            hosts: transaction.open_table(frames::HOSTS)?,
            frames: transaction.open_table(frames::FRAMES)?,
            host_texts: transaction.open_table(frames::TEXTS)?,
        })
    }
}

pub(crate) struct View {
    pub(crate) transaction: ReadTransaction,
    pub(crate) tables: OpenTables,
    pub(crate) index: Snapshot,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
}

impl View {
    pub(crate) fn groups(&self) -> LiveGroups<ReadState<'_>> {
        self.groups_under(&self.settings.rules)
    }

    pub(crate) fn groups_under(&self, rules: &Rules) -> LiveGroups<ReadState<'_>> {
        LiveGroups::new(ReadState::new(&self.tables), rules.clone(), self.settings.groups)
    }

    /// Calls `question` with access to the pages and their addresses.
    pub(crate) fn with_world<T>(
        &self,
        question: impl FnOnce(&ReadPages<'_>, &ReadOnlyTable<u32, &'static str>) -> Outcome<T>,
    ) -> Outcome<T> {
        question(&self.world(), &self.tables.names)
    }

    /// Access to the pages.
    pub(crate) fn world(&self) -> ReadPages<'_> {
        let OpenTables { pages, names, contents, .. } = &self.tables;
        let (index, comparing) = (self.index.clone(), Comparing::by(&self.settings));
        Pages { pages, names, contents, index, comparing, recent: None, memory: None, dense: None }
    }

    pub(crate) fn id(&self, url: &str) -> Outcome<Option<PageId>> {
        Ok(self.tables.urls.get(url)?.map(|row| PageId(row.value())))
    }

    /// The decision on a page as if it were observed at a given time, and the addresses of the
    /// nearest `named` of its matches.
    pub(crate) fn check(
        &self,
        seen: &Observation,
        named: usize,
        at: u64,
    ) -> Outcome<(Decision, Vec<String>)> {
        let id = self.id(&seen.url)?;
        let mut groups = self.groups();
        let place = match id {
            Some(page) => groups.state().page(page)?,
            None => None,
        };
        let old = match id {
            Some(page) => page_data(&self.tables.pages, page)?,
            None => PageData::blank(),
        };
        let known_as = Seen::of(place, &old.content, &seen.content);
        let decision = |verdict, winner_url, own| Decision {
            page: id,
            seen: Some(known_as),
            verdict,
            winner_url,
            own,
        };
        let scope = ScopeFacts { url: &seen.url, language: &seen.language, field: &seen.field };
        let scope = self.settings.scope.key(&scope);
        let new = PageData {
            content: seen.content,
            comparable: seen.comparable.clone(),
            // If the text is unchanged, its known sketch is kept.
            keyed: seen.keyed.or(old.keyed.filter(|_| old.content == seen.content)),
            own: match seen.pieces.is_empty() {
                true => old.own.filter(|_| old.content == seen.content),
                false => self.own_text(seen)?,
            },
            scope,
            ..PageData::blank()
        };
        let Some(side) = Side::of(&new) else {
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
            return Ok((decision(verdict, None, None), Vec::new()));
        };
        let memory = Memory::default();
        let world = Pages { memory: Some(&memory), ..self.world() };
        let limit = self.settings.groups.max_matches;
        let found = world.near_content(side, || Ok(seen.url.clone()), scope, id, limit)?;
        let continues = known_as != Seen::First && world.comparing.continues(&old, &new)?;
        let status = match id {
            Some(page) if known_as == Seen::Unchanged && old.scope == scope => {
                groups.status(&world, page, None, found.clone()).map_err(of_groups)?
            }
            Some(_) | None => None,
        };
        let verdict = match status {
            Some(verdict) => verdict,
            None => {
                let facts = PageFacts {
                    url: Cow::Borrowed(&seen.url),
                    id: 0,
                    score: seen.score.or(old.score),
                    first_seen: match continues {
                        true => old.first_seen,
                        false => Some(seen.fetched.unwrap_or(at)),
                    },
                    recorded: old.recorded.filter(|_| continues),
                    domain_place: None,
                    words: seen.words,
                    canonical: seen.canonical.as_deref().map(Cow::Borrowed),
                    named_canonical: seen.named_canonical,
                };
                groups.check(&world, &facts, id, found).map_err(of_groups)?
            }
        };
        let winner = verdict.winner.filter(|&winner| Some(winner) != id);
        let winner_url = winner.map(|winner| world.name(winner)).transpose()?;
        let named = verdict.matches.iter().take(named).map(|near| world.name(near.page));
        let named = named.collect::<Outcome<_>>()?;
        let own = self.own_shown((new.own, &seen.url), winner.zip(winner_url.as_deref()))?;
        Ok((decision(verdict, winner_url, own), named))
    }

    /// The own text of a page, under the current frame of its host.
    fn own_text(&self, seen: &Observation) -> Outcome<Option<Own>> {
        let Some(host) = host_of(&seen.url).filter(|_| self.settings.frames == Frames::On) else {
            return Ok(None);
        };
        let frame = frames::frame(&self.tables.hosts, &self.tables.frames, host)?;
        Ok(frame.map(|frame| frame.own(&seen.pieces, frame.version())))
    }

    /// The own text for display, next to a winner that is another page.
    pub(crate) fn own_shown(
        &self,
        (own, url): (Option<Own>, &str),
        winner: Option<(PageId, &str)>,
    ) -> Outcome<Option<OwnShown>> {
        let Some(own) = own else { return Ok(None) };
        let winner = match winner {
            Some((winner, url)) => Some((page_data(&self.tables.pages, winner)?.own, url)),
            None => None,
        };
        let winner = winner.as_ref().map(|(own, url)| (own.as_ref(), *url));
        Ok(OwnShown::of((Some(&own), url), winner))
    }

    /// Pages that were compared under an older frame of their host.
    pub(crate) fn due(&self) -> Outcome<Vec<PageId>> {
        let mut due = Vec::new();
        for row in self.tables.pages.iter()? {
            let (id, bytes) = row?;
            let page = PageId(id.value());
            due.extend(codec::read_page(page, bytes.value())?.is_due().then_some(page));
        }
        Ok(due)
    }

    /// The known page most similar to this one, other than itself.
    pub(crate) fn nearest(&self, seen: &Observation) -> Outcome<Option<Nearest>> {
        let Some(side) = Side::seen(seen) else { return Ok(None) };
        let scope = ScopeFacts { url: &seen.url, language: &seen.language, field: &seen.field };
        let scope = self.settings.scope.key(&scope);
        let (world, but) = (self.world(), self.id(&seen.url)?);
        let found = world.most_like(side, scope, but)?;
        let nearest =
            |near: Near| Ok(Nearest { url: world.name(near.page)?, likeness: near.likeness });
        found.map(nearest).transpose()
    }

    pub(crate) fn page(&self, url: &str) -> Outcome<Option<PageInfo>> {
        let Some(id) = self.id(url)? else { return Ok(None) };
        let data = page_data(&self.tables.pages, id)?;
        let Some(place) = self.groups().state().page(id)? else { return Ok(None) };
        Ok(Some(PageInfo {
            url: url.to_owned(),
            id,
            content: data.content,
            comparable: data.comparable,
            own: data.own,
            words: data.words,
            score: data.score,
            fetched: data.fetched,
            changed: data.changed,
            first_seen: data.first_seen,
            canonical: data.canonical,
            redirects_to: self.redirects_to(&place)?,
            place,
        }))
    }

    /// The address that a page with this record redirects to.
    pub(crate) fn redirects_to(&self, place: &PageRecord) -> Outcome<Option<String>> {
        match place {
            PageRecord::Redirects { to } | PageRecord::Bare { why: Bare::Loop { to }, .. } => {
                name(&self.tables.names, *to).map(Some)
            }
            PageRecord::Content { .. } | PageRecord::Bare { .. } => Ok(None),
        }
    }

    pub(crate) fn group(&self, url: &str) -> Outcome<Option<GroupInfo>> {
        let Some(id) = self.id(url)? else { return Ok(None) };
        let groups = self.groups();
        let Some((group, _)) = groups.place(id).map_err(of_groups)? else { return Ok(None) };
        let Some(record) = groups.state().group(group)? else { return Ok(None) };
        let names = &self.tables.names;
        let pages = groups.pages(group).map_err(of_groups)?;
        let pages: Outcome<Vec<_>> =
            pages.into_iter().map(|page| Ok((page, name(names, page)?))).collect();
        let winner_url = name(names, record.winner)?;
        Ok(Some(GroupInfo { id: group, record, winner_url, pages: pages? }))
    }

    pub(crate) fn events(&self, after: u64, limit: usize) -> Outcome<Vec<EventInfo>> {
        events_of(&self.tables, after, limit)
    }

    /// The repository fills in file size and syncs.
    pub(crate) fn stats(&self) -> Outcome<Stats> {
        Ok(Stats {
            pages: self.tables.names.len()?,
            with_content: self.index.len() as u64,
            groups: self.tables.groups.len()?,
            last_event: self.counters.last_event,
            commits: self.counters.commits,
            index_bytes: self.index.memory_bytes() as u64,
            file_bytes: 0,
            syncs: 0,
            segments: self.index.segments().len() as u64,
        })
    }
}

pub(crate) fn events_of(tables: &OpenTables, after: u64, limit: usize) -> Outcome<Vec<EventInfo>> {
    let mut found = Vec::new();
    for row in tables.events.range(after.saturating_add(1)..)?.take(limit) {
        let (sequence, bytes) = row?;
        found.push(event_info(tables, sequence.value(), bytes.value())?);
    }
    Ok(found)
}

/// A change, with the addresses of its pages.
pub(crate) fn event_info(
    tables: &OpenTables,
    sequence: u64,
    bytes: &ChangeBytes,
) -> Outcome<EventInfo> {
    let (change, at) = codec::read_change(sequence, bytes)?;
    let OpenTables { names, former, .. } = tables;
    let url = |page: Option<PageId>| -> Outcome<Option<String>> {
        let Some(page) = page else { return Ok(None) };
        if let Some(row) = names.get(page.0)? {
            return Ok(Some(row.value().to_owned()));
        }
        Ok(former.get(page.0)?.map(|row| row.value().1.to_owned()))
    };
    let (page, other) = match change {
        Change::Joined { page, .. }
        | Change::Left { page, .. }
        | Change::Changed { page }
        | Change::Gone { page }
        | Change::Returned { page } => (Some(page), None),
        Change::WinnerChanged { from, to, .. } => (Some(to), Some(from)),
        Change::Redirected { page, to } => (Some(page), Some(to)),
        Change::Merged { .. } | Change::Split { .. } => (None, None),
    };
    let (url, other_url) = (url(page)?, url(other)?);
    Ok(EventInfo { sequence, change, at, url, other_url })
}
