//! Groups, their members, and the changes of both.

use super::Rows;
use super::page::state_name;
use super::verdict::{Alike, Because, Verdict};
use crate::moment;
use hapax_store::{EventInfo, GroupInfo, GroupSummary, Member};
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

/// A page of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupMember {
    pub id: u32,
    pub url: String,
    /// As in `Page`.
    pub state: String,
    /// How alike it is to the winner; none for the winner.
    pub alike: Option<Alike>,
    /// Why the winner stays.
    pub reason: Option<Because>,
    /// The address it redirects to.
    pub redirects_to: Option<String>,
    pub words: u32,
    pub score: Option<f64>,
    /// When it was fetched last.
    #[serde(serialize_with = "moment::shown_if_known", deserialize_with = "moment::optional")]
    pub fetched: Option<u64>,
}

impl From<Member> for GroupMember {
    fn from(member: Member) -> Self {
        Self {
            id: member.id.0,
            state: state_name(&member.place).into(),
            alike: member.likeness.as_ref().map(Alike::from),
            reason: member.reason.as_ref().map(Because::from),
            redirects_to: member.redirects_to,
            words: member.words,
            score: member.score,
            fetched: member.fetched,
            url: member.url,
        }
    }
}

/// A group and some of its members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupDetail {
    #[serde(flatten)]
    pub group: Group,
    /// Members, in the order of their numbers.
    #[serde(flatten)]
    pub members_shown: Rows<GroupMember>,
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

/// A change.
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
