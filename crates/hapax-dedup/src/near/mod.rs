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
//! compared with the leader only, and are no longer proposed to anyone. *Haze* is the same with texts
//! that are not alike: there fewer bits may differ.
//!
//! # What it promises
//!
//! Every pair it reports is within the bound and confirmed. Of pages that are in no crowd and no haze
//! it reports every such pair. The result depends on the set of pages, not on threads.
//! [`Judge::compared`] says how many sketches were compared.
//!
//! # What it does not know
//!
//! Which copy stays; members whose leader does not stay are looked at again by
//! [`decide`](mod@crate::decide).

mod crowd;
mod haze;
mod judge;

use hapax::fingerprint::MaxDistance;
use hapax::group::NearPair;
use hapax::join::{Executor, Joined, PairOptions, Record, pairs};

pub(crate) use crowd::{Led, Member, lead};
pub(crate) use judge::{Judge, Opinion};

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
    /// The most similar of the proposed pairs that were not confirmed, most similar first.
    pub(crate) refused: Vec<NearPair>,
    /// Pairs that the fingerprints proposed.
    pub(crate) candidates: u64,
    /// Pages that share a fingerprint with many others and a text with none: they are compared with
    /// few of those and nobody else.
    pub(crate) strangers: u64,
    /// Pages that were compared within fewer bits than asked for.
    pub(crate) hazy: u64,
    /// Within how many, at least.
    pub(crate) seen_within: Option<MaxDistance>,
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
    let mut near = Near::default();
    for scope in representatives.chunk_by(|&a, &b| pages.scope(a) == pages.scope(b)) {
        let Led { leaders, members, strangers } = crowd::thin_out(scope, pages, judge, table);
        near.members.extend(members);
        near.strangers += strangers;
        let joined = propose(&leaders, pages, within, executor, &mut near)?;
        for joined in &joined {
            near.candidates += joined.pairs().len() as u64;
            for (confirmed, refused) in confirm(joined, judge, executor) {
                near.pairs.extend(confirmed);
                near.refused.extend(refused);
            }
        }
        if joined.len() > 1 {
            near.pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
            near.pairs.dedup_by_key(|pair| (pair.a, pair.b));
        }
        keep_most_similar(&mut near.refused);
    }
    Ok(near)
}

/// Pairs of leaders whose fingerprints are near: all of them, or where there is
/// [`haze`](mod@haze) all that one can see.
fn propose(
    leaders: &[u32],
    pages: &Pages,
    within: MaxDistance,
    executor: &impl Executor,
    near: &mut Near,
) -> Result<Vec<Joined<u32>>, Error> {
    let fingerprints: Vec<u64> =
        leaders.iter().map(|&page| pages.fingerprint(page).to_bits()).collect();
    let records = |wanted: &dyn Fn(usize) -> bool| -> Vec<Record<u32>> {
        let all = fingerprints.iter().zip(leaders).enumerate();
        all.filter(|(at, _)| wanted(*at))
            .map(|(_, (&fingerprint, &id))| Record { fingerprint, id })
            .collect()
    };
    let wide = PairOptions::within(within)?;
    let Some(found) = haze::haze(&fingerprints, within, executor) else {
        return Ok(vec![pairs(records(&|_| true), &wide, executor)]);
    };
    near.hazy += found.hazy.iter().filter(|hazy| **hazy).count() as u64;
    near.seen_within = Some(near.seen_within.map_or(found.narrow, |it| it.min(found.narrow)));
    let clear = pairs(records(&|at| !found.hazy[at]), &wide, executor);
    let narrow = PairOptions::within(found.narrow)?;
    Ok(vec![clear, pairs(records(&|_| true), &narrow, executor)])
}

/// How many refused pairs are remembered.
const REFUSED: usize = 64;

fn keep_most_similar(pairs: &mut Vec<NearPair>) {
    pairs.sort_unstable_by(|one, other| {
        let by_similarity = other.similarity.total_cmp(&one.similarity);
        by_similarity.then((one.a, one.b).cmp(&(other.a, other.b)))
    });
    pairs.truncate(REFUSED);
}

/// Asks the judge about every candidate, and about those that share a candidate's fingerprint.
fn confirm(
    joined: &Joined<u32>,
    judge: &Judge<'_>,
    executor: &impl Executor,
) -> Vec<(Vec<NearPair>, Vec<NearPair>)> {
    let twins = joined.twins();
    let class = |first: u32| {
        let from = twins.partition_point(|twin| twin.a < first);
        let others = twins[from..].iter().take_while(move |twin| twin.a == first);
        std::iter::once(first).chain(others.map(|twin| twin.b))
    };
    let tasks = joined.pairs().chunks(TOGETHER).collect();
    executor.map(tasks, |candidates: &[_]| {
        let (mut confirmed, mut refused) = (Vec::new(), Vec::new());
        for pair in candidates {
            for (a, b) in class(pair.a).flat_map(|a| class(pair.b).map(move |b| (a, b))) {
                match judge.opinion(a, b) {
                    Opinion::Alike(pair) => confirmed.push(pair),
                    Opinion::NotAlike(pair) => refused.push(pair),
                    Opinion::Far => {}
                }
            }
            if refused.len() > 2 * REFUSED {
                keep_most_similar(&mut refused);
            }
        }
        (confirmed, refused)
    })
}
