//! Answers of a repository or a job as text for people.
//!
//! Programs read the wire types instead. Removes control characters from outside text.

use crate::readable::{self, harmless};
use hapax_client::moment;
use hapax_client::wire::{Event, Group, PageDetail, Verdict};
use hapax_dedup::Decided;

/// The sentence for a page that was queried; a unique page comes with the nearest known page.
pub(crate) fn searched(verdict: &Verdict) -> String {
    let line = sentence(verdict);
    match (&*verdict.verdict, &verdict.nearest) {
        ("new" | "unchanged" | "changed", Some(nearest)) => format!(
            "{line}; nearest: {} ({:.0} %, {})",
            harmless(&nearest.url),
            100.0 * nearest.similarity,
            readable::counted(nearest.distance.into(), "bit"),
        ),
        ("new" | "unchanged" | "changed", None) => format!("{line}; nothing near is known"),
        _ => line,
    }
}

/// One line: status, winner, similarity, and reason.
pub(crate) fn sentence(verdict: &Verdict) -> String {
    let mut line = format!("{}  {}", harmless(&verdict.url), status_text(verdict));
    if let Some(alike) = verdict.alike.filter(|_| !verdict.is_winner) {
        let (similarity, distance) = (100.0 * alike.similarity, alike.distance);
        line.push_str(&format!(" ({similarity:.0} %, {distance} bits)"));
    }
    if let Some(reason) = verdict.reason.as_ref().filter(|_| !verdict.is_winner) {
        line.push_str(&format!("; {}: {}", reason.rule, harmless(&reason.text)));
    }
    let alone = matches!(&*verdict.verdict, "new" | "unchanged" | "changed");
    if let Some(seen) = verdict.seen.as_deref().filter(|seen| *seen != "first" && !alone) {
        line.push_str(&format!("; {seen}"));
    }
    line
}

/// The status, and the page it refers to.
fn status_text(verdict: &Verdict) -> String {
    let status = match (&*verdict.verdict, verdict.is_winner) {
        ("new", _) => "new",
        ("unchanged", _) => "known and unchanged",
        ("changed", _) => "known, with new content",
        ("unique", _) => "unique: no other page matches",
        ("exact", false) => "exact duplicate of",
        ("near", false) => "near duplicate of",
        ("exact" | "near", true) => "kept; other pages match it",
        ("related", false) => "related, not removable; its group is that of",
        ("related", true) => "kept; other pages are related",
        ("redirect", _) => "redirects into the group of",
        ("cycle", _) => "redirects in a cycle",
        ("empty", _) => "empty",
        _ => "awaited: other pages redirect to it",
    };
    match verdict.winner == verdict.url {
        true => status.to_owned(),
        false => format!("{status} {}", harmless(&verdict.winner)),
    }
}

/// Names and values of a page's properties.
pub(crate) fn rows(PageDetail { page, status }: &PageDetail) -> Vec<(&'static str, String)> {
    let (alike, reason) = (status.alike.as_ref(), status.reason.as_ref());
    let rows = [
        ("url", Some(harmless(&page.url).into_owned())),
        ("status", Some(status_text(status))),
        ("because", reason.map(|reason| harmless(&reason.text).into_owned())),
        ("similarity", alike.map(|alike| format!("{:.1} %", 100.0 * alike.similarity))),
        ("distance", alike.map(|alike| readable::counted(alike.distance.into(), "bit"))),
        ("group", page.group.map(|group| group.to_string())),
        ("fingerprint", page.fingerprint.clone()),
        ("content", page.content.clone()),
        ("words", Some(readable::count(page.words.into()))),
        ("score", page.score.map(|score| score.to_string())),
        ("fetched", page.fetched.map(moment::shown)),
        ("changed", page.changed.map(moment::shown)),
        ("first seen", page.first_seen.map(moment::shown)),
        ("canonical", page.canonical.as_ref().map(|url| harmless(url).into_owned())),
    ];
    rows.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect()
}

/// Names and values of a job's decision about a document.
pub(crate) fn decided(row: &Decided) -> Vec<(&'static str, String)> {
    let safe = |text: &str| harmless(text).into_owned();
    let percent = |share: f32| format!("{:.1} %", 100.0 * share);
    let status = match (&*row.outcome, row.earlier) {
        ("kept", _) => "kept",
        ("exact", false) => "removed: an exact duplicate",
        ("near", false) => "removed: a near-duplicate",
        ("exact", true) => "removed: an exact duplicate of what an earlier job kept",
        ("near", true) => "removed: a near-duplicate of what an earlier job kept",
        ("redirect", _) => "an address that redirects to a document",
        ("revisit", _) => "an address that an archive visited again",
        _ => "skipped: not a document",
    };
    let winner = row.winner.as_deref().filter(|winner| row.outcome != "kept" && !winner.is_empty());
    let place = row.record.map_or_else(String::new, |record| format!(", record {record}"));
    let rows = [
        ("document", Some(safe(&row.document))),
        ("url", row.url.as_deref().filter(|url| *url != row.document).map(safe)),
        ("status", Some(status.to_owned())),
        ("kept", winner.map(safe)),
        ("rule", row.rule.as_deref().map(safe)),
        ("because", row.reason.as_deref().map(safe)),
        ("similarity", row.similarity.map(percent)),
        ("distance", row.distance.map(|bits| readable::counted(bits.into(), "bit"))),
        ("own text", row.own_words.map(|words| readable::counted(words, "word"))),
        ("own similarity", row.own_similarity.map(percent)),
        ("read from", Some(format!("{}{place}", safe(&row.file)))),
    ];
    rows.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect()
}

/// Percentage of members, without the winner, that do not match the winner.
pub(crate) fn failing_percent(group: &Group) -> f64 {
    let others = group.members.saturating_sub(1).max(1);
    100.0 * f64::from(group.failing) / f64::from(others)
}

pub(crate) fn change(event: &Event) -> String {
    let or_unknown = |url: &Option<String>| match url {
        Some(url) => harmless(url).into_owned(),
        None => "?".to_owned(),
    };
    let number = |group: Option<u32>| group.map_or_else(String::new, |group| group.to_string());
    let (url, other) = (or_unknown(&event.url), or_unknown(&event.other_url));
    let (group, into) = (number(event.group), number(event.other_group));
    let what = match &*event.change {
        "joined" => format!("{url} joined group {group}"),
        "left" => format!("{url} left group {group}"),
        "merged" => format!("group {group} is now part of group {into}"),
        "split" => format!("pages of group {group} move to group {into}"),
        "winner" => format!("{url} wins group {group} over {other}"),
        "changed" => format!("{url} has new content"),
        "redirected" => format!("{url} redirects to {other}"),
        "returned" => format!("{url} redirects no more"),
        _ => format!("{url} is gone"),
    };
    let at = event.at.as_deref().unwrap_or("time unknown");
    format!("{:>6}  {at}  {what}", event.sequence)
}
