//! Figures 4 and 5 and the adaptation: load balance, saved messages, and balance over time.

use anyhow::Result;
use hapax_partition::quality::imbalance;
use hapax_partition::{
    Bounds, Grid, GridSettings, LengthVector, Quality, StudySettings, coefficient_of_variation,
    measure, study,
};
use hapax_report::chart::{Axis, Chart, Series};
use hapax_synth::Length;
use serde_json::json;

use super::{MACHINES, RHO, TAU, corpus};
use crate::bench::Bench;
use crate::record::{Record, Table, Verdict};

/// Number of collections after the one that a mapping was learned from.
const LATER: u64 = 10;

/// One mapping of one collection.
pub(super) struct Row {
    pub(super) dimensions: usize,
    pub(super) machines: u32,
    pub(super) quality: Quality,
}

pub(super) fn run(bench: &Bench<'_>) -> Result<()> {
    let wanted = ["zhu-figure-4", "zhu-figure-5", "zhu-adaptation"];
    if !wanted.iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let pages: u64 = bench.size.of(200_000, 4_000_000);
    bench.say(format!("  a synthetic web of {pages} pages"));
    let web = corpus::web(1, pages, Length::default());
    let dictionaries = corpus::dictionaries(&web)?;
    let lengths = corpus::lengths(&web, &dictionaries)?;
    let bounds = Bounds::new(TAU, RHO)?;
    let mut rows = Vec::new();
    let mut grids = Vec::new();
    for (at, lengths) in lengths.iter().enumerate() {
        // As in the paper, the mapping is learned from a sample of every tenth page.
        let sample: Vec<LengthVector> = lengths.iter().copied().step_by(10).collect();
        for machines in MACHINES {
            let grid = Grid::learn(&sample, &GridSettings { machines, tau: TAU })?;
            let new: Vec<LengthVector> =
                lengths.iter().copied().skip(5).step_by((lengths.len() / 2_000).max(1)).collect();
            let quality = measure(&(&grid, &bounds), lengths, &new, &[]);
            rows.push(Row { dimensions: at + 1, machines, quality });
            if machines == 64 {
                grids.push(grid);
            }
        }
        bench.say(format!("  {}D measured", at + 1));
    }
    let kept = lengths.first().map_or(0, Vec::len) as u64;
    let synthetic = format!("synthetic web, {} pages", hapax_report::grouped(kept));
    let mut collections = vec![(synthetic, rows)];
    let real = match wanted[..2].iter().any(|name| bench.wants(name)) {
        true => corpus::real(bench)?,
        false => None,
    };
    if let Some((features, names)) = real {
        let settings = StudySettings {
            dimensions: vec![1, 2, 3],
            machines: MACHINES.to_vec(),
            tau: TAU,
            rho: Some(RHO),
            by_language: true,
            new: 1_000,
            parts: LATER as usize,
        };
        let measured = study(&features, &settings, &mut |_| ())?;
        let rows = measured
            .trials
            .iter()
            .map(|it| Row { dimensions: it.dimensions, machines: it.machines, quality: it.quality })
            .collect();
        let count = hapax_report::grouped(features.len() as u64);
        collections.push((format!("{count} real pages ({names})"), rows));
    }
    figure4(bench, &collections)?;
    figure5(bench, &collections)?;
    adaptation(bench, &dictionaries, &grids)
}

fn ran_on(collections: &[(String, Vec<Row>)]) -> String {
    let names: Vec<&str> = collections.iter().map(|(name, _)| name.as_str()).collect();
    format!(
        "{}; tau {TAU}, rho {RHO}; mapped by what a sample showed (every tenth page, of the real ones every second).",
        names.join("; ")
    )
}

fn value(rows: &[Row], dimensions: usize, machines: u32, of: fn(&Quality) -> f64) -> f64 {
    let row = rows.iter().find(|it| it.dimensions == dimensions && it.machines == machines);
    row.map_or(f64::NAN, |row| of(&row.quality))
}

fn table(rows: &[Row], of: fn(&Quality) -> f64, shown: fn(f64) -> String) -> Table {
    let mut table = Table::new(["machines", "1D", "2D", "3D"]);
    for machines in MACHINES {
        let cells = (1..=3).map(|dimensions| shown(value(rows, dimensions, machines, of)));
        table.row(std::iter::once(machines.to_string()).chain(cells));
    }
    table
}

fn charts(
    collections: &[(String, Vec<Row>)],
    unit: &str,
    least: f64,
    of: fn(&Quality) -> f64,
) -> Vec<Chart> {
    collections
        .iter()
        .map(|(name, rows)| Chart {
            title: name.clone(),
            x: Axis::logarithmic("machines"),
            y: Axis::linear(unit).showing(least),
            series: (1..=3)
                .map(|dimensions| {
                    let points = MACHINES.map(|machines| {
                        (f64::from(machines), value(rows, dimensions, machines, of))
                    });
                    Series::new(format!("{dimensions}D"), points.to_vec())
                })
                .collect(),
            about: String::new(),
        })
        .collect()
}

fn data(collections: &[(String, Vec<Row>)]) -> serde_json::Value {
    let of = |row: &Row| {
        let it = &row.quality;
        json!([
            row.dimensions,
            row.machines,
            it.imbalance,
            it.avoided,
            it.recall,
            it.work,
            it.slowest,
            it.all
        ])
    };
    let all = collections.iter().map(|(name, rows)| {
        json!({ "collection": name, "rows": rows.iter().map(of).collect::<Vec<_>>() })
    });
    json!({
        "columns": ["dimensions", "machines", "imbalance", "avoided", "found", "work", "slowest", "all"],
        "collections": all.collect::<Vec<_>>(),
    })
}

fn figure4(bench: &Bench<'_>, collections: &[(String, Vec<Row>)]) -> Result<()> {
    let of = |it: &Quality| it.imbalance;
    let rows = &collections[0].1;
    let [one, two, three] = [1, 2, 3].map(|dimensions| value(rows, dimensions, 64, of));
    let agrees = one > two && two > three;
    if !bench.wants("zhu-figure-4") {
        return Ok(());
    }
    bench.keep(Record {
        name: "zhu-figure-4".into(),
        figure: "Figure 4".into(),
        title: "load imbalance for 2 to 64 machines".into(),
        claim: "The fullest machine over the average: 1D is the worst, 2D better, 3D best, and the gap grows with machines.".into(),
        ran_on: ran_on(collections),
        verdict: if agrees { Verdict::Agrees } else { Verdict::Partly },
        sentence: format!(
            "At 64 machines the fullest has {one:.2} (1D), {two:.2} (2D) and {three:.2} (3D) times the average, in the paper's \
             order; it takes narrow intervals with many more cells than machines, because with one cell a machine nearly all \
             pages are on the diagonal and 3D would be the worst, which the paper leaves open; below 8 machines all are nearly even."
        ),
        size: bench.size,
        table: Some(table(rows, of, |it| format!("{it:.2}"))),
        charts: charts(collections, "fullest over average", 1.0, of),
        data: data(collections),
    })
}

fn figure5(bench: &Bench<'_>, collections: &[(String, Vec<Row>)]) -> Result<()> {
    let of = |it: &Quality| 100.0 * it.avoided;
    let rows = &collections[0].1;
    if !bench.wants("zhu-figure-5") {
        return Ok(());
    }
    let [few, many] = [2, 64].map(|machines| value(rows, 3, machines, of));
    bench.keep(Record {
        name: "zhu-figure-5".into(),
        figure: "Figure 5".into(),
        title: "communication saved".into(),
        claim: "3D mapping still avoids most messages between machines as their number grows.".into(),
        ran_on: ran_on(collections),
        verdict: if many > 50.0 { Verdict::Agrees } else { Verdict::Partly },
        sentence: format!(
            "3D avoids {few:.0} % of the messages with 2 machines and {many:.0} % with 64; 1D and 2D avoid more with many machines, because some of their machines have no pages and are never asked, \
             and pay with the imbalance of Figure 4; the paper prints no numbers to compare with."
        ),
        size: bench.size,
        table: Some(table(rows, of, |it| format!("{it:.1} %"))),
        charts: charts(collections, "messages avoided, %", 100.0, of),
        data: serde_json::Value::Null,
    })
}

/// Later collections that differ from the first in one of two ways: a new site whose pages all have
/// the same length (the spikes of the paper's Figure 1), or a shift of all lengths.
fn adaptation(
    bench: &Bench<'_>,
    dictionaries: &[hapax_partition::Dictionary],
    grids: &[Grid],
) -> Result<()> {
    if !bench.wants("zhu-adaptation") {
        return Ok(());
    }
    let pages = bench.size.of(100_000, 1_000_000);
    let bounds = Bounds::new(TAU, RHO)?;
    let usual = Length::default();
    let measure = |made: &[Vec<LengthVector>], factors: &mut [Vec<f64>]| {
        for ((grid, lengths), factors) in grids.iter().zip(made).zip(factors) {
            factors.push(imbalance(&(grid, &bounds), lengths));
        }
    };
    let (mut spikes, mut shifts) = (vec![Vec::new(); 3], vec![Vec::new(); 3]);
    for later in 0..LATER {
        let seed = 100 + later;
        let mut made = corpus::lengths(&corpus::web(seed, pages, usual), dictionaries)?;
        let words = 60 + 97 * later as u32;
        let site = Length { least: words, most: words, ..usual };
        let site = corpus::lengths(&corpus::web(seed, pages / 25, site), dictionaries)?;
        for (made, site) in made.iter_mut().zip(site) {
            made.extend(site);
        }
        measure(&made, &mut spikes);
        let shift = (later as f64 / (LATER - 1) as f64 - 0.5) * 0.2;
        let length = Length { mu: usual.mu + shift, ..usual };
        let made = corpus::lengths(&corpus::web(seed, pages, length), dictionaries)?;
        measure(&made, &mut shifts);
    }
    let variation =
        |factors: &[Vec<f64>]| [0, 1, 2].map(|at| 100.0 * coefficient_of_variation(&factors[at]));
    let mean = |factors: &[Vec<f64>]| {
        [0, 1, 2].map(|at: usize| factors[at].iter().sum::<f64>() / LATER as f64)
    };
    let (spike, shift) = (variation(&spikes), variation(&shifts));
    let mut table = Table::new([
        "mapping",
        "spikes: mean",
        "spikes: variation",
        "shift: mean",
        "shift: variation",
        "paper: variation",
    ]);
    for (at, paper) in ["4.5 %", "-", "0.29 %"].into_iter().enumerate() {
        table.row([
            format!("{}D", at + 1),
            format!("{:.2}", mean(&spikes)[at]),
            format!("{:.2} %", spike[at]),
            format!("{:.2}", mean(&shifts)[at]),
            format!("{:.2} %", shift[at]),
            paper.into(),
        ]);
    }
    let chart = |title: &str, factors: &[Vec<f64>], about: &str| {
        let points = |at: usize| {
            factors[at].iter().enumerate().map(|(n, &it)| (n as f64 + 1.0, it)).collect()
        };
        Chart {
            title: title.into(),
            x: Axis::linear("collection"),
            y: Axis::linear("fullest over average").showing(1.0),
            series: (0..3).map(|at| Series::new(format!("{}D", at + 1), points(at))).collect(),
            about: about.into(),
        }
    };
    let holds = spike[2] < spike[0];
    bench.keep(Record {
        name: "zhu-adaptation".into(),
        figure: "Section 6.1, adaptation".into(),
        title: "imbalance while the collection changes".into(),
        claim: "Over ten later datasets the coefficient of variation of the imbalance is 4.5 % for 1D and 0.29 % for 3D.".into(),
        ran_on: format!(
            "mappings to 64 machines learnt from the web of Figure 4, then twice ten other webs of {} pages: with a site of pages of one length, 60 to 933 words, added (4 % of the pages), and with the mean logarithm of length shifted from 0.1 below to 0.1 above.",
            hapax_report::grouped(pages)
        ),
        verdict: if holds && shift[2] < shift[0] { Verdict::Agrees } else if holds { Verdict::Partly } else { Verdict::Differs },
        sentence: format!(
            "With spikes the variation is {:.1} % for 1D and {:.1} % for 3D, {}; when all lengths shift it is {:.1} % for 1D and {:.1} % for 3D. \
             In absolute terms the factor of 3D moves by {:.2} and {:.2} (standard deviation) and that of 1D by {:.2} and {:.2}, but that of 3D is so much smaller that \
             what is relative to it is not; how its ten datasets differ, the paper does not say.",
            spike[0],
            spike[2],
            if holds { "the paper's direction" } else { "not the paper's direction" },
            shift[0],
            shift[2],
            spike[2] * mean(&spikes)[2] / 100.0,
            shift[2] * mean(&shifts)[2] / 100.0,
            spike[0] * mean(&spikes)[0] / 100.0,
            shift[0] * mean(&shifts)[0] / 100.0,
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![
            chart("A site of one length comes in", &spikes, "Short pages on the left, long ones on the right."),
            chart("All lengths shift", &shifts, "Shorter on the left, longer on the right."),
        ],
        data: json!({ "spikes": spikes, "shifts": shifts }),
    })
}
