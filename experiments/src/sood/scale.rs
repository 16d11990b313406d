//! Searches in memory against the number of leading bits, of tables, and of pages (Figures 5, 7b, 7c and 8).
//!
//! Attempts and their recall follow the thesis's own rule (see [`attempts`](super::attempts)); times are those of the
//! engine at the same recall, compared with the thesis's baseline.

use anyhow::{Context, Result};
use hapax_report::chart::{Axis, Chart, Series};
use hapax_report::grouped;
use rayon::prelude::*;
use serde_json::json;

use super::attempts::{chances, needed, rank_in_prefix, recall};
use super::online::{Measured, Online, Truth};
use super::{RECALL, bound};
use crate::bench::Bench;
use crate::record::{Record, Table, Verdict};

/// Maximum number of pairs whose ranks are counted.
const MOST_PAIRS: usize = 20_000;

/// Attempts of the thesis's Figure 8, and some more.
const ATTEMPTS: [u64; 5] = [5, 15, 23, 50, 100];

/// Ranks of matches for a prefix: of all pairs, and of the best pair of each query.
struct Ranks {
    all: Vec<u64>,
    first: Vec<u64>,
}

fn ranks(online: &Online, truth: &Truth, prefix: u32) -> Result<Ranks> {
    let most = bound()?.bits() as usize;
    // Whole queries, evenly sampled.
    let queries: Vec<&[(usize, u64)]> = truth.pairs.chunk_by(|a, b| a.0 == b.0).collect();
    let every = truth.pairs.len().div_ceil(MOST_PAIRS).max(1);
    let of: Vec<Vec<u64>> = queries
        .par_iter()
        .step_by(every)
        .map(|pairs| {
            let chances = chances(online.sums(pairs[0].0));
            pairs.iter().map(|pair| rank_in_prefix(&chances, pair.1, prefix, most)).collect()
        })
        .collect();
    let first = of.iter().filter_map(|ranks| ranks.iter().min().copied()).collect();
    Ok(Ranks { all: of.concat(), first })
}

/// Leading bits, attempts for all and for first matches, and the engine's results.
type Flips = (f64, f64, f64, Measured);

fn microseconds(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e6)
}

pub(super) fn figure_5(bench: &Bench<'_>, online: &Online) -> Result<()> {
    const NAME: &str = "sood-figure-5";
    if !bench.wants(NAME) {
        return Ok(());
    }
    let d = online.most();
    let truth = online.truth(1 << d)?;
    let mut table = Table::new([
        "p",
        "k, all",
        "k, first",
        "engine's probes",
        "engine's recall",
        "us, all",
        "us, first",
        "us, one at a time",
    ]);
    let mut points = Vec::new();
    for prefix in (d - 12..=d).step_by(2) {
        bench.say(format!("  {prefix} leading bits"));
        let mut ranks = ranks(online, &truth, prefix)?;
        let (all, first) = (needed(&mut ranks.all, RECALL), needed(&mut ranks.first, RECALL));
        let engine = online.weak(&truth, Some(prefix))?;
        table.row([
            prefix.to_string(),
            all.to_string(),
            first.to_string(),
            format!("{:.1}", engine.probes),
            format!("{:.3}", engine.recall),
            microseconds(engine.all),
            microseconds(engine.first),
            microseconds(engine.alone),
        ]);
        points.push((f64::from(prefix), all as f64, first as f64, engine));
    }
    let line = |of: &dyn Fn(&Flips) -> f64| -> Vec<(f64, f64)> {
        points.iter().map(|it| (it.0, of(it))).collect()
    };
    let axis = || Axis::linear(format!("leading bits p, 2^{d} fingerprints"));
    let (few, many) = (points.first().context("points")?, points.last().context("points")?);
    let steps = many.0 - few.0;
    let reached = points.iter().all(|it| it.3.reaches());
    let quickest = points.iter().min_by(|a, b| a.3.all.total_cmp(&b.3.all)).context("points")?;
    let growth = |of: fn(&Flips) -> f64| (of(many) / of(few)).powf(1.0 / steps);
    bench.keep(Record {
        name: NAME.to_owned(),
        figure: "Figure 5".to_owned(),
        title: "bit flips against linear scan".to_owned(),
        claim: "The flips k needed for recall 0.95 grow far slower than 2^p for finding all and the first (d = 26), so query time falls with p, less and less as p nears d.".to_owned(),
        ran_on: format!("2^{d} fingerprints, {} of them synthetic documents; {} queries, {} matches that differ", grouped(online.documents as u64), grouped(online.queries() as u64), grouped(truth.pairs.len() as u64)),
        verdict: match (growth(|it| it.1) < 2.0, quickest.0 == many.0 && reached) {
            (true, true) => Verdict::Agrees,
            (true, false) => Verdict::Partly,
            (false, _) => Verdict::Differs,
        },
        sentence: format!(
            "k grows by {:.2} for each further bit (all) and {:.2} (first), where 2^p grows by 2; the engine is quickest at p = {:.0} with {} us ({} us at p = {:.0} and {} at p = {:.0}){}.",
            growth(|it| it.1),
            growth(|it| it.2),
            quickest.0,
            microseconds(quickest.3.all),
            microseconds(few.3.all),
            few.0,
            microseconds(many.3.all),
            many.0,
            match quickest.0 < many.0 {
                true => ", before p reaches d: fingerprints that follow each other are compared many at a time here, so a further flip costs more than the comparisons it saves",
                false => "",
            },
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![
            Chart {
                title: "Flips for recall 0.95".to_owned(),
                x: axis(),
                y: Axis::logarithmic("sets tried for a query"),
                series: vec![
                    Series::new("k, all", line(&|it| it.1)),
                    Series::new("k, first", line(&|it| it.2)),
                    Series::new("engine, mean probes", line(&|it| it.3.probes)),
                ],
                about: "k: the same number for all queries, by the thesis's order.".to_owned(),
            },
            Chart {
                title: "Time at recall 0.95".to_owned(),
                x: axis(),
                y: Axis::linear("microseconds a query").showing(0.0),
                series: vec![
                    Series::new("all", line(&|it| it.3.all * 1e6)),
                    Series::new("first", line(&|it| it.3.first * 1e6)),
                ],
                about: "The engine, one thread, batches.".to_owned(),
            },
        ],
        data: json!(points.iter().map(|it| &it.3).collect::<Vec<_>>()),
    })
}

pub(super) fn figure_7bc(bench: &Bench<'_>, online: &Online) -> Result<()> {
    const NAME: &str = "sood-figure-7-bc";
    if !bench.wants(NAME) {
        return Ok(());
    }
    let d = online.most();
    let truth = online.truth(1 << d)?;
    let mut table = Table::new([
        "engine",
        "tables",
        "compared",
        "predicted (6.6)",
        "us, all",
        "us, first",
        "us, one at a time",
        "bytes/page",
        "recall",
    ]);
    let mut row = |tables: f64, predicted: Option<f64>, it: &Measured| {
        table.row([
            it.engine.clone(),
            format!("{tables:.2}"),
            format!("{:.1}", it.compared),
            predicted.map_or("-".into(), |it| format!("{it:.1}")),
            microseconds(it.all),
            microseconds(it.first),
            microseconds(it.alone),
            format!("{:.1}", it.bytes),
            format!("{:.3}", it.recall),
        ]);
    };
    let (mut weak, mut manku) = (Vec::new(), Vec::new());
    for prefix in (d - 5..=d).rev() {
        let it = online.weak(&truth, Some(prefix))?;
        let tables = 1.0 + f64::from(prefix as i32 - d as i32).exp2();
        row(tables, None, &it);
        weak.push((tables, it));
    }
    weak.reverse();
    for taken in 1..=3u32 {
        let blocks = 3 + taken;
        bench.say(format!("  baseline, {blocks} blocks"));
        let it = online.manku(&truth, blocks)?;
        let key = 64.0 * f64::from(taken) / f64::from(blocks);
        let predicted = it.probes * (f64::from(d) - key).exp2();
        row(it.probes, Some(predicted), &it);
        manku.push((it.probes, it));
    }
    let exact = online.exact(&truth)?;
    let tables = exact.probes.max(1.0);
    row(tables, None, &exact);
    let line = |list: &[(f64, Measured)], of: fn(&Measured) -> f64| -> Vec<(f64, f64)> {
        list.iter().map(|it| (it.0, of(&it.1))).collect()
    };
    let quickest = |list: &[(f64, Measured)]| {
        list.iter().map(|it| it.1.clone()).min_by(|a, b| a.all.total_cmp(&b.all)).context("engines")
    };
    let (ours, theirs) = (quickest(&weak)?, quickest(&manku)?);
    let checked = weak.iter().map(|it| it.1.compared).fold(f64::INFINITY, f64::min);
    let frugal = manku
        .iter()
        .min_by(|a, b| a.1.compared.total_cmp(&b.1.compared))
        .context("three baselines")?;
    let fewest = frugal.1.compared;
    bench.keep(Record {
        name: NAME.to_owned(),
        figure: "Figure 7(b), (c)".to_owned(),
        title: "fingerprints checked and time against tables".to_owned(),
        claim: "With at most two tables weak bits check about as few fingerprints as the baseline does with five times the space, and answer all queries at least 3.5 times as fast; more tables do not always make the baseline faster.".to_owned(),
        ran_on: format!("2^{d} fingerprints, {} of them synthetic documents; recall 0.95; one thread; the baseline and \"one at a time\" on {} queries; the thesis counts an index as a table, 1 + 2^(p - d)", grouped(online.documents as u64), online.queries().min(3000)),
        verdict: match (theirs.all / ours.alone, checked <= 2.0 * fewest) {
            (times, true) if times >= 3.5 && ours.reaches() => Verdict::Agrees,
            (times, few) if times >= 1.0 || few => Verdict::Partly,
            _ => Verdict::Differs,
        },
        sentence: format!(
            "With {:.2} to {:.0} tables weak bits check {:.0} to {:.0} fingerprints, the baseline {:.0} with four tables and at best {fewest:.0}, with {:.0}; in time the quickest weak bits (p = {}) take {} us in a batch and {} one at a time against {} us of the quickest baseline ({}), {:.1} and {:.1} times as fast; with 20 tables the baseline takes {} us; our own exact tables, which miss nothing, take {} us in {:.0} bytes a page, weak bits {:.0} bytes.",
            weak[0].0,
            weak[weak.len() - 1].0,
            checked,
            weak.iter().map(|it| it.1.compared).fold(0.0, f64::max),
            manku[0].1.compared,
            frugal.0,
            ours.prefix,
            microseconds(ours.all),
            microseconds(ours.alone),
            microseconds(theirs.all),
            theirs.engine,
            theirs.all / ours.all,
            theirs.all / ours.alone,
            microseconds(manku[2].1.all),
            microseconds(exact.all),
            exact.bytes,
            ours.bytes,
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![
            Chart {
                title: "Checked".to_owned(),
                x: Axis::logarithmic("tables (1 + 2^(p - d) for weak bits)"),
                y: Axis::logarithmic("fingerprints compared with a query"),
                series: vec![
                    Series::new("weak bits, recall 0.95", line(&weak, |it| it.compared)),
                    Series::new("thesis's baseline", line(&manku, |it| it.compared)),
                ],
                about: String::new(),
            },
            Chart {
                title: "Time".to_owned(),
                x: Axis::logarithmic("tables"),
                y: Axis::logarithmic("microseconds a query, all matches"),
                series: vec![
                    Series::new("weak bits, batches", line(&weak, |it| it.all * 1e6)),
                    Series::new("weak bits, one at a time", line(&weak, |it| it.alone * 1e6)),
                    Series::new("thesis's baseline", line(&manku, |it| it.all * 1e6)),
                ],
                about: String::new(),
            },
        ],
        data: json!({ "weak": weak, "baseline": manku, "exact": exact }),
    })
}

/// The engines at one size.
struct Size {
    d: u32,
    /// Matches that differ from their query, and queries with at least one.
    matches: (usize, usize),
    ranks: Ranks,
    weak: Measured,
    four: Measured,
    ten: Measured,
    exact: Measured,
}

pub(super) fn figure_8(bench: &Bench<'_>, online: &Online) -> Result<()> {
    const NAME: &str = "sood-figure-8";
    if !bench.wants(NAME) {
        return Ok(());
    }
    let most = online.most();
    let mut sizes = Vec::new();
    for d in (most - 6..=most).step_by(2) {
        bench.say(format!("  2^{d} fingerprints"));
        let truth = online.truth(1 << d)?;
        let matched = truth.pairs.chunk_by(|a, b| a.0 == b.0).count();
        sizes.push(Size {
            d,
            matches: (truth.pairs.len(), matched),
            ranks: ranks(online, &truth, d)?,
            weak: online.weak(&truth, None)?,
            four: online.manku(&truth, 4)?,
            ten: online.manku(&truth, 5)?,
            exact: online.exact(&truth)?,
        });
    }
    let last = sizes.last().context("sizes")?;
    // The attempts for the same matches in larger collections with more leading bits.
    let truth = online.truth(1 << most)?;
    let further: Vec<(u32, Ranks)> = [26, 30, 34]
        .into_iter()
        .map(|prefix| Ok((prefix, ranks(online, &truth, prefix)?)))
        .collect::<Result<_>>()?;
    let mut table = Table::new([
        "d",
        "k = 15, first",
        "k = 23, all",
        "weak us, all / first",
        "4 tables us",
        "10 tables us",
        "exact us",
        "times 4 tables",
        "times 10 tables",
        "weak bytes",
        "recall",
        "matches / queries",
    ]);
    for it in &sizes {
        table.row([
            it.d.to_string(),
            format!("{:.3}", recall(&it.ranks.first, 15)),
            format!("{:.3}", recall(&it.ranks.all, 23)),
            format!("{} / {}", microseconds(it.weak.all), microseconds(it.weak.first)),
            microseconds(it.four.all),
            microseconds(it.ten.all),
            microseconds(it.exact.all),
            format!("{:.1}", it.four.all / it.weak.all),
            format!("{:.1}", it.ten.all / it.weak.all),
            format!("{:.1}", it.weak.bytes),
            format!("{:.3}", it.weak.recall),
            format!("{} / {}", grouped(it.matches.0 as u64), grouped(it.matches.1 as u64)),
        ]);
    }
    for (prefix, ranks) in &further {
        let mut row = vec![
            format!("{prefix}, same matches"),
            format!("{:.3}", recall(&ranks.first, 15)),
            format!("{:.3}", recall(&ranks.all, 23)),
        ];
        row.resize(12, "-".to_owned());
        table.row(row);
    }
    let recalls = |of: fn(&Ranks) -> &Vec<u64>| -> Vec<Series> {
        let line = |k: u64| {
            let measured = sizes.iter().map(|it| (f64::from(it.d), recall(of(&it.ranks), k)));
            let beyond = further.iter().map(|it| (f64::from(it.0), recall(of(&it.1), k)));
            Series::new(format!("k = {k}"), measured.chain(beyond).collect())
        };
        ATTEMPTS.into_iter().map(line).collect()
    };
    let times = |of: fn(&Size) -> f64| -> Vec<(f64, f64)> {
        sizes.iter().map(|it| (f64::from(it.d), of(it) * 1e6)).collect()
    };
    let axis = || Axis::linear("d: 2^d fingerprints, p = d");
    let recall_chart = |title: &str, series| Chart {
        title: title.to_owned(),
        x: axis(),
        y: Axis::linear("recall").showing(0.0).showing(1.0),
        series,
        about: "Beyond the largest collection: its own matches, with as many leading bits."
            .to_owned(),
    };
    let at26 = &further.first().context("sizes")?.1;
    let all = needed(&mut at26.all.clone(), RECALL);
    let first = needed(&mut at26.first.clone(), RECALL);
    let falls = |of: fn(&Ranks) -> &Vec<u64>, k: u64| {
        recall(of(&sizes[0].ranks), k) - recall(of(&last.ranks), k)
    };
    let (fall_first, fall_all) = (falls(|it| &it.first, 15), falls(|it| &it.all, 15));
    let slower_fall = fall_first <= fall_all;
    let growth = |of: fn(&Size) -> f64| of(last) / of(&sizes[0]);
    let by_recall = |a: &&Size, b: &&Size| a.weak.recall.total_cmp(&b.weak.recall);
    let worst = sizes.iter().min_by(by_recall).context("sizes")?;
    let slower_growth = growth(|it| it.weak.all) < growth(|it| it.four.all)
        && growth(|it| it.weak.all) < growth(|it| it.ten.all);
    bench.keep(Record {
        name: NAME.to_owned(),
        figure: "Figure 8".to_owned(),
        title: "recall and time against the size of the collection".to_owned(),
        claim: "Recall falls with size, slower for the first match than for all; 0.95 needs k = 23 for all and k = 15 for the first (d = 26). At equal memory weak bits' time grows much slower than that of the baseline with 4 and 10 tables.".to_owned(),
        ran_on: format!("2^{} to 2^{most} fingerprints, the first {} of them synthetic documents, {} queries; k by the thesis's order of flips with p = d, times by the engine at recall 0.95 with the p it chooses, one thread", most - 6, grouped(online.documents as u64), grouped(online.queries() as u64)),
        verdict: match [all <= 2 * 23 && first <= 2 * 15, slower_fall, slower_growth] {
            [true, true, true] if sizes.iter().all(|it| it.weak.reaches()) => Verdict::Agrees,
            [false, false, false] => Verdict::Differs,
            _ => Verdict::Partly,
        },
        sentence: format!(
            "From the smallest to the largest collection recall at k = 15 falls by {fall_all:.3} for all and by {fall_first:.3} for the first{}; with 26 leading bits 0.95 needs k = {all} for all and k = {first} for the first (thesis: 23 and 15); weak bits are {:.1} times as fast as four tables and {:.1} times as ten at 2^{}, {:.1} and {:.1} times at 2^{most}; their recall is {:.3} at worst, at 2^{} where {} queries have matches.",
            if slower_fall { "" } else { ", which the thesis has the other way round" },
            sizes[0].four.all / sizes[0].weak.all,
            sizes[0].ten.all / sizes[0].weak.all,
            sizes[0].d,
            last.four.all / last.weak.all,
            last.ten.all / last.weak.all,
            worst.weak.recall,
            worst.d,
            grouped(worst.matches.1 as u64),
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![
            recall_chart("(a) First match", recalls(|it| &it.first)),
            recall_chart("(b) All matches", recalls(|it| &it.all)),
            Chart {
                title: "(c), (d) Time".to_owned(),
                x: Axis::linear("d: 2^d fingerprints"),
                y: Axis::logarithmic("microseconds a query"),
                series: vec![
                    Series::new("weak bits, all", times(|it| it.weak.all)),
                    Series::new("weak bits, first", times(|it| it.weak.first)),
                    Series::new("4 tables, all", times(|it| it.four.all)),
                    Series::new("10 tables, all", times(|it| it.ten.all)),
                    Series::new("our exact tables, all", times(|it| it.exact.all)),
                ],
                about: "Weak bits at recall 0.95 in batches; the tables are the thesis's baseline.".to_owned(),
            },
        ],
        data: json!(sizes.iter().map(|it| json!([it.d, it.weak, it.four, it.ten, it.exact])).collect::<Vec<_>>()),
    })
}
