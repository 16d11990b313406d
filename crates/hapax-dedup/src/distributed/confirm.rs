//! Distributed step that confirms candidates.
//!
//! A *representative* row has `position`, `scope`, `fingerprint`, `sketch`, `keyed` and `own`: everything a
//! comparison needs, so names are not moved. `own` is null where the host has no frame. `keyed` is the short
//! sketch under the key of the job and a hash of the domain; null without a key. A candidate comes with both
//! its representatives.

use std::sync::Arc;

use arrow_array::{Array, BinaryArray, BooleanArray, Float32Array, RecordBatch};
use hapax::fingerprint::{Fingerprint, ShortSketch, short_sketch};
use hapax::group::scope::domain_of;
use hapax::similarity::Evidence;

use super::Steps;
use super::keys::sketch;
use super::rows::{Rows, batch, numbers};
use crate::error::Error;
use crate::options::Confirm;
use crate::pages::Pages;

const DOMAIN: usize = 8;

/// What confirming a match needs: the short keyed sketch and the domain's hash.
pub(super) struct Proof {
    short: ShortSketch,
    /// Hash of the domain; all zeros without one. Finding another domain with a given hash takes
    /// about 2^64 tries.
    domain: [u8; DOMAIN],
}

impl Proof {
    /// `None` if the page has no short sketch.
    pub(super) fn of(pages: &Pages, page: u32) -> Option<Self> {
        let mut domain = [0; DOMAIN];
        let name = domain_of(pages.url(page)).to_ascii_lowercase();
        if !name.is_empty() {
            domain.copy_from_slice(&blake3::hash(name.as_bytes()).as_bytes()[..DOMAIN]);
        }
        Some(Self { short: *pages.short(page)?, domain })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [&self.short.to_bytes()[..], &self.domain].concat()
    }

    fn read(rows: &Rows<'_>, column: &BinaryArray, row: usize) -> Result<Option<Self>, Error> {
        if column.is_null(row) {
            return Ok(None);
        }
        let parts = column.value(row).split_first_chunk::<{ short_sketch::BYTES }>();
        let parts = parts.and_then(|(short, domain)| Some((short, domain.try_into().ok()?)));
        let (short, domain) = parts.ok_or_else(|| rows.wrong("a keyed sketch has 40 bytes"))?;
        Ok(Some(Self { short: ShortSketch::from_bytes(short), domain }))
    }

    fn same_domain(&self, other: &Self) -> bool {
        self.domain == other.domain && self.domain != [0; DOMAIN]
    }
}

impl Steps {
    /// Confirms candidates `a`, `b` with `fingerprint_a`, `sketch_a`, `keyed_a`, `own_a` and the
    /// same of `b`. Returns the near ones with `distance`, `similarity` and `alike` (whether the
    /// pair is confirmed), and drops the others.
    pub fn confirm(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, "candidate");
        let (a, b) = (rows.numbers("a")?, rows.numbers("b")?);
        let bits = [rows.numbers("fingerprint_a")?, rows.numbers("fingerprint_b")?];
        let sketches = [rows.column("sketch_a")?, rows.column("sketch_b")?];
        let keyed = [rows.column("keyed_a")?, rows.column("keyed_b")?];
        let owns = [rows.column("own_a")?, rows.column("own_b")?];
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
            let differ = rows.own(Some(owns[0]), row)?.differs_from(&rows.own(Some(owns[1]), row)?);
            first.push(a[row]);
            second.push(b[row]);
            distances.push(i64::from(likeness.distance));
            similarities.push(likeness.similarity);
            alike.push(likeness.matches() && !differ && self.stands(&rows, keyed, row)?);
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

    /// As [`Confirm::stands`], for pages in rows.
    fn stands(&self, rows: &Rows<'_>, keyed: [&BinaryArray; 2], row: usize) -> Result<bool, Error> {
        if self.options.confirm == Confirm::No {
            return Ok(true);
        }
        let [one, other] = [Proof::read(rows, keyed[0], row)?, Proof::read(rows, keyed[1], row)?];
        let (one, other) = (one.as_ref(), other.as_ref());
        let short = [one, other].map(|it| it.map(|it| &it.short));
        let one_domain = || one.zip(other).is_some_and(|(one, other)| one.same_domain(other));
        Ok(self.options.policy.stands(short, one_domain))
    }
}
