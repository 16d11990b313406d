//! Exact copies: pages with the same text in the same scope.

use rayon::prelude::*;

use crate::facts::FactTable;
use crate::pages::{Pages, Status};

/// Pages grouped by content.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// The best page of each content that can be compared; pages of one scope are adjacent.
    pub(crate) representatives: Vec<u32>,
    /// Every page that has an exact copy.
    pub(crate) copies: Vec<u32>,
}

/// Groups the wanted pages by content: O(n log n), however often a text repeats.
pub(crate) fn classes(
    pages: &Pages,
    table: &FactTable<'_>,
    wanted: impl Fn(u32) -> bool + Sync,
) -> Classes {
    // Sorting keys inline is several times faster than looking pages up in every comparison.
    let content = |page| pages.content(page).map(|it| u128::from_be_bytes(it.to_bytes()));
    let mut order: Vec<_> = (0..pages.len() as u32)
        .into_par_iter()
        .filter(|&page| !pages.status(page).stays() && wanted(page))
        .map(|page| (pages.scope(page), content(page), page))
        .collect();
    order.par_sort_unstable();
    let classes = || order.par_chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
    let comparable = classes().filter(|class| pages.status(class[0].2) == Status::Comparable);
    let copies = classes().filter(|class| class.len() > 1);
    Classes {
        representatives: comparable
            .filter_map(|class| match class {
                [(_, _, page)] => Some(*page),
                copies => table.best(copies.iter().map(|it| it.2)),
            })
            .collect(),
        copies: copies.flat_map_iter(|class| class.iter().map(|it| it.2)).collect(),
    }
}
