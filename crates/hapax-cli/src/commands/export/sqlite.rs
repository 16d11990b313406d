//! One SQLite database with the tables `pages` and `duplicates`.
//!
//! Creates indexes at the end, after all rows. SQLite has no times and no booleans: times are RFC 3339 texts, which
//! its date functions read, and booleans 0 and 1.

use super::rows::{Cells, Column, DUPLICATES, PAGES, Relation, Row, Sink};
use super::{failed, sync};
use crate::failure::Failure;
use hapax_client::moment;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::fs::File;
use std::path::{Path, PathBuf};

const INDEXES: &str = "
    CREATE INDEX pages_by_content ON pages (content);
    CREATE INDEX pages_by_group ON pages (group_id);
    CREATE INDEX duplicates_by_winner ON duplicates (winner);";

pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
}

impl Database {
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let made = Connection::open(path).and_then(|connection| {
            // The file is deleted on failure, so it needs no journal.
            connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
            connection.execute_batch(&table(&PAGES))?;
            connection.execute_batch(&table(&DUPLICATES))?;
            connection.execute_batch("BEGIN")?;
            Ok(connection)
        });
        let connection = made.map_err(|error| failed(path, error))?;
        Ok(Self { connection, path: path.to_owned() })
    }

    fn insert(&self, relation: &Relation, rows: &[&Row]) -> rusqlite::Result<()> {
        let places = vec!["?"; relation.columns.len()].join(",");
        let sql = format!("INSERT INTO {} VALUES ({places})", relation.name);
        let mut insert = self.connection.prepare(&sql)?;
        for row in rows {
            insert.execute(params_from_iter(relation.columns.iter().map(|it| value(it, row))))?;
        }
        Ok(())
    }
}

/// The SQL that creates a table; its key is the address.
fn table(relation: &Relation) -> String {
    let column = |column: &Column| {
        let holds = match column.cells {
            Cells::Text(_) | Cells::Time(_) => "TEXT",
            Cells::Count(_) | Cells::Bits(_) | Cells::Flag(_) => "INTEGER",
            Cells::Number(_) | Cells::Share(_) => "REAL",
        };
        let never_null = if column.nullable { "" } else { " NOT NULL" };
        let key = if column.name == "url" { " PRIMARY KEY" } else { "" };
        format!("{} {holds}{never_null}{key}", column.name)
    };
    let columns: Vec<String> = relation.columns.iter().map(column).collect();
    format!("CREATE TABLE {} ({}) STRICT, WITHOUT ROWID;", relation.name, columns.join(", "))
}

fn value(column: &Column, row: &Row) -> Value {
    let or_null = |value: Option<Value>| value.unwrap_or(Value::Null);
    // SQL has no NaN.
    let real = |number: Option<f64>| or_null(number.filter(|it| !it.is_nan()).map(Value::Real));
    match column.cells {
        Cells::Text(of) => or_null(of(row).map(|text| Value::Text(text.to_owned()))),
        Cells::Count(of) => or_null(of(row).map(|count| Value::Integer(count.into()))),
        Cells::Bits(of) => or_null(of(row).map(|bits| Value::Integer(bits.into()))),
        Cells::Number(of) => real(of(row)),
        Cells::Share(of) => real(of(row).map(f64::from)),
        Cells::Time(of) => or_null(of(row).map(|time| Value::Text(moment::shown(time)))),
        Cells::Flag(of) => Value::Integer(of(row).into()),
    }
}

impl Sink for Database {
    fn put(&mut self, relation: &'static Relation, rows: &[&Row]) -> Result<(), Failure> {
        self.insert(relation, rows).map_err(|error| failed(&self.path, error))
    }

    fn finish(self: Box<Self>) -> Result<(), Failure> {
        let Self { connection, path } = *self;
        let done = connection
            .execute_batch(INDEXES)
            .and_then(|()| connection.execute_batch("COMMIT"))
            .and_then(|()| connection.close().map_err(|(_, error)| error));
        done.map_err(|error| failed(&path, error))?;
        let file = File::open(&path).map_err(|error| Failure::io("write", &path, error))?;
        sync(&file, &path)
    }
}
