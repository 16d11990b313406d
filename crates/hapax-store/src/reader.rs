//! Reads a repository at one commit, so that several results are consistent.
//!
//! A [`Reader`] keeps its commit while others write, and the file cannot reuse that space, so do not keep it
//! for long. Pages are listed in byte order of their addresses, groups by number. A [`Market`] is a named list
//! of rules that chooses another winner for each group; only its rules are stored.
//!
//! Source: Zhu et al. 2012, section 5, for markets.

use crate::codec;
use crate::disk::{Disk, RealDisk, Watch};
use crate::error::{Fault, Outcome, StoreError, guarded, of_groups};
use crate::opening;
use crate::page::PageInfo;
use crate::session::Decision;
use crate::settings::Settings;
use crate::tables;
use crate::view::{self, EventInfo, GroupInfo, OpenTables, View};
use crate::world::{name, name_redirect, page_data};
use hapax::group::live::{GroupId, GroupRecord, GroupState, PageId, PageRecord, World};
use hapax::group::{PageFacts, Rules};
use redb::{ReadableDatabase, ReadableTable};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Reader {
    view: Arc<View>,
    file: PathBuf,
    watch: Arc<Watch>,
}

/// The winners under a named list of rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Market {
    pub name: String,
    pub rules: Rules,
    /// Groups whose winner differs from the repository's.
    winners: BTreeMap<GroupId, PageId>,
}

/// A group without its pages.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSummary {
    pub id: GroupId,
    /// Winner, counts, radius.
    pub record: GroupRecord,
    pub winner_url: String,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn new(view: Arc<View>, file: PathBuf, watch: Arc<Watch>) -> Self {
        Self { view, file, watch }
    }

    /// Settings of the repository, including its rules and markets.
    pub fn settings(&self) -> &Settings {
        &self.view.settings
    }

    pub fn commit(&self) -> u64 {
        self.view.counters.commits
    }

    pub fn page(&self, url: &str) -> Result<Option<PageInfo>, StoreError> {
        self.query(|view| view.page(url))
    }

    /// The first `limit` events after a sequence number, oldest first.
    pub fn events(&self, after: u64, limit: usize) -> Result<Vec<EventInfo>, StoreError> {
        self.query(|view| view.events(after, limit))
    }

    /// Applies the rules of a market to all groups.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoMarket`], or the store cannot be read.
    pub fn market(&self, name: &str) -> Result<Market, StoreError> {
        let markets = &self.view.settings.markets;
        let Some(rules) = markets.get(name) else {
            let known: Vec<&str> = markets.keys().map(String::as_str).collect();
            let known = match known.is_empty() {
                true => "it has none".to_owned(),
                false => format!("it has {}", known.join(", ")),
            };
            let folder = self.file.parent().unwrap_or(&self.file).to_owned();
            return Err(StoreError::NoMarket { folder, name: name.into(), known });
        };
        let winners = self.query(|view| market_winners(view, rules))?;
        Ok(Market { name: name.into(), rules: rules.clone(), winners })
    }

    /// The status of a page relative to the winner of its group, in a market if one is given.
    /// `None` if the page is unknown.
    pub fn status(
        &self,
        url: &str,
        market: Option<&Market>,
    ) -> Result<Option<Decision>, StoreError> {
        self.query(|view| match view.id(url)? {
            Some(page) => status(view, page, market),
            None => Ok(None),
        })
    }

    /// The next `limit` pages after an address, with their status.
    pub fn pages(
        &self,
        after: Option<&str>,
        limit: usize,
        market: Option<&Market>,
    ) -> Result<Vec<(PageInfo, Decision)>, StoreError> {
        self.query(|view| {
            let urls = &view.tables.urls;
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            let mut found = Vec::new();
            for row in urls.range::<&str>((from, Bound::Unbounded))?.take(limit) {
                let (url, id) = row?;
                found.extend(both(view, url.value(), PageId(id.value()), market)?);
            }
            Ok(found)
        })
    }

    /// The group of a page; with a market, its winner there.
    pub fn group(
        &self,
        url: &str,
        market: Option<&Market>,
    ) -> Result<Option<GroupInfo>, StoreError> {
        self.query(|view| {
            let Some(mut group) = view.group(url)? else { return Ok(None) };
            if let Some(&winner) = market.and_then(|market| market.winners.get(&group.id)) {
                group.record.winner = winner;
                group.winner_url = name(&view.tables.names, winner)?;
            }
            Ok(Some(group))
        })
    }

    /// The pages of a group, with their status.
    pub fn members(
        &self,
        group: &GroupInfo,
        market: Option<&Market>,
    ) -> Result<Vec<(PageInfo, Decision)>, StoreError> {
        self.query(|view| {
            let mut found = Vec::with_capacity(group.pages.len());
            for (page, url) in &group.pages {
                found.extend(both(view, url, *page, market)?);
            }
            Ok(found)
        })
    }

    /// The next `limit` groups after a number that have at least `least` members.
    pub fn groups(
        &self,
        after: Option<GroupId>,
        limit: usize,
        least: u32,
        market: Option<&Market>,
    ) -> Result<Vec<GroupSummary>, StoreError> {
        self.query(|view| {
            let OpenTables { groups, names, .. } = &view.tables;
            let from = after.map_or(Bound::Unbounded, |group| Bound::Excluded(group.0));
            let mut found = Vec::new();
            for row in groups.range::<u32>((from, Bound::Unbounded))? {
                if found.len() == limit {
                    break;
                }
                let (id, bytes) = row?;
                let id = GroupId(id.value());
                let record = codec::read_group(bytes.value());
                let Some(mut record) = record.filter(|record| record.members >= least) else {
                    continue;
                };
                if let Some(&winner) = market.and_then(|market| market.winners.get(&id)) {
                    record.winner = winner;
                }
                let winner_url = name(names, record.winner)?;
                found.push(GroupSummary { id, record, winner_url });
            }
            Ok(found)
        })
    }

    fn query<T>(&self, question: impl FnOnce(&View) -> Outcome<T>) -> Result<T, StoreError> {
        guarded(|| question(&self.view)).map_err(|fault| self.watch.refusal(fault, &self.file))
    }
}

/// Events of a repository that is not open, without loading its index; for followers that run
/// occasionally.
pub fn read_events(folder: &Path, after: u64, limit: usize) -> Result<Vec<EventInfo>, StoreError> {
    let file = folder.join(tables::FILE);
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let db = opening::open_file(&file, &disk, Arc::default(), opening::CACHE_BYTES)?;
    opening::read_settings(&db, &file)?;
    let read = guarded(|| view::events_of(&OpenTables::of(&db.begin_read()?)?, after, limit));
    read.map_err(|fault| fault.at(&file))
}

/// A page and its status.
pub(crate) fn both(
    view: &View,
    url: &str,
    page: PageId,
    market: Option<&Market>,
) -> Outcome<Option<(PageInfo, Decision)>> {
    let Some(info) = view.page(url)? else {
        return Err(Fault::Damaged(format!("page {page} has no place")));
    };
    Ok(status(view, page, market)?.map(|decision| (info, decision)))
}

fn status(view: &View, page: PageId, market: Option<&Market>) -> Outcome<Option<Decision>> {
    let rules = market.map_or(&view.settings.rules, |market| &market.rules);
    let mut groups = view.groups_under(rules);
    let mut winner = None;
    if let Some(market) = market
        && let Some((group, _)) = groups.place(page).map_err(of_groups)?
    {
        winner = market.winners.get(&group).copied();
    }
    view.with_world(|world, names| {
        let verdict = groups.status(world, page, winner, Vec::new()).map_err(of_groups)?;
        let Some(mut verdict) = verdict else { return Ok(None) };
        let end = groups.place(page).map_err(of_groups)?.map(|(_, end)| end);
        name_redirect(&mut verdict, end, names)?;
        let winner = verdict.winner.filter(|&winner| winner != page);
        let winner_url = winner.map(|winner| name(names, winner)).transpose()?;
        let data = page_data(&view.tables.pages, page)?;
        let url = if data.own.is_some() { name(names, page)? } else { String::new() };
        let own = view.own_shown((data.own, &url), winner.zip(winner_url.as_deref()))?;
        Ok(Some(Decision { page: Some(page), seen: None, verdict, winner_url, own }))
    })
}

fn market_winners(view: &View, rules: &Rules) -> Outcome<BTreeMap<GroupId, PageId>> {
    let groups = view.groups();
    let state = groups.state();
    let mut winners = BTreeMap::new();
    view.with_world(|world, _| {
        for row in state.tables.groups.iter()? {
            let (id, bytes) = row?;
            let group = GroupId(id.value());
            let Some(record) = codec::read_group(bytes.value()) else { continue };
            if record.members == 1 {
                continue;
            }
            let best = best_of(state, world, group, rules)?;
            if let Some(best) = best.filter(|&best| best != record.winner) {
                winners.insert(group, best);
            }
        }
        Ok(())
    })?;
    Ok(winners)
}

/// The member with content that the rules prefer.
pub(crate) fn best_of(
    state: &impl GroupState<Error = Fault>,
    world: &impl World<Error = Fault>,
    group: GroupId,
    rules: &Rules,
) -> Outcome<Option<PageId>> {
    let mut members = Vec::new();
    state.members(group, &mut |page| {
        members.push(page);
        ControlFlow::Continue(())
    })?;
    let mut best: Option<(PageId, PageFacts<'_>)> = None;
    for page in members {
        if !matches!(state.page(page)?, Some(PageRecord::Content { .. })) {
            continue;
        }
        let facts = world.facts(page)?;
        if best.as_ref().is_none_or(|(_, other)| rules.better(&facts, other)) {
            best = Some((page, facts));
        }
    }
    Ok(best.map(|(page, _)| page))
}
