//! The result of a join of a set with itself.
//!
//! Pairs of distinct fingerprints, each represented by the smallest of its ids, and the twins: the other ids of
//! each fingerprint. A page copied a million times is a million twins, not half a million million pairs; as
//! *edges*, the twins of a class form a star around its smallest id.

use super::executor::Executor;
use super::record::{Id, Pair};

/// Minimum number of pairs sorted per thread.
const BATCH_SIZE: usize = 1 << 17;

/// The result of [`pairs`](super::pairs()).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined<I> {
    pairs: Vec<Pair<I>>,
    twins: Vec<Pair<I>>,
}

impl<I: Id> Joined<I> {
    /// Sorts the results of the tasks.
    pub(super) fn new(
        pairs: Vec<Vec<Pair<I>>>,
        twins: Vec<Vec<Pair<I>>>,
        executor: &dyn Executor,
    ) -> Self {
        Self { pairs: in_order(pairs, executor), twins: in_order(twins, executor) }
    }

    /// Pairs of documents with distinct fingerprints, each the smallest id of its fingerprint,
    /// ordered by smaller id, then larger.
    pub fn pairs(&self) -> &[Pair<I>] {
        &self.pairs
    }

    /// For each document that shares its fingerprint with a smaller id: the smallest such id and
    /// its own, ordered. The distance is 0.
    pub fn twins(&self) -> &[Pair<I>] {
        &self.twins
    }

    /// The classes of two or more documents with the same fingerprint: the smallest id, and the
    /// twins of the class.
    pub fn classes(&self) -> impl Iterator<Item = (I, &[Pair<I>])> {
        self.twins.chunk_by(|one, other| one.a == other.a).map(|class| (class[0].a, class))
    }

    /// Pairs and twins merged in order; together they connect every class.
    pub fn edges(&self) -> impl Iterator<Item = Pair<I>> {
        let (mut pairs, mut twins) = (self.pairs.iter().peekable(), self.twins.iter().peekable());
        std::iter::from_fn(move || {
            let twin_first = match (pairs.peek(), twins.peek()) {
                (Some(pair), Some(twin)) => twin < pair,
                (None, _) => true,
                (_, None) => false,
            };
            if twin_first { twins.next().copied() } else { pairs.next().copied() }
        })
    }
}

/// Merges lists into one sorted list: splits each list into pieces by the smaller id, then merges
/// and sorts each piece.
fn in_order<I: Id>(lists: Vec<Vec<Pair<I>>>, executor: &dyn Executor) -> Vec<Pair<I>> {
    let total: usize = lists.iter().map(Vec::len).sum();
    let largest = lists.iter().flatten().map(|pair| pair.a.widen()).max().unwrap_or(0);
    let id_bits = u64::BITS - largest.leading_zeros();
    let bits = (total / BATCH_SIZE).max(1).next_power_of_two().ilog2().min(10).min(id_bits);
    let piece_of = |pair: &Pair<I>| (pair.a.widen() >> (id_bits - bits)) as usize;
    let nothing = Pair { a: I::default(), b: I::default(), distance: 0 };
    // For each list its pairs by piece, and the end of every piece.
    let dealt = executor.map(lists, |list| {
        let mut ends = vec![0usize; (1 << bits) + 1];
        for pair in &list {
            ends[piece_of(pair) + 1] += 1;
        }
        for piece in 1..ends.len() {
            ends[piece] += ends[piece - 1];
        }
        let mut places = ends.clone();
        let mut pairs = vec![nothing; list.len()];
        for pair in list {
            let place = &mut places[piece_of(&pair)];
            pairs[*place] = pair;
            *place += 1;
        }
        (pairs, ends)
    });
    let of_piece =
        |piece: usize| dealt.iter().map(move |(pairs, ends)| &pairs[ends[piece]..ends[piece + 1]]);
    let length = |piece| of_piece(piece).map(<[_]>::len).sum();
    let mut all = vec![nothing; total];
    let targets = super::parts::split_by(&mut all, (0..1 << bits).map(length));
    executor.map(targets.into_iter().enumerate().collect(), |(piece, target): (_, &mut [_])| {
        let mut rest = &mut target[..];
        for some in of_piece(piece) {
            let (into, after) = rest.split_at_mut(some.len());
            into.copy_from_slice(some);
            rest = after;
        }
        target.sort_unstable_by_key(|pair| I::both(pair.a, pair.b));
    });
    all
}
