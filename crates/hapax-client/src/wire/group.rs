//! Groups, their members, and the changes of both.

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
    /// The address of the copy that stays.
    pub winner: String,
    /// Pages that do not redirect.
    pub members: u32,
    /// Members that were compared with the winner and do not match it.
    pub failing: u32,
    /// No two members are farther apart than this.
    pub diameter: u8,
    /// Was every member compared with the winner?
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
    /// In the order of their numbers.
    #[serde(flatten)]
    pub pages: Rows<PageDetail>,
}

/// The group of a page: what it is, and some of its pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupStatuses {
    #[serde(flatten)]
    pub group: Group,
    /// How its pages stand, in order of their numbers.
    #[serde(flatten)]
    pub pages: Rows<Verdict>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// 1 for the first; no number is left out.
    pub sequence: u64,
    /// `joined`, `left`, `merged`, `split`, `winner`, `changed`, `gone`, `redirected` or `returned`.
    pub change: String,
    /// When it was recorded, RFC 3339 in UTC; none for events of a version without times.
    pub at: Option<String>,
    /// The group it is about: of a merge, the one that ended; of a split, the one left.
    pub group: Option<u32>,
    /// Where the pages of a merged or split group are now.
    pub other_group: Option<u32>,
    /// The page it is about, or the new winner.
    pub url: Option<String>,
    /// The page redirected to, or the former winner.
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
