//! One SQLite database with the tables `pages` and `duplicates`.
//!
//! Indexes are made at the end, when all rows are there. SQLite has no times and no booleans: times
//! are RFC 3339 texts, which its date functions read, and booleans 0 and 1.

use super::rows::{DuplicateRow, PageRow, Sink};
use super::sync;
use crate::failure::Failure;
use hapax_client::moment;
use rusqlite::{Connection, params};
use std::fs::File;
use std::path::{Path, PathBuf};

const TABLES: &str = "
    CREATE TABLE pages (
        content TEXT,
        url TEXT NOT NULL PRIMARY KEY,
        fingerprint TEXT,
        words INTEGER NOT NULL,
        score REAL,
        fetched TEXT,
        changed TEXT,
        canonical TEXT,
        state TEXT NOT NULL,
        group_id INTEGER,
        is_winner INTEGER NOT NULL,
        removable INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE duplicates (
        url TEXT NOT NULL PRIMARY KEY,
        winner TEXT NOT NULL,
        verdict TEXT NOT NULL,
        similarity REAL,
        distance INTEGER,
        rule TEXT,
        reason TEXT
    ) STRICT, WITHOUT ROWID;";

const INDEXES: &str = "
    CREATE INDEX pages_by_content ON pages (content);
    CREATE INDEX pages_by_group ON pages (group_id);
    CREATE INDEX duplicates_by_winner ON duplicates (winner);";

/// Rows that are written with one prepared statement.
const TOGETHER: usize = 4096;

pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
    pages: Vec<PageRow>,
    duplicates: Vec<DuplicateRow>,
}

impl Database {
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let made = Connection::open(path).and_then(|connection| {
            // The file is thrown away if anything fails, so it needs no journal.
            connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
            connection.execute_batch(TABLES)?;
            connection.execute_batch("BEGIN")?;
            Ok(connection)
        });
        let connection = made.map_err(|error| failed(path, error))?;
        let (pages, duplicates) = (Vec::new(), Vec::new());
        Ok(Self { connection, path: path.to_owned(), pages, duplicates })
    }

    fn put_pages(&mut self) -> rusqlite::Result<()> {
        let sql = "INSERT INTO pages VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)";
        let mut put = self.connection.prepare(sql)?;
        for row in self.pages.drain(..) {
            put.execute(params![
                row.content,
                row.url,
                row.fingerprint,
                row.words,
                // Not a number is no number in SQL either.
                row.score.filter(|score| !score.is_nan()),
                row.fetched.map(moment::shown),
                row.changed.map(moment::shown),
                row.canonical,
                row.state,
                row.group_id,
                row.is_winner,
                row.removable,
            ])?;
        }
        Ok(())
    }

    fn put_duplicates(&mut self) -> rusqlite::Result<()> {
        let sql = "INSERT INTO duplicates VALUES (?1,?2,?3,?4,?5,?6,?7)";
        let mut put = self.connection.prepare(sql)?;
        for row in self.duplicates.drain(..) {
            put.execute(params![
                row.url,
                row.winner,
                row.verdict,
                row.similarity,
                row.distance,
                row.rule,
                row.reason,
            ])?;
        }
        Ok(())
    }
}

fn failed(path: &Path, error: rusqlite::Error) -> Failure {
    let context = format!("cannot write {}", crate::readable::path(path));
    Failure::Run(anyhow::Error::new(error).context(context))
}

impl Sink for Database {
    fn page(&mut self, row: PageRow) -> Result<(), Failure> {
        self.pages.push(row);
        if self.pages.len() < TOGETHER {
            return Ok(());
        }
        self.put_pages().map_err(|error| failed(&self.path, error))
    }

    fn duplicate(&mut self, row: DuplicateRow) -> Result<(), Failure> {
        self.duplicates.push(row);
        if self.duplicates.len() < TOGETHER {
            return Ok(());
        }
        self.put_duplicates().map_err(|error| failed(&self.path, error))
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        let put = self.put_pages().and_then(|()| self.put_duplicates());
        let Self { connection, path, .. } = *self;
        let done = put
            .and_then(|()| connection.execute_batch(INDEXES))
            .and_then(|()| connection.execute_batch("COMMIT"))
            .and_then(|()| connection.close().map_err(|(_, error)| error));
        done.map_err(|error| failed(&path, error))?;
        let file = File::open(&path).map_err(|error| Failure::io("write", &path, error))?;
        sync(&file, &path)
    }
}
