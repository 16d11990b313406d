//! Collapses dense clusters, sets of many nearly equal pages, to their best pages.
//!
//! Pages are bucketed by a key: first the fingerprint, where [`TWINS`] or more share it; then, in buckets of 64
//! or more, 16 bits of the sketch, [`PASSES`] times with other bits (one more bit per doubling beyond a million
//! pages). Pages of similarity J share such a key with probability ((1 + J) / 2)^16: 0.19 at 0.8, 0.85 at 0.98.
//! The best page of a bucket becomes the representative, pages that match it become members; the rest repeats
//! this. Guarantees that every member matches its representative, which wins over it, in linear work.
//! *Collisions*, pages of one fingerprint that match no representative, are compared only where parts of their
//! sketches agree.

use hapax::fingerprint::Sketch;
use hapax::group::NearPair;
use rayon::prelude::*;

use super::same;
use crate::facts::FactTable;
use crate::near::Matcher;
use crate::pages::Pages;

/// Bucket size from which on a bucket is a dense cluster.
pub(crate) const DENSE: usize = 64;
/// Number of parts of the sketch that serve as keys.
pub(crate) const PASSES: usize = 8;
/// Representatives chosen per bucket of a sketch part.
const ROUNDS: usize = 4;
/// Number of pages with one fingerprint from which on they are a dense cluster. Fewer are all
/// compared.
pub(crate) const TWINS: usize = 64;
/// Representatives chosen per bucket of a fingerprint.
const TWIN_ROUNDS: usize = 4;
/// Up to this many unmatched pages of one fingerprint keep choosing representatives until none is
/// left.
pub(crate) const FEW_COLLISIONS: usize = 64;
/// Number of sketch parts tried on pages of one fingerprint that match no representative.
pub(crate) const TWIN_PASSES: usize = 16;

/// Sketch bits in a bucket key, for up to [`MANY`] pages.
pub(crate) const PART_BITS: u32 = 16;
/// With this many pages, 16 share a 16-bit key by chance; 64 make a dense cluster.
pub(crate) const MANY: usize = 1 << 20;

/// Minimum number of comparisons per thread.
const BATCH_SIZE: usize = 1 << 10;

/// A page of a dense cluster and its representative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) page: u32,
    /// The page it was confirmed with, which may itself be a member of a later representative.
    pub(crate) representative: u32,
    pub(crate) distance: u8,
    pub(crate) similarity: f32,
}

impl Member {
    pub(crate) const fn pair(&self) -> NearPair {
        let Self { page, representative, distance, similarity } = *self;
        NearPair { a: representative, b: page, distance, similarity }
    }
}

/// Pages split into representatives and members.
#[derive(Debug, Default)]
pub(crate) struct Collapsed {
    pub(crate) representatives: Vec<u32>,
    pub(crate) members: Vec<Member>,
    /// Pairs of representatives from one cluster, each with the first of it: their members may
    /// match each other.
    pub(crate) links: Vec<(u32, u32)>,
    /// Pages that share a fingerprint with representatives but match none of them.
    pub(crate) collisions: u64,
}

/// Collapses the dense clusters among pages of one scope.
pub(super) fn thin_out(
    set: &[u32],
    pages: &Pages,
    matcher: &Matcher<'_>,
    table: &FactTable<'_>,
    many: usize,
) -> Collapsed {
    let mut collapsed = twins(set, pages, matcher, table);
    let bits = part_bits(collapsed.representatives.len(), many);
    for number in 0..PASSES {
        thin(&mut collapsed, number, bits, pages, matcher, table);
    }
    collapsed
}

/// The first step: collapses pages that share a fingerprint. Each fingerprint is independent of the
/// others.
pub(crate) fn twins(
    set: &[u32],
    pages: &Pages,
    matcher: &Matcher<'_>,
    table: &FactTable<'_>,
) -> Collapsed {
    let mut collapsed = Collapsed::default();
    // Products of a shop may share a fingerprint because of its frame; different own texts keep
    // them apart.
    let key = |page| {
        let own = pages.own_bucket(page, 0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        pages.fingerprint(page).to_bits() ^ own
    };
    let twins = buckets(set, key, TWINS);
    collapsed.representatives = twins.others;
    for cluster in twins.clusters {
        let mut found = choose_representatives(cluster, 2, TWIN_ROUNDS, matcher, table);
        let few = found.rest.len() <= FEW_COLLISIONS;
        if few {
            let last = choose_representatives(
                std::mem::take(&mut found.rest),
                2,
                FEW_COLLISIONS,
                matcher,
                table,
            );
            found.representatives.extend(last.representatives);
            found.members.extend(last.members);
        }
        collapsed.add(found.representatives, found.members);
        if few {
            continue;
        }
        let (left, members) = pair_up(found.rest, pages, matcher, table);
        collapsed.members.extend(members);
        collapsed.collisions += left.len() as u64;
    }
    collapsed
}

/// Number of sketch bits in a bucket key for this many pages of one scope; grows beyond `many`
/// pages, which is [`MANY`] except in tests.
pub(crate) fn part_bits(pages: usize, many: usize) -> u32 {
    let doublings = pages.div_ceil(many).max(1).next_power_of_two().ilog2();
    PART_BITS + doublings.min(16)
}

/// One of the [`PASSES`] after [`twins`]: collapses pages that share a part of the sketch. Each
/// bucket is independent of the others.
pub(crate) fn thin(
    collapsed: &mut Collapsed,
    number: usize,
    bits: u32,
    pages: &Pages,
    matcher: &Matcher<'_>,
    table: &FactTable<'_>,
) {
    if collapsed.representatives.len() < DENSE {
        return;
    }
    let set = std::mem::take(&mut collapsed.representatives);
    let key =
        |page| sketch_part(pages.sketch(page), number, bits) | pages.own_bucket(page, number) << 32;
    let buckets = buckets(&set, key, DENSE);
    collapsed.representatives = buckets.others;
    let choose = |cluster| choose_representatives(cluster, DENSE, ROUNDS, matcher, table);
    let chosen: Vec<Chosen> = buckets.clusters.into_par_iter().map(choose).collect();
    for mut found in chosen {
        if found.members.is_empty() {
            collapsed.representatives.append(&mut found.representatives);
            collapsed.representatives.extend(found.rest);
            continue;
        }
        found.representatives.extend(found.rest);
        collapsed.add(found.representatives, found.members);
    }
}

impl Collapsed {
    /// Adds the representatives and members of one cluster.
    fn add(&mut self, representatives: Vec<u32>, members: Vec<Member>) {
        if let [first, others @ ..] = &representatives[..] {
            self.links.extend(others.iter().map(|&other| (*first, other)));
        }
        self.representatives.extend(representatives);
        self.members.extend(members);
    }
}

/// Finds similar pages among those of one fingerprint with many texts. Two pages of similarity 0.8
/// share a sketch part in one of the passes with probability 0.96.
fn pair_up(
    mut set: Vec<u32>,
    pages: &Pages,
    matcher: &Matcher<'_>,
    table: &FactTable<'_>,
) -> (Vec<u32>, Vec<Member>) {
    let mut members = Vec::new();
    for pass in 0..TWIN_PASSES {
        if set.len() < 2 {
            break;
        }
        let key = |page| {
            sketch_part(pages.sketch(page), pass, PART_BITS) | pages.own_bucket(page, pass) << 32
        };
        let buckets = buckets(&set, key, 2);
        set = buckets.others;
        for cluster in buckets.clusters {
            let found = choose_representatives(cluster, 2, 2, matcher, table);
            set.extend(found.representatives);
            set.extend(found.rest);
            members.extend(found.members);
        }
    }
    (set, members)
}

/// The lowest `bits` (at most 32) of four bytes of the sketch; the bytes of different passes are
/// far apart.
pub(crate) fn sketch_part(sketch: &Sketch, pass: usize, bits: u32) -> u64 {
    let bytes = sketch.to_bytes();
    let at = pass * bytes.len() / TWIN_PASSES;
    let four = bytes[at..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
    u64::from(four) & ((1 << bits) - 1)
}

struct Buckets {
    clusters: Vec<Vec<u32>>,
    others: Vec<u32>,
}

/// Groups pages by key; buckets with fewer than `least` pages go to `others`.
fn buckets(set: &[u32], key: impl Fn(u32) -> u64 + Sync, least: usize) -> Buckets {
    let pieces = same::pieces(set.len(), |at| (key(set[at]), set[at]), |keyed| keyed.0);
    let split = |piece: Vec<(u64, u32)>| {
        let mut buckets = Buckets { clusters: Vec::new(), others: Vec::new() };
        for same in piece.chunk_by(|a, b| a.0 == b.0) {
            let pages = same.iter().map(|&(_, page)| page);
            if same.len() < least {
                buckets.others.extend(pages);
            } else {
                buckets.clusters.push(pages.collect());
            }
        }
        buckets
    };
    let split: Vec<Buckets> = pieces.into_par_iter().map(split).collect();
    let mut all = Buckets { clusters: Vec::new(), others: Vec::with_capacity(set.len()) };
    for Buckets { clusters, others } in split {
        all.clusters.extend(clusters);
        all.others.extend(others);
    }
    all
}

/// Representatives chosen from one bucket, and their members.
pub(crate) struct Chosen {
    pub(crate) representatives: Vec<u32>,
    pub(crate) members: Vec<Member>,
    /// Pages that match no representative when the rounds are over or fewer than `least` are left.
    pub(crate) rest: Vec<u32>,
}

/// Up to `rounds` times: makes the best page a representative and takes out the pages that match
/// it. A single remaining page becomes a representative.
pub(crate) fn choose_representatives(
    cluster: Vec<u32>,
    least: usize,
    rounds: usize,
    matcher: &Matcher<'_>,
    table: &FactTable<'_>,
) -> Chosen {
    let mut chosen = Chosen { representatives: Vec::new(), members: Vec::new(), rest: cluster };
    for _ in 0..rounds {
        if chosen.rest.len() < least {
            break;
        }
        let Some(representative) = table.best(chosen.rest.iter().copied()) else { break };
        chosen.representatives.push(representative);
        let confirm = |&page: &u32| match page == representative {
            true => None,
            false => matcher.confirm(representative, page),
        };
        let confirmed: Vec<_> =
            chosen.rest.par_iter().with_min_len(BATCH_SIZE).map(confirm).collect();
        let rest = std::mem::take(&mut chosen.rest);
        for (page, pair) in rest.into_iter().zip(confirmed) {
            match pair {
                Some(NearPair { distance, similarity, .. }) => {
                    chosen.members.push(Member { page, representative, distance, similarity });
                }
                None if page == representative => {}
                None => chosen.rest.push(page),
            }
        }
    }
    if chosen.rest.len() == 1 {
        chosen.representatives.append(&mut chosen.rest);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_grow_so_that_no_dense_cluster_forms_by_chance() {
        let part_bits = |pages| part_bits(pages, MANY);
        assert_eq!([0, 1, MANY / 2, MANY].map(part_bits), [PART_BITS; 4]);
        assert_eq!(part_bits(MANY + 1), PART_BITS + 1);
        let by_chance = |pages: usize| pages as f64 / f64::from(part_bits(pages)).exp2();
        for pages in [5 * MANY, 100 * MANY, 4_000 * MANY] {
            let share = by_chance(pages) / by_chance(MANY);
            assert!((0.5..=1.0).contains(&share), "{pages}: {share}");
        }
        assert_eq!(part_bits(usize::MAX), 32);
    }

    #[test]
    fn parts_are_the_lowest_bits_of_places_far_apart() {
        let bytes: [u8; 128] = std::array::from_fn(|at| at as u8);
        let sketch = Sketch::from_bytes(&bytes);
        assert_eq!(sketch_part(&sketch, 0, 16), 0x0100);
        assert_eq!(sketch_part(&sketch, 1, 16), 0x0908);
        assert_eq!(sketch_part(&sketch, 1, 20), 0xA0908);
        assert_eq!(sketch_part(&sketch, TWIN_PASSES - 1, 32), 0x7B7A_7978);
    }
}
