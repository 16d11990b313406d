//! Builds a [`Graph`] from the pages of a corpus and the links between them.
//!
//! Links are resolved against the page's `<base>` or its address. Documents with the same [`page_key`] are one
//! page with the links of all, and each of their addresses gets its score. A link to an address that redirects
//! counts for the target. The graph depends on the corpus alone, and everything left out is counted.

use std::collections::BTreeMap;
use std::num::NonZero;

use hapax::page::{ExtractOptions, Extractor, Limits};
use hapax_corpus::{Document, Entry, Fact, Source};
use serde::Serialize;

use super::address::page_key;
use super::graph::{Graph, GraphError};
use super::names::{LinksError, NamedLinks};

/// Maximum length of a chain of redirects, as in browsers.
const MOST_HOPS: usize = 20;

/// Maximum number of links per page; lists of everything on a site are pages, too.
const MOST_LINKS: usize = 1_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebOptions {
    /// Whether addresses outside the corpus count as pages.
    pub outside: bool,
    /// Whether links with `rel=nofollow` are ignored.
    pub drop_nofollow: bool,
}

/// Counts of what was found and left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WebCounts {
    pub documents: u64,
    /// Documents without a web address.
    pub without_address: u64,
    /// Documents that are the same page as another one.
    pub same_page: u64,
    /// Documents that are neither HTML nor text, or damaged, so they have no links.
    pub unreadable: u64,
    /// Links found or read, before any is left out.
    pub links_read: u64,
    /// Left out because of `rel=nofollow`.
    pub nofollow: u64,
    /// Left out because they are from or to a page outside the corpus.
    pub unknown: u64,
    /// Left out because they link to their own page.
    pub to_itself: u64,
    /// Left out because they are repeated.
    pub repeated: u64,
    pub links: u64,
    pub pages: u64,
    /// Pages without links; the reader goes from there to any page.
    pub dangling: u64,
}

/// Named pages and their links.
#[derive(Clone, Debug)]
pub struct Web {
    pub graph: Graph,
    /// Every address or name, and its page in the graph.
    pub names: Vec<(Box<str>, u32)>,
    pub counts: WebCounts,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// The corpus is unreadable.
    #[error(transparent)]
    Corpus(#[from] hapax_corpus::Error),
    /// A list of links is unreadable.
    #[error(transparent)]
    Links(#[from] LinksError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// No document has an address.
    #[error("none of {documents} documents has an address: links lead to addresses")]
    NoAddresses { documents: u64 },
}

#[derive(Debug, Default)]
pub struct WebBuilder {
    options: WebOptions,
    links: NamedLinks,
    /// By number of the address: whether the corpus has such a document.
    known: Vec<bool>,
    names: Vec<(Box<str>, u32)>,
    redirects: BTreeMap<u32, u32>,
    counts: WebCounts,
}

/// The links of one document.
#[derive(Default)]
struct Linking {
    url: String,
    key: Option<String>,
    targets: Vec<String>,
    nofollow: u64,
    unreadable: bool,
}

impl WebBuilder {
    pub fn new(options: WebOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Adds all documents of a corpus; calls `read` with the number of documents of each batch, and
    /// with skipped records.
    ///
    /// # Errors
    ///
    /// The first bad record, unless the source skips them; or too many pages.
    pub fn corpus(
        &mut self,
        source: &Source,
        threads: NonZero<usize>,
        mut read: impl FnMut(u64, &[hapax_corpus::Bad]),
    ) -> Result<(), WebError> {
        let limits = Limits { max_links: MOST_LINKS, ..Limits::default() };
        let extract = ExtractOptions { collect_links: true, limits, ..ExtractOptions::default() };
        let options = self.options;
        source.in_order(
            threads,
            |mut batch| {
                let mut extractor = Extractor::new(extract.clone());
                let (mut pages, mut facts, mut bad) = (Vec::new(), Vec::new(), Vec::new());
                for entry in batch.entries() {
                    match entry {
                        Ok(Entry::Document(document)) => {
                            pages.push(linking(&document, &mut extractor, options));
                        }
                        Ok(Entry::Fact(fact)) => facts.push(fact),
                        Ok(Entry::Passed { .. }) => {}
                        Ok(Entry::Bad(records)) => bad.push(records),
                        Err(error) => return Err(error),
                    }
                }
                Ok((pages, facts, bad))
            },
            |decoded: Result<_, hapax_corpus::Error>| {
                let (pages, facts, bad) = decoded?;
                read(pages.len() as u64, &bad);
                pages.iter().try_for_each(|page| self.document(page))?;
                facts.iter().try_for_each(|fact| self.fact(fact))
            },
        )
    }

    fn document(&mut self, page: &Linking) -> Result<(), WebError> {
        self.counts.documents += 1;
        self.counts.unreadable += u64::from(page.unreadable);
        self.counts.nofollow += page.nofollow;
        self.counts.links_read += page.nofollow + page.targets.len() as u64;
        let Some(key) = &page.key else {
            self.counts.without_address += 1;
            self.counts.unknown += page.targets.len() as u64;
            return Ok(());
        };
        let number = self.links.page(key)?;
        let known = self.known_mut(number);
        let before = std::mem::replace(known, true);
        self.counts.same_page += u64::from(before);
        self.names.push((page.url.as_str().into(), number));
        for target in &page.targets {
            self.links.link(key, target)?;
        }
        Ok(())
    }

    fn fact(&mut self, fact: &Fact) -> Result<(), WebError> {
        let (from, to) = fact.addresses();
        if let (Some(from), Some(to)) = (page_key(from), page_key(to)) {
            let pair = (self.links.page(&from)?, self.links.page(&to)?);
            self.redirects.insert(pair.0, pair.1);
        }
        Ok(())
    }

    fn known_mut(&mut self, number: u32) -> &mut bool {
        let at = number as usize;
        if self.known.len() <= at {
            self.known.resize(at + 1, false);
        }
        &mut self.known[at]
    }

    /// Adds a link between two addresses of the corpus, in any spelling.
    ///
    /// # Errors
    ///
    /// There are too many pages.
    pub fn link(&mut self, from: &str, to: &str) -> Result<(), GraphError> {
        self.counts.links_read += 1;
        match (page_key(from), page_key(to)) {
            (Some(from), Some(to)) => self.links.link(&from, &to),
            _ => {
                self.counts.unknown += 1;
                Ok(())
            }
        }
    }

    /// The graph of everything added.
    ///
    /// # Errors
    ///
    /// No document has an address.
    pub fn finish(mut self) -> Result<Web, WebError> {
        if self.names.is_empty() {
            return Err(WebError::NoAddresses { documents: self.counts.documents });
        }
        let all = self.links.names().len();
        self.known.resize(all, false);
        // Pages keep the order of their addresses.
        let counts_as_page = |address: usize| {
            let redirects = self.redirects.contains_key(&(address as u32));
            self.known[address] || self.options.outside && !redirects
        };
        let mut pages = vec![None; all];
        let mut next = 0u32;
        for (address, page) in pages.iter_mut().enumerate() {
            if counts_as_page(address) {
                *page = Some(next);
                next += 1;
            }
        }
        let page_of = |address: u32| {
            let mut at = address;
            for _ in 0..MOST_HOPS {
                match (pages[at as usize], self.redirects.get(&at)) {
                    (None, Some(&to)) => at = to,
                    (page, _) => return page,
                }
            }
            None
        };
        let mut links = Vec::with_capacity(self.links.links().len());
        for &(from, to) in self.links.links() {
            match (page_of(from), page_of(to)) {
                (Some(from), Some(to)) => links.push((from, to)),
                _ => self.counts.unknown += 1,
            }
        }
        let graph = Graph::new(next as usize, &links)?;
        let mut names: Vec<(Box<str>, u32)> = self
            .names
            .iter()
            .filter_map(|(name, address)| Some((name.clone(), pages[*address as usize]?)))
            .collect();
        if self.options.outside {
            let outside = (0..all).filter(|&address| !self.known[address]);
            let named = |address: usize| {
                Some((format!("http://{}", self.links.names()[address]).into(), pages[address]?))
            };
            names.extend(outside.filter_map(named));
        }
        names.sort_unstable();
        names.dedup();
        Ok(Web { counts: tally(self.counts, &graph, &links), names, graph })
    }
}

impl Web {
    /// A web of everything in a list of links.
    ///
    /// # Errors
    ///
    /// There are too many pages.
    pub fn of_links(links: &NamedLinks) -> Result<Self, GraphError> {
        let graph = links.graph()?;
        let names = links.names().iter().cloned().zip(0..).collect();
        let read = WebCounts { links_read: links.links().len() as u64, ..WebCounts::default() };
        let counts = tally(read, &graph, links.links());
        Ok(Self { graph, names, counts })
    }
}

fn tally(mut counts: WebCounts, graph: &Graph, links: &[(u32, u32)]) -> WebCounts {
    counts.to_itself = links.iter().filter(|(from, to)| from == to).count() as u64;
    counts.links = graph.links() as u64;
    counts.repeated = links.len() as u64 - counts.to_itself - counts.links;
    counts.pages = graph.nodes() as u64;
    counts.dangling = (0..graph.nodes()).filter(|&page| graph.out_degree(page) == 0).count() as u64;
    counts
}

fn linking(document: &Document<'_>, extractor: &mut Extractor, options: WebOptions) -> Linking {
    let url = document.url.as_deref().unwrap_or_default();
    let mut found = Linking { url: url.to_owned(), key: page_key(url), ..Linking::default() };
    match hapax_dedup::known(document).and_then(|known| extractor.document(&known)) {
        Err(_) => found.unreadable = true,
        Ok(page) => {
            for link in &page.links {
                match options.drop_nofollow && link.nofollow {
                    true => found.nofollow += 1,
                    false => found.targets.extend(page_key(&link.url)),
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use hapax_corpus::ReadOptions;

    use super::*;

    fn web(lines: &str, options: WebOptions, threads: usize) -> Web {
        let source = Source::from_reader(
            "pages.jsonl",
            std::io::Cursor::new(lines.to_owned().into_bytes()),
            ReadOptions::default(),
        );
        let mut builder = WebBuilder::new(options);
        builder.corpus(&source, NonZero::new(threads).unwrap(), |_, _| ()).unwrap();
        builder.finish().unwrap()
    }

    fn page(url: &str, html: &str) -> String {
        format!("{}\n", serde_json::json!({ "url": url, "html": html }))
    }

    fn links(web: &Web) -> Vec<(String, String)> {
        let name = |page: u32| {
            let (name, _) = web.names.iter().find(|(_, other)| *other == page).unwrap();
            name.to_string()
        };
        let mut links: Vec<(String, String)> = (0..web.graph.nodes() as u32)
            .flat_map(|to| {
                web.graph.sources(to as usize).iter().map(move |&from| (name(from), name(to)))
            })
            .collect();
        links.sort();
        links
    }

    fn pair(a: &str, b: &str) -> (String, String) {
        (a.to_owned(), b.to_owned())
    }

    #[test]
    fn links_are_resolved_and_spellings_of_one_page_are_one() {
        let lines = [
            page("http://a.test/x/", "<a href='../y#end'>y</a> <a href='//B.test'>b</a>"),
            page("http://a.test/y", "<base href='http://b.test/'><a href='.'>b</a>"),
            page("https://b.test/", "<a href='http://a.test/x'>x</a> <a href='/'>self</a>"),
        ];
        let web = web(&lines.concat(), WebOptions::default(), 2);
        assert_eq!(
            links(&web),
            [
                pair("http://a.test/x/", "http://a.test/y"),
                pair("http://a.test/x/", "https://b.test/"),
                pair("http://a.test/y", "https://b.test/"),
                pair("https://b.test/", "http://a.test/x/"),
            ]
        );
        assert_eq!((web.counts.to_itself, web.counts.dangling), (1, 0));
    }

    #[test]
    fn links_outside_are_counted_or_lead_to_pages() {
        let lines = page("http://a.test/", "<a href='http://c.test/z'>z</a>")
            + &page("http://b.test/", "<a rel=nofollow href='http://a.test'>a</a>");
        let inside = web(&lines, WebOptions::default(), 1);
        assert_eq!((inside.counts.pages, inside.counts.unknown, inside.counts.links), (2, 1, 1));
        let options = WebOptions { outside: true, drop_nofollow: true };
        let all = web(&lines, options, 1);
        assert_eq!((all.counts.pages, all.counts.nofollow, all.counts.unknown), (3, 1, 0));
        assert_eq!(links(&all), [pair("http://a.test/", "http://c.test/z")]);
    }

    #[test]
    fn documents_of_one_page_share_it_and_those_without_address_are_counted() {
        let lines = page("http://a.test/", "<a href='/b'>b</a>")
            + &page("https://a.test/#x", "<a href='/b'>b</a>")
            + &page("http://a.test/b", "")
            + "{\"id\":\"none\",\"html\":\"<p>words\"}\n";
        let web = web(&lines, WebOptions::default(), 1);
        let counts = web.counts;
        assert_eq!((counts.documents, counts.pages), (4, 2));
        assert_eq!((counts.same_page, counts.without_address, counts.repeated), (1, 1, 1));
        assert_eq!(web.names.len(), 3);
    }

    #[test]
    fn links_of_a_list_join_those_of_the_pages_and_unknown_ones_are_counted() {
        let source = Source::from_reader(
            "pages.jsonl",
            std::io::Cursor::new(
                (page("http://a.test/", "") + &page("http://b.test/", "")).into_bytes(),
            ),
            ReadOptions::default(),
        );
        let mut builder = WebBuilder::new(WebOptions::default());
        builder.corpus(&source, NonZero::<usize>::MIN, |_, _| ()).unwrap();
        builder.link("https://a.test", "http://b.test").unwrap();
        builder.link("http://a.test", "http://c.test").unwrap();
        builder.link("a", "b").unwrap();
        let web = builder.finish().unwrap();
        assert_eq!((web.counts.links, web.counts.unknown), (1, 2));
    }

    #[test]
    fn a_corpus_without_addresses_is_refused() {
        let builder = WebBuilder::new(WebOptions::default());
        assert!(builder.finish().unwrap_err().to_string().contains("none of 0 documents"));
    }
}
