//! Reads links between named pages: one `from<TAB>to` per line.
//!
//! Names are used as they are. Pages are numbered in order of first occurrence. A malformed line is an error
//! with its number. Does not interpret names; `web` handles different spellings of addresses.

use std::hash::{BuildHasher, Hasher};
use std::io::BufRead;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::graph::{Graph, GraphError};

/// Numbers by name.
#[expect(clippy::disallowed_types, reason = "looked up only, never gone through")]
type Numbers = std::collections::HashMap<Box<str>, u32, Seeded>;

/// A fast hash with a random seed: names are short and many, and an attacker could choose colliding
/// ones.
#[derive(Clone, Copy, Debug)]
struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(std::hash::RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seeded {
    type Hasher = NameHasher;

    fn build_hasher(&self) -> NameHasher {
        NameHasher(self.0)
    }
}

struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    // The terminator of a string can be ignored, because nothing follows it.
    fn write_u8(&mut self, _: u8) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Links for a [`Graph`].
#[derive(Clone, Debug, Default)]
pub struct NamedLinks {
    numbers: Numbers,
    names: Vec<Box<str>>,
    links: Vec<(u32, u32)>,
}

/// Reading links failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinksError {
    /// A line does not have two names.
    #[error("line {line}: {found} columns; a link is two names with a tab between them")]
    Columns { line: u64, found: usize },
    /// A read error, or invalid UTF-8.
    #[error("line {line} cannot be read")]
    Read { line: u64, source: std::io::Error },
    /// An unreadable table.
    #[error("the table cannot be read: {why}")]
    Table { why: String },
    /// A table without columns of links.
    #[error(
        "the table has no columns for links: it needs two called src and dst, from and to, or source and target; it has {found}"
    )]
    NoColumns { found: String },
    #[error(transparent)]
    Graph(#[from] GraphError),
}

impl NamedLinks {
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of a page; assigns a new one to a new name.
    pub fn page(&mut self, name: &str) -> Result<u32, GraphError> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        let nodes = self.names.len();
        let number = u32::try_from(nodes)
            .ok()
            .filter(|&number| number < u32::MAX)
            .ok_or(GraphError::TooManyPages { nodes })?;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        Ok(number)
    }

    /// Adds a link.
    ///
    /// # Errors
    ///
    /// There are too many pages.
    pub fn link(&mut self, from: &str, to: &str) -> Result<(), GraphError> {
        let link = (self.page(from)?, self.page(to)?);
        self.links.push(link);
        Ok(())
    }

    /// Adds the links of a text; see [`read_tsv`].
    ///
    /// # Errors
    ///
    /// A line is malformed. The links before it have been added.
    pub fn read_tsv(&mut self, text: impl BufRead) -> Result<(), LinksError> {
        read_tsv(text, |from, to| self.link(from, to))
    }

    /// All links so far, including repeated ones.
    pub fn links(&self) -> &[(u32, u32)] {
        &self.links
    }

    /// The names of the pages, by number.
    pub fn names(&self) -> &[Box<str>] {
        &self.names
    }

    /// The graph of all links so far.
    ///
    /// # Errors
    ///
    /// There are too many pages.
    pub fn graph(&self) -> Result<Graph, GraphError> {
        Graph::new(self.names.len(), &self.links)
    }
}

/// Reads links: lines of two names with a tab between them. Skips empty lines and lines that begin
/// with `#`, and a first line `src dst` or `from to`.
///
/// # Errors
///
/// A line is malformed. The links before it have been passed on.
/// A line is something else. Links before it have been handed over.
pub fn read_tsv(
    mut text: impl BufRead,
    mut link: impl FnMut(&str, &str) -> Result<(), GraphError>,
) -> Result<(), LinksError> {
    let mut line = String::new();
    for number in 1.. {
        line.clear();
        let read = text.read_line(&mut line);
        if read.map_err(|source| LinksError::Read { line: number, source })? == 0 {
            break;
        }
        let row = line.trim_end_matches(['\n', '\r']);
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        let Some((from, to)) = row.split_once('\t').filter(|(_, to)| !to.contains('\t')) else {
            let found = row.split('\t').count();
            return Err(LinksError::Columns { line: number, found });
        };
        if number == 1 && matches!((from, to), ("src", "dst") | ("from", "to")) {
            continue;
        }
        link(from, to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_links_becomes_a_graph_with_names() {
        let mut links = NamedLinks::new();
        links.read_tsv("src\tdst\r\na\tb\n\n# both ways\nb\ta\nc\ta".as_bytes()).unwrap();
        assert_eq!(links.names().iter().map(AsRef::as_ref).collect::<Vec<_>>(), ["a", "b", "c"]);
        let graph = links.graph().unwrap();
        assert_eq!(graph.sources(0), [1, 2]);
        assert_eq!(graph.sources(1), [0]);
    }

    #[test]
    fn a_broken_line_is_named() {
        let broken = |text: &[u8]| NamedLinks::new().read_tsv(text).unwrap_err().to_string();
        assert_eq!(
            broken(b"a\tb\na b"),
            "line 2: 1 columns; a link is two names with a tab between them"
        );
        assert!(broken(b"a\tb\tc").starts_with("line 1: 3 columns"));
        assert_eq!(broken(b"a\tb\n\xff\tb"), "line 2 cannot be read");
    }
}
