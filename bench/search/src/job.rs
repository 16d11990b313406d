//! Runs the job on a real index and log: the paper's table and figures, time, threads, quality.
//!
//! Asserts before printing: more bits find at least as much, more queries leave at most as much, threads and
//! repetitions make no difference. The index is not changed: removed documents are only hidden.

use crate::arguments::Arguments;
use crate::quality::Groups;
use anyhow::ensure;
use hapax_corpus::Unpacked;
use hapax_search::DocumentId;
use hapax_search::choose::Sample;
use hapax_search::clean::figures::{DuplicatesByRank, bounds};
use hapax_search::job::difference::Difference;
use hapax_search::job::{JobOptions, Outcome, Ranked, all_at_once, one_by_one, ranked};
use hapax_search::log::read::{ReadLog, read};
use hapax_search::log::{Log, Noise};
use hapax_search::policy::Policy;
use hapax_search::tantivy::TantivyIndex;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub(crate) fn run(mut arguments: Arguments) -> anyhow::Result<()> {
    let index: PathBuf = arguments.needed("index")?;
    let log: PathBuf = arguments.needed("log")?;
    let full: Option<PathBuf> = arguments.given("full")?;
    let queries: usize = arguments.given("queries")?.unwrap_or(2000);
    let time_only: Option<usize> = arguments.given("time-only")?;
    arguments.done()?;

    let (rows, _) = read(Unpacked::open(&log)?, &ReadLog::default())?;
    let log = Log::of(rows, &Noise::default());
    let engine = TantivyIndex::open(&index)?;
    // Every tenth query is held_out out.
    let (held_out, training): (Vec<_>, Vec<_>) =
        log.queries.into_iter().enumerate().partition(|(at, _)| at % 10 == 9);
    let own = |list: Vec<(usize, _)>| list.into_iter().map(|it| it.1).collect::<Vec<_>>();
    let (held_out, mut training) = (ranked(&own(held_out)), ranked(&own(training)));
    training.truncate(queries);
    println!(
        "{} documents; {} queries, {} held back",
        engine.totals().documents,
        training.len(),
        held_out.len()
    );
    if let Some(queries) = time_only {
        return time(&engine, &training[..queries.min(training.len())]);
    }
    let policy = Policy::default();
    let parallel = tables(&engine, &training, &policy)?;
    if let Some(full) = full {
        quality(&Groups::read(&full)?, &engine, &training, &held_out, &parallel)?;
    }
    Ok(())
}

/// Columns of [`split`].
const COSTS: &str =
    "retrieval, ms a query | dedup, ms a query | dedup, % of retrieval | results a query";

/// Compares one thread and two on the same queries, with time per phase.
fn time(engine: &TantivyIndex, queries: &[Ranked]) -> anyhow::Result<()> {
    let policy = Policy::default();
    let mut walls = Vec::new();
    let mut removed: Option<Vec<_>> = None;
    println!("\n| run | threads | queries | wall s | duplicates | {COSTS} |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (run, threads) in [1, 2, 1, 2].into_iter().enumerate() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let started = Instant::now();
        let found =
            pool.install(|| all_at_once(engine, queries, &JobOptions::new(&policy), |_| ()))?;
        let wall = started.elapsed();
        ensure!(removed.as_ref().is_none_or(|before| *before == found.removed), "threads matter");
        println!(
            "| run {} | {threads} | {} | {:.2} | {} | {} |",
            run + 1,
            queries.len(),
            wall.as_secs_f64(),
            found.removed.len(),
            split(&found)
        );
        removed = Some(found.removed);
        walls.push(wall.as_secs_f64());
    }
    println!(
        "\ntwo threads against one: {:.2} and {:.2} times",
        walls[0] / walls[1],
        walls[2] / walls[3]
    );
    Ok(())
}

fn split(outcome: &Outcome) -> String {
    let n = outcome.queries.len().max(1) as f64;
    let mean = |get: fn(&hapax_search::job::QueryOutcome) -> Duration| {
        outcome.queries.iter().map(|it| get(it).as_secs_f64()).sum::<f64>() * 1e3 / n
    };
    let (retrieval, dedup) = (mean(|it| it.retrieval), mean(|it| it.dedup));
    let examined = outcome.queries.iter().map(|it| it.examined).sum::<u64>() as f64 / n;
    let percent = 100.0 * dedup / retrieval;
    format!("{retrieval:.3} | {dedup:.3} | {percent:.1} | {examined:.0}")
}

/// Prints [`split`] as a table.
fn show_costs(name: &str, outcome: &Outcome) {
    println!("\n| costs | {COSTS} |\n|---|---:|---:|---:|---:|\n| {name} | {} |\n", split(outcome));
}

/// Table I in both variants, and the difference.
fn tables(engine: &TantivyIndex, queries: &[Ranked], policy: &Policy) -> anyhow::Result<Outcome> {
    let bounds = bounds();
    let options = JobOptions { sweep: bounds.clone(), ..JobOptions::new(policy) };
    let parallel = all_at_once(engine, queries, &options, |_| ())?;
    println!("\nall at once:");
    show_costs("all at once", &parallel);
    show(&DuplicatesByRank::of(&bounds, queries, &parallel), None)?;
    let mut sequential = Outcome::default();
    let mut times = Vec::new();
    let mut last = None;
    for &bound in &bounds {
        let policy = policy.with_within(bound);
        let one = one_by_one(engine, queries, &policy, Sample { one_of: 1 }, |_| ())?;
        sequential.sweep.push(one.removed.iter().map(|it| it.mark).collect());
        times.push(one.queries.clone());
        last = Some((policy, one));
    }
    println!("\none by one:");
    let table = DuplicatesByRank::of(&bounds, queries, &sequential);
    let seconds = |from: u64, to: u64, at: usize| -> f64 {
        let members = times[at].iter().filter(|it| (from..=to).contains(&it.rank));
        members.map(|it| (it.retrieval + it.dedup).as_secs_f64()).sum()
    };
    show(&table, Some(&seconds))?;
    if let Some((policy, last)) = last {
        show_costs("one by one, k = 3", &last);
        // By the same bound, which need not be the default.
        let at_once = all_at_once(engine, queries, &JobOptions::new(&policy), |_| ())?;
        let it = Difference::between(&last.removed, &at_once.removed);
        println!("| difference | both | another winner | one by one only | all at once only |");
        println!("|---|---:|---:|---:|---:|");
        println!(
            "| documents | {} | {} | {} | {} |",
            it.both, it.other_winner, it.only_one_by_one, it.only_all_at_once
        );
    }
    Ok(parallel)
}

/// Checks the shape of a table and prints it.
fn show(
    table: &DuplicatesByRank,
    seconds: Option<&dyn Fn(u64, u64, usize) -> f64>,
) -> anyhow::Result<()> {
    println!(
        "| queries | k = 0 | k = 1 | k = 2 | k = 3 | k = 3 a query |{}",
        match seconds {
            Some(_) => " s, k = 0 | s, k = 3 |",
            None => "",
        }
    );
    println!("|---|---:|---:|---:|---:|---:|{}", if seconds.is_some() { "---:|---:|" } else { "" });
    for group in &table.groups {
        let counts: Vec<String> = group.removed.iter().map(u64::to_string).collect();
        let each = group.removed.last().copied().unwrap_or(0) as f64 / group.queries.max(1) as f64;
        print!("| {}-{} | {} | {each:.2} |", group.from, group.to, counts.join(" | "));
        match seconds {
            Some(seconds) => {
                let of = |at| seconds(group.from, group.to, at);
                println!(" {:.2} | {:.2} |", of(0), of(3));
            }
            None => println!(),
        }
    }
    let totals = table.totals();
    let counts: Vec<String> = totals.iter().map(u64::to_string).collect();
    println!("| all | {} | |", counts.join(" | "));
    ensure!(totals.is_sorted(), "more bits must not find less");
    println!(
        "k = 3 finds {:.2} times what k = 0 finds",
        totals[3] as f64 / totals[0].max(1) as f64
    );
    Ok(())
}

/// The share of all duplicates that the first queries remove, and the duplicates that readers still
/// see.
fn quality(
    groups: &Groups,
    engine: &TantivyIndex,
    training: &[Ranked],
    held_out: &[Ranked],
    all: &Outcome,
) -> anyhow::Result<()> {
    let nobody = BTreeSet::new();
    let too_many = groups.surplus(&nobody);
    let before = groups.seen(engine, held_out, &|_| false)?;
    let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    println!("\na full dedup finds {too_many} documents too many");
    println!(
        "| first queries | duplicates removed | of all | duplicates in the top 10 of held-back queries |"
    );
    println!("|---:|---:|---:|---:|");
    println!("| 0 | 0 | 0 % | {:.1} % |", share(before.duplicates, before.results));
    let policy = Policy::default();
    let mut last = 0;
    for most in [10, 100, 1000, training.len()] {
        let most = most.min(training.len());
        let queries = &training[..most];
        let found = all_at_once(engine, queries, &JobOptions::new(&policy), |_| ())?;
        let gone: BTreeSet<&str> = found.removed.iter().map(|it| it.name.as_str()).collect();
        let ids: BTreeSet<DocumentId> = found.removed.iter().map(|it| it.mark.document).collect();
        let removed = too_many - groups.surplus(&gone);
        let after = groups.seen(engine, held_out, &|id| ids.contains(&id))?;
        println!(
            "| {most} | {} | {:.1} % | {:.1} % |",
            found.removed.len(),
            share(removed, too_many),
            share(after.duplicates, after.results)
        );
        ensure!(removed >= last, "more queries must not leave more");
        last = removed;
        ensure!(most < training.len() || found.removed == all.removed, "two runs differ");
    }
    Ok(())
}
