//! Figure 6: speed-up of comparisons with many machines.
//!
//! One machine compares every new page with every stored one whose size allows a match. Of many machines each
//! compares the pages sent to it with those it stores, and the slowest counts. All machines are simulated in sequence
//! on this one; time is CPU time, independent of other load.

use anyhow::Result;
use cpu_time::ThreadTime;
use hapax_partition::{Mapping, MappingSettings, PageFeatures, Placed, StoredPages};
use hapax_report::chart::{Axis, Chart, Series};
use hapax_report::grouped;
use hapax_synth::Length;
use serde_json::json;

use super::{MACHINES, RHO, TAU, corpus};
use crate::bench::Bench;
use crate::record::{Record, Table, Verdict};

/// The measured work of one mapping.
struct Work {
    dimensions: usize,
    machines: u32,
    /// Seconds of the slowest machine.
    slowest: f64,
    /// Seconds of all machines.
    all: f64,
    pairs: usize,
}

pub(super) fn run(bench: &Bench<'_>) -> Result<()> {
    if !bench.wants("zhu-figure-6") {
        return Ok(());
    }
    let (pages, name) = match corpus::real(bench)? {
        Some((pages, names)) => (pages, format!("real pages ({names})")),
        None => (synthetic(bench)?, "synthetic pages".to_owned()),
    };
    let asked = bench.size.of(1_000, 4_000);
    let every = (pages.len() / asked).max(2);
    let (new, stored): (Vec<_>, Vec<_>) =
        pages.iter().enumerate().partition(|(at, _)| at % every == 1);
    let new: Vec<&PageFeatures> = new.into_iter().map(|it| it.1).collect();
    let stored: Vec<&PageFeatures> = stored.into_iter().map(|it| it.1).collect();
    let sample: Vec<PageFeatures> = stored.iter().step_by(2).map(|&page| page.clone()).collect();

    let (alone, truth) = one_machine(&new, &stored)?;
    bench.say(format!("  one machine: {alone:.2} s, {truth} pairs"));
    let mut works = Vec::new();
    for dimensions in 1..=3 {
        for machines in MACHINES {
            let settings = MappingSettings {
                dimensions,
                machines,
                tau: TAU,
                rho: Some(RHO),
                by_language: true,
            };
            let mapping = Mapping::learn(&sample, corpus::RECIPE, &settings)?;
            works.push(many_machines(&mapping, &new, &stored)?);
        }
        bench.say(format!("  {dimensions}D measured"));
    }
    let at = |dimensions: usize, machines: u32| {
        works.iter().find(|it| it.dimensions == dimensions && it.machines == machines)
    };
    let speed = |it: Option<&Work>| it.map_or(f64::NAN, |it| alone / it.slowest);
    let ratio = speed(at(3, 64)) / speed(at(1, 64));
    let recall = at(3, 64).map_or(0.0, |it| it.pairs as f64 / truth.max(1) as f64);
    let mut table = Table::new(["machines", "1D", "2D", "3D", "3D over 1D"]);
    for machines in MACHINES {
        let [one, two, three] = [1, 2, 3].map(|dimensions| speed(at(dimensions, machines)));
        table.row([
            machines.to_string(),
            format!("{one:.1}"),
            format!("{two:.1}"),
            format!("{three:.1}"),
            format!("{:.2}", three / one),
        ]);
    }
    let series = (1..=3)
        .map(|dimensions| {
            let points = MACHINES.map(|it| (f64::from(it), speed(at(dimensions, it))));
            Series::new(format!("{dimensions}D"), points.to_vec())
        })
        .chain([Series::reference(
            "as many times as machines",
            MACHINES.map(|it| (f64::from(it), f64::from(it))).to_vec(),
        )])
        .collect();
    bench.keep(Record {
        name: "zhu-figure-6".into(),
        figure: "Figure 6".into(),
        title: "speed-up of comparing new pages".into(),
        claim: "3D speeds up much more than 1D; with 64 machines its throughput is 3.3 times that of 1D.".into(),
        ran_on: format!(
            "{} stored and {} new {name}, features compared exactly; machines played one after another, the slowest counts, processor time; tau {TAU}, rho {RHO}.",
            grouped(stored.len() as u64),
            grouped(new.len() as u64)
        ),
        verdict: match ratio {
            3.3.. => Verdict::Agrees,
            1.5.. => Verdict::Partly,
            _ => Verdict::Differs,
        },
        sentence: format!(
            "With 64 machines 3D is {:.1} times as fast as one machine and 1D {:.1} times, a ratio of {ratio:.1} against the paper's 3.3; \
             3D gains twice, by even machines and by a box that passes over more pages, and finds {:.2} % of the pairs of one machine.",
            speed(at(3, 64)),
            speed(at(1, 64)),
            100.0 * recall
        ),
        size: bench.size,
        table: Some(table),
        charts: vec![Chart {
            title: "Speed-up".into(),
            x: Axis::logarithmic("machines"),
            y: Axis::logarithmic("times one machine"),
            series,
            about: "Above the broken line because pages outside the box are not compared at all.".into(),
        }],
        data: json!({
            "one_machine_seconds": alone, "pairs": truth,
            "columns": ["dimensions", "machines", "slowest_seconds", "all_seconds", "pairs"],
            "rows": works.iter().map(|it| json!([it.dimensions, it.machines, it.slowest, it.all, it.pairs])).collect::<Vec<_>>(),
        }),
    })
}

fn synthetic(bench: &Bench<'_>) -> Result<Vec<PageFeatures>> {
    let web = corpus::web(2, bench.size.of(8_000, 60_000), Length::default());
    let mut revisits = corpus::Revisits::new(&web)?;
    let mut pages = Vec::new();
    for page in 0..web.len() {
        pages.extend(revisits.features(page, 0)?);
    }
    Ok(pages)
}

/// Seconds and pairs on one machine without a mapping.
fn one_machine(new: &[&PageFeatures], stored: &[&PageFeatures]) -> Result<(f64, usize)> {
    let no_lengths = hapax_partition::LengthVector::new(&[0])?;
    let pages =
        stored.iter().enumerate().map(|(id, page)| (no_lengths, id as u32, page.shingles.clone()));
    let stored_pages = StoredPages::new(pages, TAU)?;
    let mut found = Vec::new();
    let started = ThreadTime::now();
    for page in new {
        stored_pages.compare(&no_lengths, &page.shingles, None, &mut found);
    }
    Ok((started.elapsed().as_secs_f64(), found.len()))
}

fn many_machines(
    mapping: &Mapping,
    new: &[&PageFeatures],
    stored: &[&PageFeatures],
) -> Result<Work> {
    let machines = mapping.runs().machines();
    let mut on: Vec<Vec<(Placed, u32)>> = vec![Vec::new(); machines as usize];
    for (id, page) in stored.iter().enumerate() {
        let placed = mapping.place(page);
        on[mapping.machine(mapping.cell(&placed)) as usize].push((placed, id as u32));
    }
    let mut sent: Vec<Vec<(Placed, &PageFeatures)>> = vec![Vec::new(); machines as usize];
    for page in new {
        let placed = mapping.place(page);
        for machine in mapping.machines(&mapping.cells_near(&placed)) {
            sent[machine as usize].push((placed, page));
        }
    }
    let mut work =
        Work { dimensions: mapping.dimensions(), machines, slowest: 0.0, all: 0.0, pairs: 0 };
    let mut found = Vec::new();
    for (homes, sent) in on.iter().zip(&sent) {
        // A machine stores languages separately.
        let parts: Result<Vec<StoredPages>, _> = (0..mapping.parts().len())
            .map(|part| {
                let here = homes.iter().filter(|(placed, _)| usize::from(placed.part) == part);
                let pages = here.map(|(placed, id)| {
                    (placed.lengths, *id, stored[*id as usize].shingles.clone())
                });
                StoredPages::new(pages, TAU)
            })
            .collect();
        let parts = parts?;
        found.clear();
        let started = ThreadTime::now();
        for (placed, page) in sent {
            let pages_of_part = &parts[usize::from(placed.part)];
            pages_of_part.compare(
                &placed.lengths,
                &page.shingles,
                Some(mapping.bounds()),
                &mut found,
            );
        }
        let took = started.elapsed().as_secs_f64();
        work.slowest = work.slowest.max(took);
        work.all += took;
        work.pairs += found.len();
    }
    Ok(work)
}
