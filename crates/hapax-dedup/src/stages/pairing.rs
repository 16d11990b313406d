//! All near pairs among fingerprints.
//!
//! Documents that share a fingerprint are paired with each other while they are few; of more than
//! [`FEW`] each is paired with the first, so that a page copied a million times is a million pairs and
//! not half a million million. The same goes for documents near them.

use hapax::fingerprint::MaxDistance;
use hapax::join::{Executor, PairOptions, Record, pairs};

use super::fingerprints::Fingerprints;
use crate::error::Error;
use crate::options::MinSimilarity;

/// So many documents of one fingerprint are paired with each other.
pub const FEW: usize = 32;

/// Two documents, by their places in the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The earlier one.
    pub a: u32,
    /// The later one.
    pub b: u32,
    /// Bits between them.
    pub distance: u8,
    /// Estimated similarity, where there are sketches.
    pub similarity: Option<f32>,
}

/// Finds pairs within the bound; where there are sketches they must confirm them. In order.
///
/// # Errors
///
/// The bound is wider than a join can do.
pub fn find(
    list: &Fingerprints,
    within: MaxDistance,
    least: MinSimilarity,
    executor: &impl Executor,
) -> Result<Vec<Pair>, Error> {
    let options = PairOptions::within(within)?;
    let record = |(id, fingerprint): (u32, &hapax::fingerprint::Fingerprint)| Record {
        fingerprint: fingerprint.to_bits(),
        id,
    };
    let joined = pairs((0..).zip(&list.fingerprints).map(record).collect(), &options, executor);
    let judge = |a: u32, b: u32, distance: u8| {
        let (a, b) = (a.min(b), a.max(b));
        let Some(sketch) = list.sketches.get(a as usize) else {
            return Some(Pair { a, b, distance, similarity: None });
        };
        let estimate = sketch.estimate(list.sketches.get(b as usize)?);
        let similarity = Some(estimate.jaccard as f32);
        least.admits(&estimate).then_some(Pair { a, b, distance, similarity })
    };
    let twins = joined.twins();
    let class = |first: u32| {
        let from = twins.partition_point(|twin| twin.a < first);
        let same = twins[from..].iter().take_while(move |twin| twin.a == first);
        std::iter::once(first).chain(same.map(|twin| twin.b).take(FEW - 1))
    };
    let mut found = Vec::new();
    for (first, same) in joined.classes() {
        if same.len() < FEW {
            let members: Vec<u32> = class(first).collect();
            for (i, &a) in members.iter().enumerate() {
                found.extend(members[i + 1..].iter().filter_map(|&b| judge(a, b, 0)));
            }
        } else {
            found.extend(same.iter().filter_map(|twin| judge(first, twin.b, 0)));
        }
    }
    for pair in joined.pairs() {
        for a in class(pair.a) {
            found.extend(class(pair.b).filter_map(|b| judge(a, b, pair.distance)));
        }
    }
    found.sort_unstable_by_key(|pair| (pair.a, pair.b));
    Ok(found)
}
