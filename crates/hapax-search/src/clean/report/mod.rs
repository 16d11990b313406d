//! Writes `report.html`: the results of a run.
//!
//! One self-contained file without scripts. Queries and names come from outside and are escaped. Does not
//! compute anything.

use hapax_report::bars::{Bar, bars};
use hapax_report::chart::{Axis, Chart, Series};
use hapax_report::{CHART_STYLE, counted, document, escape, grouped, plural};

use super::effect::Effect;
use super::figures::{DuplicatesByRank, Times};
use super::run::{Choice, Mode};
use super::summary::{Run, Summary};
use crate::job::{Outcome, Ranked};

const STYLE: &str = include_str!("report.css");
/// Number of queries and duplicates listed.
const LISTED: usize = 40;

pub(super) fn page(summary: &Summary, run: &Run, queries: &[Ranked], outcome: &Outcome) -> String {
    let title = headline(summary);
    let mut out = format!("<header>\n<h1>{title}</h1>\n");
    tiles(&mut out, summary, run);
    out.push_str("</header>\n");
    if let (Some(table), Some(times)) =
        (&summary.duplicates_by_rank, &run.duplicates_by_rank_seconds)
    {
        duplicates_by_rank(&mut out, table, times, summary);
    }
    out.push_str("<section class=\"charts\">\n");
    if let (Some(table), Some(times)) =
        (&summary.duplicates_by_rank, &run.duplicates_by_rank_seconds)
    {
        figures(&mut out, table, times);
    }
    coverage(&mut out, summary);
    out.push_str("</section>\n");
    query_list(&mut out, queries, outcome);
    duplicates(&mut out, queries, outcome);
    settings(&mut out, summary);
    document(&format!("{title} · hapax query-dedup"), &[CHART_STYLE, STYLE], &out, "")
}

fn headline(summary: &Summary) -> String {
    let what = match summary.effect {
        Some(Effect::Removed) => "removed",
        Some(Effect::Marked) => "marked",
        None => "found",
    };
    format!(
        "{} {what} in the results of {}",
        counted(summary.removed, "duplicate"),
        counted(summary.queries, "query")
    )
}

fn tiles(out: &mut String, summary: &Summary, run: &Run) {
    out.push_str("<div class=\"tiles\">\n");
    let mut tile = |value: String, about: &str| {
        out.push_str(&format!("<div><strong>{value}</strong><p>{about}</p></div>\n"));
    };
    let asked = summary.queries.max(1) as f64;
    let milliseconds = |seconds: f64| format!("{:.2} ms", 1e3 * seconds / asked);
    for (value, noun, about) in [
        (summary.log.rows, "row", "in the query log"),
        (summary.log.distinct, "different query", "in the query log"),
        (summary.examined, "result", "compared"),
    ] {
        tile(grouped(value), &format!("{} {about}", plural(value, noun)));
    }
    tile(
        format!("≈ {}", grouped(summary.documents)),
        "different documents in these results, estimated",
    );
    tile(milliseconds(run.retrieval_seconds), "retrieval per query");
    tile(milliseconds(run.dedup_seconds), "duplicate search per query");
    if run.known > 0 {
        let queries = plural(run.known, "query");
        tile(grouped(run.known), &format!("{queries} unchanged since the last run"));
    }
    for (value, noun, about) in [
        (summary.without_results, "query", "without results"),
        (summary.log.repeated, "row", "repeated within a session"),
        (summary.log.robots, "row", "by robots"),
        (summary.log.empty + summary.log.too_long, "row", "empty or too long"),
        (summary.log.bad, "row", "that could not be parsed"),
    ] {
        if value > 0 {
            tile(grouped(value), &format!("{} {about}", plural(value, noun)));
        }
    }
    out.push_str("</div>\n");
    if let Some(difference) = &summary.difference {
        out.push_str(&format!(
            "<p class=\"about\">Both modes find {} duplicates, {} of them with another kept page. {} are found by the \
             sequential mode only, {} by the parallel mode only.</p>\n",
            grouped(difference.both),
            grouped(difference.other_winner),
            grouped(difference.only_one_by_one),
            grouped(difference.only_all_at_once),
        ));
    }
}

fn duplicates_by_rank(
    out: &mut String,
    table: &DuplicatesByRank,
    times: &Times,
    summary: &Summary,
) {
    let way = match summary.mode {
        Mode::Parallel => {
            "All queries in parallel. A duplicate counts for the most frequent query that found it; \
             each query is retrieved once for all k."
        }
        Mode::Sequential => {
            "One query after the other; each k begins with the whole index. Retrieval is timed once."
        }
    };
    out.push_str(&format!(
        "<section>\n<h2>Duplicates by query rank and distance</h2>\n<p class=\"about\">k is the number of bits in \
         which fingerprints may differ; s are seconds. {way} (Table I of Pi et al. 2009)</p>\n<div class=\"scroll\"><table>\n<tr><th class=\"text\">queries by rank</th>"
    ));
    for k in &table.bounds {
        out.push_str(&format!("<th>k = {k}</th><th>s</th>"));
    }
    out.push_str("</tr>\n");
    for (group, seconds) in table.groups.iter().zip(&times.seconds) {
        out.push_str(&format!("<tr><td class=\"text\">{} – {}</td>", group.from, group.to));
        for (removed, seconds) in group.removed.iter().zip(seconds) {
            out.push_str(&format!(
                "<td>{}</td><td class=\"soft\">{seconds:.2}</td>",
                grouped(*removed)
            ));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("<tr class=\"total\"><td class=\"text\">all</td>");
    for (at, total) in table.totals().iter().enumerate() {
        let seconds: f64 = times.seconds.iter().filter_map(|group| group.get(at)).sum();
        out.push_str(&format!("<td>{}</td><td class=\"soft\">{seconds:.2}</td>", grouped(*total)));
    }
    out.push_str("</tr>\n</table></div>\n</section>\n");
}

fn figures(out: &mut String, table: &DuplicatesByRank, times: &Times) {
    let mut figure = |title: String, chart: String, caption: &str| {
        out.push_str(&format!(
            "<figure><h3>{title}</h3>{chart}<figcaption>{caption}</figcaption></figure>\n"
        ));
    };
    let last = table.bounds.len().saturating_sub(1);
    let k = table.bounds.last().copied().unwrap_or(0);
    let label = |group: &super::figures::Group| format!("{}–{}", group.from, group.to);
    let average = |group: &super::figures::Group| {
        group.removed.get(last).copied().unwrap_or(0) as f64 / group.queries.max(1) as f64
    };
    let bar = |label: String, value: f64| Bar { title: format!("{label}: {value}"), label, value };
    let by_rank = table.groups.iter().map(|group| bar(label(group), average(group)));
    let by_bound = |values: Vec<f64>| -> Vec<Bar> {
        table.bounds.iter().zip(values).map(|(k, value)| bar(format!("k = {k}"), value)).collect()
    };
    let totals = table.totals().iter().map(|&total| total as f64).collect();
    let seconds = (0..table.bounds.len())
        .map(|at| times.seconds.iter().filter_map(|group| group.get(at)).sum())
        .collect();
    figure(
        format!("Duplicates per query, by rank, k = {k}"),
        bars(&by_rank.collect::<Vec<_>>(), "near", "duplicates per query by rank"),
        "What the average query of a group removes (Figure 4 of the paper).",
    );
    figure(
        "Duplicates of all queries, by k".to_owned(),
        bars(&by_bound(totals), "groups", "duplicates by k"),
        "k = 0 finds equal fingerprints, as a checksum of the words would (Figure 5).",
    );
    figure(
        "Seconds for all queries, by k".to_owned(),
        bars(&by_bound(seconds), "kept", "seconds by k"),
        "Retrieval and duplicate search, summed over threads (Figure 6).",
    );
}

fn coverage(out: &mut String, summary: &Summary) {
    let point = |value: fn(&super::figures::Covered) -> u64| -> Vec<(f64, f64)> {
        summary.coverage.iter().map(|it| (it.queries as f64, value(it) as f64)).collect()
    };
    let chart = Chart {
        title: "Results of the first queries".to_owned(),
        x: Axis::logarithmic("queries"),
        y: Axis::linear("documents").showing(0.0),
        series: vec![
            Series::new("by frequency", point(|it| it.by_frequency)),
            Series::new("by overlap", point(|it| it.by_overlap)),
        ],
        about: format!(
            "The greedy order takes next the query whose results have the most documents not examined yet, \
             weighted by how often it is asked (Figure 7). {} were chosen by {}.",
            grouped(summary.queries),
            match summary.choice {
                Choice::Frequency => "frequency",
                Choice::Overlap => "overlap",
            }
        ),
    };
    out.push_str(&chart.figure());
}

fn query_list(out: &mut String, queries: &[Ranked], outcome: &Outcome) {
    out.push_str(
        "<section>\n<h2>The first queries</h2>\n<div class=\"scroll\"><table>\n<tr><th>rank</th>\
         <th class=\"text\">query</th><th>asked</th><th>results</th><th>compared</th>\
         <th>duplicates</th></tr>\n",
    );
    for (query, found) in queries.iter().zip(&outcome.queries).take(LISTED) {
        out.push_str(&format!(
            "<tr><td>{}</td><td class=\"text\" dir=\"auto\">{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td></tr>\n",
            query.rank,
            escape(&query.query.text),
            grouped(query.query.count),
            grouped(found.results),
            grouped(found.examined),
            grouped(found.marks.len() as u64),
        ));
    }
    out.push_str("</table></div>\n</section>\n");
}

fn duplicates(out: &mut String, queries: &[Ranked], outcome: &Outcome) {
    if outcome.removed.is_empty() {
        return;
    }
    out.push_str(
        "<section>\n<h2>Some duplicates</h2>\n<div class=\"scroll\"><table>\n<tr>\
         <th class=\"text\">duplicate</th><th class=\"text\">kept page</th><th class=\"text\">query</th>\
         <th>bits</th><th class=\"text\">why</th></tr>\n",
    );
    let step = (outcome.removed.len() / LISTED).max(1);
    for removal in outcome.removed.iter().step_by(step).take(LISTED) {
        let text = queries.iter().find(|query| query.rank == removal.mark.query);
        out.push_str(&format!(
            "<tr><td class=\"text\">{}</td><td class=\"text\">{}</td><td class=\"text\" dir=\"auto\">{}</td>\
             <td>{}</td><td class=\"text\">{}</td></tr>\n",
            escape(&removal.name),
            escape(&removal.winner),
            text.map_or_else(Default::default, |query| escape(&query.query.text)),
            removal.mark.distance,
            escape(&removal.reason),
        ));
    }
    out.push_str("</table></div>\n</section>\n");
}

fn settings(out: &mut String, summary: &Summary) {
    out.push_str("<section>\n<h2>Settings</h2>\n<dl>");
    let mut row = |name: &str, value: &str| {
        out.push_str(&format!("<dt>{name}</dt><dd>{}</dd>", escape(value)));
    };
    row(
        "queries",
        match summary.mode {
            Mode::Parallel => "all at once",
            Mode::Sequential => "one by one",
        },
    );
    row("recipe", &summary.recipe);
    let list = |pairs: Vec<String>| pairs.join(", ");
    let distances = summary.distances.iter().map(|(bits, n)| format!("{bits}: {}", grouped(*n)));
    row("duplicates by bits", &list(distances.collect()));
    let rules = summary.decided_by.iter().map(|(rule, n)| format!("{rule}: {}", grouped(*n)));
    row("winners decided by", &list(rules.collect()));
    out.push_str("</dl>\n</section>\n");
}
