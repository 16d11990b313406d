//! Lookups per second of the ten tables, as they grow.
//!
//! A lookup finds any match ("seen before?"). Fingerprints are uniform and one query in ten is a stored one with
//! three flipped bits, so that most lookups have to search all tables, because most pages of a stream are new. The
//! paper's ten tables are compared with those that the planner would choose.

use anyhow::{Context, Result, ensure};
use hapax::fingerprint::Fingerprint;
use hapax::index::{HammingIndex, Query, Scan, TableOptions, Tables};
use hapax_report::chart::{Axis, Chart, Series};
use hapax_report::grouped;
use hapax_synth::Rng;
use serde_json::Value;

use super::{bound, collection, distinct, ten_tables};
use crate::bench::Bench;
use crate::clock::best_cpu;
use crate::record::{Record, Table, Verdict};
use crate::synthetic;

const CHECKED: usize = 50;

struct Point {
    pages: usize,
    /// Seconds per lookup: ten tables, planned tables, scan.
    ten: f64,
    planned: f64,
    scan: f64,
    planned_tables: usize,
    bytes: f64,
}

pub(super) fn run(bench: &Bench<'_>) -> Result<()> {
    const NAME: &str = "stream-lookups";
    if !bench.wants(NAME) {
        return Ok(());
    }
    let powers: Vec<u32> = bench.size.of(vec![16, 18, 20], vec![16, 18, 20, 22, 24]);
    let queries = bench.size.of(50_000, 200_000);
    let points: Vec<Point> =
        powers.iter().map(|&power| measure(bench, power, queries)).collect::<Result<_>>()?;
    let mut table = Table::new([
        "stored",
        "ten tables, us",
        "as planned, us",
        "planned tables",
        "scan, us",
        "ten tables, lookups/s",
        "ten tables, bytes/page",
    ]);
    for point in &points {
        table.row([
            grouped(point.pages as u64),
            format!("{:.3}", point.ten * 1e6),
            format!("{:.3}", point.planned * 1e6),
            point.planned_tables.to_string(),
            format!("{:.1}", point.scan * 1e6),
            grouped((1.0 / point.ten) as u64),
            format!("{:.1}", point.bytes),
        ]);
    }
    let line = |of: fn(&Point) -> f64| {
        points.iter().map(|it| (it.pages as f64, of(it) * 1e6)).collect::<Vec<_>>()
    };
    let chart = Chart {
        title: "Lookups".to_owned(),
        x: Axis::logarithmic("fingerprints stored"),
        y: Axis::logarithmic("microseconds a lookup, one thread"),
        series: vec![
            Series::new("ten tables", line(|it| it.ten)),
            Series::new("as planned", line(|it| it.planned)),
            Series::new("scan", line(|it| it.scan)),
        ],
        about: "Batches of queries, one in ten of which has a match.".to_owned(),
    };
    let (first, last) = (points.first().context("points")?, points.last().context("points")?);
    let growth = last.pages as f64 / first.pages as f64;
    bench.keep(Record {
        name: NAME.to_owned(),
        figure: "Sublinear lookups".to_owned(),
        title: "time of a lookup as the tables grow".to_owned(),
        claim: "Ten tables allow \"looking-up the near duplicates in sublinear time\" at a \"high throughput rate in a stream-based setting\"; no number is given.".to_owned(),
        ran_on: format!(
            "{} to {} evenly spread fingerprints, {} lookups each, one thread, CPU time",
            grouped(first.pages as u64),
            grouped(last.pages as u64),
            grouped(queries as u64)
        ),
        verdict: if last.ten / first.ten < growth / 4.0 { Verdict::Agrees } else { Verdict::Differs },
        sentence: format!(
            "From {} to {} fingerprints ({growth:.0} times as many) a lookup in ten tables takes {:.1} times as long and a scan {:.0} times; {} lookups a second on one thread remain, {:.0} times as many as by scanning; the {} tables that Hapax chooses by cost take {:.2} of the time of the ten; the fingerprints are spread evenly, those of documents meet more (see the other record).",
            grouped(first.pages as u64),
            grouped(last.pages as u64),
            last.ten / first.ten,
            last.scan / first.scan,
            grouped((1.0 / last.ten) as u64),
            last.scan / last.ten,
            last.planned_tables,
            last.planned / last.ten,
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![chart],
        data: Value::Null,
    })
}

fn measure(bench: &Bench<'_>, power: u32, queries: usize) -> Result<Point> {
    bench.say(format!("  lookups among 2^{power}"));
    let bound = bound()?;
    let stored = distinct(synthetic::noise(u64::from(power), 1 << power));
    let mut rng = Rng::new(u64::from(power) + 100);
    let asked: Vec<u64> = (0..queries)
        .map(|number| match number % 10 {
            0 => (0..3).fold(stored[rng.below(stored.len() as u64) as usize], |bits, third| {
                bits ^ (1 << (third * 21 + rng.below(21)))
            }),
            _ => rng.bits(),
        })
        .collect();
    let asked: Vec<Query<'_>> =
        asked.iter().map(|&bits| Query::from(Fingerprint::from_bits(bits))).collect();
    let scan = Scan::new(collection(&stored)?);
    let (expected, scanned) = best_cpu(1, || scan.find_all_batch(&asked[..CHECKED], bound));
    let expected = expected?;
    let mut pages = scan.into_collection();
    let mut seconds = Vec::new();
    let mut seen = (0, 0, 0.0);
    for (planned, options) in [
        (false, TableOptions::within(bound).design(ten_tables()?)),
        (true, TableOptions::within(bound)),
    ] {
        let index = Tables::build(pages, options)?;
        let found = index.find_all_batch(&asked[..CHECKED], bound)?;
        ensure!(found == expected, "tables differ from the scan");
        let (first, took) = best_cpu(3, || index.find_first_batch(&asked, bound));
        let answered = first?.iter().filter(|it| it.is_some()).count();
        ensure!(answered >= queries.div_ceil(10), "a planted match was missed");
        seconds.push(took / queries as f64);
        let tables = index.design().keys().len();
        let bytes = index.memory_bytes() as f64 / stored.len() as f64;
        seen = if planned { (tables, answered, seen.2) } else { (tables, answered, bytes) };
        pages = index.into_collection();
    }
    Ok(Point {
        pages: stored.len(),
        ten: seconds[0],
        planned: seconds[1],
        scan: scanned / CHECKED as f64,
        planned_tables: seen.0,
        bytes: seen.2,
    })
}
