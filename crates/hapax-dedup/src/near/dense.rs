//! Thins out dense clusters: many pages that are nearly one, each represented by its best page.
//!
//! Pages share a key: first the whole fingerprint, where [`TWINS`] or more share it, then, where 64 do, 16 bits of
//! the sketch, [`PASSES`] times with other bits (one more bit per doubling beyond a million pages). Similarity J
//! shares such a key with probability ((1 + J) / 2)^16: 0.19 at 0.8, 0.85 at 0.98. Pages of a key choose the best
//! as representative; those that match it become its members, the rest choose again.
//!
//! Guarantees that every member matches its representative, which wins over it; work is linear: [`PASSES`] keys,
//! [`ROUNDS`] representatives each. Pages of one fingerprint that match no representative are *collisions*,
//! compared only where parts of their sketches agree.

use hapax::fingerprint::Sketch;
use hapax::group::NearPair;
use rayon::prelude::*;

use crate::facts::FactTable;
use crate::near::Matcher;
use crate::pages::Pages;

/// As many that share a part of the sketch are a dense cluster.
pub(crate) const DENSE: usize = 64;
/// How many parts of the sketch are tried.
pub(crate) const PASSES: usize = 8;
/// How often those who share a part of the sketch choose a representative.
const ROUNDS: usize = 4;
/// As many pages of one fingerprint are a dense cluster; fewer are all compared, with each other and with those near them.
pub(crate) const TWINS: usize = 64;
/// How often those who share a fingerprint choose a representative.
const TWIN_ROUNDS: usize = 4;
/// As many pages of a fingerprint that match no representative go on choosing until none is left.
pub(crate) const FEW_COLLISIONS: usize = 64;
/// How many parts of the sketch are tried on those who share a fingerprint and match no representative.
pub(crate) const TWIN_PASSES: usize = 16;

/// Bits of a sketch that pages have to share, if they are not very many.
pub(crate) const PART_BITS: u32 = 16;
/// As many pages share so many bits: 16 by chance, where 64 are a dense cluster.
pub(crate) const MANY: usize = 1 << 20;

/// Pages that a thread compares with their representative at a time.
const TOGETHER: usize = 1 << 10;

/// A page that is represented by another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) page: u32,
    /// The page it was confirmed with; may be a member itself.
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
pub(crate) struct Led {
    pub(crate) representatives: Vec<u32>,
    pub(crate) members: Vec<Member>,
    /// Representatives of one cluster, each with the first: their members may match each other.
    pub(crate) links: Vec<(u32, u32)>,
    /// Pages that share a fingerprint with representatives and match none of them.
    pub(crate) collisions: u64,
}

/// Takes dense clusters out of a set of pages of one scope.
pub(super) fn thin_out(
    set: &[u32],
    pages: &Pages,
    matcher: &Matcher<'_>,
    table: &FactTable<'_>,
    many: usize,
) -> Led {
    let mut led = twins(set, pages, matcher, table);
    let bits = part_bits(led.representatives.len(), many);
    for number in 0..PASSES {
        thin(&mut led, number, bits, pages, matcher, table);
    }
    led
}

/// The first step: [`TWINS`] pages and more that share a fingerprint. Pages of other fingerprints make no difference.
pub(crate) fn twins(
    set: &[u32],
    pages: &Pages,
    matcher: &Matcher<'_>,
    table: &FactTable<'_>,
) -> Led {
    let mut led = Led::default();
    // Products of a shop may share a fingerprint and nothing else beyond its frame: they are no twins.
    let key = |page| {
        let own = pages.own_bucket(page, 0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        pages.fingerprint(page).to_bits() ^ own
    };
    let twins = buckets(set.to_vec(), key, TWINS);
    led.representatives = twins.others;
    for cluster in twins.clusters {
        let mut found = lead(cluster, 2, TWIN_ROUNDS, matcher, table);
        let few = found.rest.len() <= FEW_COLLISIONS;
        if few {
            let last = lead(std::mem::take(&mut found.rest), 2, FEW_COLLISIONS, matcher, table);
            found.representatives.extend(last.representatives);
            found.members.extend(last.members);
        }
        led.add(found.representatives, found.members);
        if few {
            continue;
        }
        let (left, members) = pair_up(found.rest, pages, matcher, table);
        led.members.extend(members);
        led.collisions += left.len() as u64;
    }
    led
}

/// How many bits of a sketch pages have to share, if so many of one scope are compared; more than `many`, which is
/// [`MANY`] but in tests, need more.
pub(crate) fn part_bits(pages: usize, many: usize) -> u32 {
    let doublings = pages.div_ceil(many).max(1).next_power_of_two().ilog2();
    PART_BITS + doublings.min(16)
}

/// One of the [`PASSES`] after that: who shares a part of the sketch. Pages in which that part is
/// another make no difference.
pub(crate) fn thin(
    led: &mut Led,
    number: usize,
    bits: u32,
    pages: &Pages,
    matcher: &Matcher<'_>,
    table: &FactTable<'_>,
) {
    if led.representatives.len() < DENSE {
        return;
    }
    let set = std::mem::take(&mut led.representatives);
    let key =
        |page| sketch_part(pages.sketch(page), number, bits) | pages.own_bucket(page, number) << 32;
    let buckets = buckets(set, key, DENSE);
    led.representatives = buckets.others;
    let lead = |cluster| lead(cluster, DENSE, ROUNDS, matcher, table);
    let led_by: Vec<Chosen> = buckets.clusters.into_par_iter().map(lead).collect();
    for mut found in led_by {
        if found.members.is_empty() {
            led.representatives.append(&mut found.representatives);
            led.representatives.extend(found.rest);
            continue;
        }
        found.representatives.extend(found.rest);
        led.add(found.representatives, found.members);
    }
}

impl Led {
    /// What a cluster has chosen.
    fn add(&mut self, representatives: Vec<u32>, members: Vec<Member>) {
        if let [first, others @ ..] = &representatives[..] {
            self.links.extend(others.iter().map(|&other| (*first, other)));
        }
        self.representatives.extend(representatives);
        self.members.extend(members);
    }
}

/// Finds who is alike among pages of one fingerprint and many texts: two pages of similarity 0.8
/// share a part in one of the passes with probability 0.96.
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
        let buckets = buckets(set, key, 2);
        set = buckets.others;
        for cluster in buckets.clusters {
            let found = lead(cluster, 2, 2, matcher, table);
            set.extend(found.representatives);
            set.extend(found.rest);
            members.extend(found.members);
        }
    }
    (set, members)
}

/// So many of the sketch's 1,024 bits, 32 at most; passes take them far apart.
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

/// Puts together who has the same key, `least` at least.
fn buckets(set: Vec<u32>, key: impl Fn(u32) -> u64 + Sync, least: usize) -> Buckets {
    let mut keyed: Vec<(u64, u32)> = set.into_par_iter().map(|page| (key(page), page)).collect();
    keyed.par_sort_unstable();
    let mut buckets = Buckets { clusters: Vec::new(), others: Vec::new() };
    for same in keyed.chunk_by(|a, b| a.0 == b.0) {
        let pages = same.iter().map(|&(_, page)| page);
        if same.len() < least {
            buckets.others.extend(pages);
        } else {
            buckets.clusters.push(pages.collect());
        }
    }
    buckets
}

/// What came of choosing representatives.
pub(crate) struct Chosen {
    pub(crate) representatives: Vec<u32>,
    pub(crate) members: Vec<Member>,
    /// Who matches no representative, when rounds are over or fewer than `least` are left.
    pub(crate) rest: Vec<u32>,
}

/// Chooses the best as representative and takes out who matches it, up to `rounds` times. A last page
/// without a bucket represents itself.
pub(crate) fn lead(
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
            chosen.rest.par_iter().with_min_len(TOGETHER).map(confirm).collect();
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
