//! Truth with positions in one corpus instead of ids.
//!
//! Every kind of truth becomes pairs that are known to be duplicates or not and, if it says enough, a partition of
//! all documents. Skips and counts ids that are not in the corpus.

use std::collections::BTreeMap;

use hapax_dedup::Pages;

use super::Truth;
use crate::connect::Sets;

/// Labels that mean duplicates, unless the caller names others.
pub const POSITIVE: [&str; 13] = [
    "same_page",
    "same_url_fragment",
    "same_article_other_site",
    "url_alias",
    "canonical",
    "redirect",
    "revisit",
    "exact_dup",
    "near_exact_dup",
    "duplicate",
    "dup",
    "same",
    "1",
];
/// Labels that mean different pages, unless the caller names others.
pub const NEGATIVE: [&str; 10] = [
    "diff_page",
    "other_article_same_site",
    "unrelated",
    "random_other_host",
    "non_dup",
    "nondup",
    "non",
    "different",
    "not_duplicate",
    "0",
];

/// The meaning of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// Labels of duplicates.
    pub positive: Vec<String>,
    /// Labels of different pages. A label in neither list is reported and not counted.
    pub negative: Vec<String>,
}

impl Default for Meaning {
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        Self { positive: owned(&POSITIVE), negative: owned(&NEGATIVE) }
    }
}

impl Meaning {
    /// Labels that the caller named and that are not among `labels`.
    pub(crate) fn unmatched(&self, labels: &[String]) -> Vec<String> {
        let named = self.positive.iter().chain(&self.negative);
        let default =
            |it: &&String| !POSITIVE.contains(&it.as_str()) && !NEGATIVE.contains(&it.as_str());
        named.filter(default).filter(|it| !labels.contains(it)).cloned().collect()
    }

    fn of(&self, label: &str) -> Option<bool> {
        if self.positive.iter().any(|it| it == label) {
            return Some(true);
        }
        self.negative.iter().any(|it| it == label).then_some(false)
    }
}

/// A pair with a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownPair {
    /// Position of the first document.
    pub a: u32,
    /// Position of the second document.
    pub b: u32,
    /// Position in [`Known::labels`].
    pub label: u16,
    /// Whether they are duplicates; `None` if the label has neither meaning.
    pub duplicate: Option<bool>,
    /// `None` if not given.
    pub jaccard: Option<f32>,
}

/// Truth about the documents of a corpus.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub pairs: Vec<KnownPair>,
    pub labels: Vec<String>,
    /// The group of every document, given as the position of its first member; `None` if the truth
    /// does not say.
    pub partition: Option<Vec<u32>>,
    /// Positions of documents whose duplicates are all known, ascending.
    pub complete: Vec<u32>,
    /// Entries with an id that is not in the corpus.
    pub missing: u64,
    /// Whether pairs have exact similarities.
    pub graded: bool,
}

/// Width of the similarity range below `alike` in which graded pairs count neither as duplicates
/// nor as different.
pub const GREY: f64 = 0.1;

/// Maximum number of pairs listed per group; larger groups are sampled evenly.
const PAIRS_OF_GROUP: usize = 2_000;

impl Known {
    /// Looks up the documents of the truth. Graded pairs are duplicates from `alike` up and
    /// different from [`GREY`] below it down; pairs in between do not count.
    pub fn of(truth: &Truth, pages: &Pages, meaning: &Meaning, alike: f64) -> Self {
        let mut finder = Finder::new(pages);
        let mut known = Self::default();
        match truth {
            Truth::Pairs(pairs) => {
                for pair in pairs {
                    let label = known.label(&pair.label);
                    let Some((a, b)) = finder.both(&pair.a, &pair.b) else { continue };
                    let duplicate = meaning.of(&pair.label);
                    let jaccard = pair.jaccard.map(|it| it as f32);
                    known.pairs.push(KnownPair { a, b, label, duplicate, jaccard });
                }
            }
            Truth::Graded(pairs) => {
                known.graded = true;
                let labels = [
                    known.label(&format!("jaccard {alike} and above")),
                    known.label("between"),
                    known.label(&format!("jaccard below {:.2}", alike - GREY)),
                ];
                let mut sets = Sets::new(pages.len());
                for pair in pairs {
                    let Some((a, b)) = finder.both(&pair.a, &pair.b) else { continue };
                    let duplicate = match pair.jaccard {
                        high if high >= alike => Some(true),
                        low if low < alike - GREY => Some(false),
                        _ => None,
                    };
                    if duplicate == Some(true) {
                        sets.connect(a, b);
                    }
                    known.pairs.push(KnownPair {
                        a,
                        b,
                        label: match duplicate {
                            Some(true) => labels[0],
                            None => labels[1],
                            Some(false) => labels[2],
                        },
                        duplicate,
                        jaccard: Some(pair.jaccard as f32),
                    });
                }
                known.partition = Some(sets.partition());
            }
            Truth::Groups(groups) => {
                let mut members: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
                for (id, group) in groups {
                    if let Some(page) = finder.one(id) {
                        members.entry(group).or_default().push(page);
                    }
                }
                let mut sets = Sets::new(pages.len());
                for group in members.values() {
                    group.windows(2).for_each(|two| sets.connect(two[0], two[1]));
                }
                known.complete = members.into_values().flatten().collect();
                known.add_groups(sets);
            }
            Truth::Lists(lists) => {
                let mut sets = Sets::new(pages.len());
                for (id, duplicates) in lists {
                    let Some(page) = finder.one(id) else { continue };
                    known.complete.push(page);
                    for other in duplicates {
                        if let Some(other) = finder.one(other) {
                            sets.connect(page, other);
                        }
                    }
                }
                known.add_groups(sets);
            }
        }
        known.missing = finder.missing;
        known
    }

    fn label(&mut self, name: &str) -> u16 {
        let at = self.labels.iter().position(|it| it == name).unwrap_or_else(|| {
            self.labels.push(name.to_owned());
            self.labels.len() - 1
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }

    fn add_groups(&mut self, sets: Sets) {
        let label = self.label("same group");
        let partition = sets.partition();
        for group in members(&partition) {
            for (a, b) in some_pairs(&group, PAIRS_OF_GROUP) {
                self.pairs.push(KnownPair { a, b, label, duplicate: Some(true), jaccard: None });
            }
        }
        self.partition = Some(partition);
    }
}

/// The groups of a partition with at least two members; members ascend.
pub(crate) fn members(partition: &[u32]) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0..partition.len() as u32).collect();
    order.sort_by_key(|&page| partition[page as usize]);
    let groups = order.chunk_by(|&a, &b| partition[a as usize] == partition[b as usize]);
    groups.filter(|it| it.len() > 1).map(<[u32]>::to_vec).collect()
}

/// All pairs of a group, or about `most` of them, sampled evenly.
pub(crate) fn some_pairs(group: &[u32], most: usize) -> impl Iterator<Item = (u32, u32)> {
    let all = group.len() * (group.len() - 1) / 2;
    let step = all.div_ceil(most).max(1);
    let pairs = group.iter().enumerate();
    pairs.flat_map(|(i, &a)| group[i + 1..].iter().map(move |&b| (a, b))).step_by(step)
}

/// The length in bytes of the folder that all names share.
fn common_folder<'n>(mut names: impl Iterator<Item = &'n str>) -> usize {
    let Some(first) = names.next() else { return 0 };
    let mut same = first.len();
    for name in names {
        let agree = first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        same = same.min(agree);
    }
    first[..first.floor_char_boundary(same)].rfind('/').map_or(0, |slash| slash + 1)
}

/// Finds documents by id, or by path below the folder that contains all of them.
struct Finder<'p> {
    by_id: BTreeMap<&'p str, u32>,
    missing: u64,
}

impl<'p> Finder<'p> {
    fn new(pages: &'p Pages) -> Self {
        // Of several documents with one name, the first counts.
        let all = || (0..pages.len() as u32).rev();
        let folder = common_folder(all().map(|page| pages.id(page)));
        let below = |page| pages.id(page).get(folder..).unwrap_or_default();
        let mut by_id: BTreeMap<&str, u32> = all().map(|page| (below(page), page)).collect();
        by_id.extend(all().map(|page| (pages.id(page), page)));
        Self { by_id, missing: 0 }
    }

    fn one(&mut self, id: &str) -> Option<u32> {
        let found = self.by_id.get(id).copied();
        self.missing += u64::from(found.is_none());
        found
    }

    fn both(&mut self, a: &str, b: &str) -> Option<(u32, u32)> {
        let (a, b) = (self.by_id.get(a).copied(), self.by_id.get(b).copied());
        let both = a.zip(b);
        self.missing += u64::from(both.is_none());
        both
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_by_path_below_their_common_folder() {
        assert_eq!(common_folder(["/a/b/x.html", "/a/b/c/y.html"].into_iter()), 5);
        assert_eq!(common_folder(["one", "other"].into_iter()), 0);
        assert_eq!(common_folder(["a/only.html"].into_iter()), 2);
    }

    #[test]
    fn pairs_of_a_large_group_are_sampled() {
        let group: Vec<u32> = (0..300).collect();
        let some = some_pairs(&group, 1000).count();
        assert!((900..=1000).contains(&some), "{some}");
        assert_eq!(some_pairs(&[1, 2, 3], 1000).count(), 3);
    }
}
