//! Live groups in memory: 20 bytes per page, 4 per group of one, 28 per larger group.
//!
//! Records are in arrays indexed by their numbers. The members of a group and the sources of a redirect target
//! are doubly linked lists through the page slots; a page is in one list only, because a page that redirects is
//! not a member. A group of one is stored as the number of its page. Events accumulate until
//! [`forget_events`](MemoryState::forget_events) is called.

use super::record::{Bare, Change, Check, Event, GroupId, GroupRecord, PageId, PageRecord};
use super::state::{GroupState, Visit};
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::ops::ControlFlow;

const NONE: u32 = u32::MAX;
/// Flags a group stored as the number of its only page.
const SINGLE: u32 = 1 << 31;

/// Groups in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryState {
    slots: Vec<Slot>,
    /// By group number: an index into `several`, or `SINGLE` and a page; `NONE` if unused.
    groups: Vec<u32>,
    free_groups: Vec<u32>,
    several: Vec<Several>,
    free_several: Vec<u32>,
    /// Redirect targets of pages that close a cycle.
    loops: BTreeMap<u32, u32>,
    events: VecDeque<Event>,
    last_sequence: u64,
    known: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// A group, or the page it redirects to.
    place: u32,
    next: u32,
    previous: u32,
    /// First of the pages that redirect here.
    sources: u32,
    kind: Kind,
    term: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unknown,
    Unchecked,
    Matches,
    Fails,
    Empty,
    Awaited,
    Loop,
    Redirects,
}

#[derive(Clone, Copy, Debug)]
struct Several {
    record: GroupRecord,
    first: u32,
}

impl Slot {
    const UNKNOWN: Self = Self {
        place: NONE,
        next: NONE,
        previous: NONE,
        sources: NONE,
        kind: Kind::Unknown,
        term: 0,
    };
}

impl MemoryState {
    /// Number of known pages, including awaited ones.
    pub fn pages(&self) -> u32 {
        self.known
    }

    /// The events after this sequence number, oldest first.
    pub fn events_after(&self, sequence: u64) -> impl Iterator<Item = Event> + '_ {
        let from = self.events.partition_point(|event| event.sequence <= sequence);
        self.events.range(from..).copied()
    }

    /// Drops the events up to and including this sequence number.
    pub fn forget_events(&mut self, sequence: u64) {
        let from = self.events.partition_point(|event| event.sequence <= sequence);
        self.events.drain(..from);
    }

    /// Bytes used by pages and groups, without events and spare capacity.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.slots)
            + size_of_val(&*self.groups)
            + size_of_val(&*self.free_groups)
            + size_of_val(&*self.several)
            + size_of_val(&*self.free_several)
            + self.loops.len() * 2 * size_of::<u32>()
    }

    fn slot(&self, page: u32) -> Slot {
        self.slots.get(page as usize).copied().unwrap_or(Slot::UNKNOWN)
    }

    fn slot_mut(&mut self, page: u32) -> &mut Slot {
        if self.slots.len() <= page as usize {
            self.slots.resize(page as usize + 1, Slot::UNKNOWN);
        }
        &mut self.slots[page as usize]
    }

    /// The head of the list for a page with this record; `None` for a group of one.
    fn head_mut(&mut self, record: PageRecord) -> Option<&mut u32> {
        match record {
            PageRecord::Redirects { to } => Some(&mut self.slot_mut(to.0).sources),
            PageRecord::Content { group, .. } | PageRecord::Bare { group, .. } => {
                let place = self.groups[group.0 as usize];
                (place & SINGLE == 0).then(|| &mut self.several[place as usize].first)
            }
        }
    }

    fn link(&mut self, page: u32, record: PageRecord) {
        if let Some(group) = group_of(record) {
            let place = self.groups[group.0 as usize];
            if place == NONE {
                self.groups[group.0 as usize] = SINGLE | page;
                return;
            }
            if place & SINGLE != 0 {
                self.make_dense(group, place & !SINGLE);
            }
        }
        let Some(head) = self.head_mut(record) else { return };
        let next = std::mem::replace(head, page);
        let slot = self.slot_mut(page);
        (slot.next, slot.previous) = (next, NONE);
        if next != NONE {
            self.slot_mut(next).previous = page;
        }
    }

    fn unlink(&mut self, page: u32, record: PageRecord) {
        let Slot { next, previous, .. } = self.slot(page);
        if let Some(group) = group_of(record)
            && self.groups[group.0 as usize] & SINGLE != 0
        {
            self.groups[group.0 as usize] = NONE;
            return;
        }
        if previous != NONE {
            self.slot_mut(previous).next = next;
        } else if let Some(head) = self.head_mut(record) {
            *head = next;
        }
        if next != NONE {
            self.slot_mut(next).previous = previous;
        }
    }

    fn make_dense(&mut self, group: GroupId, page: u32) {
        let members = Several { record: GroupRecord::alone(PageId(page)), first: page };
        let slot = self.slot_mut(page);
        (slot.next, slot.previous) = (NONE, NONE);
        let place = match self.free_several.pop() {
            Some(place) => {
                self.several[place as usize] = members;
                place
            }
            None => {
                self.several.push(members);
                self.several.len() as u32 - 1
            }
        };
        self.groups[group.0 as usize] = place;
    }

    /// Turns a group with one remaining page, its winner, back into a single.
    fn shrink(&mut self, group: GroupId) {
        let place = self.groups[group.0 as usize];
        let Several { record, first } = self.several[place as usize];
        if record.members == 1 && record.winner.0 == first && self.slot(first).next == NONE {
            self.free_several.push(place);
            self.groups[group.0 as usize] = SINGLE | first;
        }
    }

    fn walk(&self, mut page: u32, visit: Visit<'_, PageId>) {
        while page != NONE {
            let next = self.slot(page).next;
            if visit(PageId(page)).is_break() {
                return;
            }
            page = next;
        }
    }

    fn record(&self, page: u32) -> Option<PageRecord> {
        let slot = self.slot(page);
        let group = GroupId(slot.place);
        let content = |check| PageRecord::Content { group, check };
        match slot.kind {
            Kind::Unknown => None,
            Kind::Unchecked => Some(content(Check::Unchecked)),
            Kind::Matches => Some(content(Check::Matches(slot.term))),
            Kind::Fails => Some(content(Check::Fails(slot.term))),
            Kind::Empty => Some(PageRecord::Bare { group, why: Bare::Empty }),
            Kind::Awaited => Some(PageRecord::Bare { group, why: Bare::Awaited }),
            Kind::Loop => {
                let to = PageId(self.loops.get(&page).copied().unwrap_or(page));
                Some(PageRecord::Bare { group, why: Bare::Loop { to } })
            }
            Kind::Redirects => Some(PageRecord::Redirects { to: PageId(slot.place) }),
        }
    }
}

fn group_of(record: PageRecord) -> Option<GroupId> {
    match record {
        PageRecord::Content { group, .. } | PageRecord::Bare { group, .. } => Some(group),
        PageRecord::Redirects { .. } => None,
    }
}

impl GroupState for MemoryState {
    type Error = Infallible;

    fn page(&self, page: PageId) -> Result<Option<PageRecord>, Infallible> {
        Ok(self.record(page.0))
    }

    fn put_page(&mut self, page: PageId, new: Option<PageRecord>) -> Result<(), Infallible> {
        let old = self.record(page.0);
        let list = |record: Option<PageRecord>| {
            record.map(|record| match record {
                PageRecord::Redirects { to } => (true, to.0),
                PageRecord::Content { group, .. } | PageRecord::Bare { group, .. } => {
                    (false, group.0)
                }
            })
        };
        if list(old) != list(new) {
            if let Some(record) = old {
                self.unlink(page.0, record);
            }
            if let Some(record) = new {
                self.link(page.0, record);
            }
        }
        self.known = self.known + u32::from(new.is_some()) - u32::from(old.is_some());
        if let Some(PageRecord::Bare { why: Bare::Loop { to }, .. }) = new {
            self.loops.insert(page.0, to.0);
        } else if matches!(old, Some(PageRecord::Bare { why: Bare::Loop { .. }, .. })) {
            self.loops.remove(&page.0);
        }
        let (place, kind, term) = match new {
            None => (NONE, Kind::Unknown, 0),
            Some(PageRecord::Redirects { to }) => (to.0, Kind::Redirects, 0),
            Some(PageRecord::Content { group, check }) => match check {
                Check::Unchecked => (group.0, Kind::Unchecked, 0),
                Check::Matches(term) => (group.0, Kind::Matches, term),
                Check::Fails(term) => (group.0, Kind::Fails, term),
            },
            Some(PageRecord::Bare { group, why }) => match why {
                Bare::Empty => (group.0, Kind::Empty, 0),
                Bare::Awaited => (group.0, Kind::Awaited, 0),
                Bare::Loop { .. } => (group.0, Kind::Loop, 0),
            },
        };
        let slot = self.slot_mut(page.0);
        (slot.place, slot.kind, slot.term) = (place, kind, term);
        Ok(())
    }

    fn group(&self, group: GroupId) -> Result<Option<GroupRecord>, Infallible> {
        Ok(match self.groups.get(group.0 as usize).copied() {
            None | Some(NONE) => None,
            Some(single) if single & SINGLE != 0 => {
                Some(GroupRecord::alone(PageId(single & !SINGLE)))
            }
            Some(place) => Some(self.several[place as usize].record),
        })
    }

    fn put_group(&mut self, group: GroupId, new: Option<GroupRecord>) -> Result<(), Infallible> {
        let place = self.groups[group.0 as usize];
        let members = place & SINGLE == 0;
        match new {
            None => {
                if members {
                    self.free_several.push(place);
                }
                self.groups[group.0 as usize] = NONE;
                self.free_groups.push(group.0);
            }
            Some(record) if members => {
                self.several[place as usize].record = record;
                self.shrink(group);
            }
            // The record of a single follows from its page.
            Some(_) => {}
        }
        Ok(())
    }

    fn new_group(&mut self) -> Result<GroupId, Infallible> {
        Ok(GroupId(self.free_groups.pop().unwrap_or_else(|| {
            self.groups.push(NONE);
            self.groups.len() as u32 - 1
        })))
    }

    fn members(&self, group: GroupId, visit: Visit<'_, PageId>) -> Result<(), Infallible> {
        match self.groups.get(group.0 as usize).copied() {
            None | Some(NONE) => {}
            Some(single) if single & SINGLE != 0 => {
                let _ = visit(PageId(single & !SINGLE));
            }
            Some(place) => self.walk(self.several[place as usize].first, visit),
        }
        Ok(())
    }

    fn sources(&self, page: PageId, visit: Visit<'_, PageId>) -> Result<(), Infallible> {
        self.walk(self.slot(page.0).sources, visit);
        Ok(())
    }

    fn groups(&self, visit: Visit<'_, GroupId>) -> Result<(), Infallible> {
        for (group, &place) in (0u32..).zip(&self.groups) {
            if place != NONE && visit(GroupId(group)) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }

    fn append(&mut self, change: Change) -> Result<(), Infallible> {
        self.last_sequence += 1;
        self.events.push_back(Event { sequence: self.last_sequence, change });
        Ok(())
    }
}
