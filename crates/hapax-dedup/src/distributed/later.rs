//! Distributed step that compares new representatives with stored ones.
//!
//! The new representatives are few and are broadcast to every task; each task streams its stored rows past them
//! ([`hapax::join::matching`]), so no stored row is moved or sorted again.

use arrow_array::RecordBatch;
use hapax::join::matching::{Batch, Wanted};
use hapax::join::{OneThread, PairOptions};

use super::Steps;
use super::rows::{Rows, batch, numbers};
use crate::against::Stored;
use crate::error::Error;

impl Steps {
    /// Candidate pairs of a stored and a new representative of one scope: `a`, `b` and `distance`,
    /// with `a < b`.
    ///
    /// # Errors
    ///
    /// The rows are not representatives, or the distance bound is too wide for a join.
    pub fn match_new(&self, rows: &RecordBatch, new: &RecordBatch) -> Result<RecordBatch, Error> {
        let (rows, new) = (Rows::of(rows, "representative"), Rows::of(new, "representative"));
        let (positions, scopes) = (rows.numbers("position")?, rows.numbers("scope")?);
        let fingerprints = rows.numbers("fingerprint")?;
        let mut stored: Vec<(u64, usize)> =
            (0..).zip(fingerprints).map(|(row, bits)| (bits.cast_unsigned(), row)).collect();
        stored.sort_unstable();
        let sorted: Vec<u64> = stored.iter().map(|it| it.0).collect();
        let (new_positions, new_scopes) = (new.numbers("position")?, new.numbers("scope")?);
        let queries: Vec<u64> =
            new.numbers("fingerprint")?.iter().map(|bits| bits.cast_unsigned()).collect();
        let [mut a, mut b, mut distances] = [const { Vec::new() }; 3];
        if !queries.is_empty() && !sorted.is_empty() {
            let options = PairOptions::within(self.options().policy.within)?;
            let batch = Batch::new(&queries, options, &OneThread)?;
            let twins = batch.twins().to_vec();
            batch.stream(Wanted::All, &mut Stored(Some(&sorted)), &OneThread, |hit| {
                let from = twins.partition_point(|twin| twin.a < hit.query);
                let others = twins[from..].iter().take_while(|twin| twin.a == hit.query);
                let first = hit.position as usize;
                for query in std::iter::once(hit.query).chain(others.map(|twin| twin.b)) {
                    let query = query as usize;
                    for &(_, row) in &stored[first..first + hit.copies as usize] {
                        if scopes[row] == new_scopes[query] {
                            let (one, other) = (positions[row], new_positions[query]);
                            a.push(one.min(other));
                            b.push(one.max(other));
                            distances.push(i64::from(hit.distance));
                        }
                    }
                }
                Ok(())
            })?;
        }
        let columns = vec![("a", numbers(a)), ("b", numbers(b)), ("distance", numbers(distances))];
        batch("candidate", columns)
    }
}
