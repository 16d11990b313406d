//! Computes the authority of pages from links.
//!
//! [`Graph`] holds the links, [`pagerank`](pagerank()) computes the scores, [`web`] finds links in a corpus,
//! [`names`] and [`table`] read lists of links, [`scores`] reads and writes scores. Guarantees the same scores
//! to the last bit for any number of threads and any order of edges.

mod address;
mod graph;
pub mod names;
mod pagerank;
pub mod scores;
pub mod table;
pub mod web;

pub use address::page_key;
pub use graph::{Graph, GraphError};
pub use names::{LinksError, NamedLinks};
pub use pagerank::{
    DEFAULT_DAMPING, DEFAULT_MOST_ITERATIONS, DEFAULT_TOLERANCE, RankError, RankSettings, Ranks,
    pagerank,
};

#[cfg(test)]
mod tests {
    use super::scores::{Scores, ranking};
    use super::web::Web;
    use super::*;

    /// `tests/data/README.md` describes the origin of both.
    const LINKS: &str = include_str!("../../tests/data/debian12-sample.tsv");
    const SCORES: &str = include_str!("../../tests/data/debian12-sample.pagerank.tsv");

    #[test]
    fn a_real_graph_has_the_scores_that_networkx_gives_it() {
        let mut links = NamedLinks::new();
        links.read_tsv(LINKS.as_bytes()).unwrap();
        let web = Web::of_links(&links).unwrap();
        let settings = RankSettings { tolerance: 1e-13, ..RankSettings::default() };
        let ranks = pagerank(&web.graph, &settings, None).unwrap();
        let mut expected = Scores::default();
        for line in SCORES.lines() {
            let (name, score) = line.split_once('\t').unwrap();
            expected.insert(name, score.parse().unwrap());
        }
        let rows = ranking(&web, &ranks.scores);
        assert_eq!((rows.len(), rows[0].0), (expected.len(), "libc6"));
        for (name, score) in rows {
            let known = expected.get("", name).unwrap();
            assert!((score - known).abs() < 1e-12, "{name}: {score} is not {known}");
        }
    }
}
