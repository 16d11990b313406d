//! The shapes of requests and answers: the one schema of every front end.
//!
//! The service, its client, `hapax --json` and the Python package answer with these types; engine
//! types are turned into them here and may change without the schema changing. In every answer a
//! time is RFC 3339 in UTC, `similarity` the estimated Jaccard similarity of two texts (0 to 1),
//! `distance` the differing bits of two fingerprints; fingerprints and hashes are hexadecimal.
//!
//! The components of `openapi.json` publish the schema.

mod settings;

use crate::moment;
use hapax::group::live::{Bare, Kind, Likeness, Matching, PageRecord, Tier};
use hapax_store::{Decision, EventInfo, GroupInfo, GroupSummary, Member, PageInfo, Seen};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use settings::{RecipeNamed, RepositorySettings, RulesShown, SettingsShown, StatsShown};

/// A page: its address and exactly one of `html`, `text`, `signature` and `redirect`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageInput {
    pub url: String,
    /// Its HTML, decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its fingerprint, made elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<ReadySignature>,
    /// The address it redirects to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// PageRank, clicks, anything of which more is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// When it was fetched; now, unless given. Also read as RFC 3339.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "moment::optional"
    )]
    pub fetched: Option<u64>,
    /// The address it calls its own, absolute, if the HTML does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// Its language, for repositories with that scope, if the HTML does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The value of the scope's field, for repositories with that scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Its HTTP headers: `Link: rel=canonical` and `Content-Language` are looked at.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// What `hapax fingerprint --json` prints of a page; other fields of it are passed over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadySignature {
    /// `name:digest`.
    pub recipe: String,
    /// Sixteen hexadecimal digits; none for a page without words.
    pub fingerprint: Option<String>,
    /// 256 hexadecimal digits; none for a page without words.
    pub sketch: Option<String>,
    /// Thirty-two hexadecimal digits, equal exactly for equal texts.
    pub content: String,
    #[serde(default)]
    pub words: u32,
    /// Too few features for likeness to mean much.
    #[serde(default)]
    pub too_short: bool,
}

/// How alike two pages are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alike {
    /// Bits in which the fingerprints differ.
    pub distance: u8,
    /// Estimated Jaccard similarity of the texts, 0 to 1.
    pub similarity: f32,
    /// Is the text the same?
    pub exact: bool,
    /// Is it a confirmed duplicate?
    pub matches: bool,
}

impl From<&Likeness> for Alike {
    fn from(likeness: &Likeness) -> Self {
        Self {
            distance: likeness.distance,
            similarity: likeness.similarity,
            exact: likeness.matching == Matching::Exact,
            matches: likeness.matches(),
        }
    }
}

/// The rule that decided, and what it saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Because {
    pub rule: String,
    pub text: String,
}

impl From<&hapax::group::Reason> for Because {
    fn from(reason: &hapax::group::Reason) -> Self {
        Self { rule: reason.rule.to_owned(), text: reason.text.clone() }
    }
}

/// A page found by the index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Match {
    pub url: String,
    #[serde(flatten)]
    pub alike: Alike,
}

/// What is said of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub url: String,
    /// `exact`, `near`, `related`, `redirect`, `cycle`, `empty` or `awaited`. A page that is like
    /// no other is `new`, `unchanged` or `changed` as `seen` says, and `unique` when looked up.
    pub verdict: String,
    /// Was its address known? `first`, `unchanged` or `changed`; none for a page looked up.
    pub seen: Option<String>,
    /// Is it the copy that stays?
    pub is_winner: bool,
    /// May the page be dropped, because the winner stands for it?
    pub removable: bool,
    /// Its group; none for a page that is not recorded and would found one.
    pub group: Option<u32>,
    /// The address of the copy that stays; the page's own when it is the one.
    pub winner: String,
    /// How alike it is to the winner or, if it is the winner, to the member nearest to it.
    pub alike: Option<Alike>,
    /// The known page most like it, itself aside, whether it matches or not; none when nothing near
    /// is known. Batches and pages looked up are not searched for: there it is a match, or none.
    pub nearest: Option<Nearest>,
    /// Why the winner stays.
    pub reason: Option<Because>,
    /// `none`, `winner` (tier 1: still like its group's winner) or `index` (tier 2: searched).
    pub tier: String,
    /// The nearest pages found by the index, at most [`MATCHES`].
    pub matches: Vec<Match>,
    /// How many were found.
    pub found: usize,
    /// Was it recorded?
    pub recorded: bool,
}

/// The known page most like another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nearest {
    pub url: String,
    /// Bits in which the fingerprints differ.
    pub distance: u8,
    /// Estimated Jaccard similarity of the texts, 0 to 1.
    pub similarity: f32,
}

impl From<hapax_store::Nearest> for Nearest {
    fn from(nearest: hapax_store::Nearest) -> Self {
        let Likeness { distance, similarity, .. } = nearest.likeness;
        Self { url: nearest.url, distance, similarity }
    }
}

/// The match most alike.
fn nearest_of(matches: &[Match]) -> Option<Nearest> {
    let best = matches.iter().max_by(|a, b| {
        let order = a.alike.similarity.total_cmp(&b.alike.similarity);
        order.then(b.alike.distance.cmp(&a.alike.distance)).then_with(|| b.url.cmp(&a.url))
    })?;
    let Alike { distance, similarity, .. } = best.alike;
    Some(Nearest { url: best.url.clone(), distance, similarity })
}

/// The most matches that a verdict lists.
pub const MATCHES: usize = 20;

/// The verdicts of pages that are recorded or asked about, in the order in which they are listed.
pub const VERDICTS: [&str; 10] = [
    "new",
    "unchanged",
    "changed",
    "exact",
    "near",
    "related",
    "redirect",
    "cycle",
    "empty",
    "awaited",
];

/// A verdict in a word.
pub const fn verdict_name(kind: Kind, seen: Option<Seen>) -> &'static str {
    match kind {
        Kind::Unique => match seen {
            Some(Seen::First) => "new",
            Some(Seen::Unchanged) => "unchanged",
            Some(Seen::Changed) => "changed",
            None => "unique",
        },
        Kind::Exact => "exact",
        Kind::Near => "near",
        Kind::Related => "related",
        Kind::Redirect => "redirect",
        Kind::Cycle => "cycle",
        Kind::Empty => "empty",
        Kind::Awaited => "awaited",
    }
}

/// A tier in a word.
pub const fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::None => "none",
        Tier::Winner => "winner",
        Tier::Index => "index",
    }
}

impl Verdict {
    /// Of a page that is looked up.
    pub fn known(url: String, decision: &Decision) -> Self {
        Self::new(url, decision, Vec::new(), true)
    }

    /// Of a decision; `names` are the addresses of its first matches.
    pub fn new(
        url: String,
        decision: &Decision,
        names: Vec<Option<String>>,
        recorded: bool,
    ) -> Self {
        let verdict = &decision.verdict;
        let shown = verdict.matches.iter().zip(names);
        let matches: Vec<Match> = shown
            .filter_map(|(near, url)| Some(Match { url: url?, alike: (&near.likeness).into() }))
            .collect();
        let duplicate = verdict.likeness.filter(Likeness::matches);
        Self {
            verdict: verdict_name(verdict.kind, decision.seen).into(),
            seen: decision.seen.map(|seen| seen.name().into()),
            nearest: nearest_of(&matches).or_else(|| {
                let (url, alike) = (decision.winner_url.clone()?, duplicate?);
                Some(hapax_store::Nearest { url, likeness: alike }.into())
            }),
            is_winner: verdict.is_winner,
            removable: verdict.removable(),
            group: verdict.group.map(|group| group.0),
            winner: decision.winner_url.clone().unwrap_or_else(|| url.clone()),
            alike: verdict.likeness.as_ref().map(Alike::from),
            reason: verdict.reason.as_ref().map(Because::from),
            tier: tier_name(verdict.tier).into(),
            matches,
            found: verdict.matches.len(),
            recorded,
            url,
        }
    }
}

/// A page as it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page {
    pub url: String,
    pub id: u32,
    /// `content`, `redirect`, `cycle`, `empty` or `awaited`.
    pub state: String,
    pub group: Option<u32>,
    /// Sixteen hexadecimal digits.
    pub fingerprint: Option<String>,
    /// Thirty-two hexadecimal digits, equal exactly for equal texts; none while no text is known.
    pub content: Option<String>,
    /// Too few features for likeness to mean much.
    pub too_short: bool,
    pub words: u32,
    pub score: Option<f64>,
    /// When it was fetched last.
    #[serde(serialize_with = "moment::shown_if_known", deserialize_with = "moment::optional")]
    pub fetched: Option<u64>,
    /// When its content was last found changed.
    #[serde(serialize_with = "moment::shown_if_known", deserialize_with = "moment::optional")]
    pub changed: Option<u64>,
    /// When it was first seen with its present content, or with one that nearly matches it.
    #[serde(serialize_with = "moment::shown_if_known", deserialize_with = "moment::optional")]
    pub first_seen: Option<u64>,
    /// Its canonical address.
    pub canonical: Option<String>,
    /// The address it redirects to.
    pub redirects_to: Option<String>,
}

/// Where a page stands, in a word.
pub const fn state_name(place: &PageRecord) -> &'static str {
    match place {
        PageRecord::Content { .. } => "content",
        PageRecord::Redirects { .. } => "redirect",
        PageRecord::Bare { why: Bare::Loop { .. }, .. } => "cycle",
        PageRecord::Bare { why: Bare::Empty, .. } => "empty",
        PageRecord::Bare { why: Bare::Awaited, .. } => "awaited",
    }
}

impl Page {
    /// Of what the repository knows.
    pub fn new(info: PageInfo, group: Option<u32>) -> Self {
        let contents = info.contents.as_ref();
        let blank = info.content.to_bytes() == [0; 16];
        Self {
            id: info.id.0,
            state: state_name(&info.place).into(),
            group,
            fingerprint: contents.map(|contents| contents.fingerprint.to_string()),
            content: (!blank).then(|| info.content.to_string()),
            too_short: contents.is_some_and(|contents| contents.too_short),
            words: info.words,
            score: info.score,
            fetched: info.fetched,
            changed: info.changed,
            first_seen: info.first_seen,
            canonical: info.canonical,
            redirects_to: info.redirects_to,
            url: info.url,
        }
    }
}

/// A page, and how it stands in its group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageDetail {
    #[serde(flatten)]
    pub page: Page,
    /// What is said of it now; without matches, as nothing was searched.
    pub status: Verdict,
}

impl PageDetail {
    /// Of what the repository knows and decides.
    pub fn new(info: PageInfo, decision: &Decision) -> Self {
        let status = Verdict::known(info.url.clone(), decision);
        Self { page: Page::new(info, status.group), status }
    }
}

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
    /// As in [`Page`].
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

/// Some rows, and where to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rows<T> {
    pub rows: Vec<T>,
    /// Give this as `after` for the next ones; none when there are no more.
    pub next: Option<String>,
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

/// Rules to set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesInput {
    /// Separated by commas, most important first.
    pub rules: String,
}

/// How many were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    pub pages: u64,
}

/// Which pages were forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    pub pages: u64,
    /// Those that were not known.
    pub unknown: Vec<String>,
}
