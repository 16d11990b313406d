//! Measures the speed of recording pages, and their size on disk.
//!
//! `observe_many` of ready fingerprints, a third of them near copies of others; the same bytes written by the raw
//! store, row by row, in as many commits; threads that observe page by page, with their commits and syncs; opening;
//! bytes per page. Rates depend on the machine; ratios count.

use crate::pages::{page, settings};
use anyhow::ensure;
use hapax_store::{Observation, Repository};
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use std::path::Path;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Pages
    #[arg(long, default_value_t = 200_000)]
    pages: u64,
    /// Pages per commit
    #[arg(long, default_value_t = 10_000)]
    batch: u64,
}

type Row = (Vec<u8>, Vec<u8>);
type Rows = Vec<(&'static str, Vec<Row>)>;

/// Every row of a repository's file as bytes, by table.
fn rows(folder: &Path) -> Rows {
    let db = Database::open(folder.join("pages.redb")).unwrap();
    let reading = db.begin_read().unwrap();
    macro_rules! table {
        ($name:literal, $key:ty, $value:ty, $k:expr, $v:expr) => {{
            let table = TableDefinition::<$key, $value>::new($name);
            let table = reading.open_table(table).unwrap();
            let row =
                |row: Result<(redb::AccessGuard<'_, $key>, redb::AccessGuard<'_, $value>), _>| {
                    let (key, value) = row.unwrap();
                    ($k(key.value()), $v(value.value()))
                };
            ($name, table.iter().unwrap().map(row).collect())
        }};
    }
    let of_u32 = |n: u32| n.to_be_bytes().to_vec();
    let of_u64 = |n: u64| n.to_be_bytes().to_vec();
    let of_str = |s: &str| s.as_bytes().to_vec();
    vec![
        table!("pages", u32, &[u8], of_u32, |v: &[u8]| v.to_vec()),
        table!("names", u32, &str, of_u32, of_str),
        table!("urls", &str, u32, of_str, of_u32),
        table!("places", u32, &[u8; 11], of_u32, |v: &[u8; 11]| v.to_vec()),
        table!("groups", u32, &[u8; 19], of_u32, |v: &[u8; 19]| v.to_vec()),
        table!("members", u64, (), of_u64, |()| Vec::new()),
        table!("timed events", u64, &[u8; 21], of_u64, |v: &[u8; 21]| v.to_vec()),
    ]
}

/// Writes all rows in as many commits as the repository made. Addresses are in the order of pages,
/// everything else in key order.
fn raw(folder: &Path, rows: &Rows, commits: usize) -> f64 {
    let mut ordered: Vec<(&str, Vec<&Row>)> =
        rows.iter().map(|(name, rows)| (*name, rows.iter().collect())).collect();
    for (name, rows) in &mut ordered {
        if *name == "urls" {
            rows.sort_by(|a, b| a.1.cmp(&b.1));
        }
    }
    let db = Database::create(folder.join("raw.redb")).unwrap();
    let start = Instant::now();
    for commit in 0..commits {
        let writing = db.begin_write().unwrap();
        for (name, rows) in &ordered {
            let (from, to) = (rows.len() * commit / commits, rows.len() * (commit + 1) / commits);
            let mut batch = rows[from..to].to_vec();
            batch.sort();
            let table = TableDefinition::<&[u8], &[u8]>::new(name);
            let mut table = writing.open_table(table).unwrap();
            for (key, value) in batch {
                table.insert(key.as_slice(), value.as_slice()).unwrap();
            }
        }
        writing.commit().unwrap();
    }
    let seconds = start.elapsed().as_secs_f64();
    let names = db.begin_read().unwrap();
    let names = names.open_table(TableDefinition::<&[u8], &[u8]>::new("names")).unwrap();
    assert_eq!(names.len().unwrap(), ordered[1].1.len() as u64);
    seconds
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let Options { pages, batch } = *options;
    let folder = tempfile::tempdir().unwrap();

    let store = Repository::create(&folder.path().join("many"), settings()?)?;
    let (mut winners, mut busy) = (0, 0.0);
    for from in (0..pages).step_by(batch as usize) {
        let batch: Vec<Observation> = (from..pages.min(from + batch)).map(page).collect();
        let start = Instant::now();
        let decided = store.observe_many(batch).unwrap();
        busy += start.elapsed().as_secs_f64();
        winners += decided.iter().filter(|decision| decision.verdict.is_winner).count();
    }
    let stats = store.stats().unwrap();
    let per_page = |bytes: u64| bytes as f64 / pages as f64;
    println!("pages {pages}, batches of {batch}, {winners} kept when seen");
    println!("observe_many   {:>9.0} pages/s  ({} syncs)", pages as f64 / busy, stats.syncs);
    let commits = stats.commits as usize;
    drop(store);
    let rows = rows(&folder.path().join("many"));
    let bytes: usize = rows.iter().flat_map(|(_, rows)| rows).map(|(k, v)| k.len() + v.len()).sum();
    let seconds = raw(folder.path(), &rows, commits);
    println!("raw batch-put  {:>9.0} pages/s", pages as f64 / seconds);
    println!("ratio          {:>9.2}", seconds / busy);
    println!("rows           {:>9.0} bytes/page", per_page(bytes as u64));
    println!("file           {:>9.0} bytes/page", per_page(stats.file_bytes));
    println!("index, memory  {:>9.1} bytes/page", per_page(stats.index_bytes));

    let start = Instant::now();
    let store = Repository::open(&folder.path().join("many"), None).unwrap();
    println!("open           {:>9.3} s, {:?}", start.elapsed().as_secs_f64(), store.index_origin());
    drop(store);
    std::fs::remove_file(folder.path().join("many/index.segment")).unwrap();
    let start = Instant::now();
    let store = Repository::open(&folder.path().join("many"), None).unwrap();
    println!("open, rebuilt  {:>9.3} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let found = store.verify().unwrap();
    ensure!(found.is_clean(), "{found:?}");
    println!("verify         {:>9.3} s, clean", start.elapsed().as_secs_f64());

    let single = Repository::create(&folder.path().join("single"), settings()?)?;
    let each = 500;
    for threads in [1, 8] {
        let before = single.stats().unwrap();
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let single = &single;
                scope.spawn(move || {
                    for n in 0..each {
                        single.observe(page((threads * 16 + thread) * each + n)).unwrap();
                    }
                });
            }
        });
        let seconds = start.elapsed().as_secs_f64();
        let after = single.stats().unwrap();
        println!(
            "single, {threads} threads {:>7.0} pages/s, {} pages in {} commits, {} syncs",
            (threads * each) as f64 / seconds,
            threads * each,
            after.commits - before.commits,
            after.syncs - before.syncs,
        );
    }
    Ok(())
}
