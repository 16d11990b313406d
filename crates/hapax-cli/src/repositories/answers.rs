//! Answers of a repository: as JSON for programs, as a line for people.
//!
//! The store's types are not a format; these are. Fields are never renamed; new ones may come.
//! Text from outside is made harmless in lines for people, and left as it is in JSON.

use crate::readable::{self, harmless};
use hapax::group::live::{GroupId, GroupRecord, PageRecord};
use hapax_server::moment;
use hapax_server::wire::{Event, Nearest, Verdict};
use hapax_store::{Decision, PageInfo};
use serde::Serialize;
use std::collections::BTreeMap;

/// How a page stands.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct VerdictAnswer {
    pub(crate) url: String,
    /// `exact`, `near`, `related`, `redirect`, `cycle`, `empty`, `awaited`; of a page like no other
    /// `new`, `unchanged` or `changed` as `seen` says, and `unique` when it is looked up.
    pub(crate) kind: String,
    /// Was its address known? `first`, `unchanged`, `changed`; null for a page that is looked up.
    pub(crate) seen: Option<String>,
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
    /// The known page most like it, whether it matches or not; null when nothing near is known.
    pub(crate) nearest: Option<Nearest>,
    pub(crate) rule: Option<String>,
    pub(crate) reason: Option<String>,
    /// 1 when it stayed with its group, 2 when the index was searched, null when nothing was.
    pub(crate) tier: Option<u8>,
}

impl From<Verdict> for VerdictAnswer {
    fn from(verdict: Verdict) -> Self {
        let (rule, reason) = match verdict.reason {
            Some(because) => (Some(because.rule), Some(because.text)),
            None => (None, None),
        };
        Self {
            kind: verdict.verdict,
            seen: verdict.seen,
            is_winner: verdict.is_winner,
            removable: verdict.removable,
            winner: (verdict.winner != verdict.url).then_some(verdict.winner),
            group: verdict.group,
            distance: verdict.alike.map(|alike| alike.distance),
            percent: verdict.alike.map(|alike| percent(alike.similarity)),
            nearest: verdict.nearest,
            rule,
            reason,
            tier: match &*verdict.tier {
                "winner" => Some(1),
                "index" => Some(2),
                _ => None,
            },
            url: verdict.url,
        }
    }
}

impl VerdictAnswer {
    /// Of a page that is looked up.
    pub(crate) fn known(url: String, decision: &Decision) -> Self {
        Verdict::new(url, decision, Vec::new(), true).into()
    }

    /// The sentence for a page that was searched for: with the nearest known page if it is like no
    /// other.
    pub(crate) fn searched(&self) -> String {
        let line = self.sentence();
        match (&*self.kind, &self.nearest) {
            ("new" | "unchanged" | "changed", Some(nearest)) => format!(
                "{line}; nearest: {} ({:.0} %, {})",
                harmless(&nearest.url),
                percent(nearest.similarity),
                readable::counted(nearest.distance.into(), "bit"),
            ),
            ("new" | "unchanged" | "changed", None) => format!("{line}; nothing near is known"),
            _ => line,
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
        let alone = matches!(&*self.kind, "new" | "unchanged" | "changed");
        if let Some(seen) = self.seen.as_deref().filter(|seen| *seen != "first" && !alone) {
            line.push_str(&format!("; {seen}"));
        }
        line
    }

    pub(crate) fn standing(&self) -> &'static str {
        match (&*self.kind, self.is_winner) {
            ("new", _) => "new",
            ("unchanged", _) => "known and unchanged",
            ("changed", _) => "known, with another content",
            ("unique", _) => "like no other page",
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
    pub(crate) first_seen: Option<u64>,
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
            first_seen: page.first_seen,
            canonical: page.canonical,
            verdict: VerdictAnswer::known(page.url, decision),
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
            ("fetched", self.fetched.map(moment::shown)),
            ("changed", self.changed.map(moment::shown)),
            ("first seen", self.first_seen.map(moment::shown)),
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
    /// `joined`, `left`, `merged`, `split`, `winner`, `changed`, `gone`, `redirected`, `returned`.
    pub(crate) event: String,
    /// When it was recorded, RFC 3339 in UTC; null for events of a version without times.
    pub(crate) at: Option<String>,
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

impl From<Event> for EventAnswer {
    fn from(event: Event) -> Self {
        Self {
            sequence: event.sequence,
            event: event.change,
            at: event.at,
            url: event.url,
            other: event.other_url,
            group: event.group,
            into: event.other_group,
        }
    }
}

impl EventAnswer {
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
            "changed" => format!("{url} has another content"),
            "redirected" => format!("{url} redirects to {other}"),
            "returned" => format!("{url} redirects no more"),
            _ => format!("{url} is gone"),
        };
        let at = self.at.as_deref().unwrap_or("time unknown");
        format!("{:>6}  {at}  {what}", self.sequence)
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
