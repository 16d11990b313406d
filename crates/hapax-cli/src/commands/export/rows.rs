//! The two relations: names and types of their columns, and their rows from one commit of a repository.
//!
//! Columns are fields of the wire types, except `group_id`, because `group` is a keyword of SQL.

use crate::failure::Failure;
use crate::repositories::failure;
use hapax_client::moment;
use hapax_client::wire::{Page, Verdict};
use hapax_store::{Market, Reader};
use serde::{Serialize, Serializer};

/// Number of pages read and written at a time.
const PIECE: usize = 5000;

/// A page with its status: a row of `pages`, and of `duplicates` if it is removable.
pub(super) struct Row {
    page: Page,
    status: Verdict,
}

/// Type and source of a column.
pub(super) enum Cells {
    Text(fn(&Row) -> Option<&str>),
    Count(fn(&Row) -> Option<u32>),
    Bits(fn(&Row) -> Option<u8>),
    Number(fn(&Row) -> Option<f64>),
    Share(fn(&Row) -> Option<f32>),
    /// Seconds since 1970.
    Time(fn(&Row) -> Option<u64>),
    Flag(fn(&Row) -> bool),
}

pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) nullable: bool,
    pub(super) cells: Cells,
}

pub(super) struct Relation {
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column],
}

const fn always(name: &'static str, cells: Cells) -> Column {
    Column { name, nullable: false, cells }
}

const fn maybe(name: &'static str, cells: Cells) -> Column {
    Column { name, nullable: true, cells }
}

pub(super) static PAGES: Relation = Relation {
    name: "pages",
    columns: &[
        maybe("content", Cells::Text(|row| row.page.content.as_deref())),
        always("url", Cells::Text(|row| Some(&row.page.url))),
        maybe("fingerprint", Cells::Text(|row| row.page.fingerprint.as_deref())),
        always("words", Cells::Count(|row| Some(row.page.words))),
        maybe("score", Cells::Number(|row| row.page.score)),
        maybe("fetched", Cells::Time(|row| row.page.fetched)),
        maybe("changed", Cells::Time(|row| row.page.changed)),
        maybe("canonical", Cells::Text(|row| row.page.canonical.as_deref())),
        always("state", Cells::Text(|row| Some(&row.page.state))),
        maybe("group_id", Cells::Count(|row| row.page.group)),
        always("is_winner", Cells::Flag(|row| row.status.is_winner)),
        always("removable", Cells::Flag(|row| row.status.removable)),
    ],
};

/// Similarity and distance are null for a redirect.
pub(super) static DUPLICATES: Relation = Relation {
    name: "duplicates",
    columns: &[
        always("url", Cells::Text(|row| Some(&row.status.url))),
        always("winner", Cells::Text(|row| Some(&row.status.winner))),
        always("verdict", Cells::Text(|row| Some(&row.status.verdict))),
        maybe("similarity", Cells::Share(|row| row.status.alike.map(|alike| alike.similarity))),
        maybe("distance", Cells::Bits(|row| row.status.alike.map(|alike| alike.distance))),
        maybe("rule", Cells::Text(|row| row.status.reason.as_ref().map(|it| &*it.rule))),
        maybe("reason", Cells::Text(|row| row.status.reason.as_ref().map(|it| &*it.text))),
    ],
};

struct JsonCell<'a>(&'a Cells, &'a Row);

impl Serialize for JsonCell<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Cells::Text(of) => of(self.1).serialize(to),
            Cells::Count(of) => of(self.1).serialize(to),
            Cells::Bits(of) => of(self.1).serialize(to),
            Cells::Number(of) => of(self.1).serialize(to),
            Cells::Share(of) => of(self.1).serialize(to),
            Cells::Time(of) => of(self.1).map(moment::shown).serialize(to),
            Cells::Flag(of) => of(self.1).serialize(to),
        }
    }
}

/// A row as a JSON object.
pub(super) struct JsonRow<'a>(pub(super) &'a Relation, pub(super) &'a Row);

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.columns.iter().map(|it| (it.name, JsonCell(&it.cells, self.1))))
    }
}

/// Accepts rows in order.
pub(super) trait Sink {
    fn put(&mut self, relation: &'static Relation, rows: &[&Row]) -> Result<(), Failure>;
    fn finish(self: Box<Self>) -> Result<(), Failure>;
}

/// Sends all rows of a snapshot to `to`. Returns the numbers of pages and of removable pages.
pub(super) fn pour(
    reader: &Reader,
    market: Option<&Market>,
    sink: &mut dyn Sink,
) -> Result<(u64, u64), Failure> {
    let (mut pages, mut duplicates) = (0, 0);
    let mut after: Option<String> = None;
    loop {
        let piece = reader.pages(after.as_deref(), PIECE, market).map_err(failure)?;
        let Some((last, _)) = piece.last() else { return Ok((pages, duplicates)) };
        after = Some(last.url.clone());
        let row = |(page, decision): (hapax_store::PageInfo, _)| {
            let status = Verdict::known(page.url.clone(), &decision);
            Row { page: Page::new(page, status.group), status }
        };
        let rows: Vec<Row> = piece.into_iter().map(row).collect();
        let all: Vec<&Row> = rows.iter().collect();
        let removable: Vec<&Row> = rows.iter().filter(|row| row.status.removable).collect();
        sink.put(&PAGES, &all)?;
        sink.put(&DUPLICATES, &removable)?;
        (pages, duplicates) = (pages + all.len() as u64, duplicates + removable.len() as u64);
    }
}
