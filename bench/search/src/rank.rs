//! PageRank of a graph with skewed in-degrees: time, and a check by one direct step over the list of links, which
//! shares no code with the measured program.

use crate::arguments::Arguments;
use anyhow::ensure;
use hapax_search::rank::{Graph, RankSettings, pagerank};
use hapax_synth::{Rng, Zipf, mix};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

pub(crate) fn run(mut arguments: Arguments) -> anyhow::Result<()> {
    let pages: u32 = arguments.given("pages")?.unwrap_or(1_000_000);
    let count: u64 = arguments.given("links")?.unwrap_or(10_000_000);
    let tsv: Option<PathBuf> = arguments.given("tsv")?;
    arguments.done()?;

    let mut rng = Rng::new(7);
    let popularity = Zipf::new(u64::from(pages), 0.75);
    let links: Vec<(u32, u32)> = (0..count)
        .map(|_| {
            let from = rng.below(u64::from(pages)) as u32;
            // Popular pages are scattered over all numbers.
            let to = mix(popularity.draw(&mut rng)) % u64::from(pages);
            (from, to as u32)
        })
        .collect();
    if let Some(path) = tsv {
        let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
        for (from, to) in &links {
            writeln!(
                out,
                "http://www.example{}.test/{from}\thttp://www.example{}.test/{to}",
                from % 977,
                to % 977
            )?;
        }
        out.flush()?;
    }
    let started = Instant::now();
    let graph = Graph::new(pages as usize, &links)?;
    let building = started.elapsed();
    let settings = RankSettings::default();
    let mut before: Option<Vec<f64>> = None;
    println!(
        "{} pages, {} links, {} after repeated ones are gone",
        pages,
        links.len(),
        graph.links()
    );
    println!("\n| threads | graph, s | rounds | ranking, s | million links a second | residual |");
    println!("|---:|---:|---:|---:|---:|---:|");
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let started = Instant::now();
        let ranks = pool.install(|| pagerank(&graph, &settings, None))?;
        let took = started.elapsed();
        ensure!(ranks.converged, "not converged");
        ensure!((ranks.scores.iter().sum::<f64>() - 1.0).abs() < 1e-9, "scores do not add up");
        ensure!(before.as_ref().is_none_or(|before| *before == ranks.scores), "threads matter");
        let residual = residual(pages as usize, &links, &ranks.scores, settings.damping);
        ensure!(residual < settings.tolerance, "residual {residual:e}");
        println!(
            "| {threads} | {:.2} | {} | {:.2} | {:.1} | {residual:.1e} |",
            building.as_secs_f64(),
            ranks.iterations,
            took.as_secs_f64(),
            graph.links() as f64 * f64::from(ranks.iterations) / took.as_secs_f64() / 1e6,
        );
        before = Some(ranks.scores);
    }
    Ok(())
}

/// The change of the scores in one more step.
fn residual(pages: usize, links: &[(u32, u32)], scores: &[f64], damping: f64) -> f64 {
    let mut links: Vec<(u32, u32)> =
        links.iter().copied().filter(|(from, to)| from != to).collect();
    links.sort_unstable();
    links.dedup();
    let mut degree = vec![0u32; pages];
    links.iter().for_each(|link| degree[link.0 as usize] += 1);
    let dangling: f64 = scores.iter().zip(&degree).filter(|it| *it.1 == 0).map(|it| it.0).sum();
    let base = (1.0 - damping + damping * dangling) / pages as f64;
    let mut next = vec![base; pages];
    for (from, to) in links {
        next[to as usize] += damping * scores[from as usize] / f64::from(degree[from as usize]);
    }
    next.iter().zip(scores).map(|(a, b)| (a - b).abs()).sum()
}
