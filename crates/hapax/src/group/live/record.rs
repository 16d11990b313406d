//! What is kept of a page, of a group, and of every change.
//!
//! These are engine types, not bytes on a disk: a store writes them in a format of its own.
//! All are small and `Copy`; the whole state is one record a page and one a group, never
//! anything a pair.

use std::fmt;

/// A page, by the number its keeper gave it. Dense numbers keep the in-memory state small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u32);

/// A group. A number may be given again after its group has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRecord {
    /// It has content, and shares a group with pages of like content.
    Content {
        group: GroupId,
        /// Was it compared with the winner?
        check: Check,
    },
    /// It has nothing to compare: alone in its group, but for pages that redirect to it.
    Bare {
        group: GroupId,
        /// Why it has nothing.
        why: Bare,
    },
    /// It redirects. It belongs to whatever group the end of the chain belongs to, and so
    /// moves with it without being written again.
    Redirects {
        /// The next page of the chain.
        to: PageId,
    },
}

/// Why a page has no content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare {
    /// It was seen, and has no words.
    Empty,
    /// It was never seen or is gone, but other pages redirect to it.
    Awaited,
    /// It redirects into a cycle. Of the pages of a cycle, the one with the least address is
    /// this; the others [`Redirect`](PageRecord::Redirects) to it at last.
    Loop {
        /// The next page of the cycle; itself when it redirects to itself.
        to: PageId,
    },
}

/// Does a member match its winner? Valid while the group's term is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Not compared with the present winner; always so for the winner itself.
    Unchecked,
    /// It did in this term.
    Matches(u16),
    /// It did not in this term.
    Fails(u16),
}

/// What is kept of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRecord {
    /// The copy that stays.
    pub winner: PageId,
    /// Pages that do not redirect, the winner included.
    pub members: u32,
    /// Members other than the winner that were compared with it.
    pub checked: u32,
    /// Those of them that do not match it.
    pub failing: u32,
    /// Counts winners and their versions, from 1 to 65,535 and round again.
    pub term: u16,
    /// No member is farther than this from the winner.
    pub radius: u8,
}

/// No two fingerprints are farther apart.
pub(super) const FARTHEST: u8 = 64;

impl GroupRecord {
    /// A group of one.
    pub const fn alone(page: PageId) -> Self {
        Self { winner: page, members: 1, checked: 0, failing: 0, term: 1, radius: 0 }
    }

    /// No two members are farther apart than this. A bound: it may not shrink when members
    /// leave, until the group is verified again.
    pub const fn diameter(&self) -> u8 {
        match self.members {
            0 | 1 => 0,
            2 => self.radius,
            _ => {
                let twice = self.radius.saturating_mul(2);
                if twice < FARTHEST { twice } else { FARTHEST }
            }
        }
    }

    /// The share of members, the winner aside, that were found not to match it.
    pub fn failing_share(&self) -> f64 {
        f64::from(self.failing) / f64::from(self.members.saturating_sub(1).max(1))
    }

    /// Has every member been compared with the winner?
    pub const fn is_verified(&self) -> bool {
        self.checked + 1 >= self.members
    }
}

/// A change, with its place in the one order of all changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// 1 for the first; no number is left out.
    pub sequence: u64,
    pub change: Change,
}

/// What can happen. Following these from the first gives the membership of every page: it is
/// in the group it joined last, or where the page it redirects to is, and the first to join
/// a group is its winner until that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The page is now in the group.
    Joined { page: PageId, group: GroupId },
    /// The page is no longer in the group; a group without pages has ended.
    Left { page: PageId, group: GroupId },
    /// All pages of one group are now in another, and the first has ended.
    Merged {
        /// The group that ended.
        from: GroupId,
        /// The group that has its pages.
        into: GroupId,
    },
    /// A repair begins to move pages that do not match the winner to a new group of theirs;
    /// the events that follow say who moves.
    Split {
        /// The repaired group.
        from: GroupId,
        into: GroupId,
    },
    /// Another copy stays.
    WinnerChanged {
        group: GroupId,
        /// The former winner, which may have left.
        from: PageId,
        /// The present one.
        to: PageId,
    },
    /// The content of a known page is another than before.
    Changed { page: PageId },
    /// The page exists no more.
    Gone { page: PageId },
    /// The page redirects. Whatever redirects to it follows without an event.
    Redirected { page: PageId, to: PageId },
    /// The page redirects no more: it was seen again, or is gone.
    Returned { page: PageId },
}

impl Change {
    /// Its name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Joined { .. } => "joined",
            Self::Left { .. } => "left",
            Self::Merged { .. } => "merged",
            Self::Split { .. } => "split",
            Self::WinnerChanged { .. } => "winner",
            Self::Changed { .. } => "changed",
            Self::Gone { .. } => "gone",
            Self::Redirected { .. } => "redirected",
            Self::Returned { .. } => "returned",
        }
    }

    /// The group it is about, and where a merged or split group's pages go.
    pub const fn groups(self) -> (Option<GroupId>, Option<GroupId>) {
        match self {
            Self::Joined { group, .. }
            | Self::Left { group, .. }
            | Self::WinnerChanged { group, .. } => (Some(group), None),
            Self::Merged { from, into } | Self::Split { from, into } => (Some(from), Some(into)),
            Self::Changed { .. }
            | Self::Gone { .. }
            | Self::Redirected { .. }
            | Self::Returned { .. } => (None, None),
        }
    }
}
