//! Applies an increment to the tables of a transaction.
//!
//! Checks values as far as their readers rely on it; consistency between rows is left to the repository's
//! check. The tables from addresses and contents to pages are derived. Commits nothing:
//! if a stream turns out to be truncated or changed at its end, the transaction is dropped.

use super::stream::{Header, Part, Row, Rows, wrong};
use crate::changes::Changed;
use crate::codec;
use crate::confirm::SECRET;
use crate::contents;
use crate::error::{Fault, Outcome};
use crate::frames;
use crate::page::PageData;
use crate::tables::{self, Counters};
use crate::texts::{Texts, TextsApplied};
use hapax::fingerprint::Fingerprint;
use hapax::group::live::PageId;
use redb::{ReadableTable, Table, WriteTransaction};
use std::io;

/// Receives the index changes, page by page.
pub(crate) type Moved<'m> =
    &'m mut dyn FnMut(PageId, Option<Fingerprint>, Option<Fingerprint>) -> Outcome<()>;

/// An increment that was read completely.
pub(crate) struct Applied<'t> {
    pub(crate) changed: Changed,
    pub(crate) texts: Option<TextsApplied<'t>>,
}

struct Tables<'t> {
    names: Table<'t, u32, &'static str>,
    urls: Table<'t, &'static str, u32>,
    contents: Table<'t, &'static contents::Key, ()>,
    pages: Table<'t, u32, &'static [u8]>,
    former: Table<'t, u32, (u64, &'static str)>,
    places: Table<'t, u32, &'static codec::PlaceBytes>,
    groups: Table<'t, u32, &'static codec::GroupBytes>,
    members: Table<'t, u64, ()>,
    sources: Table<'t, u64, ()>,
    events: Table<'t, u64, &'static codec::ChangeBytes>,
    hosts: Table<'t, u64, &'static [u8]>,
    frames: Table<'t, u64, &'static [u8]>,
    host_texts: Table<'t, u64, &'static [u8]>,
    meta: Table<'t, &'static str, &'static str>,
    secret: Table<'t, &'static str, &'static [u8]>,
    counters: Table<'t, &'static str, u64>,
}

/// Applies the rows after a header. A complete increment replaces all existing rows.
pub(crate) fn apply<'t>(
    header: &Header,
    rows: &mut Rows<'_>,
    writing: &WriteTransaction,
    texts: Option<&'t Texts>,
    moved: Moved<'_>,
) -> Outcome<Applied<'t>> {
    let mut changed = Changed::default();
    let mut into = Tables::open(writing)?;
    let dropped = match into.counters.get("dropped events")? {
        Some(row) => row.value(),
        None => 0,
    };
    into.meta.retain(|_, _| false)?;
    if header.from.is_none() {
        into.clear(moved)?;
    }
    let mut texts = texts.map(Texts::applying).transpose().map_err(unread_texts)?;
    while let Some(row) = rows.next().map_err(unread)? {
        match row.part {
            Part::Texts => {
                if let (Some(texts), Some(value)) = (&mut texts, row.value) {
                    texts.put(row.key, value).map_err(unread_texts)?;
                }
            }
            Part::Clear => {
                if let Some(texts) = &mut texts {
                    texts.clear(row.key).map_err(unread_texts)?;
                }
            }
            part => {
                into.put(&row, moved)?;
                changed.add(part, row.key);
            }
        }
    }
    let counters = Counters::read(&into.counters)?;
    if counters.commits != header.to.commit {
        return Err(unread(wrong("its commit is not the one it states".into())));
    }
    if counters.dropped_events > dropped {
        let up_to = counters.dropped_events;
        into.events.retain_in(..=up_to, |_, _| false)?;
        into.former.retain(|_, (sequence, _)| sequence > up_to)?;
    }
    Ok(Applied { changed, texts })
}

fn unread(error: io::Error) -> Fault {
    Fault::Copy(error.to_string())
}

fn unread_texts(error: redb::Error) -> Fault {
    Fault::Copy(format!("its texts cannot be kept: {error}"))
}

fn bad(row: &Row<'_>) -> Fault {
    Fault::Copy(format!("row {} of its table {:?} cannot be read", row.key, row.part))
}

impl<'t> Tables<'t> {
    fn open(writing: &'t WriteTransaction) -> Outcome<Self> {
        Ok(Self {
            names: writing.open_table(tables::NAMES)?,
            urls: writing.open_table(tables::URLS)?,
            contents: writing.open_table(contents::CONTENTS)?,
            pages: writing.open_table(tables::PAGES)?,
            former: writing.open_table(tables::FORMER)?,
            places: writing.open_table(tables::PLACES)?,
            groups: writing.open_table(tables::GROUPS)?,
            members: writing.open_table(tables::MEMBERS)?,
            sources: writing.open_table(tables::SOURCES)?,
            events: writing.open_table(tables::EVENTS)?,
            hosts: writing.open_table(frames::HOSTS)?,
            frames: writing.open_table(frames::FRAMES)?,
            host_texts: writing.open_table(frames::TEXTS)?,
            meta: writing.open_table(tables::META)?,
            secret: writing.open_table(SECRET)?,
            counters: writing.open_table(tables::COUNTERS)?,
        })
    }

    fn clear(&mut self, moved: Moved<'_>) -> Outcome<()> {
        for row in self.pages.iter()? {
            let (page, record) = row?;
            let page = PageId(page.value());
            moved(page, codec::read_page(page, record.value())?.indexed(), None)?;
        }
        self.names.retain(|_, _| false)?;
        self.urls.retain(|_, _| false)?;
        self.contents.retain(|_, _| false)?;
        self.pages.retain(|_, _| false)?;
        self.former.retain(|_, _| false)?;
        self.places.retain(|_, _| false)?;
        self.groups.retain(|_, _| false)?;
        self.members.retain(|_, _| false)?;
        self.sources.retain(|_, _| false)?;
        self.events.retain(|_, _| false)?;
        self.hosts.retain(|_, _| false)?;
        self.frames.retain(|_, _| false)?;
        self.host_texts.retain(|_, _| false)?;
        Ok(())
    }

    fn put(&mut self, row: &Row<'_>, moved: Moved<'_>) -> Outcome<()> {
        let number = || u32::try_from(row.key).map_err(|_| bad(row));
        let text = |bytes| str::from_utf8(bytes).map_err(|_| bad(row));
        macro_rules! fixed {
            ($table:expr, $key:expr, $bytes:ty) => {
                match row.value {
                    Some(bytes) => {
                        let bytes: &$bytes = bytes.try_into().map_err(|_| bad(row))?;
                        $table.insert($key, bytes)?;
                    }
                    None => _ = $table.remove($key)?,
                }
            };
        }
        macro_rules! present {
            ($table:expr) => {
                match row.value {
                    Some(_) => _ = $table.insert(row.key, ())?,
                    None => _ = $table.remove(row.key)?,
                }
            };
        }
        macro_rules! any {
            ($table:expr) => {
                match row.value {
                    Some(bytes) => _ = $table.insert(row.key, bytes)?,
                    None => _ = $table.remove(row.key)?,
                }
            };
        }
        match row.part {
            Part::Names => {
                let page = number()?;
                let old = self.names.remove(page)?.map(|row| row.value().to_owned());
                if let Some(old) = old {
                    let leads_here =
                        self.urls.get(old.as_str())?.is_some_and(|to| to.value() == page);
                    if leads_here {
                        self.urls.remove(old.as_str())?;
                    }
                }
                if let Some(bytes) = row.value {
                    let url = text(bytes)?;
                    self.names.insert(page, url)?;
                    self.urls.insert(url, page)?;
                }
            }
            Part::Pages => {
                let page = PageId(number()?);
                let new = row.value.map(|record| codec::read_page(page, record)).transpose()?;
                let old = match row.value {
                    Some(record) => self.pages.insert(page.0, record)?,
                    None => self.pages.remove(page.0)?,
                };
                let old = old.map(|old| codec::read_page(page, old.value())).transpose()?;
                let keys = |data: Option<&PageData>| {
                    data.map(|data| contents::keys(page, data)).unwrap_or_default()
                };
                let (was, is) = (keys(old.as_ref()), keys(new.as_ref()));
                contents::replace(&mut self.contents, &was, &is)?;
                let indexed = |data: Option<PageData>| data.and_then(|data| data.indexed());
                moved(page, indexed(old), indexed(new))?;
            }
            Part::Former => match row.value {
                Some(bytes) => {
                    let (last, url) = bytes.split_first_chunk().ok_or_else(|| bad(row))?;
                    self.former.insert(number()?, (u64::from_le_bytes(*last), text(url)?))?;
                }
                None => _ = self.former.remove(number()?)?,
            },
            Part::Places => fixed!(self.places, number()?, codec::PlaceBytes),
            Part::Groups => fixed!(self.groups, number()?, codec::GroupBytes),
            Part::Members => present!(self.members),
            Part::Sources => present!(self.sources),
            Part::Events => fixed!(self.events, row.key, codec::ChangeBytes),
            Part::Hosts => any!(self.hosts),
            Part::Frames => any!(self.frames),
            Part::HostTexts => any!(self.host_texts),
            Part::Meta => {
                let (name, value) = named(row)?;
                self.meta.insert(name, text(value)?)?;
            }
            Part::Secret => {
                let (name, value) = named(row)?;
                self.secret.insert(name, value)?;
            }
            Part::Counters => {
                let (name, value) = named(row)?;
                let value = value.try_into().map_err(|_| bad(row))?;
                self.counters.insert(name, u64::from_le_bytes(value))?;
            }
            Part::Texts | Part::Clear => {}
        }
        Ok(())
    }
}

/// A name whose length is the key, and the bytes after it.
fn named<'r>(row: &Row<'r>) -> Outcome<(&'r str, &'r [u8])> {
    let split = || {
        let (name, value) = row.value?.split_at_checked(usize::try_from(row.key).ok()?)?;
        Some((str::from_utf8(name).ok()?, value))
    };
    split().ok_or_else(|| bad(row))
}
