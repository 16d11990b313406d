//! The contents of the database: a schema with a row about the index and a row per page.

use hapax::fingerprint::RecipeId;
use postgres::GenericClient;

use super::error::Error;
use crate::words;

/// Must change with the table or the way words are written into it.
const FORMAT: i32 = 1;

const CREATE: &str = "
    CREATE SCHEMA hapax_search;
    CREATE TABLE hapax_search.manifest (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        format integer NOT NULL,
        words text NOT NULL,
        recipe text NOT NULL,
        operation text
    );
    CREATE TABLE hapax_search.page (
        id bigint PRIMARY KEY,
        name text COLLATE \"C\" NOT NULL UNIQUE,
        url text NOT NULL,
        title text NOT NULL,
        start text NOT NULL,
        language text NOT NULL,
        stated_language text NOT NULL,
        sites text[] NOT NULL,
        fingerprint bigint,
        sketch bytea,
        content bytea NOT NULL,
        words bigint NOT NULL,
        score double precision,
        fetched bigint,
        removed boolean NOT NULL DEFAULT false,
        marked boolean NOT NULL DEFAULT false,
        vector tsvector NOT NULL
    );
    CREATE INDEX page_marked ON hapax_search.page (id) WHERE marked;";

/// Whether there is an index of any format.
pub(super) fn exists(client: &mut impl GenericClient) -> Result<bool, Error> {
    let row = client.query_one("SELECT to_regnamespace('hapax_search') IS NOT NULL", &[])?;
    Ok(row.get(0))
}

/// Creates an empty index. Words are not indexed before [`index`].
pub(super) fn create(client: &mut impl GenericClient, recipe: &RecipeId) -> Result<(), Error> {
    client.batch_execute(CREATE)?;
    client.execute(
        "INSERT INTO hapax_search.manifest (format, words, recipe) VALUES ($1, $2, $3)",
        &[&FORMAT, &words::VERSION, &recipe.to_string()],
    )?;
    Ok(())
}

/// Indexes the words of all pages, which is faster than one by one.
pub(super) fn index(client: &mut impl GenericClient) -> Result<(), Error> {
    let create = "CREATE INDEX page_vector ON hapax_search.page USING gin (vector)";
    client.batch_execute(create)?;
    Ok(())
}

/// The recipe of the index, if this release can read it.
pub(super) fn check(client: &mut impl GenericClient) -> Result<RecipeId, Error> {
    if !exists(client)? {
        return Err(Error::Missing);
    }
    let row = client.query_one("SELECT format FROM hapax_search.manifest", &[])?;
    let unreadable = |found: String, readable: String| Err(Error::Format { found, readable });
    let format: i32 = row.get(0);
    if format != FORMAT {
        return unreadable(format.to_string(), FORMAT.to_string());
    }
    let row = client.query_one("SELECT words, recipe FROM hapax_search.manifest", &[])?;
    let [cut, recipe]: [String; 2] = [row.get(0), row.get(1)];
    if cut != words::VERSION {
        return unreadable(
            format!("{FORMAT} with words {cut}"),
            format!("words {}", words::VERSION),
        );
    }
    recipe.parse().map_err(|error| Error::Damaged(format!("{error}")))
}
