//! Learns a model of flips from the actual queries and file.
//!
//! Searches some of the queries exactly in the first chunks, until there are enough pairs. So the model fits these
//! documents.

use std::cell::RefCell;

use hapax::fingerprint::MaxDistance;
use hapax::index::Recall;
use hapax::join::{Batch, Chunks, Executor, JoinError, PairOptions, Wanted};

use super::weak::{Load, SamplePair, WeakModel, WeakOrder};

/// Number of sampled queries.
const SAMPLE: usize = 1 << 16;

/// Stops reading chunks after this many pairs.
const ENOUGH: usize = 8000;

/// Learns which flips to try for these queries. `None` if there are too few pairs, or if weak bits
/// alone do not reach the recall; then an exact search is better.
///
/// # Errors
///
/// Those of [`Batch::new`] and [`Batch::stream`].
pub(crate) fn learn(
    queries: &[u64],
    orders: &[WeakOrder],
    bound: MaxDistance,
    recall: Recall,
    load: Load,
    chunks: &mut impl Chunks,
    executor: &dyn Executor,
) -> Result<Option<WeakModel>, JoinError> {
    let every = queries.len().div_ceil(SAMPLE).max(1);
    let rows: Vec<usize> = (0..queries.len().min(orders.len())).step_by(every).collect();
    let sample: Vec<u64> = rows.iter().map(|&row| queries[row]).collect();
    let batch = Batch::new(&sample, PairOptions::within(bound)?, executor)?;
    let seen = RefCell::new(Seen::default());
    let mut source = Sampling { chunks, seen: &seen };
    let mut pairs = Vec::new();
    batch.stream(Wanted::All, &mut source, executor, |hit| {
        let mut seen = seen.borrow_mut();
        let row = rows[hit.query as usize];
        let flips = seen.chunk[(hit.position - seen.base) as usize] ^ queries[row];
        if flips != 0 {
            seen.pairs += 1;
            pairs.push(SamplePair { order: orders[row], flips });
        }
        Ok(())
    })?;
    Ok(WeakModel::learn(&pairs, bound, recall, load))
}

/// The chunk of the hits.
#[derive(Default)]
struct Seen {
    chunk: Vec<u64>,
    base: u64,
    pairs: usize,
}

/// Returns chunks until there are enough pairs.
struct Sampling<'a, C> {
    chunks: &'a mut C,
    seen: &'a RefCell<Seen>,
}

impl<C: Chunks> Chunks for Sampling<'_, C> {
    fn next_chunk(&mut self, fingerprints: &mut Vec<u64>) -> Result<bool, JoinError> {
        let mut seen = self.seen.borrow_mut();
        if seen.pairs >= ENOUGH || !self.chunks.next_chunk(fingerprints)? {
            return Ok(false);
        }
        seen.base += seen.chunk.len() as u64;
        seen.chunk.clone_from(fingerprints);
        Ok(true)
    }
}
