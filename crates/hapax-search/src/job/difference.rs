//! Compares the outcomes of sequential and parallel processing.
//!
//! Sequentially, a later query does not see what earlier ones removed: it may miss a pair of which one page is
//! gone, and it examines more results further down, which parallel processing does not.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Removal;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub both: u64,
    /// Removed by both, for different winners.
    pub other_winner: u64,
    pub only_one_by_one: u64,
    /// Removed by parallel processing only.
    pub only_all_at_once: u64,
}

impl Difference {
    pub fn between(one_by_one: &[Removal], all_at_once: &[Removal]) -> Self {
        let by_name: BTreeMap<&str, &str> =
            one_by_one.iter().map(|it| (it.name.as_str(), it.winner.as_str())).collect();
        let mut difference = Self::default();
        for removal in all_at_once {
            match by_name.get(removal.name.as_str()) {
                None => difference.only_all_at_once += 1,
                Some(winner) => {
                    difference.both += 1;
                    difference.other_winner += u64::from(*winner != removal.winner);
                }
            }
        }
        difference.only_one_by_one = one_by_one.len() as u64 - difference.both;
        difference
    }
}
