//! The slow reference engine: every page, every word.

use std::collections::BTreeSet;
use std::convert::Infallible;

use hapax::fingerprint::Fingerprint;
use hapax_search::query::ParsedQuery;
use hapax_search::words::Words;
use hapax_search::{Change, DocumentFacts, DocumentId, Engine, Removing, Results, SearchPage};

use crate::agreement::agree;
use crate::corpus;

pub(crate) struct Memory {
    recipe: String,
    pages: Vec<(SearchPage, Vec<String>)>,
    removed: BTreeSet<String>,
    marked: BTreeSet<String>,
    operation: Option<String>,
}

impl Memory {
    pub(crate) fn new(pages: Vec<SearchPage>) -> Self {
        let words = |page: &SearchPage| {
            let mut words = Vec::new();
            for text in [&page.title, &page.body] {
                Words::default().of_page(text, |_, word| words.push(word.to_owned()));
                words.push("\n".to_owned());
            }
            words
        };
        let pages = pages.into_iter().map(|page| (page.clone(), words(&page))).collect();
        Self {
            recipe: corpus::fingerprinter().recipe_id().to_string(),
            pages,
            removed: BTreeSet::new(),
            marked: BTreeSet::new(),
            operation: None,
        }
    }
}

/// Whether the words of a list are next to each other. Pages of this test have no single characters
/// in between, because phrases are in English only.
fn together(words: &[String], list: &[String]) -> bool {
    words.windows(list.len()).any(|window| window == list)
}

impl Engine for Memory {
    type Error = Infallible;

    fn recipe(&self) -> &str {
        &self.recipe
    }

    fn top(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<Results, Infallible> {
        let query = ParsedQuery::parse(query, &mut Words::default());
        let mut found: Vec<(usize, &str, DocumentId)> = Vec::new();
        for (id, (page, words)) in (0..).map(DocumentId).zip(&self.pages) {
            let having = query.words.iter().filter(|word| words.contains(word)).count();
            let allowed = query.required.iter().all(|list| together(words, list))
                && !query.excluded.iter().any(|list| together(words, list));
            if having > 0 && allowed && !self.removed.contains(&page.name) && !hidden(id) {
                found.push((usize::MAX - having, &page.name, id));
            }
        }
        found.sort_unstable();
        let all = found.len() as u64;
        Ok(Results { top: found.into_iter().take(most).map(|(_, _, id)| id).collect(), all })
    }

    fn fingerprints(&self, ids: &[DocumentId]) -> Result<Vec<Option<Fingerprint>>, Infallible> {
        Ok(ids.iter().map(|id| self.pages[id.0 as usize].0.fingerprint).collect())
    }

    fn facts(&self, ids: &[DocumentId]) -> Result<Vec<DocumentFacts>, Infallible> {
        let facts = |id: &DocumentId| {
            let page = &self.pages[id.0 as usize].0;
            DocumentFacts {
                name: page.name.clone(),
                url: page.url.clone(),
                sketch: page.sketch,
                score: page.score,
                words: page.words,
                fetched: page.fetched,
            }
        };
        Ok(ids.iter().map(facts).collect())
    }

    fn is_marked(&self, id: DocumentId) -> bool {
        self.marked.contains(&self.pages[id.0 as usize].0.name)
    }
}

impl Removing for Memory {
    fn change(
        &mut self,
        change: Change,
        names: &[String],
        operation: &str,
    ) -> Result<u64, Infallible> {
        self.operation = Some(operation.to_owned());
        let known = |name: &&String| self.pages.iter().any(|(page, _)| page.name == **name);
        let names: Vec<String> = names.iter().filter(known).cloned().collect();
        let changed = names.into_iter().filter(|name| match change {
            Change::Remove => self.removed.insert(name.clone()),
            Change::Restore => self.removed.remove(name),
            Change::Mark => self.marked.insert(name.clone()),
            Change::Unmark => self.marked.remove(name),
        });
        Ok(changed.count() as u64)
    }

    fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }
}

#[test]
fn the_engine_in_memory_meets_the_requirements() {
    let mut engine = Memory::new(corpus::pages());
    let removed = agree(&mut engine);
    assert_eq!(removed.len(), 18, "three of four copies in each of six families");
}
