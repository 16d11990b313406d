//! Measures exact neighbour search: our engines and the thesis's baseline on the same planted fingerprints. Today's
//! peers are in `bench/compare`.
//!
//! Before anything is printed, every engine must answer a sample of the queries like the scan, and all planted
//! neighbours must be found.

pub(crate) mod manku;
pub(crate) mod planted;

use anyhow::{Context, ensure};
use hapax::fingerprint::{Fingerprint, MaxDistance};
use hapax::index::{
    Answers, Collection, Design, HammingIndex, Match, Query, Scan, TableOptions, Tables,
};
use rayon::prelude::*;

use self::manku::SortedTables;
use self::planted::Planted;
use crate::measure::{Row, best_cpu, cpu, print, wall};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Number of stored fingerprints
    #[arg(long, default_value = "10e6", value_parser = count)]
    pages: usize,
    /// Distance in bits, inclusive
    #[arg(long, default_value_t = 3)]
    within: u8,
    /// Number of queries for our engines; a tenth has a planted neighbour
    #[arg(long, default_value = "1e6", value_parser = count)]
    queries: usize,
    /// Number of queries for the slower engines
    #[arg(long, default_value = "10e3", value_parser = count)]
    slow_queries: usize,
    /// Number of queries for the scan, which checks the other engines
    #[arg(long, default_value = "200", value_parser = count)]
    checked: usize,
    /// Maximum numbers of tables; each is a row
    #[arg(long, value_delimiter = ',', default_value = "4,10")]
    tables: Vec<usize>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Parses `10e6` or `10000000`.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if number >= 0.0 && number.fract() == 0.0 && number < 1e15 {
        Ok(number as usize)
    } else {
        Err(format!("`{text}` is not a count"))
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let bound = MaxDistance::new(arguments.within).context("a fingerprint has 64 bits")?;
    let planted = Planted::new(arguments.seed, arguments.pages, arguments.queries, bound.bits());
    let queries: Vec<Query> = planted.queries.iter().map(|&q| Query::from(q)).collect();
    let pages = Collection::new(planted.entries())?;
    let mut bench = Bench {
        planted: &planted,
        queries: &queries,
        bound,
        reference: Vec::new(),
        rows: Vec::new(),
    };

    bench.scan(&pages, arguments.checked)?;
    for &most in &arguments.tables {
        bench.tables(&pages, TableOptions::within(bound).most_tables(most))?;
    }
    if let Ok(ten) = Design::blocks(bound.bits() + 2, bound)
        && ten.keys().len() <= 32
    {
        bench.tables(&pages, TableOptions::within(bound).design(ten))?;
    }
    for blocks in [bound.bits() + 1, bound.bits() + 2] {
        if let Ok(design) = Design::blocks(blocks, bound)
            && design.keys().len() <= 32
        {
            bench.baseline(&design, arguments.slow_queries);
        }
    }
    print(&bench.rows, "scan");
    Ok(())
}

/// The input of the engines, and the rows so far.
struct Bench<'a> {
    planted: &'a Planted,
    queries: &'a [Query<'a>],
    bound: MaxDistance,
    /// The scan's answers to the first queries.
    reference: Vec<Vec<Match>>,
    rows: Vec<Row>,
}

impl Bench<'_> {
    fn row(&mut self, engine: String, index: &dyn HammingIndex, queries_per_second: f64) {
        self.rows.push(Row {
            engine,
            pages: index.len(),
            within: self.bound.bits(),
            recall: 1.0,
            bytes: Some(index.memory_bytes()),
            build: None,
            queries_per_second,
        });
    }

    fn scan(&mut self, pages: &Collection, checked: usize) -> anyhow::Result<()> {
        let scan = Scan::new(pages.clone());
        let asked = &self.queries[..checked.min(self.queries.len())];
        let (answers, took) = cpu(|| scan.find_all_batch(asked, self.bound));
        let answers = answers?;
        for (query, of) in asked.iter().zip(answers.iter()) {
            let expected = linear_scan(self.planted, query.fingerprint, self.bound);
            ensure!(of == expected, "the scan differs from a plain loop");
            self.reference.push(expected);
        }
        let speed = asked.len() as f64 / took.as_secs_f64();
        self.row("scan".into(), &scan, speed);
        Ok(())
    }

    fn tables(&mut self, pages: &Collection, options: TableOptions) -> anyhow::Result<()> {
        let (index, build) = cpu(|| Tables::build(pages.clone(), options));
        let index = index?;
        let name = describe(index.design());
        let (answers, took) = best_cpu(3, || index.find_all_batch(self.queries, self.bound));
        self.check(&answers?)?;
        let all = self.queries.len() as f64;
        self.row(format!("{name}, all, batch"), &index, all / took.as_secs_f64());
        if let Some(row) = self.rows.last_mut() {
            row.build = Some(build);
        }

        let (first, took) = best_cpu(2, || index.find_first_batch(self.queries, self.bound));
        for &(query, ..) in &self.planted.truth {
            let bound = self.bound;
            let found = first
                .as_ref()
                .is_ok_and(|first| first[query].is_some_and(|m| bound.admits(m.distance)));
            ensure!(found, "find_first missed a planted neighbour");
        }
        self.row(format!("{name}, first, batch"), &index, all / took.as_secs_f64());

        let some = &self.queries[..self.queries.len().min(100_000)];
        let (_, took) = best_cpu(2, || {
            some.iter().map(|q| index.find_all(q, self.bound).map_or(0, |m| m.len())).sum::<usize>()
        });
        let speed = some.len() as f64 / took.as_secs_f64();
        self.row(format!("{name}, all, one by one"), &index, speed);

        let (one, two) = (self.threads(&index, 1)?, self.threads(&index, 2)?);
        let gain = format!("x{:.2} wall, x{:.2} CPU", two.wall / one.wall, two.cpu / one.cpu);
        self.row(format!("{name}, all, batch, 2 threads ({gain})"), &index, two.wall);
        Ok(())
    }

    /// Runs the batch in parts on a pool of this many threads.
    fn threads(&self, index: &Tables, threads: usize) -> anyhow::Result<Throughput> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let part = self.queries.len().div_ceil(8).max(1);
        let mut best = Throughput { wall: 0.0, cpu: 0.0 };
        for _ in 0..3 {
            let (spent, took) = wall(|| {
                pool.install(|| {
                    let parts = self.queries.par_chunks(part);
                    let spent = parts.map(|part| {
                        let (answers, took) = cpu(|| index.find_all_batch(part, self.bound));
                        assert!(answers.is_ok(), "the index was built for this bound");
                        took.as_secs_f64()
                    });
                    spent.sum::<f64>()
                })
            });
            let queries = self.queries.len() as f64;
            best.wall = best.wall.max(queries / took.as_secs_f64());
            best.cpu = best.cpu.max(queries * threads as f64 / spent);
        }
        Ok(best)
    }

    fn baseline(&mut self, design: &Design, slow: usize) {
        let (index, build) = cpu(|| SortedTables::build(&self.planted.stored, design));
        let asked = &self.planted.queries[..slow.min(self.planted.queries.len())];
        let (answers, all) =
            best_cpu(2, || asked.iter().map(|&q| index.find_all(q)).collect::<Vec<_>>());
        for (found, checked) in answers.iter().zip(&self.reference) {
            assert_eq!(found, checked, "the baseline and the scan disagree");
        }
        let (first, once) =
            best_cpu(2, || asked.iter().map(|&q| index.find_first(q)).collect::<Vec<_>>());
        for (found, all) in first.iter().zip(&answers) {
            assert_eq!(found.is_some(), !all.is_empty(), "the baseline contradicts itself");
        }
        for (what, took) in [("all", all), ("first", once)] {
            self.rows.push(Row {
                engine: format!("thesis baseline, {} tables, {what}", design.keys().len()),
                pages: self.planted.stored.len(),
                within: self.bound.bits(),
                recall: 1.0,
                bytes: Some(index.memory_bytes()),
                build: Some(build),
                queries_per_second: asked.len() as f64 / took.as_secs_f64(),
            });
        }
    }

    /// Checks answers before their time counts.
    fn check(&self, answers: &Answers) -> anyhow::Result<()> {
        for (number, checked) in self.reference.iter().enumerate() {
            ensure!(answers.of(number) == checked, "query {number} differs from the scan");
        }
        for &(query, id, distance) in &self.planted.truth {
            let found = answers.of(query).contains(&Match { distance, id });
            ensure!(found, "the planted neighbour of query {query} was not found");
        }
        Ok(())
    }
}

struct Throughput {
    wall: f64,
    /// With one core per thread: leaves only the contention for memory.
    cpu: f64,
}

/// A linear scan, which shares no code with any engine.
fn linear_scan(planted: &Planted, query: Fingerprint, bound: MaxDistance) -> Vec<Match> {
    let distances = planted.stored.iter().map(|f| f.distance(query)).zip(0..);
    let near = distances.filter(|&(distance, _)| bound.admits(distance));
    let mut found: Vec<Match> = near.map(|(distance, id)| Match { distance, id }).collect();
    found.sort_unstable();
    found
}

/// Describes a design as `6 tables of 21+ bits` or `4 tables of 16+ bits, radius 1 1 1 0`.
fn describe(design: &Design) -> String {
    let keys = design.keys();
    let bits = keys.iter().map(|key| key.mask.count_ones()).min().unwrap_or(0);
    let mut name = format!("{} tables of {bits}+ bits", keys.len());
    if keys.iter().any(|key| key.radius > 0) {
        let radii: Vec<String> = keys.iter().map(|key| key.radius.to_string()).collect();
        name += &format!(", radius {}", radii.join(" "));
    }
    name
}
