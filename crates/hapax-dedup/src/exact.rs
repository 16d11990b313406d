//! Exact copies: pages with the same text in the same scope.

use crate::facts::FactTable;
use crate::pages::{Pages, Status};

/// Pages by content.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// Of each content that can be compared, the page that wins over its copies; pages of one
    /// scope follow each other.
    pub(crate) representatives: Vec<u32>,
    /// Every page that has a copy.
    pub(crate) copies: Vec<u32>,
}

/// Sorts pages that are wanted by what they say: O(n log n), whatever repeats.
pub(crate) fn classes(
    pages: &Pages,
    table: &FactTable<'_>,
    wanted: impl Fn(u32) -> bool,
) -> Classes {
    let key = |page: u32| (pages.scope(page), pages.content(page));
    let mut order: Vec<u32> = (0..pages.len() as u32)
        .filter(|&page| !pages.status(page).stays() && wanted(page))
        .collect();
    order.sort_unstable_by_key(|&page| (key(page), page));
    let mut classes = Classes::default();
    for class in order.chunk_by(|&a, &b| key(a) == key(b)) {
        if class.len() > 1 {
            classes.copies.extend_from_slice(class);
        }
        if pages.status(class[0]) == Status::Comparable {
            classes.representatives.extend(table.best(class.iter().copied()));
        }
    }
    classes
}
