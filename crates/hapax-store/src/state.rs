//! The records of groups in tables: [`GroupState`] for writing and for reading.
//!
//! Members and sources are visited in ascending order. An operation reads and writes the same few places and
//! groups many times, so a session keeps those it touched in memory, and writes them once, in key order, at its
//! end.

use crate::changes::Changed;
use crate::codec::{self, ChangeBytes, GroupBytes, PlaceBytes};
use crate::error::{Fault, Outcome};
use crate::increment::Part;
use crate::tables::{Counters, pair, pairs_of};
use crate::view::OpenTables;
use hapax::group::live::state::Visit;
use hapax::group::live::{Change, GroupId, GroupRecord, GroupState, PageId, PageRecord};
use redb::{ReadableTable, Table};
use std::cell::Cell;
use std::collections::BTreeMap;

/// State in a write transaction.
pub(crate) struct WriteState<'t> {
    pub(crate) places: Table<'t, u32, &'static PlaceBytes>,
    pub(crate) groups: Table<'t, u32, &'static GroupBytes>,
    pub(crate) members: Table<'t, u64, ()>,
    pub(crate) sources: Table<'t, u64, ()>,
    pub(crate) events: Table<'t, u64, &'static ChangeBytes>,
    pub(crate) counters: Counters,
    /// The time of every change of this session, in seconds since 1970.
    pub(crate) at: u64,
    pub(crate) touched: Touched,
    /// Pages that lost their record, and may have a new one.
    pub(crate) cleared: Vec<PageId>,
    /// Rows that were touched, if there is a change log.
    pub(crate) changed: Option<Changed>,
}

/// Records not yet in the tables; `None` for those to remove.
#[derive(Default)]
pub(crate) struct Touched {
    places: BTreeMap<PageId, Option<PageRecord>>,
    groups: BTreeMap<GroupId, Option<GroupRecord>>,
}

impl WriteState<'_> {
    /// Records that a row of a table was touched.
    pub(crate) fn touch(&mut self, part: Part, key: impl Into<u64>) {
        if let Some(changed) = &mut self.changed {
            changed.add(part, key.into());
        }
    }

    pub(crate) fn flush(&mut self) -> Outcome<()> {
        let Touched { places, groups } = std::mem::take(&mut self.touched);
        for (page, record) in places {
            self.touch(Part::Places, page.0);
            match record {
                Some(record) => _ = self.places.insert(page.0, &codec::write_place(record))?,
                None => _ = self.places.remove(page.0)?,
            }
        }
        for (group, record) in groups {
            self.touch(Part::Groups, group.0);
            match record {
                Some(record) => _ = self.groups.insert(group.0, &codec::write_group(&record))?,
                None => _ = self.groups.remove(group.0)?,
            }
        }
        Ok(())
    }
}

/// State in a snapshot.
pub(crate) struct ReadState<'v> {
    pub(crate) tables: &'v OpenTables,
    /// Cached, because matches are mostly of one group.
    last: Cell<Option<(GroupId, GroupRecord)>>,
}

impl<'v> ReadState<'v> {
    pub(crate) const fn new(tables: &'v OpenTables) -> Self {
        Self { tables, last: Cell::new(None) }
    }
}

fn place(
    table: &impl ReadableTable<u32, &'static PlaceBytes>,
    page: PageId,
) -> Outcome<Option<PageRecord>> {
    table.get(page.0)?.map(|row| codec::read_place(page, row.value())).transpose()
}

fn group(
    table: &impl ReadableTable<u32, &'static GroupBytes>,
    group: GroupId,
) -> Outcome<Option<GroupRecord>> {
    Ok(table.get(group.0)?.and_then(|row| codec::read_group(row.value())))
}

fn visit_pairs(
    table: &impl ReadableTable<u64, ()>,
    above: u32,
    visit: Visit<'_, PageId>,
) -> Outcome<()> {
    for row in table.range(pairs_of(above))? {
        if visit(PageId(row?.0.value() as u32)).is_break() {
            break;
        }
    }
    Ok(())
}

fn visit_groups(
    table: &impl ReadableTable<u32, &'static GroupBytes>,
    visit: Visit<'_, GroupId>,
) -> Outcome<()> {
    for row in table.iter()? {
        if visit(GroupId(row?.0.value())).is_break() {
            break;
        }
    }
    Ok(())
}

impl GroupState for WriteState<'_> {
    type Error = Fault;

    fn page(&self, page: PageId) -> Outcome<Option<PageRecord>> {
        match self.touched.places.get(&page) {
            Some(record) => Ok(*record),
            None => place(&self.places, page),
        }
    }

    fn put_page(&mut self, page: PageId, new: Option<PageRecord>) -> Outcome<()> {
        let old = self.page(page)?;
        if old == new {
            return Ok(());
        }
        let key = |record: PageRecord| match record {
            PageRecord::Redirects { to } => (true, pair(to.0, page.0)),
            PageRecord::Content { group, .. } | PageRecord::Bare { group, .. } => {
                (false, pair(group.0, page.0))
            }
        };
        let (was, is) = (old.map(key), new.map(key));
        if was != is {
            for (redirects, key) in was.into_iter().chain(is) {
                self.touch(if redirects { Part::Sources } else { Part::Members }, key);
            }
            if let Some((redirects, key)) = was {
                let list = if redirects { &mut self.sources } else { &mut self.members };
                list.remove(key)?;
            }
            if let Some((redirects, key)) = is {
                let list = if redirects { &mut self.sources } else { &mut self.members };
                list.insert(key, ())?;
            }
        }
        self.touched.places.insert(page, new);
        if new.is_none() {
            self.cleared.push(page);
        }
        Ok(())
    }

    fn group(&self, number: GroupId) -> Outcome<Option<GroupRecord>> {
        match self.touched.groups.get(&number) {
            Some(record) => Ok(*record),
            None => group(&self.groups, number),
        }
    }

    fn put_group(&mut self, group: GroupId, record: Option<GroupRecord>) -> Outcome<()> {
        self.touched.groups.insert(group, record);
        Ok(())
    }

    fn new_group(&mut self) -> Outcome<GroupId> {
        let number = u32::try_from(self.counters.next_group).map_err(|_| Fault::Full("groups"))?;
        self.counters.next_group += 1;
        Ok(GroupId(number))
    }

    fn members(&self, group: GroupId, visit: Visit<'_, PageId>) -> Outcome<()> {
        visit_pairs(&self.members, group.0, visit)
    }

    fn sources(&self, page: PageId, visit: Visit<'_, PageId>) -> Outcome<()> {
        visit_pairs(&self.sources, page.0, visit)
    }

    fn groups(&self, visit: Visit<'_, GroupId>) -> Outcome<()> {
        let mut touched = self.touched.groups.iter().peekable();
        let mut stored = self.groups.iter()?;
        let mut next = stored.next().transpose()?;
        loop {
            // The smaller number of both; touched records override stored ones.
            let stored_number = next.as_ref().map(|(number, _)| GroupId(number.value()));
            let (number, there) = match (touched.peek(), stored_number) {
                (None, None) => return Ok(()),
                (Some(&(&number, record)), stored) if stored.is_none_or(|s| number <= s) => {
                    (number, record.is_some())
                }
                (_, Some(number)) => (number, true),
                (Some(_), None) => return Ok(()),
            };
            touched.next_if(|entry| *entry.0 == number);
            if stored_number == Some(number) {
                next = stored.next().transpose()?;
            }
            if there && visit(number).is_break() {
                return Ok(());
            }
        }
    }

    fn append(&mut self, change: Change) -> Outcome<()> {
        self.counters.last_event += 1;
        self.touch(Part::Events, self.counters.last_event);
        self.events.insert(self.counters.last_event, &codec::write_change(change, self.at))?;
        Ok(())
    }
}

/// A snapshot is never written.
fn refused<T>() -> Outcome<T> {
    Err(Fault::Damaged("a question wanted to write".into()))
}

impl GroupState for ReadState<'_> {
    type Error = Fault;

    fn page(&self, page: PageId) -> Outcome<Option<PageRecord>> {
        place(&self.tables.places, page)
    }

    fn put_page(&mut self, _: PageId, _: Option<PageRecord>) -> Outcome<()> {
        refused()
    }

    fn group(&self, number: GroupId) -> Outcome<Option<GroupRecord>> {
        if let Some((last, record)) = self.last.get()
            && last == number
        {
            return Ok(Some(record));
        }
        let record = group(&self.tables.groups, number)?;
        self.last.set(record.map(|record| (number, record)));
        Ok(record)
    }

    fn put_group(&mut self, _: GroupId, _: Option<GroupRecord>) -> Outcome<()> {
        refused()
    }

    fn new_group(&mut self) -> Outcome<GroupId> {
        refused()
    }

    fn members(&self, group: GroupId, visit: Visit<'_, PageId>) -> Outcome<()> {
        visit_pairs(&self.tables.members, group.0, visit)
    }

    fn sources(&self, page: PageId, visit: Visit<'_, PageId>) -> Outcome<()> {
        visit_pairs(&self.tables.sources, page.0, visit)
    }

    fn groups(&self, visit: Visit<'_, GroupId>) -> Outcome<()> {
        visit_groups(&self.tables.groups, visit)
    }

    fn append(&mut self, _: Change) -> Outcome<()> {
        refused()
    }
}
