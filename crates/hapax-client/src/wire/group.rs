//! Groups, their members, and their changes.

use super::Rows;
use super::page::PageDetail;
use super::verdict::Verdict;
use crate::moment;
use hapax_store::{EventInfo, GroupInfo, GroupSummary};
use serde::{Deserialize, Serialize};

/// A group without its members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    pub id: u32,
    /// The address of the kept page.
    pub winner: String,
    /// Number of pages that do not redirect.
    pub members: u32,
    /// Number of members that were compared with the winner and do not match it.
    pub failing: u32,
    /// Upper bound of the distance between two members.
    pub diameter: u8,
    /// Whether every member was compared with the winner.
    pub verified: bool,
}

impl From<GroupSummary> for Group {
    fn from(group: GroupSummary) -> Self {
        Self {
            id: group.id.0,
            winner: group.winner_url,
            members: group.record.members,
            failing: group.record.failing,
            diameter: group.record.diameter(),
            verified: group.record.is_verified(),
        }
    }
}

impl From<GroupInfo> for Group {
    fn from(GroupInfo { id, record, winner_url, .. }: GroupInfo) -> Self {
        GroupSummary { id, record, winner_url }.into()
    }
}

/// A group and some of its pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupDetail {
    #[serde(flatten)]
    pub group: Group,
    /// In order of their numbers.
    #[serde(flatten)]
    pub pages: Rows<PageDetail>,
}

/// The group of a page, and some of its pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupStatuses {
    #[serde(flatten)]
    pub group: Group,
    /// The status of its pages, in order of their numbers.
    #[serde(flatten)]
    pub pages: Rows<Verdict>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// From 1, without gaps.
    pub sequence: u64,
    /// `joined`, `left`, `merged`, `split`, `winner`, `changed`, `gone`, `redirected` or `returned`.
    pub change: String,
    /// When it was recorded, RFC 3339 in UTC; null for events of versions without times.
    pub at: Option<String>,
    /// The group concerned: for a merge, the one that ended; for a split, the one that was left.
    pub group: Option<u32>,
    /// Where the pages of a merged or split group are now.
    pub other_group: Option<u32>,
    /// The page concerned, or the new winner.
    pub url: Option<String>,
    /// The target of the redirect, or the previous winner.
    pub other_url: Option<String>,
}

impl From<EventInfo> for Event {
    fn from(event: EventInfo) -> Self {
        let (group, other_group) = event.change.groups();
        Self {
            sequence: event.sequence,
            change: event.change.name().into(),
            at: event.at.map(moment::shown),
            group: group.map(|group| group.0),
            other_group: other_group.map(|group| group.0),
            url: event.url,
            other_url: event.other_url,
        }
    }
}
