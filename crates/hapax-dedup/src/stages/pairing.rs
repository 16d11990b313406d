//! Finds all near pairs among fingerprints.
//!
//! Pairs exact copies, where contents are known, with the first of them, which represents all. Pairs [`FEW`] or
//! more other documents of one fingerprint with the first only, so a page copied a million times gives a
//! million pairs. Does not handle dense clusters: thousands of distinct fingerprints close to each other give
//! quadratic pairs; `hapax dedup` avoids that.

use hapax::fingerprint::ContentHash;
use hapax::join::{Executor, PairOptions, Record, pairs};
use hapax::similarity::Policy;

use super::fingerprints::Fingerprints;
use crate::error::Error;
use crate::near::dense::TWINS;

/// Fewer documents of one fingerprint are all paired with each other, as in the whole job.
pub const FEW: usize = TWINS;

/// Two documents, by their places in the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The earlier one.
    pub a: u32,
    pub b: u32,
    pub distance: u8,
    /// Estimated similarity; `None` without sketches.
    pub similarity: Option<f32>,
    /// Whether both have the same text.
    pub exact: bool,
}

/// Finds all pairs within the bound, confirmed by sketches if there are any, in order.
///
/// # Errors
///
/// The bound is too wide for a join.
pub fn find(
    list: &Fingerprints,
    policy: Policy,
    executor: &dyn Executor,
) -> Result<Vec<Pair>, Error> {
    let options = PairOptions::within(policy.within)?;
    let (mut found, copies) = exact(list);
    let records = (0..).zip(&list.fingerprints).filter_map(|(id, fingerprint)| {
        let fingerprint = fingerprint.filter(|_| copies.binary_search(&id).is_err())?;
        Some(Record { fingerprint: fingerprint.to_bits(), id })
    });
    let joined = pairs(records.collect(), &options, executor);
    let confirm = |a: u32, b: u32| {
        let (a, b) = (a.min(b), a.max(b));
        let likeness = policy.compare(&list.evidence(a)?, &list.evidence(b)?);
        let similarity = (!list.sketches.is_empty()).then_some(likeness.similarity);
        let distance = likeness.distance;
        likeness.matches().then_some(Pair { a, b, distance, similarity, exact: false })
    };
    let twins = joined.twins();
    let class = |first: u32| {
        let from = twins.partition_point(|twin| twin.a < first);
        let same = twins[from..].iter().take_while(move |twin| twin.a == first);
        std::iter::once(first).chain(same.map(|twin| twin.b).take(FEW - 1))
    };
    for (first, same) in joined.classes() {
        if same.len() + 1 < FEW {
            let members: Vec<u32> = class(first).collect();
            for (i, &a) in members.iter().enumerate() {
                found.extend(members[i + 1..].iter().filter_map(|&b| confirm(a, b)));
            }
        } else {
            found.extend(same.iter().filter_map(|twin| confirm(first, twin.b)));
        }
    }
    for pair in joined.pairs() {
        for a in class(pair.a) {
            found.extend(class(pair.b).filter_map(|b| confirm(a, b)));
        }
    }
    found.sort_unstable_by_key(|pair| (pair.a, pair.b));
    Ok(found)
}

/// Pairs of exact copies with the first of each text, and the positions of all other copies, in
/// order.
fn exact(list: &Fingerprints) -> (Vec<Pair>, Vec<u32>) {
    let mut order: Vec<(ContentHash, u32)> =
        list.contents.iter().zip(0..).filter_map(|(content, id)| Some(((*content)?, id))).collect();
    order.sort_unstable();
    let (mut found, mut copies) = (Vec::new(), Vec::new());
    for class in order.chunk_by(|one, other| one.0 == other.0) {
        let a = class[0].1;
        for &(_, b) in &class[1..] {
            found.push(Pair { a, b, distance: 0, similarity: Some(1.0), exact: true });
            copies.push(b);
        }
    }
    copies.sort_unstable();
    (found, copies)
}
