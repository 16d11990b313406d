//! Simulates a crawl on the live groups: pages are added and change, and the groups follow.
//!
//! Similar means an exact Jaccard similarity of at least tau. Tier 2 compares a page with the cells that the mapping
//! sends it to, or, without a mapping, with every page whose size allows a match.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;

use hapax::group::PageFacts;
use hapax::group::live::{Likeness, Matching, Near, PageId, World};
use hapax_partition::compare::jaccard_from;
use hapax_partition::{Mapping, PageFeatures, Placed};

use super::TAU;

/// The current pages of the groups.
#[derive(Default)]
pub(super) struct Crawl<'m> {
    mapping: Option<&'m Mapping>,
    pages: Vec<Option<(PageFeatures, Placed)>>,
    /// Pages by cell; without a mapping by size.
    buckets: BTreeMap<usize, Vec<u32>>,
}

impl<'m> Crawl<'m> {
    pub(super) fn new(mapping: Option<&'m Mapping>) -> Self {
        Self { mapping, ..Self::default() }
    }

    /// Replaces the content of a page.
    pub(super) fn put(&mut self, page: u32, features: PageFeatures) {
        let at = page as usize;
        if self.pages.len() <= at {
            self.pages.resize_with(at + 1, || None);
        }
        if let Some(before) = self.pages[at].take() {
            let bucket = self.bucket(&before);
            if let Some(pages) = self.buckets.get_mut(&bucket) {
                pages.retain(|&it| it != page);
            }
        }
        let placed = match self.mapping {
            Some(mapping) => mapping.place(&features),
            None => Placed { part: 0, lengths: no_lengths() },
        };
        let now = (features, placed);
        self.buckets.entry(self.bucket(&now)).or_default().push(page);
        self.pages[at] = Some(now);
    }

    pub(super) fn features(&self, page: u32) -> Option<&PageFeatures> {
        self.pages.get(page as usize)?.as_ref().map(|it| &it.0)
    }

    fn bucket(&self, (features, placed): &(PageFeatures, Placed)) -> usize {
        match self.mapping {
            Some(mapping) => mapping.cell(placed),
            None => features.shingles.len(),
        }
    }

    fn candidates(&self, page: u32) -> Vec<u32> {
        let Some(Some((features, placed))) = self.pages.get(page as usize) else {
            return Vec::new();
        };
        match self.mapping {
            Some(mapping) => {
                let cells = mapping.cells_near(placed);
                let here = cells.iter().filter_map(|cell| self.buckets.get(cell)).flatten();
                here.copied()
                    .filter(|&other| {
                        let other = self.pages[other as usize].as_ref();
                        other.is_some_and(|it| {
                            mapping.bounds().admit(&placed.lengths, &it.1.lengths)
                        })
                    })
                    .collect()
            }
            None => {
                let size = features.shingles.len() as f64;
                let range = (size * TAU).floor() as usize..=(size / TAU).ceil() as usize;
                self.buckets.range(range).flat_map(|(_, pages)| pages.iter().copied()).collect()
            }
        }
    }

    /// Similarity of two pages; `None` below tau.
    pub(super) fn similarity(&self, a: u32, b: u32) -> Option<f64> {
        jaccard_from(&self.features(a)?.shingles, &self.features(b)?.shingles, TAU)
    }
}

fn no_lengths() -> hapax_partition::LengthVector {
    hapax_partition::LengthVector::new(&[0]).unwrap_or_else(|_| unreachable!("one dimension"))
}

fn likeness(similarity: Option<f64>) -> Likeness {
    match similarity {
        Some(similarity) => Likeness {
            // The Jaccard distance is a metric, and stays one when rounded up.
            distance: (64.0 * (1.0 - similarity)).ceil() as u8,
            similarity: similarity as f32,
            matching: if similarity >= 1.0 { Matching::Exact } else { Matching::Near },
        },
        None => Likeness { distance: 64, similarity: 0.0, matching: Matching::No },
    }
}

impl World for Crawl<'_> {
    type Error = Infallible;

    fn facts(&self, page: PageId) -> Result<PageFacts<'_>, Infallible> {
        Ok(PageFacts {
            url: Cow::Owned(format!("http://web.test/{}", page.0)),
            id: u64::from(page.0),
            score: None,
            first_seen: None,
            recorded: None,
            domain_place: None,
            words: self.features(page.0).map_or(0, |it| it.words.len() as u32),
            canonical: None,
            named_canonical: false,
        })
    }

    fn compare(&self, a: PageId, b: PageId) -> Result<Likeness, Infallible> {
        Ok(likeness(self.similarity(a.0, b.0)))
    }

    fn near(&self, page: PageId, limit: usize) -> Result<Vec<Near>, Infallible> {
        let mut near: Vec<Near> = self
            .candidates(page.0)
            .into_iter()
            .filter_map(|other| {
                let likeness = likeness(Some(self.similarity(page.0, other)?));
                Some(Near { page: PageId(other), likeness })
            })
            .collect();
        near.sort_by_key(|it| (it.likeness.distance, it.page));
        near.truncate(limit);
        Ok(near)
    }
}
