//! Distributed detection of saturation: the caller merges the samples and adds up the counts.
//!
//! ```text
//!   representatives of each batch --sample--> sample of the merged samples --count in each batch--> sums --see--> verdict
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{BooleanArray, Int64Array, RecordBatch};
use hapax::fingerprint::MaxDistance;
use hapax::join::OneThread;

use super::Steps;
use super::rows::{Rows, batch, numbers};
use crate::error::Error;
use crate::near::saturation::{self, Narrow, Proposal};

const KIND: &str = "representative";

/// For each sampled fingerprint: how many fingerprints lie at each distance, summed over all
/// batches.
pub type SaturationCounts = Vec<Vec<u64>>;

/// What the counts say about one scope.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// Fingerprints propose candidates.
    Clear,
    /// Sketches propose candidates and find a pair at the minimum similarity with this probability.
    Bands(f64),
    /// Representatives close to one of these fingerprints are compared within fewer bits.
    Narrow(u32, Vec<i64>),
}

impl Steps {
    /// A scope with fewer representatives is never saturated.
    pub const FEW: usize = saturation::FEW;

    /// Samples each scope: `scope` and `fingerprint`. Sampling the merged samples of all batches
    /// samples the whole set.
    pub fn saturation_sample(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let by_scope = by_scope(&Rows::of(rows, KIND))?;
        let (mut scopes, mut sample) = (Vec::new(), Vec::new());
        for (scope, fingerprints) in by_scope {
            let chosen = saturation::sample(&fingerprints);
            scopes.extend(std::iter::repeat_n(scope, chosen.len()));
            sample.extend(chosen.into_iter().map(u64::cast_signed));
        }
        batch("sample", vec![("scope", numbers(scopes)), ("fingerprint", numbers(sample))])
    }

    /// Counts fingerprints near each sampled one of their scope: `scope`, `query` (number in the
    /// sample), `distance` and `count`. Zero counts are left out.
    ///
    /// # Errors
    ///
    /// The rows are not representatives or not a sample.
    pub fn saturation_count(
        &self,
        rows: &RecordBatch,
        sample: &RecordBatch,
    ) -> Result<RecordBatch, Error> {
        let representatives = by_scope(&Rows::of(rows, KIND))?;
        let sample = by_scope(&Rows::of(sample, "sample"))?;
        let [mut scopes, mut queries, mut distances, mut counts] = [const { Vec::new() }; 4];
        for (scope, sample) in sample {
            let Some(fingerprints) = representatives.get(&scope) else { continue };
            let found =
                saturation::count(&sample, fingerprints, self.options.policy.within, &OneThread);
            for (query, by_distance) in (0..).zip(found) {
                for (distance, count) in (0..).zip(by_distance).filter(|it| it.1 > 0) {
                    scopes.push(scope);
                    queries.push(query);
                    distances.push(distance);
                    counts.push(count as i64);
                }
            }
        }
        batch(
            "count",
            vec![
                ("scope", numbers(scopes)),
                ("query", numbers(queries)),
                ("distance", numbers(distances)),
                ("count", numbers(counts)),
            ],
        )
    }

    /// Decides how candidates of one scope are proposed, from its sample, the summed counts and its
    /// number of pages.
    pub fn see(&self, sample: &[i64], counts: &SaturationCounts, representatives: usize) -> Seen {
        let sample: Vec<u64> = sample.iter().map(|it| it.cast_unsigned()).collect();
        let policy = &self.options.policy;
        let least = policy.min_similarity.jaccard();
        match saturation::predict(&sample, counts, representatives, policy.within, least) {
            Proposal::Fingerprints => Seen::Clear,
            Proposal::Sketches(chance) => Seen::Bands(chance),
            Proposal::Narrow(Narrow { within, dense }) => {
                Seen::Narrow(within.bits(), dense.into_iter().map(u64::cast_signed).collect())
            }
        }
    }

    /// `position` of every row, and `saturated`: whether it is close to one of the fingerprints
    /// `dense`.
    pub fn saturated(&self, rows: &RecordBatch, dense: &[i64]) -> Result<RecordBatch, Error> {
        let given = Rows::of(rows, KIND);
        let fingerprints: &[i64] = given.numbers("fingerprint")?;
        let fingerprints: Vec<u64> = fingerprints.iter().map(|it| it.cast_unsigned()).collect();
        let dense: Vec<u64> = dense.iter().map(|it| it.cast_unsigned()).collect();
        let saturated =
            saturation::around(&dense, &fingerprints, self.options.policy.within, &OneThread);
        let position = given.column::<Int64Array>("position")?;
        batch(
            KIND,
            vec![
                ("position", Arc::new(position.clone())),
                ("saturated", Arc::new(BooleanArray::from(saturated))),
            ],
        )
    }

    /// The bound of the job, or the narrower one in `bits`.
    pub(super) fn within(&self, bits: Option<u32>) -> Result<MaxDistance, Error> {
        let Some(bits) = bits else { return Ok(self.options.policy.within) };
        let narrow = u8::try_from(bits).ok().and_then(MaxDistance::new);
        narrow.ok_or_else(|| Error::Rows { rows: KIND, what: format!("{bits} bits are too many") })
    }
}

fn by_scope(rows: &Rows<'_>) -> Result<BTreeMap<i64, Vec<u64>>, Error> {
    let (scopes, fingerprints) = (rows.numbers("scope")?, rows.numbers("fingerprint")?);
    let mut all: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
    for (scope, fingerprint) in scopes.iter().zip(fingerprints) {
        all.entry(*scope).or_default().push(fingerprint.cast_unsigned());
    }
    // Sampling and counting depend on the order, so sort.
    Ok(all)
}
