//! Rivals written in Rust, one thread, one query at a time as their interfaces have it.

use anyhow::anyhow;
use gaoya::simhash::SimHashIndex;
use hapax::fingerprint::Fingerprint;

use crate::measure::{Row, cpu};

/// Runs mih-rs, and gaoya up to `gaoya_most` pages. `counts[q]` is how many matches query `q`
/// has.
pub(crate) fn run(
    stored: &[Fingerprint],
    queries: &[Fingerprint],
    counts: &[usize],
    within: u32,
    gaoya_most: usize,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![mih(stored, queries, counts, within)?];
    if stored.len() <= gaoya_most {
        rows.push(gaoya(stored, queries, counts, within));
    } else {
        eprintln!("gaoya: not run above {gaoya_most} pages, its maps would not fit in memory");
    }
    Ok(rows)
}

fn mih(
    stored: &[Fingerprint],
    queries: &[Fingerprint],
    counts: &[usize],
    within: u32,
) -> anyhow::Result<Row> {
    let codes: Vec<u64> = stored.iter().map(|f| f.to_bits()).collect();
    let (index, build) = cpu(|| mih_rs::Index::new(codes).map_err(|e| anyhow!("mih-rs: {e}")));
    let index = index?;
    let mut searcher = index.range_searcher();
    let (found, took) = cpu(|| {
        let of = |q: &Fingerprint| searcher.run(q.to_bits(), within as usize).len();
        queries.iter().map(of).collect::<Vec<_>>()
    });
    assert_eq!(found, counts, "mih-rs and the scan disagree");
    Ok(Row {
        engine: format!("mih-rs 0.3.1, {} blocks", index.num_blocks()),
        pages: stored.len(),
        within,
        recall: 1.0,
        bytes: None,
        build: Some(build),
        queries_per_second: queries.len() as f64 / took.as_secs_f64(),
    })
}

/// gaoya reports distances below its bound, so it is given one more; with one block more than
/// the least possible its keys have two blocks.
fn gaoya(stored: &[Fingerprint], queries: &[Fingerprint], counts: &[usize], within: u32) -> Row {
    let below = within as usize + 1;
    let (index, build) = cpu(|| {
        let mut index: SimHashIndex<u64, u32> = SimHashIndex::new(below + 2, below);
        for (fingerprint, id) in stored.iter().zip(0..) {
            index.insert(id, fingerprint.to_bits());
        }
        index
    });
    let (found, took) =
        cpu(|| queries.iter().map(|q| index.query(&q.to_bits()).len()).collect::<Vec<_>>());
    assert_eq!(found, counts, "gaoya and the scan disagree");
    Row {
        engine: format!("gaoya 0.2.2, {} blocks", below + 2),
        pages: stored.len(),
        within,
        recall: 1.0,
        bytes: None,
        build: Some(build),
        queries_per_second: queries.len() as f64 / took.as_secs_f64(),
    }
}
