//! Writes `report.html`: one self-contained file with style, script and pictures. Escapes everything that comes
//! from documents.
//!
//! [`page`] assembles the sections: `origins` counts hosts, `groups` lists the largest groups, `examples`
//! compares pairs, `frames` shows what the pages of a host share, `passed` lists the records that are not
//! documents.

pub(crate) mod examples;
mod frames;
pub(crate) mod groups;
pub(crate) mod origins;
pub(crate) mod passed;

use std::borrow::Cow;

use hapax::fingerprint::Fingerprinter;
use serde::{Deserialize, Serialize};

use examples::Example;
pub(crate) use examples::{Examples, Text, TextReader};
pub(crate) use frames::{Frames, ShownFrame};
use groups::LargestGroups;
use origins::Origins;
pub(crate) use passed::Passed;

use crate::decide::Decision;
use crate::outputs::{Shown, Summary};
use hapax_report::bars::{Bar, bars};
use hapax_report::{counted, document, escape, grouped, plural};

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// The data of the report, gathered on one machine or from distributed steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Contents {
    summary: Summary,
    origins: Origins,
    groups: LargestGroups,
    examples: Vec<Example>,
    passed: Vec<Passed>,
    #[serde(default)]
    frames: Vec<ShownFrame>,
    /// When and by which command it was made; `None` leaves it out.
    #[serde(default)]
    made: Option<Made>,
}

/// When and by which command a report was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Time in readable form.
    pub at: String,
    pub command: String,
}

/// What can be counted without texts.
pub(crate) struct Counted {
    pub(crate) summary: Summary,
    origins: Origins,
    groups: LargestGroups,
}

impl Counted {
    /// Counts on all threads of the current pool.
    pub(crate) fn of(summary: impl FnOnce() -> Summary + Send, decision: &Decision<'_>) -> Self {
        let origins = || Origins::of(decision);
        let groups = || LargestGroups::of(decision);
        let (summary, (origins, groups)) = rayon::join(summary, || rayon::join(origins, groups));
        Self { summary, origins, groups }
    }
}

impl Contents {
    /// The report of a job on one machine.
    pub(crate) fn of(
        counted: Counted,
        decision: &Decision<'_>,
        shown: Shown,
        made: Option<Made>,
    ) -> Self {
        let Counted { summary, origins, groups } = counted;
        Self {
            passed: shown.passed,
            frames: shown.frames.seen(),
            made,
            summary,
            origins,
            groups,
            examples: shown.examples.seen(decision),
        }
    }
}

pub(crate) fn page(contents: &Contents, fingerprinter: &Fingerprinter) -> String {
    let title = headline(&contents.summary);
    let body = body(contents, fingerprinter);
    document(&format!("{title} · hapax dedup"), &[STYLE], &body, SCRIPT)
}

/// A percentage that shows 0 or 100 only for none or all.
fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    match part {
        0 => "0 %".to_owned(),
        _ if part == whole => "100 %".to_owned(),
        _ => format!("{:.1} %", share.clamp(0.1, 99.9)),
    }
}

fn body(contents: &Contents, fingerprinter: &Fingerprinter) -> String {
    let summary = &contents.summary;
    let title = headline(summary);
    let mut out = String::new();
    out.push_str(&format!("<header>\n<h1>{title}</h1>\n"));
    totals(&mut out, summary);
    out.push_str("</header>\n");
    if summary.removed() > 0 {
        charts_section(&mut out, summary);
        contents.origins.section(&mut out);
        contents.groups.section(&mut out);
    }
    out.push_str(&examples::sections(&contents.examples, fingerprinter));
    frames::section(&mut out, summary, &contents.frames);
    passed::section(&mut out, summary, &contents.passed);
    settings(&mut out, summary, contents.made.as_ref());
    out
}

fn headline(summary: &Summary) -> String {
    let documents = counted(summary.documents, "document");
    match summary.removed() {
        0 => format!("None of {documents} is a duplicate"),
        removed => format!(
            "{} of {documents} {} ({})",
            grouped(removed),
            if removed == 1 { "is a duplicate" } else { "are duplicates" },
            percent(removed, summary.documents)
        ),
    }
}

fn totals(out: &mut String, summary: &Summary) {
    let all = summary.documents;
    let parts = [
        ("kept", summary.kept, "kept"),
        ("exact", summary.exact, "removed, exact copies"),
        ("near", summary.near, "removed, near-duplicates"),
    ];
    out.push_str(&split(&parts.map(|(class, count, _)| (class, count))));
    out.push_str("<ul class=\"key\">");
    for (class, count, name) in parts {
        out.push_str(&format!(
            "<li><i class=\"{class}\"></i><b>{}</b> {name} ({})</li>",
            grouped(count),
            percent(count, all)
        ));
    }
    out.push_str("</ul>\n<div class=\"tiles\">\n");
    let mut tile = |value: u64, about: String| {
        out.push_str(&format!("<div><strong>{}</strong><p>{about}</p></div>\n", grouped(value)));
    };
    let mut about = |value: u64, noun: &str, about: &str| {
        tile(value, format!("{} {about}", plural(value, noun)));
    };
    about(all, "document", &format!("read, {}", megabytes(summary.body_bytes)));
    about(summary.groups, "group", "of two documents or more");
    about(summary.largest_group, "document", "in the largest group");
    for (value, noun, what) in [
        (summary.known, "document", "removed because an earlier job kept one like it"),
        (summary.related_groups, "group", "that a chain of pairs would have merged with others"),
        (summary.too_short, "document", "too short to compare: only exact copies were removed"),
        (
            summary.hides_most,
            "document",
            "with more text hidden than shown: compared by the shown text",
        ),
        (summary.without_words + summary.empty, "document", "without words"),
        (summary.not_text, "document", "neither HTML nor text: only exact copies were removed"),
        (summary.redirects + summary.revisits, "address", "leading to a document"),
        (summary.passed(), "record", "that are not documents, listed below"),
        (
            summary.collisions,
            "document",
            "with the fingerprint of many others and a different text",
        ),
        (
            summary.saturated,
            "document",
            "with too many chance matches: compared with what sketches propose",
        ),
    ] {
        if value > 0 {
            about(value, noun, what);
        }
    }
    out.push_str("</div>\n");
}

fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 100.0 {
        format!("{megabytes:.1} MB")
    } else {
        format!("{} MB", grouped(bytes / 1_000_000))
    }
}

/// A stacked bar of the parts of a whole.
fn split(parts: &[(&str, u64)]) -> String {
    let all: u64 = parts.iter().map(|(_, count)| count).sum();
    let mut out = "<div class=\"split\">".to_owned();
    for (class, count) in parts.iter().filter(|(_, count)| *count > 0) {
        let share = 100.0 * *count as f64 / all.max(1) as f64;
        out.push_str(&format!(
            "<div class=\"{class}\" style=\"flex:{share:.3}\" title=\"{}\"></div>",
            grouped(*count)
        ));
    }
    out.push_str("</div>");
    out
}

fn charts_section(out: &mut String, summary: &Summary) {
    out.push_str("<section class=\"charts\">\n");
    let mut figure = |title: &str, chart: String, caption: &str| {
        out.push_str(&format!(
            "<figure><h3>{title}</h3>{chart}<figcaption>{caption}</figcaption></figure>\n"
        ));
    };
    if summary.near > 0 {
        figure(
            "Similarity of near-duplicates with the kept copy",
            bars(&similarity_bars(summary), "near", "near-duplicates by similarity"),
            &format!(
                "Estimated share of runs of {} words that both have; the bound is {}.",
                summary.settings.shingle, summary.settings.min_similarity
            ),
        );
        figure(
            "Distance of near-duplicates from the kept copy",
            bars(&distance_bars(summary), "near", "near-duplicates by distance"),
            "Differing bits of 64. If the last bars are still high, a wider --within would find more.",
        );
    }
    figure(
        "Groups by size",
        bars(&size_bars(summary), "groups", "groups by number of documents"),
        "Documents in a group, with the kept one.",
    );
    figure(
        "Which rule chose the kept copy",
        bars(&reason_bars(summary), "groups", "removed documents by deciding rule"),
        &format!(
            "Removed documents by the first rule that distinguishes them from the kept page: {}, then \
                  the URL in order.",
            escape(&summary.settings.keep)
        ),
    );
    out.push_str("</section>\n");
}

fn similarity_bars(summary: &Summary) -> Vec<Bar> {
    let least = summary.similarities.keys().next().copied().unwrap_or(0);
    let bound = (summary.settings.min_similarity * 100.0).floor() as u8;
    let lowest = least.min(bound);
    let step = match 100 - lowest {
        0..=22 => 1,
        23..=44 => 2,
        _ => 5,
    };
    let lowest = lowest / step * step;
    let mut bars = Vec::new();
    let mut from = lowest;
    while from < 100 {
        let to = from + step;
        let value: u64 = summary.similarities.range(from..to).map(|(_, count)| count).sum();
        let label = format!("{:.2}", f64::from(from) / 100.0);
        let title = format!("{label} to below {:.2}: {}", f64::from(to) / 100.0, documents(value));
        bars.push(Bar { label, value: value as f64, title });
        from = to;
    }
    let same = summary.similarities.get(&100).copied().unwrap_or(0);
    let title = format!("the same words in all sampled places: {}", documents(same));
    bars.push(Bar { label: "1".to_owned(), value: same as f64, title });
    bars
}

fn distance_bars(summary: &Summary) -> Vec<Bar> {
    (0..=summary.settings.within as u8)
        .map(|distance| {
            let value = summary.distances.get(&distance).copied().unwrap_or(0);
            let title = format!("{}: {}", examples::bits(distance), documents(value));
            Bar { label: distance.to_string(), value: value as f64, title }
        })
        .collect()
}

fn size_bars(summary: &Summary) -> Vec<Bar> {
    const LIMITS: [u64; 12] = [2, 3, 4, 5, 10, 20, 50, 100, 1_000, 10_000, 100_000, u64::MAX];
    let mut bars = Vec::new();
    let mut from = 2;
    for to in LIMITS {
        let value: u64 = summary.group_sizes.range(from..=to).map(|(_, count)| count).sum();
        let label = match to {
            _ if from == to => grouped(to),
            u64::MAX => format!("> {}", grouped(from - 1)),
            _ => format!("{}–{}", grouped(from), grouped(to)),
        };
        let title = format!("{} of {label} documents", counted(value, "group"));
        bars.push(Bar { label, value: value as f64, title });
        from = to.saturating_add(1);
        if from > summary.largest_group.max(5) {
            break;
        }
    }
    bars
}

fn reason_bars(summary: &Summary) -> Vec<Bar> {
    let mut bars: Vec<Bar> = summary
        .decided_by
        .iter()
        .map(|(rule, count)| Bar {
            label: rule.to_string(),
            value: *count as f64,
            title: format!("{rule}: {}", documents(*count)),
        })
        .collect();
    bars.sort_by(|a, b| b.value.total_cmp(&a.value).then_with(|| a.label.cmp(&b.label)));
    bars
}

fn documents(count: u64) -> String {
    counted(count, "document")
}

fn settings(out: &mut String, summary: &Summary, made: Option<&Made>) {
    let set = &summary.settings;
    out.push_str("<section>\n<h2>How it was made</h2>\n<dl class=\"card\">");
    let mut line = |name: &str, value: Cow<'_, str>| {
        out.push_str(&format!("<dt>{name}</dt><dd>{value}</dd>"));
    };
    if let Some(made) = made {
        let version = env!("CARGO_PKG_VERSION");
        line("made", Cow::Owned(format!("{} by hapax {version}", escape(&made.at))));
        line("command", Cow::Owned(format!("<code>{}</code>", escape(&made.command))));
    }
    line("inputs", Cow::Owned(escape(&set.inputs.join(", ")).into_owned()));
    if !set.against.is_empty() {
        line("against", Cow::Owned(escape(&set.against.join(", ")).into_owned()));
    }
    line("recipe", Cow::Owned(format!("<code>{}</code>", escape(&set.recipe))));
    line("within", Cow::Owned(format!("{} bits of 64", set.within)));
    line("min-similarity", Cow::Owned(set.min_similarity.to_string()));
    if summary.unconfirmed > 0 {
        let stay = documents(summary.unconfirmed);
        let why = "kept: the signature of another document, but a different text";
        line("not confirmed", Cow::Owned(format!("{stay} {why}")));
    }
    line("frames", escape(&set.frames));
    line("keep", escape(&set.keep));
    line("scope", escape(&set.scope));
    line(
        "pairs",
        Cow::Owned(format!(
            "{} proposed by fingerprints, {} compared by sketch, {} confirmed",
            grouped(summary.candidate_pairs),
            grouped(summary.compared_pairs),
            grouped(summary.confirmed_pairs)
        )),
    );
    line("kept documents", escape(&set.kept));
    line("all documents", Cow::Borrowed("groups.parquet, removed.parquet, summary.json"));
    out.push_str("</dl>\n</section>\n");
}

/// An address as a link, other names as text.
fn address(address: &str) -> String {
    let web = ["http://", "https://"].iter().any(|scheme| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    let shown = escape(address);
    if web {
        format!("<a href=\"{shown}\" rel=\"noreferrer\">{shown}</a>")
    } else {
        shown.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_are_never_rounded_to_all_or_nothing() {
        assert_eq!(percent(0, 10), "0 %");
        assert_eq!(percent(1, 100_000), "0.1 %");
        assert_eq!(percent(99_999, 100_000), "99.9 %");
        assert_eq!(percent(5, 5), "100 %");
    }
}
