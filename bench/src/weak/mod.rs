//! Measures weak bits on documents: requested and measured recall, and speed, compared with our exact engine and the
//! thesis's baseline.
//!
//! The exact engine gives the true matches (checked against the scan on a sample). Recall is over *copies*: matches
//! with the same original as the query that differ from it in at least one bit, as in the thesis. Also prints the
//! share of all differing matches: long documents of one topic come within six bits by chance, and bits that flip
//! there have little to do with weak bits. One query in ten calibrates and is not measured.

pub(crate) mod documents;
mod real;

use anyhow::{Context, ensure};
use hapax::fingerprint::{Fingerprint, MaxDistance};
use hapax::index::{
    Aim, Answers, Calibration, Collection, Design, Effort, HammingIndex, Match, Query, Recall,
    Scan, Shape, TableOptions, Tables, WeakBits, WeakOptions,
};
use std::ops::ControlFlow;
use std::path::PathBuf;

use self::documents::Documents;
use crate::measure::{best_cpu, cpu};
use crate::near::count;
use crate::near::manku::SortedTables;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Number of stored fingerprints
    #[arg(long, default_value = "10e6", value_parser = count)]
    pages: usize,
    /// How many of them come from documents; the others are random numbers
    #[arg(long, default_value = "10e6", value_parser = count)]
    documents: usize,
    /// Distances in bits, inclusive
    #[arg(long, value_delimiter = ',', default_value = "3,6")]
    within: Vec<u8>,
    /// Recalls to request
    #[arg(long, value_delimiter = ',', default_value = "0.95,0.99")]
    recall: Vec<f64>,
    /// Number of queries
    #[arg(long, default_value = "400e3", value_parser = count)]
    queries: usize,
    /// Number of queries for the thesis's baseline
    #[arg(long, default_value = "10e3", value_parser = count)]
    slow_queries: usize,
    /// Number of queries for the scan, which checks the exact engine
    #[arg(long, default_value = "200", value_parser = count)]
    checked: usize,
    /// Prefix lengths; by default the one chosen by cost
    #[arg(long, value_delimiter = ',')]
    prefix: Vec<u32>,
    /// Also measure the other shapes of the flip curve, and a target recall per query
    #[arg(long)]
    variants: bool,
    /// Calibrate on all matches and not only on copies; then `of all` should equal the requested
    /// recall
    #[arg(long)]
    all_matches: bool,
    /// Use real pages instead: a file of JSON objects with `html` or `text`, one per line
    #[arg(long)]
    jsonl: Option<PathBuf>,
    /// Maximum number of tables of the thesis's baseline; each takes 12 bytes per page
    #[arg(long, default_value_t = 12)]
    baseline_tables: usize,
    /// Maximum numbers of tables of the exact engine; the fastest is the reference
    #[arg(long, value_delimiter = ',', default_value = "10")]
    tables: Vec<usize>,
    /// Skip the thesis's baseline
    #[arg(long)]
    no_baseline: bool,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(path) = &arguments.jsonl {
        let prefixes =
            if arguments.prefix.is_empty() { &[16, 26][..] } else { &arguments.prefix[..] };
        return real::run(path, &arguments.within, &arguments.recall, prefixes);
    }
    let documents =
        Documents::new(arguments.seed, arguments.pages, arguments.documents, arguments.queries)?;
    println!(
        "{} fingerprints, {} of them from documents; {} documents ask",
        documents.stored.len(),
        documents.stored.len() - documents.padding,
        documents.queries.len(),
    );
    let (sample, numbers): (Vec<usize>, Vec<usize>) =
        (0..documents.queries.len()).partition(|number| number.is_multiple_of(10));
    let asked: Vec<Query> = numbers.iter().map(|&number| documents.query(number)).collect();
    let pages = Collection::new(documents.entries())?;
    for &within in &arguments.within {
        let bound = MaxDistance::new(within).context("a fingerprint has 64 bits")?;
        Bench {
            arguments,
            documents: &documents,
            pages: &pages,
            bound,
            asked: &asked,
            numbers: &numbers,
        }
        .run(&sample)?;
    }
    Ok(())
}

struct Bench<'a> {
    arguments: &'a Arguments,
    documents: &'a Documents,
    pages: &'a Collection,
    bound: MaxDistance,
    asked: &'a [Query<'a>],
    /// Their numbers among the query documents.
    numbers: &'a [usize],
}

struct Row {
    engine: String,
    asked: f64,
    found: f64,
    of_all: f64,
    expected: f64,
    probes: f64,
    compared: f64,
    bytes: f64,
    speed: f64,
}

/// Reference speeds: queries per second for all matches and for the first.
#[derive(Clone, Copy, Default)]
struct Speeds {
    all: f64,
    first: f64,
}

impl Speeds {
    fn best(self, other: Self) -> Self {
        Self { all: self.all.max(other.all), first: self.first.max(other.first) }
    }
}

impl Bench<'_> {
    fn run(&self, sample: &[usize]) -> anyhow::Result<()> {
        let exact = Tables::build(self.pages.clone(), TableOptions::within(self.bound))?;
        let truth = exact.find_all_batch(self.asked, self.bound)?;
        self.check(&truth)?;
        println!(
            "\nwithin {}: {} matches, {} of them not equal to their query, {} of those copies",
            self.bound,
            truth.total(),
            self.unequal(&truth, false),
            self.unequal(&truth, true),
        );
        let calibration = self.calibrate(&exact, sample)?;
        println!("calibrated on {} pairs", calibration.len());

        drop(exact);

        let mut rows = Vec::new();
        let mut speeds = Speeds::default();
        for &most in &self.arguments.tables {
            let options = TableOptions::within(self.bound).most_tables(most);
            let exact = Tables::build(self.pages.clone(), options)?;
            let name = format!("exact, {} tables", exact.design().keys().len());
            speeds = speeds.best(self.measure(&exact, &name, 1.0, &truth, &mut rows)?);
        }
        let mut baseline = Speeds::default();
        if !self.arguments.no_baseline {
            for blocks in [self.bound.bits() + 1, self.bound.bits() + 2] {
                if let Ok(design) = Design::blocks(blocks, self.bound)
                    && design.keys().len() <= self.arguments.baseline_tables
                {
                    baseline = baseline.best(self.baseline(&design, &truth, &mut rows));
                }
            }
        }
        let mut prefixes: Vec<Option<u32>> =
            self.arguments.prefix.iter().map(|&p| Some(p)).collect();
        if prefixes.is_empty() {
            prefixes.push(None);
        }
        let mut variants = vec![(Shape::Logistic, Aim::Average)];
        if self.arguments.variants {
            variants.push((Shape::Logistic, Aim::EachQuery));
            variants.extend([Shape::Normal, Shape::Linear].map(|shape| (shape, Aim::Average)));
        }
        for &asked in &self.arguments.recall {
            let recall = Recall::new(asked).context("a recall is above 0 and at most 1")?;
            for &prefix in &prefixes {
                for &(shape, aim) in &variants {
                    let mut options = WeakOptions::within(self.bound, recall)
                        .calibration(calibration.clone().shape(shape))
                        .aim(aim);
                    if let Some(bits) = prefix {
                        options = options.prefix_bits(bits);
                    }
                    let index = WeakBits::build(self.pages.clone(), options)?;
                    let name = format!("weak, p {}, {shape:?}, {aim:?}", index.prefix_bits());
                    self.measure(&index, &name, asked, &truth, &mut rows)?;
                }
            }
        }
        print(&rows, speeds, baseline);
        Ok(())
    }

    /// Compares the exact engine with the scan.
    fn check(&self, truth: &Answers) -> anyhow::Result<()> {
        let some = &self.asked[..self.arguments.checked.min(self.asked.len())];
        let scan = Scan::new(self.pages.clone()).find_all_batch(some, self.bound)?;
        for number in 0..some.len() {
            ensure!(truth.of(number) == scan.of(number), "query {number} differs from the scan");
        }
        Ok(())
    }

    fn calibrate(&self, exact: &Tables, sample: &[usize]) -> anyhow::Result<Calibration> {
        let queries: Vec<Query> =
            sample.iter().map(|&number| self.documents.query(number)).collect();
        let near = exact.find_all_batch(&queries, self.bound)?;
        let mut pairs = Vec::new();
        for (&number, near) in sample.iter().zip(near.iter()) {
            let wanted =
                |m: &&Match| self.arguments.all_matches || self.documents.are_copies(number, m.id);
            for copy in near.iter().filter(wanted) {
                let [one, other] =
                    [self.documents.queries[number], self.documents.stored[copy.id as usize]];
                pairs.push((&self.documents.sums[number], one.to_bits() ^ other.to_bits()));
            }
        }
        Ok(Calibration::fit(pairs))
    }

    /// Counts matches that differ from their query; only copies, or all.
    fn unequal(&self, answers: &Answers, only_copies: bool) -> usize {
        let counts = |(&number, of): (&usize, &[Match])| {
            let copy = |m: &&Match| !only_copies || self.documents.are_copies(number, m.id);
            of.iter().filter(|m| m.distance > 0).filter(copy).count()
        };
        self.numbers.iter().zip(answers.iter()).map(counts).sum()
    }

    fn measure(
        &self,
        index: &dyn HammingIndex,
        name: &str,
        asked: f64,
        truth: &Answers,
        rows: &mut Vec<Row>,
    ) -> anyhow::Result<Speeds> {
        let queries = self.asked.len() as f64;
        let effort = |breaks: bool| -> anyhow::Result<Effort> {
            let flow = if breaks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            Ok(index.visit_batch(self.asked, self.bound, &mut |_, _| flow)?)
        };
        let (answers, all) = best_cpu(3, || index.find_all_batch(self.asked, self.bound));
        let answers = answers?;
        for (found, truth) in answers.iter().zip(truth.iter()) {
            let real = found.iter().all(|m| truth.binary_search(m).is_ok());
            ensure!(real, "{name} reports what is not there");
        }
        let share = |only_copies| {
            let all = self.unequal(truth, only_copies).max(1);
            self.unequal(&answers, only_copies) as f64 / all as f64
        };
        let (found, of_all) = (share(true), share(false));
        let (first, once) = best_cpu(3, || index.find_first_batch(self.asked, self.bound));
        let first = first?;
        // Of queries with matches (copies), but no equal one: the share that found any match.
        let once_share = |only_copies: bool| {
            let has = |number: &usize| {
                let of = truth.of(*number);
                let copy = |m: &Match| self.documents.are_copies(self.numbers[*number], m.id);
                of.first().is_some_and(|m| m.distance > 0) && (!only_copies || of.iter().any(copy))
            };
            let could: Vec<usize> = (0..first.len()).filter(has).collect();
            let hits = could.iter().filter(|&&number| first[number].is_some()).count();
            hits as f64 / could.len().max(1) as f64
        };
        let (once_found, once_of_all) = (once_share(true), once_share(false));
        let speeds =
            Speeds { all: queries / all.as_secs_f64(), first: queries / once.as_secs_f64() };
        for (what, found, of_all, speed, breaks) in [
            ("all", found, of_all, speeds.all, false),
            ("first", once_found, once_of_all, speeds.first, true),
        ] {
            let effort = effort(breaks)?;
            rows.push(Row {
                engine: format!("{name}, {what}"),
                asked,
                found,
                of_all,
                expected: effort.covered / queries,
                probes: effort.probes as f64 / queries,
                compared: effort.compared as f64 / queries,
                bytes: index.memory_bytes() as f64 / index.len() as f64,
                speed,
            });
        }
        Ok(speeds)
    }

    fn baseline(&self, design: &Design, truth: &Answers, rows: &mut Vec<Row>) -> Speeds {
        let index = SortedTables::build(&self.documents.stored, design);
        let some = &self.asked[..self.arguments.slow_queries.min(self.asked.len())];
        let asked: Vec<Fingerprint> = some.iter().map(|q| q.fingerprint).collect();
        let (answers, all) =
            best_cpu(2, || asked.iter().map(|&q| index.find_all(q)).collect::<Vec<_>>());
        for (found, truth) in answers.iter().zip(truth.iter()) {
            assert_eq!(found, truth, "the baseline and the exact engine disagree");
        }
        let (_, once) = cpu(|| asked.iter().filter(|&&q| index.find_first(q).is_some()).count());
        let queries = asked.len() as f64;
        let speeds =
            Speeds { all: queries / all.as_secs_f64(), first: queries / once.as_secs_f64() };
        for (what, speed) in [("all", speeds.all), ("first", speeds.first)] {
            rows.push(Row {
                engine: format!("thesis baseline, {} tables, {what}", design.keys().len()),
                asked: 1.0,
                found: 1.0,
                of_all: 1.0,
                expected: 1.0,
                probes: design.keys().len() as f64,
                compared: f64::NAN,
                bytes: index.memory_bytes() as f64 / self.documents.stored.len() as f64,
                speed,
            });
        }
        speeds
    }
}

/// Prints each row with its ratio to the exact engine and the baseline.
fn print(rows: &[Row], exact: Speeds, baseline: Speeds) {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header([
        "engine",
        "asked",
        "found",
        "of all",
        "expected",
        "probes",
        "compared",
        "bytes/page",
        "queries/s",
        "us/query",
        "x exact",
        "x baseline",
    ]);
    for column in 1..12 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
    for row in rows {
        let first = row.engine.ends_with("first");
        let against = |speeds: Speeds| if first { speeds.first } else { speeds.all };
        let ratio = |speeds| format!("{:.2}", row.speed / against(speeds));
        table.add_row([
            row.engine.clone(),
            format!("{:.2}", row.asked),
            format!("{:.4}", row.found),
            format!("{:.4}", row.of_all),
            format!("{:.4}", row.expected),
            format!("{:.1}", row.probes),
            format!("{:.0}", row.compared),
            format!("{:.2}", row.bytes),
            format!("{:.0}", row.speed),
            format!("{:.3}", 1e6 / row.speed),
            ratio(exact),
            ratio(baseline),
        ]);
    }
    println!("{table}");
}
