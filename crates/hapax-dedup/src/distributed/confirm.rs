//! Candidates that are confirmed or not.
//!
//! Rows of *representatives* are `position`, `scope`, `fingerprint`, `sketch`: all that comparing needs, so
//! that names do not travel. A candidate comes with both of its representatives.

use std::sync::Arc;

use arrow_array::{BooleanArray, Float32Array, RecordBatch};
use hapax::fingerprint::Fingerprint;
use hapax::similarity::Evidence;

use super::Steps;
use super::keys::sketch;
use super::rows::{Rows, batch, numbers};
use crate::error::Error;

impl Steps {
    /// Judges candidates: `a`, `b`, and of each `fingerprint_a`, `sketch_a` and so on. What is near comes back
    /// with `distance`, `similarity` and whether it is `alike`; what is not does not.
    ///
    /// # Errors
    ///
    /// These are no rows of candidates with both representatives.
    pub fn confirm(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, "candidate");
        let (a, b) = (rows.numbers("a")?, rows.numbers("b")?);
        let bits = [rows.numbers("fingerprint_a")?, rows.numbers("fingerprint_b")?];
        let sketches = [rows.column("sketch_a")?, rows.column("sketch_b")?];
        let [mut first, mut second, mut distances] = [const { Vec::new() }; 3];
        let (mut similarities, mut alike) = (Vec::new(), Vec::new());
        for row in 0..rows.len() {
            let [one, other] = bits.map(|it| Fingerprint::from_bits(it[row].cast_unsigned()));
            let [left, right] =
                [sketch(&rows, sketches[0], row)?, sketch(&rows, sketches[1], row)?];
            let compared = self.options.policy.compare_candidate(
                &Evidence::differing(one, &left),
                &Evidence::differing(other, &right),
            );
            let Some(likeness) = compared else { continue };
            first.push(a[row]);
            second.push(b[row]);
            distances.push(i64::from(likeness.distance));
            similarities.push(likeness.similarity);
            alike.push(likeness.matches());
        }
        batch(
            "pair",
            vec![
                ("a", numbers(first)),
                ("b", numbers(second)),
                ("distance", numbers(distances)),
                ("similarity", Arc::new(Float32Array::from(similarities))),
                ("alike", Arc::new(BooleanArray::from(alike))),
            ],
        )
    }
}
