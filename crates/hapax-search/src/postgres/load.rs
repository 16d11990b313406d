//! Loads a corpus into a database in one transaction.
//!
//! Pages are sent in batches. Of pages with the same name the last one counts; a page that replaces another one
//! is neither removed nor marked.

use std::collections::BTreeMap;

use hapax::fingerprint::RecipeId;
use postgres::Client;
use postgres::types::ToSql;

use super::error::Error;
use super::{connect, table, vector};
use crate::page::{SearchPage, domains, short_hash};
use crate::words::Words;

/// Pages per batch.
const BATCH_SIZE: usize = 200;
/// Maximum bytes of vectors per batch.
const BATCH_BYTES: usize = 4_000_000;

const PUT: &str = "
    INSERT INTO hapax_search.page
        (id, name, url, title, start, language, stated_language, sites, fingerprint, sketch,
         content, words, score, fetched, vector)
    SELECT id, name, url, title, start, language, stated_language,
        coalesce(string_to_array(nullif(sites, ''), ' '), '{}'), fingerprint, sketch, content, words, score,
        fetched, vector::tsvector
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
        $7::text[], $8::text[], $9::bigint[], $10::bytea[], $11::bytea[], $12::bigint[],
        $13::float8[], $14::bigint[], $15::text[])
        AS page (id, name, url, title, start, language, stated_language, sites, fingerprint,
                 sketch, content, words, score, fetched, vector)
    ON CONFLICT (id) DO UPDATE SET
        name = excluded.name, url = excluded.url, title = excluded.title, start = excluded.start,
        language = excluded.language, stated_language = excluded.stated_language,
        sites = excluded.sites, fingerprint = excluded.fingerprint, sketch = excluded.sketch,
        content = excluded.content, words = excluded.words, score = excluded.score,
        fetched = excluded.fetched, vector = excluded.vector, removed = false, marked = false";

/// Adds pages to a database; they become visible with [`finish`](Self::finish).
pub struct Loader {
    client: Client,
    /// Whether the index is new; then words are indexed after all pages are loaded.
    is_new: bool,
    words: Words,
    waiting: BTreeMap<String, Ready>,
    bytes: usize,
}

/// A page prepared for loading.
struct Ready {
    page: SearchPage,
    vector: String,
}

impl Loader {
    /// A new index of fingerprints of this recipe.
    ///
    /// # Errors
    ///
    /// The server failed, or the database has an index already.
    pub fn create(connection: &str, recipe: &RecipeId) -> Result<Self, Error> {
        let mut client = connect(connection)?;
        if table::exists(&mut client)? {
            return Err(Error::Exists);
        }
        client.batch_execute("BEGIN")?;
        table::create(&mut client, recipe)?;
        Ok(Self::with(client, true))
    }

    /// Opens an index of this recipe to add pages.
    ///
    /// # Errors
    ///
    /// The server failed, or there is no such index.
    pub fn open(connection: &str, recipe: &RecipeId) -> Result<Self, Error> {
        let mut client = connect(connection)?;
        let stored = table::check(&mut client)?;
        if stored.must_be(recipe).is_err() {
            return Err(Error::Recipe { stored, asked: recipe.clone() });
        }
        client.batch_execute("BEGIN")?;
        Ok(Self::with(client, false))
    }

    fn with(client: Client, is_new: bool) -> Self {
        let (words, waiting) = (Words::default(), BTreeMap::new());
        Self { client, is_new, words, waiting, bytes: 0 }
    }

    /// Adds a page, replacing one with the same name.
    pub fn put(&mut self, page: &SearchPage) -> Result<(), Error> {
        let vector = vector::of_page(page, &mut self.words);
        self.bytes += vector.len();
        let mut page = page.clone();
        page.body = page.start().to_owned();
        self.waiting.insert(page.name.clone(), Ready { page, vector });
        if self.waiting.len() >= BATCH_SIZE || self.bytes >= BATCH_BYTES {
            self.send()?;
        }
        Ok(())
    }

    /// Deletes a page permanently.
    pub fn delete(&mut self, name: &str) -> Result<(), Error> {
        self.waiting.remove(name);
        self.client.execute("DELETE FROM hapax_search.page WHERE name = $1", &[&name])?;
        Ok(())
    }

    /// Commits all changes.
    ///
    /// # Errors
    ///
    /// Nothing was changed.
    pub fn finish(mut self) -> Result<(), Error> {
        self.send()?;
        if self.is_new {
            table::index(&mut self.client)?;
        }
        self.client.batch_execute("COMMIT")?;
        // The planner has no statistics of a new table.
        self.client.batch_execute("ANALYZE hapax_search.page")?;
        Ok(())
    }

    fn send(&mut self) -> Result<(), Error> {
        let ready: Vec<Ready> = std::mem::take(&mut self.waiting).into_values().collect();
        self.bytes = 0;
        if ready.is_empty() {
            return Ok(());
        }
        fn column<T>(ready: &[Ready], value: impl Fn(&SearchPage) -> T) -> Vec<T> {
            ready.iter().map(|ready| value(&ready.page)).collect()
        }
        // Zero terminates a text in the server.
        let clean = |text: &str| text.replace('\0', "\u{FFFD}");
        let text = |value: fn(&SearchPage) -> &str| column(&ready, |page| clean(value(page)));
        let ids = column(&ready, |page| number_of(&page.name));
        let (names, urls) = (text(|page| &page.name), text(|page| &page.url));
        let (titles, starts) = (text(|page| &page.title), text(|page| &page.body));
        let languages = column(&ready, |page| clean(&page.language_code()));
        let stated = text(|page| &page.language);
        let sites =
            column(&ready, |page| clean(&domains(&page.host()).collect::<Vec<_>>().join(" ")));
        let fingerprints = column(&ready, |page| page.fingerprint.map(|it| it.to_bits() as i64));
        let sketches = column(&ready, |page| page.sketch.map(|it| it.to_bytes().to_vec()));
        let contents = column(&ready, |page| page.content.to_bytes().to_vec());
        let words = column(&ready, |page| i64::from(page.words));
        let scores = column(&ready, |page| page.score);
        let fetched = column(&ready, |page| page.fetched.map(|it| it as i64));
        let vectors: Vec<&str> = ready.iter().map(|ready| ready.vector.as_str()).collect();
        let columns: [&(dyn ToSql + Sync); 15] = [
            &ids,
            &names,
            &urls,
            &titles,
            &starts,
            &languages,
            &stated,
            &sites,
            &fingerprints,
            &sketches,
            &contents,
            &words,
            &scores,
            &fetched,
            &vectors,
        ];
        self.client.execute(PUT, &columns)?;
        Ok(())
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

/// The number of a document: a hash of its name, never negative.
fn number_of(name: &str) -> i64 {
    (short_hash(name) >> 1) as i64
}
