//! Compares processing all queries concurrently with processing them in sequence.
//!
//! The paper proposes to mark duplicates for all queries in parallel and to delete in the end, "although it is not
//! implemented and verified". This implementation gives the same answer for any number of threads, which is compared
//! with the answer of the sequence.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use hapax_report::chart::{Axis, Chart, Series};
use hapax_report::grouped;
use hapax_search::job::difference::Difference;
use hapax_search::job::{JobOptions, Outcome, all_at_once};
use hapax_search::policy::Policy;
use serde_json::json;

use super::library::Library;
use super::removed::Sequential;
use crate::bench::Bench;
use crate::record::{Record, Table, Verdict};

pub(super) fn run(bench: &Bench<'_>, library: &Library, before: &Sequential) -> Result<Outcome> {
    const NAME: &str = "pi-parallel";
    bench.say("  all queries at once");
    let options = JobOptions::new(&library.policy);
    let ask = |threads: usize| -> Result<(Outcome, f64)> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let started = Instant::now();
        let found =
            pool.install(|| all_at_once(&library.engine, &library.queries, &options, |_| ()))?;
        Ok((found, started.elapsed().as_secs_f64()))
    };
    // Warms up the caches.
    let (found, _) = ask(2)?;
    if !bench.wants(NAME) {
        return Ok(found);
    }
    let mut points = Vec::new();
    for threads in [1, 2] {
        let mut least = f64::INFINITY;
        for _ in 0..3 {
            let (again, seconds) = ask(threads)?;
            ensure!(again.removed == found.removed, "the number of threads matters");
            least = least.min(seconds);
        }
        points.push((threads as f64, least));
    }
    let one_by_one = before.outcomes.last().context("four bounds")?;
    let sequential = before.seconds;
    let difference = Difference::between(&one_by_one.removed, &found.removed);
    let confirmed = all_at_once(
        &library.engine,
        &library.queries,
        &JobOptions::new(&Policy::default()),
        |_| (),
    )?;
    let gone: std::collections::BTreeSet<_> = found.removed.iter().map(|it| &it.name).collect();
    let winners_stay = found.removed.iter().all(|it| !gone.contains(&it.winner));
    ensure!(winners_stay, "a document goes for one that goes, too");
    let mut table = Table::new(["way", "seconds", "removed"]);
    table.row([
        "one after the other".to_owned(),
        format!("{sequential:.2}"),
        one_by_one.removed.len().to_string(),
    ]);
    for &(threads, seconds) in &points {
        table.row([
            format!("all at once, {threads} thread{}", if threads > 1.0 { "s" } else { "" }),
            format!("{seconds:.2}"),
            found.removed.len().to_string(),
        ]);
    }
    table.row([
        "all at once, confirmed by sketches".to_owned(),
        "-".to_owned(),
        confirmed.removed.len().to_string(),
    ]);
    bench.keep(Record {
        name: NAME.to_owned(),
        figure: "Section III.C".to_owned(),
        title: "queries in parallel".to_owned(),
        claim: "Queries can be processed in parallel if duplicates are only marked and deleted in the end; \"it is not implemented and verified in this project\".".to_owned(),
        ran_on: format!("{} pages: {}; k = 3; seconds of the wall clock, the least of three, on a machine of {} cores that others may use too", library.pages(), library.about, std::thread::available_parallelism().map_or(1, usize::from)),
        // Both must be faster: than one thread, and than the paper's method.
        verdict: match points[1].1 < points[0].1.min(sequential) {
            true => Verdict::Agrees,
            false => Verdict::Partly,
        },
        sentence: format!(
            "One and two threads give the same answer, {} documents where one after the other removes {}; {} are removed by both ({} for another winner), {} only one after the other and {} only at once; two threads take {:.2} of the time of one, and {:.2} of the time of one after the other, which finds a duplicate once where all at once find it with every query that shows it ({} times in all); confirmed by sketches, as Hapax does unless told otherwise, {} remain to be removed.",
            grouped(found.removed.len() as u64),
            grouped(one_by_one.removed.len() as u64),
            grouped(difference.both),
            difference.other_winner,
            difference.only_one_by_one,
            difference.only_all_at_once,
            points[1].1 / points[0].1,
            points[1].1 / sequential,
            grouped(found.queries.iter().map(|it| it.marks.len() as u64).sum()),
            grouped(confirmed.removed.len() as u64),
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![Chart {
            title: "Time of all queries".to_owned(),
            x: Axis::linear("threads").showing(1.0),
            y: Axis::linear("seconds").showing(0.0),
            series: vec![
                Series::new("all at once", points.clone()),
                Series::new("one after the other", vec![(1.0, sequential)]),
            ],
            about: String::new(),
        }],
        data: json!({ "difference": difference, "confirmed": confirmed.removed.len() }),
    })?;
    Ok(found)
}
