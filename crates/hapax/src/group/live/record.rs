//! The records of pages and groups, and the events.
//!
//! These are engine types, not a file format; a store encodes them in its own format. All are small and `Copy`;
//! the whole state is one record per page and one per group, and nothing per pair.

use std::fmt;

/// A page, by the number that the caller assigned. Dense numbers keep the in-memory state small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u32);

/// A group. A number may be reused after its group has ended.
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

/// The state of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRecord {
    /// Has content, and shares a group with similar pages.
    Content {
        group: GroupId,
        /// Whether it was compared with the winner.
        check: Check,
    },
    /// Has no content: alone in its group, except for pages that redirect to it.
    Bare {
        group: GroupId,
        /// Why it has no content.
        why: Bare,
    },
    /// Redirects. It belongs to the group of the end of its chain, and so moves with that page
    /// without being written again.
    Redirects {
        /// The next page of the chain.
        to: PageId,
    },
}

/// Why a page has no content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare {
    /// Was seen, and has no words.
    Empty,
    /// Was never seen or was deleted, but other pages redirect to it.
    Awaited,
    /// Redirects in a cycle. This is the page with the smallest address of the cycle; the others
    /// [`Redirect`](PageRecord::Redirects) to it.
    Loop {
        /// The next page of the cycle; itself if it redirects to itself.
        to: PageId,
    },
}

/// Whether a member matches its winner. Valid only in the group's current term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Not compared with the current winner; always so for the winner itself.
    Unchecked,
    /// Matched in this term.
    Matches(u16),
    /// Failed in this term.
    Fails(u16),
}

/// The record of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRecord {
    /// The kept page.
    pub winner: PageId,
    /// Number of pages that do not redirect, including the winner.
    pub members: u32,
    /// Number of members compared with the winner, without the winner.
    pub checked: u32,
    /// Number of these that do not match it.
    pub failing: u32,
    /// Counts winners and their versions, from 1 to 65,535, then wraps.
    pub term: u16,
    /// Upper bound of the distance between the winner and a member.
    pub radius: u8,
}

/// The largest distance between fingerprints.
pub(super) const FARTHEST: u8 = 64;

impl GroupRecord {
    /// A group of one.
    pub const fn alone(page: PageId) -> Self {
        Self { winner: page, members: 1, checked: 0, failing: 0, term: 1, radius: 0 }
    }

    /// Upper bound of the distance between two members. Does not shrink when members leave, until
    /// the group is verified again.
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

    /// The share of members, without the winner, that are known not to match it.
    pub fn failing_share(&self) -> f64 {
        f64::from(self.failing) / f64::from(self.members.saturating_sub(1).max(1))
    }

    /// Whether every member has been compared with the winner.
    pub const fn is_verified(&self) -> bool {
        self.checked + 1 >= self.members
    }
}

/// A change with its sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// From 1, without gaps.
    pub sequence: u64,
    pub change: Change,
}

/// All kinds of changes. Replaying them from the first gives the membership of every page: it is in
/// the group it joined last, or in that of the page it redirects to; the first page to join a group
/// is its winner until that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The page is now in the group.
    Joined { page: PageId, group: GroupId },
    /// The page is no longer in the group; a group without pages has ended.
    Left { page: PageId, group: GroupId },
    /// All pages of one group moved to another, and the first group ended.
    Merged {
        /// The group that ended.
        from: GroupId,
        /// The group that now has its pages.
        into: GroupId,
    },
    /// A repair starts moving pages that do not match the winner to a new group; the following
    /// events say which.
    Split {
        /// The repaired group.
        from: GroupId,
        into: GroupId,
    },
    /// The group keeps another page now.
    WinnerChanged {
        group: GroupId,
        /// The previous winner, which may have left.
        from: PageId,
        /// The new winner.
        to: PageId,
    },
    /// The content of a known page changed.
    Changed { page: PageId },
    /// The page was deleted.
    Gone { page: PageId },
    /// The page redirects. Pages that redirect to it move with it, without events.
    Redirected { page: PageId, to: PageId },
    /// The page no longer redirects: it was seen again or deleted.
    Returned { page: PageId },
}

impl Change {
    /// The name in every output.
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

    /// The group concerned, and the destination of the pages of a merged or split group.
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
