//! Near-duplicates: proposed by fingerprints, confirmed by sketches.
//!
//! ```text
//!   representatives --thin out crowds--> leaders --join within k--> candidates --confirm--> pairs
//!                            |
//!                            +--> members: each confirmed with its leader
//! ```
//!
//! A *crowd* is a large number of pages that are nearly one: a template with another number in each.
//! All their pairs would be quadratic. The best page of a crowd leads it, the others are
//! compared with the leader only, and are no longer proposed to anyone.
//!
//! # What it promises
//!
//! Every pair it reports is within the bound and confirmed. Of pages that are in no crowd it
//! reports every such pair. The result depends on the set of pages, not on threads.
//! [`Judge::compared`] says how many sketches were compared.
//!
//! # What it does not know
//!
//! Which copy stays; members whose leader does not stay are looked at again by
//! [`decide`](mod@crate::decide).

mod crowd;
mod judge;

use hapax::fingerprint::MaxDistance;
use hapax::group::NearPair;
use hapax::join::{Executor, Joined, PairOptions, Record, pairs};

pub(crate) use crowd::{Led, Member, lead};
pub(crate) use judge::Judge;

use crate::error::Error;
use crate::facts::FactTable;
use crate::pages::Pages;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Near {
    /// Confirmed pairs of leaders.
    pub(crate) pairs: Vec<NearPair>,
    /// Pages that only their leader was asked about.
    pub(crate) members: Vec<Member>,
    /// Pairs that the fingerprints proposed.
    pub(crate) candidates: u64,
    /// Pages that share a fingerprint with many others and a text with none: they are left alone.
    pub(crate) strangers: u64,
}

/// Candidates that a thread confirms at a time.
const TOGETHER: usize = 1 << 14;

/// Finds what is near among representatives, scope by scope.
pub(crate) fn find(
    representatives: &[u32],
    pages: &Pages,
    judge: &Judge<'_>,
    table: &FactTable<'_>,
    within: MaxDistance,
    executor: &impl Executor,
) -> Result<Near, Error> {
    let options = PairOptions::within(within)?;
    let mut near = Near::default();
    for scope in representatives.chunk_by(|&a, &b| pages.scope(a) == pages.scope(b)) {
        let Led { leaders, members, strangers } = crowd::thin_out(scope, pages, judge, table);
        near.members.extend(members);
        near.strangers += strangers;
        let record =
            |&page: &u32| Record { fingerprint: pages.fingerprint(page).to_bits(), id: page };
        let joined = pairs(leaders.iter().map(record).collect(), &options, executor);
        near.candidates += joined.pairs().len() as u64;
        near.pairs.extend(confirm(&joined, judge, executor));
    }
    Ok(near)
}

/// Asks the judge about every candidate, and about those that share a candidate's fingerprint.
fn confirm(joined: &Joined<u32>, judge: &Judge<'_>, executor: &impl Executor) -> Vec<NearPair> {
    let twins = joined.twins();
    let class = |first: u32| {
        let from = twins.partition_point(|twin| twin.a < first);
        let others = twins[from..].iter().take_while(move |twin| twin.a == first);
        std::iter::once(first).chain(others.map(|twin| twin.b))
    };
    let tasks = joined.pairs().chunks(TOGETHER).collect();
    let confirmed = executor.map(tasks, |candidates: &[_]| {
        let mut confirmed = Vec::new();
        for pair in candidates {
            for a in class(pair.a) {
                confirmed.extend(class(pair.b).filter_map(|b| judge.confirm(a, b)));
            }
        }
        confirmed
    });
    confirmed.into_iter().flatten().collect()
}
