//! Distributed steps for connected components.
//!
//! Edges have columns `a` and `b`. A spanning forest of a batch connects what the batch connects with fewer
//! edges than nodes, so merging many batches stays small. A component is named by its smallest node.

use arrow_array::RecordBatch;
use hapax::group::batch::UnionFind;

use super::Steps;
use super::rows::{Rows, batch, numbers};
use crate::error::Error;
use crate::pages::Pages;

impl Steps {
    /// Replaces edges by a star: every node with the smallest node of its component.
    ///
    /// # Errors
    ///
    /// The rows have no edge columns, or there are too many nodes.
    pub fn forest(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let (nodes, least) = connected(rows)?;
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for (node, least) in nodes.into_iter().zip(least).filter(|(node, least)| node != least) {
            a.push(least);
            b.push(node);
        }
        batch("edge", vec![("a", numbers(a)), ("b", numbers(b))])
    }

    /// The component of every node: columns `node` and `component`.
    ///
    /// # Errors
    ///
    /// The rows have no edge columns, or there are too many nodes.
    pub fn components(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let (nodes, least) = connected(rows)?;
        batch("component", vec![("node", numbers(nodes)), ("component", numbers(least))])
    }
}

/// All nodes, ascending, and the smallest node of the component of each.
fn connected(rows: &RecordBatch) -> Result<(Vec<i64>, Vec<i64>), Error> {
    let rows = Rows::of(rows, "edge");
    let (a, b) = (rows.numbers("a")?, rows.numbers("b")?);
    let mut nodes: Vec<i64> = a.iter().chain(b).copied().collect();
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.len() > Pages::MOST {
        return Err(Error::TooMany { most: Pages::MOST });
    }
    let place = |node: &i64| nodes.binary_search(node).unwrap_or_default() as u32;
    let mut union = UnionFind::new(nodes.len() as u32);
    for (a, b) in a.iter().zip(b) {
        union.union(place(a), place(b));
    }
    let mut least = vec![i64::MAX; nodes.len()];
    let roots: Vec<u32> = (0..nodes.len() as u32).map(|node| union.find(node)).collect();
    for (&node, &root) in nodes.iter().zip(&roots) {
        let known = &mut least[root as usize];
        *known = node.min(*known);
    }
    let least = roots.into_iter().map(|root| least[root as usize]).collect();
    Ok((nodes, least))
}
