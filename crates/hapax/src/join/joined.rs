//! What a join of a set with itself found.
//!
//! Pairs of distinct fingerprints, each fingerprint status for all documents that have it
//! by the smallest of their ids, and the twins: the further ids of each. A page copied a
//! million times is a million twins, not half a million million pairs; as *edges*, each twin
//! hangs on its class's smallest id like a star.

use super::executor::Executor;
use super::record::{Id, Pair};

/// Pairs sorted by one thread at a time.
const TOGETHER: usize = 1 << 17;

/// The result of [`pairs`](super::pairs()).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined<I> {
    pairs: Vec<Pair<I>>,
    twins: Vec<Pair<I>>,
}

impl<I: Id> Joined<I> {
    /// Orders what the tasks found.
    pub(super) fn new(
        pairs: Vec<Vec<Pair<I>>>,
        twins: Vec<Vec<Pair<I>>>,
        executor: &dyn Executor,
    ) -> Self {
        Self { pairs: in_order(pairs, executor), twins: in_order(twins, executor) }
    }

    /// Pairs of documents with distinct fingerprints, each the smallest id of its fingerprint;
    /// ordered by smaller id, then larger.
    pub fn pairs(&self) -> &[Pair<I>] {
        &self.pairs
    }

    /// For each document that shares its fingerprint with one of a smaller id: the smallest such
    /// id and its own, ordered. The distance is 0.
    pub fn twins(&self) -> &[Pair<I>] {
        &self.twins
    }

    /// The classes of documents with the same fingerprint, two at least: the smallest id, and
    /// the twins of the class.
    pub fn classes(&self) -> impl Iterator<Item = (I, &[Pair<I>])> {
        self.twins.chunk_by(|one, other| one.a == other.a).map(|class| (class[0].a, class))
    }

    /// Pairs and twins together in one order: enough to connect all that belongs together.
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

/// Everything in one sorted list: each list is dealt out to pieces by the smaller id, then every piece is put together
/// and sorted.
fn in_order<I: Id>(lists: Vec<Vec<Pair<I>>>, executor: &dyn Executor) -> Vec<Pair<I>> {
    let total: usize = lists.iter().map(Vec::len).sum();
    let largest = lists.iter().flatten().map(|pair| pair.a.widen()).max().unwrap_or(0);
    let id_bits = u64::BITS - largest.leading_zeros();
    let bits = (total / TOGETHER).max(1).next_power_of_two().ilog2().min(10).min(id_bits);
    let piece_of = |pair: &Pair<I>| (pair.a.widen() >> (id_bits - bits)) as usize;
    let nothing = Pair { a: I::default(), b: I::default(), distance: 0 };
    // Of each list its pairs by piece, and where every piece ends.
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
