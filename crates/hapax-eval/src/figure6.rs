//! Sood's Figure 6 on any corpus: what does a distance say about the cosine of two texts?
//!
//! For a sample of documents all pairs are taken: bits between the fingerprints, and the cosine of the
//! vectors of feature counts. A pair with a cosine of at least [`ALIKE`] is a duplicate. By distance: how
//! alike pairs are on average, and the precision and recall of "within so many bits".
//!
//! Source: Sood 2011, VII.B and Figure 6.

use hapax::fingerprint::{FeatureReader, Fingerprint, Fingerprinter};
use hapax::page::Hints;
use hapax_corpus::{Kind, Source};
use serde::Serialize;

use crate::error::Error;

/// The cosine from which a pair is a duplicate.
pub const ALIKE: f64 = 0.9;

/// Pairs that are so many bits apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    pub distance: u32,
    /// Pairs at this distance.
    pub pairs: u64,
    /// Their mean cosine.
    pub mean_cosine: f64,
    /// Of pairs within this distance, those that are duplicates.
    pub precision: f64,
    /// Of duplicates, those within this distance.
    pub recall: f64,
}

/// The figure as a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    /// Documents in the sample.
    pub documents: u64,
    /// Duplicates among their pairs.
    pub duplicates: u64,
    /// By distance, from 0; without distances that no pair has.
    pub rows: Vec<Row>,
}

struct Vector {
    fingerprint: Fingerprint,
    counts: Vec<(u64, f64)>,
    length: f64,
}

/// Measures about `sample` of `documents` documents, taken evenly.
///
/// # Errors
///
/// The documents cannot be read.
pub fn figure(
    inputs: &[String],
    read: &hapax_corpus::ReadOptions,
    by: &Fingerprinter,
    documents: u64,
    sample: u64,
) -> Result<Figure, Error> {
    let step = documents.div_ceil(sample.max(1)).max(1);
    let mut by = by.clone();
    let Ok(mut reader) = FeatureReader::new(by.recipe().clone()) else {
        // A fingerprinter's recipe is valid.
        return Ok(Figure::default());
    };
    let mut vectors = Vec::new();
    let source = Source::open(inputs, read.clone())?;
    let mut number = 0;
    for mut batch in source.batches() {
        for document in batch.documents() {
            let document = document?;
            number += 1;
            if (number - 1) % step != 0 {
                continue;
            }
            let stated = match document.body.kind {
                Kind::Html => "text/html; charset=utf-8",
                Kind::Text => "text/plain; charset=utf-8",
                Kind::Other => continue,
            };
            let stated = document.content_type.as_deref().unwrap_or(stated);
            let hints = Hints { content_type: Some(stated), url: None };
            let bytes = document.body.content.as_bytes();
            let Ok(signature) = by.page(bytes, &hints) else { continue };
            let Some(mark) = signature.mark.filter(|_| !signature.too_short) else { continue };
            let Ok(features) = reader.page(bytes, &hints) else { continue };
            vectors.push(Vector::of(mark.fingerprint, features));
        }
    }
    Ok(tabulate(&vectors))
}

impl Vector {
    fn of(fingerprint: Fingerprint, features: &mut [u64]) -> Self {
        features.sort_unstable();
        let counts: Vec<(u64, f64)> =
            features.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64)).collect();
        let length = counts.iter().map(|(_, count)| count * count).sum::<f64>().sqrt();
        Self { fingerprint, counts, length }
    }

    fn cosine(&self, other: &Self) -> f64 {
        let (mut i, mut j, mut product) = (0, 0, 0.0);
        while let (Some(a), Some(b)) = (self.counts.get(i), other.counts.get(j)) {
            if a.0 == b.0 {
                product += a.1 * b.1;
            }
            i += usize::from(a.0 <= b.0);
            j += usize::from(b.0 <= a.0);
        }
        product / (self.length * other.length)
    }
}

fn tabulate(vectors: &[Vector]) -> Figure {
    let mut pairs = [0u64; 65];
    let mut alike = [0u64; 65];
    let mut cosines = [0.0; 65];
    for (i, a) in vectors.iter().enumerate() {
        for b in &vectors[i + 1..] {
            let (distance, cosine) = (a.fingerprint.distance(b.fingerprint) as usize, a.cosine(b));
            pairs[distance] += 1;
            alike[distance] += u64::from(cosine >= ALIKE);
            cosines[distance] += cosine;
        }
    }
    let duplicates: u64 = alike.iter().sum();
    let (mut within, mut found) = (0, 0);
    let mut rows = Vec::new();
    for distance in 0..65 {
        within += pairs[distance];
        found += alike[distance];
        if pairs[distance] > 0 {
            rows.push(Row {
                distance: distance as u32,
                pairs: pairs[distance],
                mean_cosine: cosines[distance] / pairs[distance] as f64,
                precision: found as f64 / within as f64,
                recall: if duplicates == 0 { 1.0 } else { found as f64 / duplicates as f64 },
            });
        }
    }
    Figure { documents: vectors.len() as u64, duplicates, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_and_recall_are_of_all_pairs_within_a_distance() {
        let vector = |bits: u64, features: &[u64]| {
            Vector::of(Fingerprint::from_bits(bits), &mut features.to_vec())
        };
        let vectors = [vector(0, &[1, 2, 3]), vector(1, &[3, 2, 1]), vector(7, &[8, 9])];
        let figure = tabulate(&vectors);
        assert_eq!((figure.documents, figure.duplicates), (3, 1));
        let rows: Vec<_> =
            figure.rows.iter().map(|it| (it.distance, it.pairs, it.precision, it.recall)).collect();
        assert_eq!(rows, [(1, 1, 1.0, 1.0), (2, 1, 0.5, 1.0), (3, 1, 1.0 / 3.0, 1.0)]);
        assert!((figure.rows[0].mean_cosine - 1.0).abs() < 1e-12);
    }
}
