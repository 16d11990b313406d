//! One write transaction: the operations on open tables.
//!
//! A session changes tables, which are restored by dropping the transaction, and the index, which is not: so it
//! records the previous index entries, and whoever drops the transaction restores these.
//!
//! Invariants between operations: a page with an address has a record and a place. Its record has content
//! exactly if its place says so, and then the index has it.

use crate::changes::{self, Changed};
use crate::codec;
use crate::contents;
use crate::error::{Fault, Outcome, of_groups, of_segment};
use crate::frames::{Frames, Learning, OwnShown};
use crate::increment::Part;
use crate::page::{Observation, PageData, Seen};
use crate::settings::Settings;
use crate::state::WriteState;
use crate::tables::{self, Counters};
use crate::world::{Comparing, Pages, name, name_redirect, page_data};
use hapax::fingerprint::Fingerprint;
use hapax::group::live::{
    Bare, Content, GroupId, GroupState, Kind, LiveGroups, PageId, PageRecord, Verdict,
};
use hapax::group::{Rules, ScopeFacts};
use hapax::index::Entry;
use hapax::index::live::LiveIndex;
use redb::{ReadableTable, Table, WriteTransaction};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// An operation of a session.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Page(Action),
    Forget(Vec<String>),
    Expire {
        before: u64,
    },
    SetRules(Rules),
    SetMarket {
        name: String,
        rules: Option<Rules>,
    },
    DropEvents {
        up_to: u64,
    },
    /// Compares those of the pages again that were compared under an older frame.
    Recheck(Vec<PageId>),
    /// Decides again about data restored by a repair or an upgrade: groups elect winners and are verified, pages
    /// find a group.
    Regroup {
        groups: Vec<GroupId>,
        pages: Vec<PageId>,
    },
}

/// An event about a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Observe(Box<Observation>),
    /// The page redirects.
    Redirect {
        from: String,
        /// The target.
        to: String,
        /// When this was observed, in seconds since 1970.
        fetched: Option<u64>,
    },
    /// The page was deleted.
    Forget {
        url: String,
    },
    /// The page's score changed.
    Score {
        url: String,
        /// `None` for unknown.
        score: Option<f64>,
    },
}

impl Action {
    /// The page concerned.
    pub fn url(&self) -> &str {
        match self {
            Self::Observe(page) => &page.url,
            Self::Redirect { from: url, .. } | Self::Forget { url } | Self::Score { url, .. } => {
                url
            }
        }
    }
}

/// The result of an [`Action`].
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The decision on the page.
    Decided(Box<Decision>),
    /// Whether the page was known.
    Known(bool),
}

impl From<Answer> for Effect {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Decided(decision) => Self::Decided(decision),
            Answer::Counted(count) => Self::Known(count > 0),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Decided(Box<Decision>),
    Counted(u64),
}

/// A verdict on a page, with addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The page's number; `None` if the page is not recorded.
    pub page: Option<PageId>,
    /// Whether it was known before; `None` if the page was only checked.
    pub seen: Option<Seen>,
    pub verdict: Verdict,
    /// The address of the winner, if that is another page.
    pub winner_url: Option<String>,
    /// The own text, if the host has a frame.
    pub own: Option<OwnShown>,
}

/// The previous index entries of pages.
pub(crate) type Undo = Vec<(PageId, Option<Fingerprint>)>;

pub(crate) struct Session<'t, 'r> {
    urls: Table<'t, &'static str, u32>,
    names: Table<'t, u32, &'static str>,
    pages: Table<'t, u32, &'static [u8]>,
    contents: Table<'t, &'static contents::Key, ()>,
    former: Table<'t, u32, (u64, &'static str)>,
    groups: LiveGroups<WriteState<'t>>,
    /// `None` if frames are off.
    learning: Option<Learning<'t>>,
    transaction: &'t WriteTransaction,
    index: &'r LiveIndex,
    undo: &'r mut Undo,
    settings: Settings,
    comparing: Comparing,
    record: Vec<u8>,
    /// The page that was written last, because operations mostly ask about it.
    recent: Option<(PageId, PageData)>,
    /// Pages of this operation near which the index has more entries than are compared.
    dense: RefCell<BTreeSet<PageId>>,
}

/// The pages as a session sees them.
macro_rules! world {
    ($session:expr) => {
        Pages {
            pages: &$session.pages,
            names: &$session.names,
            contents: &$session.contents,
            index: $session.index.snapshot(),
            comparing: $session.comparing,
            recent: $session.recent.as_ref(),
            memory: None,
            dense: Some(&$session.dense),
        }
    };
}

// After the macro, which it uses.
mod own_text;

impl<'t, 'r> Session<'t, 'r> {
    pub(crate) fn open(
        transaction: &'t WriteTransaction,
        settings: &Settings,
        counters: Counters,
        index: &'r LiveIndex,
        undo: &'r mut Undo,
        at: u64,
        changed: Option<Changed>,
    ) -> Outcome<Self> {
        let state = WriteState {
            places: transaction.open_table(tables::PLACES)?,
            groups: transaction.open_table(tables::GROUPS)?,
            members: transaction.open_table(tables::MEMBERS)?,
            sources: transaction.open_table(tables::SOURCES)?,
            events: transaction.open_table(tables::EVENTS)?,
            counters,
            at,
            touched: Default::default(),
            cleared: Vec::new(),
            changed,
        };
        Ok(Self {
            urls: transaction.open_table(tables::URLS)?,
            names: transaction.open_table(tables::NAMES)?,
            pages: transaction.open_table(tables::PAGES)?,
            contents: transaction.open_table(contents::CONTENTS)?,
            former: transaction.open_table(tables::FORMER)?,
            groups: LiveGroups::new(state, settings.rules.clone(), settings.groups),
            learning: match settings.frames {
                Frames::On => Some(Learning::open(transaction)?),
                Frames::Off => None,
            },
            transaction,
            index,
            undo,
            comparing: Comparing::by(settings),
            settings: settings.clone(),
            record: Vec::new(),
            recent: None,
            dense: RefCell::default(),
        })
    }

    /// Writes the counters, and the settings, which may have changed.
    pub(crate) fn finish(mut self) -> Outcome<(Counters, Settings)> {
        let state = self.groups.state_mut();
        state.flush()?;
        let before = state.counters.commits;
        state.counters.commits += 1;
        let counters = state.counters;
        if let Some(changed) = state.changed.take() {
            changes::append(self.transaction, before, counters.commits, changed)?;
        }
        counters.write(&mut self.transaction.open_table(tables::COUNTERS)?)?;
        Ok((counters, self.settings))
    }

    pub(crate) fn run(&mut self, op: &Op) -> Outcome<Answer> {
        let decided = |decision| Answer::Decided(Box::new(decision));
        let answer = match op {
            Op::Page(Action::Observe(page)) => decided(self.observe(page)?),
            Op::Page(Action::Redirect { from, to, fetched }) => {
                decided(self.redirect(from, to, *fetched)?)
            }
            Op::Page(Action::Forget { url }) => {
                Answer::Counted(self.forget(std::slice::from_ref(url))?)
            }
            Op::Page(Action::Score { url, score }) => Answer::Counted(self.score(url, *score)?),
            Op::Forget(urls) => Answer::Counted(self.forget(urls)?),
            Op::Expire { before } => Answer::Counted(self.expire(*before)?),
            Op::SetRules(rules) => {
                self.set_rules(rules)?;
                Answer::Counted(0)
            }
            Op::SetMarket { name, rules } => {
                match rules {
                    Some(rules) => self.settings.markets.insert(name.clone(), rules.clone()),
                    None => self.settings.markets.remove(name),
                };
                self.write_settings()?;
                Answer::Counted(0)
            }
            Op::Regroup { groups, pages } => {
                for &group in groups {
                    let Some(record) = self.groups.state().group(group)? else { continue };
                    let chosen = self.groups.facts_changed(&world!(self), &[record.winner]);
                    chosen.map_err(of_groups)?;
                    self.groups.verify(&world!(self), group).map_err(of_groups)?;
                }
                for &page in pages {
                    self.groups.regroup(&world!(self), page).map_err(of_groups)?;
                }
                tables::twins_are_merged(&mut self.transaction.open_table(tables::META)?)?;
                Answer::Counted(pages.len() as u64)
            }
            Op::Recheck(pages) => Answer::Counted(self.recheck(pages)?),
            Op::DropEvents { up_to } => Answer::Counted(self.drop_events(*up_to)?),
        };
        self.sweep()?;
        self.mark_dense()?;
        Ok(answer)
    }

    fn observe(&mut self, seen: &Observation) -> Outcome<Decision> {
        let (id, known) = self.page_at(&seen.url)?;
        let old = known.clone().unwrap_or_else(PageData::blank);
        let known_as = Seen::of(self.groups.state().page(id)?, &old.content, &seen.content);
        let facts = ScopeFacts { url: &seen.url, language: &seen.language, field: &seen.field };
        let fetched = Some(seen.fetched.unwrap_or(self.groups.state().at));
        let mut new = PageData {
            content: seen.content,
            comparable: seen.comparable.clone(),
            // If the text is unchanged, its known sketch is kept.
            keyed: seen.keyed.or(old.keyed.filter(|_| old.content == seen.content)),
            own: None,
            words: seen.words,
            score: seen.score.or(old.score),
            fetched,
            changed: old.changed,
            first_seen: old.first_seen,
            recorded: old.recorded,
            scope: self.settings.scope.key(&facts),
            dense: old.dense,
            named_canonical: seen.named_canonical,
            canonical: seen.canonical.clone(),
        };
        new.own = match seen.pieces.is_empty() {
            // Without the text, the own text is kept if the content is unchanged.
            true => old.own.filter(|_| old.content == seen.content),
            false => self.own_text(id, seen)?,
        };
        let same = old.same_content(&new);
        if !same {
            new.changed = fetched;
        }
        if known_as == Seen::First || !self.comparing.continues(&old, &new)? {
            new.first_seen = fetched;
            let next = &mut self.groups.state_mut().counters.next_recorded;
            new.recorded = new.comparable.is_some().then_some(*next);
            *next += u64::from(new.comparable.is_some());
        }
        let content = match (&new.comparable, same) {
            (None, _) => Content::Empty,
            (Some(_), true) => Content::Same,
            (Some(_), false) => Content::Changed,
        };
        let text_of = |page: &PageData| page.own.map(|own| own.text);
        let proved = same && (old.keyed != new.keyed || text_of(&old) != text_of(&new));
        self.put_page(id, known.as_ref(), &new)?;
        if proved && new.comparable.is_some() {
            // Matches by its public signature may not be confirmed by the new sketch.
            self.groups.regroup(&world!(self), id).map_err(of_groups)?;
        }
        let verdict = self.groups.seen(&world!(self), id, content).map_err(of_groups)?;
        self.decision(id, known_as, verdict)
    }

    fn redirect(&mut self, from: &str, to: &str, fetched: Option<u64>) -> Outcome<Decision> {
        let (page, known) = self.page_at(from)?;
        let had_content = known.as_ref().is_some_and(|old| old.comparable.is_some());
        let mut new = known.clone().unwrap_or_else(PageData::blank).without_content();
        new.fetched = Some(fetched.unwrap_or(self.groups.state().at));
        if had_content {
            new.changed = new.fetched;
        }
        self.put_page(page, known.as_ref(), &new)?;
        let target = match self.page_at(to)? {
            (target, Some(_)) => target,
            (target, None) => {
                self.put_page(target, None, &PageData::blank())?;
                target
            }
        };
        let known_as = match self.groups.state().page(page)? {
            None | Some(PageRecord::Bare { why: Bare::Awaited, .. }) => Seen::First,
            Some(
                PageRecord::Redirects { to } | PageRecord::Bare { why: Bare::Loop { to }, .. },
            ) if to == target => Seen::Unchanged,
            Some(_) => Seen::Changed,
        };
        let verdict = self.groups.redirects(&world!(self), page, target).map_err(of_groups)?;
        self.decision(page, known_as, verdict)
    }

    fn forget(&mut self, urls: &[String]) -> Outcome<u64> {
        let mut pages = Vec::new();
        for url in urls {
            if let Some(row) = self.urls.get(url.as_str())? {
                pages.push(PageId(row.value()));
            }
        }
        self.gone(pages)
    }

    /// Removes known pages; returns their number.
    fn gone(&mut self, mut pages: Vec<PageId>) -> Outcome<u64> {
        pages.sort_unstable();
        pages.dedup();
        let mut there = Vec::with_capacity(pages.len());
        for &page in &pages {
            match self.groups.state().page(page)? {
                Some(PageRecord::Bare { why: Bare::Awaited, .. }) => {}
                Some(_) | None => there.push(page),
            }
        }
        self.groups.gone(&world!(self), &there).map_err(of_groups)?;
        for &page in &pages {
            // Kept, because other pages redirect to it; its data is dropped.
            if self.groups.state().page(page)?.is_some() {
                let old = page_data(&self.pages, page)?;
                self.put_page(page, Some(&old), &PageData::blank())?;
            }
        }
        Ok(there.len() as u64)
    }

    fn score(&mut self, url: &str, score: Option<f64>) -> Outcome<u64> {
        let Some(page) = self.urls.get(url)?.map(|row| PageId(row.value())) else { return Ok(0) };
        let old = page_data(&self.pages, page)?;
        let new = PageData { score, ..old.clone() };
        self.put_page(page, Some(&old), &new)?;
        self.groups.facts_changed(&world!(self), &[page]).map_err(of_groups)?;
        Ok(1)
    }

    fn expire(&mut self, before: u64) -> Outcome<u64> {
        let mut old = Vec::new();
        for row in self.pages.iter()? {
            let (id, bytes) = row?;
            let page = PageId(id.value());
            let fetched = codec::read_page(page, bytes.value())?.fetched;
            old.extend(fetched.is_some_and(|fetched| fetched < before).then_some(page));
        }
        self.gone(old)
    }

    fn set_rules(&mut self, rules: &Rules) -> Outcome<()> {
        self.groups.set_rules(&world!(self), rules.clone()).map_err(of_groups)?;
        self.settings.rules = rules.clone();
        self.write_settings()
    }

    fn write_settings(&self) -> Outcome<()> {
        let mut meta = self.transaction.open_table(tables::META)?;
        tables::write_settings(&mut meta, &self.settings)
    }

    fn drop_events(&mut self, up_to: u64) -> Outcome<u64> {
        let state = self.groups.state_mut();
        let up_to = up_to.min(state.counters.last_event);
        let first = state.counters.dropped_events + 1;
        if up_to < first {
            return Ok(0);
        }
        state.events.retain_in(first..=up_to, |_, _| false)?;
        state.counters.dropped_events = up_to;
        self.former.retain(|_, (sequence, _)| sequence > up_to)?;
        Ok(up_to + 1 - first)
    }

    /// The page at an address; a new one gets a number here, and its record from the caller.
    fn page_at(&mut self, url: &str) -> Outcome<(PageId, Option<PageData>)> {
        if let Some(row) = self.urls.get(url)? {
            let page = PageId(row.value());
            drop(row);
            return Ok((page, Some(page_data(&self.pages, page)?)));
        }
        let counters = &mut self.groups.state_mut().counters;
        let number = u32::try_from(counters.next_page).map_err(|_| Fault::Full("pages"))?;
        counters.next_page += 1;
        self.urls.insert(url, number)?;
        self.names.insert(number, url)?;
        self.groups.state_mut().touch(Part::Names, number);
        Ok((PageId(number), None))
    }

    /// Writes a record and updates the index.
    fn put_page(&mut self, page: PageId, old: Option<&PageData>, new: &PageData) -> Outcome<()> {
        if Some(new) != old {
            codec::write_page(page, new, &mut self.record);
            self.pages.insert(page.0, self.record.as_slice())?;
            self.groups.state_mut().touch(Part::Pages, page.0);
        }
        self.recent = Some((page, new.clone()));
        let was = old.map(|old| contents::keys(page, old)).unwrap_or_default();
        contents::replace(&mut self.contents, &was, &contents::keys(page, new))?;
        let (was, is) = (old.and_then(PageData::indexed), new.indexed());
        if was == is {
            return Ok(());
        }
        self.undo.push((page, was));
        set_index(self.index, page, is)
    }

    /// Lets pages be found by bands of their sketches that searches may otherwise not reach.
    fn mark_dense(&mut self) -> Outcome<()> {
        for page in self.dense.take() {
            let row = self.pages.get(page.0)?.map(|row| codec::read_page(page, row.value()));
            let Some(old) = row.transpose()? else { continue };
            if !old.dense && old.comparable.is_some() {
                self.put_page(page, Some(&old), &PageData { dense: true, ..old.clone() })?;
            }
        }
        Ok(())
    }

    /// Removes the addresses of pages that lost their place in this operation.
    fn sweep(&mut self) -> Outcome<()> {
        while let Some(page) = self.groups.state_mut().cleared.pop() {
            if self.groups.state().page(page)?.is_some() {
                continue;
            }
            let Some(url) = self.names.remove(page.0)?.map(|row| row.value().to_owned()) else {
                continue;
            };
            let old = page_data(&self.pages, page)?;
            self.put_page(page, Some(&old), &PageData::blank())?;
            self.pages.remove(page.0)?;
            self.recent = None;
            self.urls.remove(url.as_str())?;
            for part in [Part::Names, Part::Pages, Part::Former] {
                self.groups.state_mut().touch(part, page.0);
            }
            let last = self.groups.state().counters.last_event;
            self.former.insert(page.0, (last, url.as_str()))?;
        }
        Ok(())
    }

    fn decision(&self, page: PageId, seen: Seen, mut verdict: Verdict) -> Outcome<Decision> {
        if verdict.kind == Kind::Redirect {
            let end = self.groups.place(page).map_err(of_groups)?.map(|(_, end)| end);
            name_redirect(&mut verdict, end, &self.names)?;
        }
        let winner = verdict.winner.filter(|&winner| winner != page);
        let winner_url = winner.map(|winner| name(&self.names, winner)).transpose()?;
        let own = match self.learning {
            Some(_) => self.own_shown(page, winner.zip(winner_url.as_deref()))?,
            None => None,
        };
        Ok(Decision { page: Some(page), seen: Some(seen), verdict, winner_url, own })
    }
}

pub(crate) fn set_index(
    index: &LiveIndex,
    page: PageId,
    fingerprint: Option<Fingerprint>,
) -> Outcome<()> {
    let id = u64::from(page.0);
    match fingerprint {
        Some(fingerprint) => index.insert(Entry { fingerprint, id }).map_err(of_segment),
        None => {
            index.remove(id);
            Ok(())
        }
    }
}
