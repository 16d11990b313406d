//! Distributed steps that collapse exact copies and dense clusters to representatives.
//!
//! [`Steps::copies`] needs all rows of one signature `bucket` in one batch; [`Steps::thin`] needs all
//! representatives of one `bucket` in one batch.
//!
//! | column | holds |
//! |---|---|
//! | `role` | 0 a representative, which goes to the next step; 1 an exact copy of `target`; 2 a member represented by `target`; 3 a representative of the same cluster as `target`; 9 work counters |
//! | `position` | of the document; for role 9 the number of sketches compared |
//! | `target` | as above; for role 9 the number of pages with the same fingerprint and different text |
//! | `distance`, `similarity` | of members |
//! | `scope`, `fingerprint`, `sketch`, `keyed`, `own` | of representatives that leave [`Steps::copies`]: everything a comparison needs |
//! | `named`, `page`, `own`, `bucket` | of representatives, in and out of [`Steps::thin`]: to choose the best, and the key to move rows by |

use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, Float32Builder, Int64Builder,
};
use arrow_array::{Array, BinaryArray, Float32Array, Int64Array, RecordBatch};
use hapax::fingerprint::Sketch;
use hapax::group::ScopeKey;

use super::confirm::Proof;
use super::keys::sketch;
use super::rows::{Loaded, Rows, batch, numbers};
use super::{Steps, mixed};
use crate::columns;
use crate::error::Error;
use crate::exact;
use crate::facts::FactTable;
use crate::frames::Own;
use crate::near::dense::{DENSE, MANY, PART_BITS, PASSES, part_bits, sketch_part, thin, twins};
use crate::near::{Collapsed, Matcher, Member};

const KIND: &str = "role";
const REPRESENTATIVE: i64 = 0;
const COPY: i64 = 1;
const MEMBER: i64 = 2;
const LINK: i64 = 3;
const EFFORT: i64 = 9;

columns! {
    struct Roles of Role {
        role: i64 => Int64Builder, append_value;
        position: i64 => Int64Builder, append_value;
        target: Option<i64> => Int64Builder, append_option;
        distance: Option<i64> => Int64Builder, append_option;
        similarity: Option<f32> => Float32Builder, append_option;
    }
}

// Columns of a representative that leaves `copies`.
columns! {
    struct Compared of Comparable {
        scope: Option<i64> => Int64Builder, append_option;
        fingerprint: Option<i64> => Int64Builder, append_option;
        sketch: Option<Vec<u8>> => BinaryBuilder, append_option;
        keyed: Option<Vec<u8>> => BinaryBuilder, append_option;
        own: Option<[u8; Own::BYTES]> => BinaryBuilder, append_option;
    }
}

// Columns of a representative between passes of `thin`.
columns! {
    struct Thinning of Thinned<'a> {
        named: Option<bool> => BooleanBuilder, append_option;
        page: Option<&'a [u8]> => BinaryBuilder, append_option;
        own: Option<[u8; Own::BYTES]> => BinaryBuilder, append_option;
        bucket: i64 => Int64Builder, append_value;
    }
}

impl Steps {
    /// Number of passes of [`thin`](Self::thin) after [`copies`](Self::copies).
    pub const PASSES: usize = PASSES;

    /// A scope with more representatives than this is wide: its buckets use more bits of the
    /// sketch.
    pub const MANY: usize = MANY;

    /// Bucket size from which on a bucket is a dense cluster.
    pub const DENSE: usize = DENSE;

    /// Collapses exact copies to the best page of each text, and pages with one fingerprint to
    /// representatives.
    ///
    /// # Errors
    ///
    /// The rows are not signatures with `position` and `named`, or a page occurs twice.
    pub fn copies(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, "signature");
        let loaded = rows.pages(|_| true)?;
        let pages = &loaded.pages;
        let table = FactTable::marked(pages, &self.options.keep, &loaded.named);
        let matcher = Matcher::new(pages, &self.options);
        let classes = exact::classes(pages, &table, |_| true);
        let mut roles = Roles::default();
        let key = |page: u32| (pages.scope(page), pages.content(page));
        for class in classes.copies.chunk_by(|&a, &b| key(a) == key(b)) {
            let Some(best) = table.best(class.iter().copied()) else { continue };
            for &page in class.iter().filter(|&&page| page != best) {
                let at = |page: u32| loaded.positions[page as usize];
                roles.row(COPY, at(page), Some(at(best)), Some((0, 1.0)));
            }
        }
        let mut collapsed = Collapsed::default();
        for scope in classes.representatives.chunk_by(|&a, &b| pages.scope(a) == pages.scope(b)) {
            let found = twins(scope, pages, &matcher, &table);
            collapsed.representatives.extend(found.representatives);
            collapsed.members.extend(found.members);
            collapsed.links.extend(found.links);
            collapsed.collisions += found.collisions;
        }
        roles.collapsed(&loaded, &collapsed);
        roles.effort(matcher.compared(), collapsed.collisions);
        let without = roles.rows();
        let mut compared = Compared::default();
        for _ in 0..without {
            compared.push(Comparable::default());
        }
        for &page in &collapsed.representatives {
            roles.row(REPRESENTATIVE, loaded.positions[page as usize], None, None);
            compared.push(Comparable {
                scope: Some(pages.scope(page).0.cast_signed()),
                fingerprint: Some(pages.fingerprint(page).to_bits().cast_signed()),
                sketch: Some(pages.sketch(page).to_bytes().to_vec()),
                keyed: Proof::of(pages, page).map(|it| it.to_bytes()),
                own: pages.own(page).map(|own| own.to_bytes()),
            });
        }
        let mut columns = roles.finish();
        columns.extend(compared.finish());
        batch(KIND, columns)
    }

    /// Number of sketch bits in a bucket key for a scope with this many representatives after
    /// [`copies`](Self::copies).
    pub fn part_bits(&self, representatives: usize) -> u32 {
        part_bits(representatives, self.options.many)
    }

    /// The buckets of all passes and their sizes, as `bucket` and `count`, for rows of
    /// representatives. Only members of a bucket with [`DENSE`](Self::DENSE) or more need
    /// [`thin`](Self::thin). `wide` lists scopes with many representatives.
    pub fn bucket_sizes(&self, rows: &RecordBatch, wide: &[Wide]) -> Result<RecordBatch, Error> {
        let keys = keys_of_representatives(&Rows::of(rows, "representative"), wide)?;
        let mut keys: Vec<i64> = keys.into_flattened();
        keys.sort_unstable();
        let (mut buckets, mut counts) = (Vec::new(), Vec::new());
        for same in keys.chunk_by(|a, b| a == b) {
            buckets.push(same[0]);
            counts.push(same.len() as i64);
        }
        batch("bucket_sizes", vec![("bucket", numbers(buckets)), ("count", numbers(counts))])
    }

    /// Representatives in one of the buckets `dense`, which is ascending: `position`, and `bucket`
    /// of the first pass.
    pub fn suspects(
        &self,
        rows: &RecordBatch,
        dense: &[i64],
        wide: &[Wide],
    ) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, "representative");
        let (mut positions, mut buckets) = (Vec::new(), Vec::new());
        for (keys, position) in
            keys_of_representatives(&rows, wide)?.iter().zip(rows.numbers("position")?)
        {
            if keys.iter().any(|key| dense.binary_search(key).is_ok()) {
                positions.push(*position);
                buckets.push(keys[0]);
            }
        }
        batch("suspect", vec![("position", numbers(positions)), ("bucket", numbers(buckets))])
    }

    /// Runs pass `number` (from 0): collapses dense clusters of representatives that share a part
    /// of the sketch.
    ///
    /// # Errors
    ///
    /// The rows are not roles, or a representative occurs twice.
    pub fn thin(
        &self,
        rows: &RecordBatch,
        number: usize,
        wide: &[Wide],
    ) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, KIND);
        let role = rows.numbers("role")?;
        let loaded = rows.pages(|row| role[row] == REPRESENTATIVE)?;
        let pages = &loaded.pages;
        let table = FactTable::marked(pages, &self.options.keep, &loaded.named);
        let matcher = Matcher::new(pages, &self.options);
        let mut order: Vec<u32> = (0..pages.len() as u32).collect();
        order.sort_by_key(|&page| pages.scope(page));
        let mut collapsed = Collapsed::default();
        for scope in order.chunk_by(|&a, &b| pages.scope(a) == pages.scope(b)) {
            let mut one = Collapsed { representatives: scope.to_vec(), ..Collapsed::default() };
            let bits = bits_in(pages.scope(scope[0]), wide);
            thin(&mut one, number, bits, pages, &matcher, &table);
            collapsed.representatives.extend(one.representatives);
            collapsed.members.extend(one.members);
            collapsed.links.extend(one.links);
        }
        let mut roles = Roles::default();
        roles.pass(&rows, role)?;
        roles.collapsed(&loaded, &collapsed);
        roles.effort(matcher.compared(), 0);
        let mut thinning = Thinning::default();
        for row in 0..roles.rows() {
            // Rows without pages go to any task.
            let bucket = mixed(&[row as u64]).cast_signed();
            thinning.push(Thinned { bucket, ..Thinned::default() });
        }
        let next = (number + 1).min(PASSES - 1);
        for &page in &collapsed.representatives {
            roles.row(REPRESENTATIVE, loaded.positions[page as usize], None, None);
            let own = pages.own_bucket(page, next);
            thinning.push(Thinned {
                named: Some(loaded.named[page as usize]),
                page: Some(loaded.bytes[page as usize]),
                own: pages.own(page).map(|own| own.to_bytes()),
                bucket: key_of(pages.scope(page), pages.sketch(page), own, next, wide),
            });
        }
        let mut columns = roles.finish();
        columns.extend(thinning.finish());
        batch(KIND, columns)
    }
}

/// A scope with many representatives, and the number of sketch bits in its bucket keys.
pub type Wide = (i64, u32);

fn bits_in(scope: ScopeKey, wide: &[Wide]) -> u32 {
    let found = wide.iter().find(|(wide, _)| wide.cast_unsigned() == scope.0);
    found.map_or(PART_BITS, |(_, bits)| *bits)
}

fn key_of(scope: ScopeKey, sketch: &Sketch, own: u64, number: usize, wide: &[Wide]) -> i64 {
    let part = sketch_part(sketch, number, bits_in(scope, wide)) | own << 32;
    mixed(&[scope.0, 3 + number as u64, part]).cast_signed()
}

/// The keys of every representative, one per pass.
fn keys_of_representatives(rows: &Rows<'_>, wide: &[Wide]) -> Result<Vec<[i64; PASSES]>, Error> {
    let scopes = rows.numbers("scope")?;
    let sketches: &BinaryArray = rows.column("sketch")?;
    let owns = rows.column("own")?;
    let keys = |(row, scope): (usize, &i64)| {
        let sketch = sketch(rows, sketches, row)?;
        let own = rows.own(Some(owns), row)?;
        let scope = ScopeKey(scope.cast_unsigned());
        Ok(std::array::from_fn(|pass| key_of(scope, &sketch, own.bucket(pass), pass, wide)))
    };
    scopes.iter().enumerate().map(keys).collect()
}

impl Roles {
    fn rows(&self) -> usize {
        self.role.len()
    }

    fn row(&mut self, role: i64, position: i64, target: Option<i64>, near: Option<(u8, f32)>) {
        let (distance, similarity) = near.map(|(bits, it)| (i64::from(bits), it)).unzip();
        self.push(Role { role, position, target, distance, similarity });
    }

    fn collapsed(&mut self, loaded: &Loaded<'_>, collapsed: &Collapsed) {
        let at = |page: u32| loaded.positions[page as usize];
        for &Member { page, representative, distance, similarity } in &collapsed.members {
            self.row(MEMBER, at(page), Some(at(representative)), Some((distance, similarity)));
        }
        for &(first, other) in &collapsed.links {
            self.row(LINK, at(other), Some(at(first)), None);
        }
    }

    fn effort(&mut self, compared: u64, collisions: u64) {
        self.row(EFFORT, compared as i64, Some(collisions as i64), None);
    }

    /// Copies rows that are not representatives unchanged.
    fn pass(&mut self, rows: &Rows<'_>, role: &[i64]) -> Result<(), Error> {
        let position = rows.numbers("position")?;
        let target: &Int64Array = rows.column("target")?;
        let distance: &Int64Array = rows.column("distance")?;
        let similarity: &Float32Array = rows.column("similarity")?;
        for row in (0..rows.len()).filter(|&row| role[row] != REPRESENTATIVE) {
            let target = target.is_valid(row).then(|| target.value(row));
            let near = distance.is_valid(row);
            let near = near.then(|| (distance.value(row) as u8, similarity.value(row)));
            self.row(role[row], position[row], target, near);
        }
        Ok(())
    }
}
