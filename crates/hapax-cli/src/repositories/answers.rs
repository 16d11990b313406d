//! Answers of a repository: as JSON for programs, as a line for people.
//!
//! The store's types are not a format; these are. Fields are never renamed; new ones may come.
//! Text from outside is made harmless in lines for people, and left as it is in JSON.

use crate::readable::{self, harmless};
use hapax::group::live::{GroupId, GroupRecord, Kind, PageRecord, Tier};
use hapax_corpus::Timestamp;
use hapax_store::{Decision, EventInfo, PageInfo};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How a page stands.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct VerdictAnswer {
    pub(crate) url: String,
    /// `new`, `exact`, `near`, `related`, `redirect`, `cycle`, `empty`, `awaited`.
    pub(crate) kind: Cow<'static, str>,
    pub(crate) is_winner: bool,
    /// May it go, because the winner stands for it?
    pub(crate) removable: bool,
    /// The copy that stays, when that is another page.
    pub(crate) winner: Option<String>,
    /// Null for a page that is not recorded and like no other.
    pub(crate) group: Option<u32>,
    /// To the winner; for a winner, to the page most like it.
    pub(crate) distance: Option<u8>,
    pub(crate) percent: Option<f64>,
    pub(crate) rule: Option<Cow<'static, str>>,
    pub(crate) reason: Option<String>,
    /// 1 when it stayed with its group, 2 when the index was searched, null when nothing was.
    pub(crate) tier: Option<u8>,
}

impl VerdictAnswer {
    pub(crate) fn new(url: String, decision: &Decision) -> Self {
        let verdict = &decision.verdict;
        let likeness = verdict.likeness;
        Self {
            url,
            kind: kind(verdict.kind).into(),
            is_winner: verdict.is_winner,
            removable: verdict.removable(),
            winner: decision.winner_url.clone(),
            group: verdict.group.map(|group| group.0),
            distance: likeness.map(|likeness| likeness.distance),
            percent: likeness.map(|likeness| percent(likeness.similarity)),
            rule: verdict.reason.as_ref().map(|reason| reason.rule.into()),
            reason: verdict.reason.as_ref().map(|reason| reason.text.clone()),
            tier: match verdict.tier {
                Tier::None => None,
                Tier::Winner => Some(1),
                Tier::Index => Some(2),
            },
        }
    }

    /// One line: what it is, of what, how alike, and why.
    pub(crate) fn sentence(&self) -> String {
        let mut line = format!("{}  {}", harmless(&self.url), self.standing());
        if let Some(winner) = &self.winner {
            line.push_str(&format!(" {}", harmless(winner)));
        }
        if let (Some(percent), Some(distance)) = (self.percent, self.distance)
            && !self.is_winner
        {
            line.push_str(&format!(" ({percent:.0} %, {distance} bits)"));
        }
        if let (Some(rule), Some(reason)) = (&self.rule, &self.reason)
            && !self.is_winner
        {
            line.push_str(&format!("; {rule}: {}", harmless(reason)));
        }
        line
    }

    pub(crate) fn standing(&self) -> &'static str {
        match (&*self.kind, self.is_winner) {
            ("new", _) => "new",
            ("exact", false) => "exact duplicate of",
            ("near", false) => "near duplicate of",
            ("exact" | "near", true) => "kept, others are like it",
            ("related", false) => "related, not removable; its group is that of",
            ("related", true) => "kept, others are related",
            ("redirect", _) => "redirects into the group of",
            ("cycle", _) => "redirects in a cycle",
            ("empty", _) => "empty",
            _ => "awaited: other pages redirect to it",
        }
    }
}

/// What is known of a page.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PageAnswer {
    #[serde(flatten)]
    pub(crate) verdict: VerdictAnswer,
    pub(crate) id: u32,
    /// Null for a page without content.
    pub(crate) content: Option<String>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) too_short: bool,
    pub(crate) words: u32,
    pub(crate) score: Option<f64>,
    /// Seconds since 1970.
    pub(crate) fetched: Option<u64>,
    pub(crate) changed: Option<u64>,
    pub(crate) canonical: Option<String>,
}

impl PageAnswer {
    pub(crate) fn new(page: PageInfo, decision: &Decision) -> Self {
        let blank = page.content.to_bytes() == [0; 16];
        let contents = page.contents.as_ref();
        Self {
            id: page.id.0,
            content: (!blank).then(|| page.content.to_string()),
            fingerprint: contents.map(|contents| contents.fingerprint.to_string()),
            too_short: contents.is_some_and(|contents| contents.too_short),
            words: page.words,
            score: page.score,
            fetched: page.fetched,
            changed: page.changed,
            canonical: page.canonical,
            verdict: VerdictAnswer::new(page.url, decision),
        }
    }

    /// Names and values, what is not known left out.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let verdict = &self.verdict;
        let mut standing = verdict.standing().to_owned();
        if let Some(winner) = &verdict.winner {
            standing.push_str(&format!(" {}", harmless(winner)));
        }
        let rows = [
            ("url", Some(harmless(&verdict.url).into_owned())),
            ("standing", Some(standing)),
            ("because", verdict.reason.as_ref().map(|reason| harmless(reason).into_owned())),
            ("alike", verdict.percent.map(|percent| format!("{percent:.1} %"))),
            ("distance", verdict.distance.map(|distance| format!("{distance} bits"))),
            ("group", verdict.group.map(|group| group.to_string())),
            ("fingerprint", self.fingerprint.clone()),
            ("content", self.content.clone()),
            ("words", Some(readable::count(self.words.into()))),
            ("score", self.score.map(|score| score.to_string())),
            ("fetched", self.fetched.map(moment)),
            ("changed", self.changed.map(moment)),
            ("canonical", self.canonical.as_ref().map(|url| harmless(url).into_owned())),
        ];
        rows.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect()
    }
}

/// A group.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GroupAnswer {
    pub(crate) group: u32,
    pub(crate) winner: String,
    /// Pages that do not redirect.
    pub(crate) members: u32,
    /// No two members are farther apart.
    pub(crate) diameter: u8,
    /// Of the members, the winner aside: those that were found not to match it.
    pub(crate) failing_share: f64,
    /// Was every member compared with the winner?
    pub(crate) verified: bool,
}

impl GroupAnswer {
    pub(crate) fn new(id: GroupId, record: &GroupRecord, winner: String) -> Self {
        Self {
            group: id.0,
            winner,
            members: record.members,
            diameter: record.diameter(),
            failing_share: record.failing_share(),
            verified: record.is_verified(),
        }
    }
}

/// A group with its pages, the winner first.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GroupPages {
    #[serde(flatten)]
    pub(crate) group: GroupAnswer,
    pub(crate) pages: Vec<VerdictAnswer>,
}

/// A change.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EventAnswer {
    pub(crate) sequence: u64,
    /// `joined`, `left`, `merged`, `split`, `winner`, `gone`, `redirected`, `returned`.
    pub(crate) event: Cow<'static, str>,
    /// The page it is about, or the new winner; null once no event remembers its address.
    pub(crate) url: Option<String>,
    /// The page redirected to, or the former winner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) other: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<u32>,
    /// Of a merge, `group` ended; where the pages of a merged or split group are now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) into: Option<u32>,
}

impl EventAnswer {
    pub(crate) fn new(info: &EventInfo) -> Self {
        let (group, into) = info.change.groups();
        Self {
            sequence: info.sequence,
            event: info.change.name().into(),
            url: info.url.clone(),
            other: info.other_url.clone(),
            group: group.map(|group| group.0),
            into: into.map(|into| into.0),
        }
    }

    pub(crate) fn sentence(&self) -> String {
        let or_unknown = |url: &Option<String>| match url {
            Some(url) => harmless(url).into_owned(),
            None => "?".to_owned(),
        };
        let number = |group: Option<u32>| group.map_or_else(String::new, |group| group.to_string());
        let (url, other) = (or_unknown(&self.url), or_unknown(&self.other));
        let (group, into) = (number(self.group), number(self.into));
        let what = match &*self.event {
            "joined" => format!("{url} joined group {group}"),
            "left" => format!("{url} left group {group}"),
            "merged" => format!("group {group} is now part of group {into}"),
            "split" => format!("pages of group {group} move to group {into}"),
            "winner" => format!("{url} wins group {group} over {other}"),
            "redirected" => format!("{url} redirects to {other}"),
            "returned" => format!("{url} redirects no more"),
            _ => format!("{url} is gone"),
        };
        format!("{:>6}  {what}", self.sequence)
    }
}

/// What a repository is, and how much is in it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Description {
    pub(crate) recipe: String,
    pub(crate) within: u32,
    pub(crate) min_similarity: f64,
    pub(crate) rules: String,
    pub(crate) scope: String,
    pub(crate) markets: BTreeMap<String, String>,
    pub(crate) pages: u64,
    pub(crate) with_content: u64,
    pub(crate) groups: u64,
    pub(crate) last_event: u64,
    pub(crate) commits: u64,
    pub(crate) file_bytes: u64,
    pub(crate) index_bytes: u64,
    /// Where the index is from, for people.
    #[serde(skip)]
    pub(crate) index_origin: &'static str,
}

/// A kind in one word.
pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::New => "new",
        Kind::Exact => "exact",
        Kind::Near => "near",
        Kind::Related => "related",
        Kind::Redirect => "redirect",
        Kind::Cycle => "cycle",
        Kind::Empty => "empty",
        Kind::Awaited => "awaited",
    }
}

/// A share in percent, with one digit behind the point.
pub(crate) fn percent(share: f32) -> f64 {
    (f64::from(share) * 1000.0).round() / 10.0
}

/// What a page's place is called in an export.
pub(crate) fn place(record: &PageRecord) -> &'static str {
    match record {
        PageRecord::Content { .. } => "content",
        PageRecord::Bare { why: hapax::group::live::Bare::Empty, .. } => "empty",
        PageRecord::Bare { why: hapax::group::live::Bare::Awaited, .. } => "awaited",
        PageRecord::Bare { why: hapax::group::live::Bare::Loop { .. }, .. } => "cycle",
        PageRecord::Redirects { .. } => "redirect",
    }
}

fn moment(seconds: u64) -> String {
    i64::try_from(seconds)
        .map_or_else(|_| seconds.to_string(), |s| Timestamp::from_seconds(s).to_string())
}
