//! A search engine on PostgreSQL's full-text search.
//!
//! Pages are in one table of a separate schema, with a `tsvector` of their words under a GIN index, ranked by
//! `ts_rank`. This crate splits the words, so Chinese and Japanese are found and all engines have the same
//! words. Guarantees results ordered by rank, then name; document numbers are hashes of names, independent of
//! the order of arrival; every change is one transaction. Does not handle revocation lists, channel binding, or
//! words beyond the size of a `tsvector`, about a megabyte per page.

mod certificates;
mod connection;
mod encrypted;
mod error;
mod load;
mod options;
mod reveal;
mod table;
mod vector;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use hapax::fingerprint::{Fingerprint, RecipeId, Sketch};
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Row};

use crate::engine::{
    Change, DocumentFacts, DocumentId, Engine, Excerpt, Removing, Results, Scored, Showing, Totals,
};
use crate::query::ParsedQuery;
use crate::words::Words;

use connection::connect;
pub use connection::{name_of, named};
pub use error::Error;
pub use load::Loader;

/// A database opened for searching.
pub struct PostgresIndex {
    connection: String,
    recipe: String,
    /// Idle connections; every querying thread takes one.
    idle: Mutex<Vec<Client>>,
    marked: BTreeSet<u64>,
    /// Names of removed documents that this process shows.
    revealed: BTreeSet<String>,
    operation: Option<String>,
}

impl PostgresIndex {
    /// Opens the index in a database, given as `host=/run/postgresql dbname=web` or
    /// `postgresql://user@127.0.0.1/web`.
    ///
    /// # Errors
    ///
    /// The server is unreachable, or the database has no index of this release.
    pub fn open(connection: &str) -> Result<Self, Error> {
        let mut client = connect(connection)?;
        let recipe = table::check(&mut client)?.to_string();
        let mut index = Self {
            connection: connection.to_owned(),
            recipe,
            idle: Mutex::new(vec![client]),
            marked: BTreeSet::new(),
            revealed: BTreeSet::new(),
            operation: None,
        };
        index.reload()?;
        Ok(index)
    }

    /// As [`open`](Self::open), and checks that fingerprints are of this recipe.
    pub fn open_for(connection: &str, recipe: &RecipeId) -> Result<Self, Error> {
        let index = Self::open(connection)?;
        let stored = index.with(table::check)?;
        match stored.must_be(recipe) {
            Ok(()) => Ok(index),
            Err(_) => Err(Error::Recipe { stored, asked: recipe.clone() }),
        }
    }

    /// Reads the current marks and the last operation.
    pub fn reload(&mut self) -> Result<(), Error> {
        let (marked, operation) = self.with(|client| {
            let rows = client.query("SELECT id FROM hapax_search.page WHERE marked", &[])?;
            let marked = rows.iter().map(|row| number(row.get(0))).collect();
            let row = client.query_one("SELECT operation FROM hapax_search.manifest", &[])?;
            Ok((marked, row.get(0)))
        })?;
        self.marked = marked;
        self.revealed.clear();
        self.operation = operation;
        Ok(())
    }

    pub fn totals(&self) -> Result<Totals, Error> {
        let count = "SELECT count(*) FILTER (WHERE NOT removed), count(*) FILTER (WHERE removed), \
                     count(*) FILTER (WHERE marked AND NOT removed), \
                     pg_total_relation_size('hapax_search.page') FROM hapax_search.page";
        let row = self.with(|client| Ok(client.query_one(count, &[])?))?;
        Ok(Totals {
            documents: number(row.get(0)),
            removed: number(row.get(1)),
            marked: number(row.get(2)),
            segments: 1,
            bytes: number(row.get(3)),
        })
    }

    /// The names of all removed and of all marked documents, in order.
    pub fn status(&self) -> Result<(Vec<String>, Vec<String>), Error> {
        let names = |what: &str| {
            let select = format!("SELECT name FROM hapax_search.page WHERE {what} ORDER BY name");
            let rows = self.with(|client| Ok(client.query(select.as_str(), &[])?))?;
            Ok::<_, Error>(rows.into_iter().map(|row| row.get(0)).collect())
        };
        Ok((names("removed")?, names("marked")?))
    }

    /// Lends a connection. A connection with a failure is not used again.
    fn with<T>(&self, call: impl FnOnce(&mut Client) -> Result<T, Error>) -> Result<T, Error> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let lent = idle().pop();
        let mut client = match lent {
            Some(client) => client,
            None => connect(&self.connection)?,
        };
        let result = call(&mut client)?;
        idle().push(client);
        Ok(result)
    }

    /// Data of documents from their rows, in the requested order; documents may be requested twice.
    /// The first column is the number.
    fn rows<T>(
        &self,
        select: &str,
        ids: &[DocumentId],
        read: impl Fn(&Row) -> T,
    ) -> Result<Vec<T>, Error> {
        let keys: Vec<i64> = ids.iter().map(|id| id.0 as i64).collect();
        let select = format!("SELECT id, {select} FROM hapax_search.page WHERE id = ANY($1)");
        let found = self.with(|client| Ok(client.query(select.as_str(), &[&keys])?))?;
        let by_id: BTreeMap<i64, &Row> = found.iter().map(|row| (row.get(0), row)).collect();
        let row = |key: &i64| by_id.get(key).copied().ok_or(Error::Unknown { id: *key as u64 });
        keys.iter().map(|key| row(key).map(&read)).collect()
    }
}

fn number(value: i64) -> u64 {
    value as u64
}

impl std::fmt::Debug for PostgresIndex {
    /// Without the connection, which may contain a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresIndex").field("recipe", &self.recipe).finish_non_exhaustive()
    }
}

impl Engine for PostgresIndex {
    type Error = Error;

    fn recipe(&self) -> &str {
        &self.recipe
    }

    fn top(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<Results, Error> {
        let (top, all) = self.scored(query, most, hidden)?;
        Ok(Results { top: top.into_iter().map(|result| result.id).collect(), all })
    }

    fn fingerprints(&self, ids: &[DocumentId]) -> Result<Vec<Option<Fingerprint>>, Error> {
        let bits = |row: &Row| row.get::<_, Option<i64>>(1).map(|bits| bits as u64);
        self.rows("fingerprint", ids, |row| bits(row).map(Fingerprint::from_bits))
    }

    fn facts(&self, ids: &[DocumentId]) -> Result<Vec<DocumentFacts>, Error> {
        self.rows("name, url, sketch, score, words, fetched", ids, |row| DocumentFacts {
            name: row.get(1),
            url: row.get(2),
            sketch: row
                .get::<_, Option<&[u8]>>(3)
                .and_then(|bytes| bytes.try_into().ok())
                .map(Sketch::from_bytes),
            score: row.get(4),
            words: row.get::<_, i64>(5).try_into().unwrap_or(u32::MAX),
            fetched: row.get::<_, Option<i64>>(6).map(number),
        })
    }

    fn is_marked(&self, id: DocumentId) -> bool {
        self.marked.contains(&id.0)
    }
}

impl Showing for PostgresIndex {
    fn scored(
        &self,
        query: &str,
        most: usize,
        hidden: &(dyn Fn(DocumentId) -> bool + Sync),
    ) -> Result<(Vec<Scored>, u64), Error> {
        let query = ParsedQuery::parse(query, &mut Words::default());
        let mut top = Vec::new();
        let mut all = 0;
        if query.is_empty() {
            return Ok((top, all));
        }
        // Only the caller knows which results are hidden, so all of them are read.
        let select = "SELECT id, ts_rank($1::text::float4[], vector, $2::text::tsquery) AS rank \
                      FROM hapax_search.page WHERE vector @@ $3::text::tsquery \
                      AND (NOT removed OR name = ANY($6::text[])) \
                      AND ($4::text[] = '{}' OR sites && $4) \
                      AND ($5::text[] = '{}' OR language = ANY($5)) \
                      ORDER BY rank DESC, name COLLATE \"C\"";
        let (ranked, wanted) = (vector::words_of(&query), vector::condition_of(&query));
        let revealed: Vec<&str> = self.revealed.iter().map(String::as_str).collect();
        self.with(|client| {
            let given: [&(dyn postgres::types::ToSql + Sync); 6] =
                [&vector::WEIGHTS, &ranked, &wanted, &query.sites, &query.languages, &revealed];
            let mut rows = client.query_raw(select, given)?;
            while let Some(row) = rows.next()? {
                let id = DocumentId(number(row.get(0)));
                if hidden(id) {
                    continue;
                }
                all += 1;
                if top.len() < most {
                    top.push(Scored { id, relevance: row.get(1) });
                }
            }
            Ok(())
        })?;
        Ok((top, all))
    }

    fn excerpts(&self, ids: &[DocumentId]) -> Result<Vec<Excerpt>, Error> {
        let excerpt =
            |row: &Row| Excerpt { title: row.get(1), start: row.get(2), language: row.get(3) };
        self.rows("title, start, stated_language", ids, excerpt)
    }
}

impl PostgresIndex {
    /// The names that no document has, removed or not.
    pub fn unknown(&self, names: &[String]) -> Result<Vec<String>, Error> {
        let select = "SELECT name FROM hapax_search.page WHERE name = ANY($1)";
        let rows = self.with(|client| Ok(client.query(select, &[&names])?))?;
        let known: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        Ok(names.iter().filter(|name| !known.contains(name)).cloned().collect())
    }
}

impl Removing for PostgresIndex {
    fn change(&mut self, change: Change, names: &[String], operation: &str) -> Result<u64, Error> {
        let update = match change {
            Change::Remove => "SET removed = true WHERE NOT removed",
            Change::Restore => "SET removed = false WHERE removed",
            Change::Mark => "SET marked = true WHERE NOT marked",
            Change::Unmark => "SET marked = false WHERE marked",
        };
        let update = format!("UPDATE hapax_search.page {update} AND name = ANY($1)");
        let note = "UPDATE hapax_search.manifest SET operation = $1";
        let changed = self.with(|client| {
            let mut transaction = client.transaction()?;
            // Written first, so that concurrent changes wait for each other.
            transaction.execute(note, &[&operation])?;
            let changed = transaction.execute(update.as_str(), &[&names])?;
            transaction.commit()?;
            Ok(changed)
        })?;
        self.reload()?;
        Ok(changed)
    }

    fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }
}
