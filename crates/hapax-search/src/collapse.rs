//! Collapses near-duplicates in the results of one query, at query time.
//!
//! Decides like [`job`](crate::job), without changing the index: results that the policy would remove are shown
//! under their winner, at the place of the first of them. Guarantees that every examined result is shown
//! exactly once, as a hit or as a copy under one.
//!
//! Source: Pi et al. 2009, II.C, applied at query time instead of beforehand.

use std::collections::BTreeMap;

use hapax::group::BatchError;

use crate::engine::{DocumentFacts, DocumentId, Excerpt, Showing};
use crate::fold::{Folded, fold, propose};
use crate::policy::Policy;
use crate::query::ParsedQuery;
use crate::rank::scores::Scores;
use crate::snippet::Snippet;
use crate::words::Words;

/// Bytes of text per document in a listing.
pub const START: usize = 300;
/// Number of texts in memory at a time.
const BATCH_SIZE: usize = 64;

#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The query, as typed by users.
    pub query: &'a str,
    /// Number of hits to skip.
    pub offset: usize,
    pub limit: usize,
    /// How copies are collapsed; `None` shows every result separately.
    pub policy: Option<&'a Policy>,
    /// The query's rank in the search log, from 1; `None` if it is not in the log, which counts as
    /// rarest.
    pub rank: Option<u64>,
    /// Leaves out documents marked as duplicates.
    pub hide_marked: bool,
    /// Authority of pages, instead of that in the index.
    pub scores: Option<&'a Scores>,
}

/// A part of the results of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    pub results: u64,
    /// Number of results that were examined for copies.
    pub examined: u64,
    /// Number of those that are shown under another.
    pub folded: u64,
    /// The requested hits, best first.
    pub hits: Vec<Hit>,
}

/// A result with its copies.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub document: Shown,
    /// The copies shown under it, in the order of the results.
    pub copies: Vec<FoldedCopy>,
}

/// A document as shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Its rank among all results, from 1.
    pub rank: u64,
    /// The engine's score for this query.
    pub relevance: f32,
    /// The facts that choose between copies.
    pub facts: DocumentFacts,
    /// Title, language, and at most [`START`] bytes of text.
    pub excerpt: Excerpt,
    /// The passage with words of the query.
    pub snippet: Snippet,
    /// Whether it is marked as a duplicate.
    pub marked: bool,
}

/// A result that is shown under another.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldedCopy {
    pub document: Shown,
    pub distance: u8,
    pub similarity: f32,
    /// Why the other one is shown.
    pub reason: String,
}

/// Collapsing failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollapseError<E: std::error::Error> {
    #[error("the search engine failed")]
    Engine(#[source] E),
    /// Grouping the results failed.
    #[error("the results cannot be grouped")]
    Group(#[source] BatchError),
}

/// Queries an engine, and collapses near-duplicates.
pub fn collapse<E: Showing>(
    engine: &E,
    request: &Request<'_>,
) -> Result<Listing, CollapseError<E::Error>> {
    let failed = CollapseError::Engine;
    let wanted = request.offset.saturating_add(request.limit);
    let rank = request.rank.unwrap_or(u64::MAX);
    let hidden = |id: DocumentId| request.hide_marked && engine.is_marked(id);
    let examined = request.policy.map_or(0, |policy| policy.most_results(rank) as usize);
    let (mut found, results) =
        engine.scored(request.query, wanted.max(examined), &hidden).map_err(failed)?;
    let mut under: BTreeMap<usize, Vec<(usize, Folded)>> = BTreeMap::new();
    let mut examined = 0;
    if let Some(policy) = request.policy {
        let limits = policy.for_query(rank, results);
        let most = limits.results as usize;
        if found.len() < most && (found.len() as u64) < results {
            found = engine.scored(request.query, wanted.max(most), &hidden).map_err(failed)?.0;
        }
        examined = found.len().min(most);
        if limits.remove {
            let ids: Vec<DocumentId> = found[..examined].iter().map(|result| result.id).collect();
            for (place, winner, one) in copies(engine, &ids, limits.within, policy, request.scores)?
            {
                under.entry(winner).or_default().push((place, one));
            }
        }
    }
    let listing = Listing {
        results,
        examined: examined as u64,
        folded: under.values().map(|copies| copies.len() as u64).sum(),
        hits: Vec::new(),
    };
    // A hit is at the place of the first of it and its copies.
    let is_copy: Vec<usize> = under
        .values()
        .flatten()
        .map(|&(place, _)| place)
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    let mut order: Vec<(usize, usize)> = (0..found.len())
        .filter(|place| is_copy.binary_search(place).is_err())
        .map(|place| {
            let first = under.get(&place).and_then(|copies| copies.iter().map(|it| it.0).min());
            (first.map_or(place, |first| first.min(place)), place)
        })
        .collect();
    order.sort_unstable();
    let shown: Vec<usize> =
        order.iter().skip(request.offset).take(request.limit).map(|&(_, place)| place).collect();

    let places: Vec<usize> = shown
        .iter()
        .flat_map(|place| {
            let copies = under.get(place).into_iter().flatten().map(|&(copy, _)| copy);
            std::iter::once(*place).chain(copies)
        })
        .collect();
    let ids: Vec<DocumentId> = places.iter().map(|&place| found[place].id).collect();
    let mut facts = engine.facts(&ids).map_err(failed)?;
    Scores::replace(request.scores, &mut facts);
    let excerpts = excerpts(engine, request.query, &ids)?;
    let mut documents = places.iter().zip(facts).zip(excerpts).map(|((&place, facts), shown)| {
        let (result, (excerpt, snippet)) = (found[place], shown);
        let marked = engine.is_marked(result.id);
        let (rank, relevance) = (place as u64 + 1, result.relevance);
        Shown { rank, relevance, facts, excerpt, snippet, marked }
    });
    let mut hits = Vec::with_capacity(shown.len());
    for place in shown {
        let Some(document) = documents.next() else { break };
        let copies = under.remove(&place).unwrap_or_default();
        let copies = copies.into_iter().zip(documents.by_ref()).map(|((_, one), document)| {
            let Folded { distance, similarity, reason, .. } = one;
            FoldedCopy { document, distance, similarity, reason: reason.to_string() }
        });
        hits.push(Hit { document, copies: copies.collect() });
    }
    Ok(Listing { hits, ..listing })
}

/// The excerpts of documents. Holds few of their texts at a time.
fn excerpts<E: Showing>(
    engine: &E,
    query: &str,
    ids: &[DocumentId],
) -> Result<Vec<(Excerpt, Snippet)>, CollapseError<E::Error>> {
    let mut words = Words::default();
    let query = ParsedQuery::parse(query, &mut words);
    let mut shown = Vec::with_capacity(ids.len());
    for some in ids.chunks(BATCH_SIZE) {
        for mut excerpt in engine.excerpts(some).map_err(CollapseError::Engine)? {
            let snippet = Snippet::of(&excerpt.start, &query, &mut words);
            excerpt.start.truncate(excerpt.start.floor_char_boundary(START));
            excerpt.start.shrink_to_fit();
            shown.push((excerpt, snippet));
        }
    }
    Ok(shown)
}

type Copies = Vec<(usize, usize, Folded)>;

/// Which results are copies of which, by index, in order.
fn copies<E: Showing>(
    engine: &E,
    ids: &[DocumentId],
    within: hapax::fingerprint::MaxDistance,
    policy: &Policy,
    scores: Option<&Scores>,
) -> Result<Copies, CollapseError<E::Error>> {
    let fingerprints = engine.fingerprints(ids).map_err(CollapseError::Engine)?;
    let pairs = propose(&fingerprints, within);
    let mut places: Vec<u32> = pairs.iter().flat_map(|&(a, b, _)| [a, b]).collect();
    places.sort_unstable();
    places.dedup();
    let linked: Vec<DocumentId> = places.iter().map(|&place| ids[place as usize]).collect();
    let mut facts = engine.facts(&linked).map_err(CollapseError::Engine)?;
    Scores::replace(scores, &mut facts);
    let at = |place: u32| places.partition_point(|&other| other < place) as u32;
    let pairs: Vec<_> = pairs.iter().map(|&(a, b, bits)| (at(a), at(b), bits)).collect();
    let alone = ids.len() - places.len();
    let folded = fold(&linked, &facts, &pairs, alone, policy).map_err(CollapseError::Group)?;
    let place = |at: u32| places[at as usize] as usize;
    Ok(folded.into_iter().map(|one| (place(one.place), place(one.winner), one)).collect())
}
