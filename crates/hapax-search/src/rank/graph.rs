//! The link graph, as a compressed list of sources per target.
//!
//! Links of a page to itself carry no authority and are dropped, as are repeated ones. Takes eight bytes per
//! page and four per link.

/// A web of pages numbered from 0, without self-links and repeated links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Start of the sources of each page, and the end of the last ones.
    starts: Vec<u64>,
    /// The pages that link to a page, ascending, page by page.
    sources: Vec<u32>,
    /// Number of pages that a page links to.
    out_degrees: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Page numbers are 32 bits.
    #[error("{nodes} pages are too many for a graph: at most {} can be ranked", u32::MAX)]
    TooManyPages { nodes: usize },
    /// A link refers to an unknown page.
    #[error("a link from page {from} to page {to}: there are only {nodes} pages, from 0")]
    NoSuchPage {
        /// The page with the link.
        from: u32,
        /// The page it links to.
        to: u32,
        /// Number of pages.
        nodes: usize,
    },
}

impl Graph {
    /// From links `(from, to)` in any order.
    ///
    /// # Errors
    ///
    /// There are too many pages, or a link refers to an unknown page.
    pub fn new(nodes: usize, links: &[(u32, u32)]) -> Result<Self, GraphError> {
        if nodes > u32::MAX as usize {
            return Err(GraphError::TooManyPages { nodes });
        }
        let outside = |&&(from, to): &&(u32, u32)| from as usize >= nodes || to as usize >= nodes;
        if let Some(&(from, to)) = links.iter().find(outside) {
            return Err(GraphError::NoSuchPage { from, to, nodes });
        }
        // Distributing by target what is sorted by source keeps the sources of each target sorted:
        // two passes instead of a sort.
        let by_source = distribute(nodes, links.iter().map(|&(from, to)| (from, to)));
        let transposed = distribute(nodes, by_source.iter().map(|(from, to)| (to, from)));
        Ok(Self::without_repetitions(nodes, &transposed))
    }

    fn without_repetitions(nodes: usize, all: &Lists) -> Self {
        let mut starts = Vec::with_capacity(nodes + 1);
        let mut sources = Vec::with_capacity(all.items.len());
        let mut out_degrees = vec![0; nodes];
        starts.push(0);
        for page in 0..nodes {
            let mut last = None;
            for &source in all.list(page) {
                if Some(source) != last && source as usize != page {
                    sources.push(source);
                    out_degrees[source as usize] += 1;
                }
                last = Some(source);
            }
            starts.push(sources.len() as u64);
        }
        Self { starts, sources, out_degrees }
    }

    /// Number of pages.
    pub fn nodes(&self) -> usize {
        self.out_degrees.len()
    }

    pub fn links(&self) -> usize {
        self.sources.len()
    }

    /// Number of other pages that a page links to.
    pub fn out_degree(&self, page: usize) -> u32 {
        self.out_degrees[page]
    }

    /// The pages that link to a page, ascending.
    pub fn sources(&self, page: usize) -> &[u32] {
        &self.sources[self.starts[page] as usize..self.starts[page + 1] as usize]
    }
}

/// Concatenated lists of numbers.
struct Lists {
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl Lists {
    fn list(&self, key: usize) -> &[u32] {
        &self.items[self.starts[key]..self.starts[key + 1]]
    }

    fn iter(&self) -> impl Iterator<Item = (u32, u32)> + Clone {
        (0..self.starts.len() - 1)
            .flat_map(|key| self.list(key).iter().map(move |&item| (key as u32, item)))
    }
}

/// The items of each key below `keys`, in their original order.
fn distribute(keys: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Lists {
    let mut starts = vec![0usize; keys + 1];
    for (key, _) in pairs.clone() {
        starts[key as usize + 1] += 1;
    }
    for key in 0..keys {
        starts[key + 1] += starts[key];
    }
    let mut next = starts.clone();
    let mut items = vec![0; starts[keys]];
    for (key, item) in pairs {
        let place = &mut next[key as usize];
        items[*place] = item;
        *place += 1;
    }
    Lists { starts, items }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_graph_has_each_link_once_whatever_the_order(
            links in vec((0u32..12, 0u32..12), 0..80),
        ) {
            let graph = Graph::new(12, &links).unwrap();
            let expected: BTreeSet<(u32, u32)> =
                links.iter().copied().filter(|(from, to)| from != to).collect();
            let found: BTreeSet<(u32, u32)> = (0..12usize)
                .flat_map(|to| graph.sources(to).iter().map(move |&from| (from, to as u32)))
                .collect();
            prop_assert_eq!(graph.links(), expected.len());
            for page in 0..12u32 {
                let degree = expected.iter().filter(|link| link.0 == page).count();
                prop_assert_eq!(graph.out_degree(page as usize) as usize, degree);
                prop_assert!(graph.sources(page as usize).is_sorted());
            }
            prop_assert_eq!(found, expected);
            let mut turned = links;
            turned.reverse();
            prop_assert_eq!(Graph::new(12, &turned).unwrap(), graph);
        }
    }

    #[test]
    fn a_link_to_a_page_that_is_not_there_is_refused() {
        let error = Graph::new(2, &[(0, 1), (1, 2)]).unwrap_err();
        assert_eq!(error, GraphError::NoSuchPage { from: 1, to: 2, nodes: 2 });
        assert_eq!(
            error.to_string(),
            "a link from page 1 to page 2: there are only 2 pages, from 0"
        );
    }

    #[test]
    fn a_web_without_pages_is_a_web() {
        let graph = Graph::new(0, &[]).unwrap();
        assert_eq!((graph.nodes(), graph.links()), (0, 0));
    }
}
