//! Search throughput at rest and under inserts at full speed.
//!
//! One thread searches in batches, each on a fresh snapshot. One thread inserts batches with fresh ids as fast as
//! possible and does due merges in between, unless another thread does (`--merging`). Each needs a core; on a busy
//! machine the rate per CPU time of the searching thread is more meaningful.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use comfy_table::Table;
use hapax::fingerprint::{Fingerprint, MaxDistance};
use hapax::index::live::{LiveIndex, LiveOptions};
use hapax::index::segment::{Removed, Segment, SegmentEngine};
use hapax::index::{Collection, Entry, HammingIndex, Query, Scan};

use crate::timing::{BATCH, Rate, Stopwatch, grouped, rate, timed};

#[derive(Args)]
pub(crate) struct Options {
    /// Seconds of searching under load
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Entries per insert
    #[arg(long, default_value_t = 64)]
    insert_batch: usize,
    /// Ratio between the sizes of consecutive tiers of segments
    #[arg(long, default_value_t = 12)]
    growth: usize,
    /// Segments per tier
    #[arg(long, default_value_t = 1)]
    runs: usize,
    /// Entries in the mutable part
    #[arg(long, default_value_t = 16384)]
    head: usize,
    /// Segments up to this many entries are scanned
    #[arg(long, default_value_t = 8192)]
    scan_up_to: usize,
    /// Number of tables of larger segments
    #[arg(long, default_value_t = 10)]
    tables: usize,
    /// Segments that may wait before an insert merges
    #[arg(long, default_value_t = 0)]
    backlog: usize,
    /// The thread that merges
    #[arg(long, value_enum, default_value_t = Merging::Writer)]
    merging: Merging,
}

/// The thread that merges during inserts.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Merging {
    /// The writer, after every insert
    Writer,
    /// A separate thread, and the writer when that falls behind
    Thread,
    /// Only inserts that find too many segments
    Inserts,
}

pub(crate) fn run(entries: u64, bound: MaxDistance, options: &Options) -> anyhow::Result<()> {
    let more = entries;
    let (all, queries) = crate::data(entries, more, bound);
    let (base, fresh) = all.split_at(entries as usize);
    let engine = SegmentEngine::Tables(options.tables);
    let live = LiveOptions::within(bound)
        .head(options.head)
        .growth(options.growth)
        .runs(options.runs)
        .scan_up_to(options.scan_up_to)
        .backlog(options.backlog)
        .engine(engine);
    let (built, segment) = timed(|| Segment::build(base.to_vec(), engine, bound));
    let segment = (segment?, Removed::none(base.len()));
    let index = LiveIndex::from_segments(live.clone(), [segment])?;
    let per_entry = index.memory_bytes() as f64 / entries as f64;
    println!(
        "{} entries in one segment, within {bound}, {per_entry:.1} bytes an entry, built in {:.1} s",
        grouped(entries as f64),
        built.as_secs_f64()
    );

    let least = Duration::from_secs_f64((options.seconds / 2.0).max(1.0));
    let (idle, expected) = rate(&index.snapshot(), &queries, bound, least)?;
    let load = under_load(&index, fresh, &queries, bound, expected, options)?;
    let segments = index.snapshot().segments().len();
    let present: Vec<Entry> = base.iter().chain(&load.inserted).copied().collect();
    let (unmerged, found) = rate(&index.snapshot(), &queries, bound, least)?;
    verify(&index, &present, &queries, bound, found)?;
    index.freeze()?;
    if let Some(task) = index.merge_of_all() {
        index.commit(task.run()?)?;
    }
    let (merged, found) = rate(&index.snapshot(), &queries, bound, least)?;
    verify(&index, &present, &queries, bound, found)?;

    let mut table = Table::new();
    table.set_header([
        "index",
        "entries",
        "segments",
        "queries/s",
        "queries/s of CPU",
        "CPU, against rest before",
        "against all merged",
    ]);
    let mut row = |what: &str, entries: usize, segments: String, rate: Rate| {
        table.add_row([
            what,
            &grouped(entries as f64),
            &segments,
            &grouped(rate.wall),
            &grouped(rate.cpu),
            &format!("{:.2}", rate.cpu / idle.cpu),
            &format!("{:.2}", rate.cpu / merged.cpu),
        ]);
    };
    row("at rest, before", base.len(), "1".into(), idle);
    let most = format!("{:.1} on average, {} at most", load.mean_segments, load.most_segments);
    row("while inserting", present.len(), most, load.rate);
    row("at rest, as it was left", present.len(), segments.to_string(), unmerged);
    row("at rest, all merged", present.len(), "1".into(), merged);
    println!("{table}");
    println!(
        "inserts during the search: {}/s, merging included, {} at a time",
        grouped(load.inserted.len() as f64 / load.seconds),
        options.insert_batch
    );
    println!("snapshots taken in at most {:.1} us", load.slowest_snapshot.as_secs_f64() * 1e6);
    alone(&live, base)
}

struct Load {
    rate: Rate,
    inserted: Vec<Entry>,
    seconds: f64,
    mean_segments: f64,
    most_segments: usize,
    slowest_snapshot: Duration,
}

fn under_load(
    index: &LiveIndex,
    fresh: &[Entry],
    queries: &[Fingerprint],
    bound: MaxDistance,
    at_least: usize,
    options: &Options,
) -> anyhow::Result<Load> {
    let queries: Vec<Query> = queries.iter().map(|&query| query.into()).collect();
    let searching = AtomicBool::new(true);
    let limit = Duration::from_secs_f64(options.seconds);
    std::thread::scope(|threads| {
        let writer = threads.spawn(|| -> anyhow::Result<(Vec<Entry>, f64)> {
            let (start, mut inserted) = (Instant::now(), Vec::<Entry>::new());
            let mut next = fresh.first().map_or(0, |entry| entry.id);
            // When the prepared fingerprints run out, they are repeated with new ids.
            'full_speed: loop {
                for batch in fresh.chunks(options.insert_batch) {
                    let batch: Vec<Entry> =
                        (next..).zip(batch).map(|(id, entry)| Entry { id, ..*entry }).collect();
                    next += batch.len() as u64;
                    index.insert_batch(&batch)?;
                    inserted.extend(batch);
                    while options.merging == Merging::Writer && index.merge_step()? {}
                    if !searching.load(Ordering::Relaxed) {
                        break 'full_speed;
                    }
                }
            }
            Ok((inserted, start.elapsed().as_secs_f64()))
        });
        if options.merging == Merging::Thread {
            threads.spawn(|| {
                while searching.load(Ordering::Relaxed) {
                    // A merge that fails here fails for the writer as well.
                    if !index.merge_step().unwrap_or(false) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            });
        }
        let (start, mut asked, mut snapshots) = (Stopwatch::start(), 0usize, 0usize);
        let (mut segments, mut most, mut slowest) = (0, 0, Duration::ZERO);
        while start.wall() < limit {
            let mut found = 0;
            for batch in queries.chunks(BATCH) {
                let (took, snapshot) = timed(|| index.snapshot());
                slowest = slowest.max(took);
                found += snapshot.find_all_batch(batch, bound)?.total();
                segments += snapshot.segments().len();
                most = most.max(snapshot.segments().len());
                snapshots += 1;
            }
            asked += queries.len();
            anyhow::ensure!(found >= at_least, "{found} matches, {at_least} were there before");
        }
        let rate = start.rate(asked);
        searching.store(false, Ordering::Relaxed);
        let (inserted, seconds) =
            writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
        Ok(Load {
            rate,
            inserted,
            seconds,
            mean_segments: segments as f64 / snapshots as f64,
            most_segments: most,
            slowest_snapshot: slowest,
        })
    })
}

/// Compares the results of the index with a scan.
fn verify(
    index: &LiveIndex,
    present: &[Entry],
    queries: &[Fingerprint],
    bound: MaxDistance,
    found: usize,
) -> anyhow::Result<()> {
    anyhow::ensure!(index.snapshot().len() == present.len());
    let scan = Scan::new(Collection::new(present.iter().copied())?);
    let asked: Vec<Query> = queries.iter().map(|&query| query.into()).collect();
    let expected = scan.find_all_batch(&asked, bound)?;
    anyhow::ensure!(expected.total() == found, "{found} matches, a scan has {}", expected.total());
    let ours = index.snapshot().find_all_batch(&asked, bound)?;
    anyhow::ensure!(expected == ours, "not the matches a scan has");
    Ok(())
}

/// Inserts, replacements and removals without searches.
fn alone(options: &LiveOptions, entries: &[Entry]) -> anyhow::Result<()> {
    let entries = &entries[..entries.len().min(1_000_000)];
    let count = entries.len() as f64;
    let mut table = Table::new();
    table.set_header(["alone, merging included", "changes/s"]);
    for batch in [1, 64, 4096] {
        let index = LiveIndex::new(options.clone())?;
        let (took, done) = timed(|| -> anyhow::Result<()> {
            for batch in entries.chunks(batch) {
                index.insert_batch(batch)?;
                while index.merge_step()? {}
            }
            Ok(())
        });
        done?;
        anyhow::ensure!(index.snapshot().len() == entries.len());
        table.add_row([format!("insert, {batch} at a time"), grouped(count / took.as_secs_f64())]);
        if batch == 64 {
            let replaced = &entries[..entries.len() / 4];
            let moved: Vec<Entry> = replaced
                .iter()
                .map(|e| Entry {
                    fingerprint: Fingerprint::from_bits(!e.fingerprint.to_bits()),
                    ..*e
                })
                .collect();
            let (took, done) = timed(|| -> anyhow::Result<()> {
                for batch in moved.chunks(batch) {
                    index.insert_batch(batch)?;
                    while index.merge_step()? {}
                }
                Ok(())
            });
            done?;
            let rate = moved.len() as f64 / took.as_secs_f64();
            table.add_row(["replace, 64 at a time".into(), grouped(rate)]);
            let ids: Vec<u64> = replaced.iter().map(|entry| entry.id).collect();
            let (took, removed) =
                timed(|| ids.chunks(64).map(|ids| index.remove_batch(ids)).sum::<usize>());
            anyhow::ensure!(removed == ids.len());
            let rate = ids.len() as f64 / took.as_secs_f64();
            table.add_row(["remove, 64 at a time, no merge".into(), grouped(rate)]);
        }
    }
    println!("{table}");
    Ok(())
}
