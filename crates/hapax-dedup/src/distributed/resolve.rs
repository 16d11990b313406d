//! Distributed steps that decide about the documents of complete components and make the rows of the tables. A
//! batch may hold several components, but never a part of one.
//!
//! [`Steps::resolve`] takes rows of four kinds, by the column `kind`:
//!
//! | `kind` | `position` | `other`, `distance`, `similarity` | `named`, `page` |
//! |---|---|---|---|
//! | 0 a document | its position | | both |
//! | 1 a confirmed pair | one | the other | |
//! | 2 a member | its position | its representative | |
//! | 3 a link | one representative | another one of its cluster (`other` only) | |

use arrow_array::builder::{BooleanBuilder, Float32Builder, Int64Builder, StringBuilder};
use arrow_array::{Array, Float32Array, Int64Array, RecordBatch, StringArray};
use hapax::group::NearPair;

use super::Steps;
use super::rows::{Loaded, Rows, batch};
use crate::columns;
use crate::decide::{Found, resolve_groups};
use crate::error::Error;
use crate::facts::FactTable;
use crate::near::{Matcher, Member, Near};
use crate::pages::Pages;

const KIND: &str = "linked";

columns! {
    struct Verdicts of VerdictRow<'a> {
        position: i64 => Int64Builder, append_value;
        winner: i64 => Int64Builder, append_value;
        winner_id: Option<&'a str> => StringBuilder, append_option;
        outcome: &'a str => StringBuilder, append_value;
        distance: i64 => Int64Builder, append_value;
        similarity: Option<f32> => Float32Builder, append_option;
        rule: Option<&'a str> => StringBuilder, append_option;
        reason: Option<&'a str> => StringBuilder, append_option;
        rank: Option<i64> => Int64Builder, append_option;
        own_similarity: Option<f32> => Float32Builder, append_option;
    }
}

columns! {
    struct Groups of GroupRow<'a> {
        position: i64 => Int64Builder, append_value;
        document: &'a str => StringBuilder, append_value;
        url: Option<&'a str> => StringBuilder, append_option;
        group: i64 => Int64Builder, append_value;
        winner: &'a str => StringBuilder, append_value;
        earlier: bool => BooleanBuilder, append_value;
        outcome: &'a str => StringBuilder, append_value;
        distance: Option<i64> => Int64Builder, append_option;
        similarity: Option<f32> => Float32Builder, append_option;
        rule: Option<&'a str> => StringBuilder, append_option;
        reason: Option<&'a str> => StringBuilder, append_option;
        file: &'a str => StringBuilder, append_value;
        record: i64 => Int64Builder, append_value;
        rank: i64 => Int64Builder, append_value;
        own_similarity: Option<f32> => Float32Builder, append_option;
        own_words: Option<i64> => Int64Builder, append_option;
    }
}

impl Steps {
    /// The verdict on every document: `position`, `winner`, `winner_id`, `outcome`, `distance`,
    /// `similarity`, `rule`, `reason`, its `rank` in its group (the winner has 0) and
    /// `own_similarity`. One more row has outcome `effort`: sketches compared, pairs confirmed, and
    /// (as `distance`) groups that transitive closure would have merged.
    ///
    /// # Errors
    ///
    /// The rows are not linked pages, or a component is incomplete.
    pub fn resolve(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, KIND);
        let kinds = rows.numbers("kind")?;
        let loaded = rows.pages(|row| kinds[row] == 0)?;
        let pages = &loaded.pages;
        let table = FactTable::marked(pages, &self.options.keep, &loaded.named);
        let matcher = Matcher::new(pages, &self.options);
        let near = near(&rows, kinds, &loaded)?;
        let (earlier, copies) = (Pages::default(), (0..pages.len() as u32).collect());
        let found =
            Found { copies, near, addresses: Vec::new(), earlier: &earlier, known: <_>::default() };
        let decision = resolve_groups(pages, &table, &matcher, &self.options.keep, found)?;
        let mut ranks = vec![0i64; pages.len()];
        for group in decision.groups() {
            for (rank, page) in (0..).zip(group.documents()) {
                ranks[page as usize] = rank;
            }
        }
        let mut verdicts = Verdicts::default();
        for page in 0..pages.len() as u32 {
            let verdict = decision.verdict(page);
            let reason = decision.reason(page);
            let position = |page: u32| loaded.positions[page as usize];
            verdicts.push(VerdictRow {
                position: position(page),
                winner: position(verdict.winner),
                winner_id: Some(pages.id(verdict.winner)),
                outcome: verdict.outcome.name(),
                distance: i64::from(verdict.distance),
                similarity: Some(verdict.similarity),
                rule: reason.as_ref().map(|it| it.rule),
                reason: reason.as_ref().map(|it| it.text.as_str()),
                rank: Some(ranks[page as usize]),
                own_similarity: pages.own_shared(page, verdict.winner),
            });
        }
        let effort = decision.effort();
        let related: u64 = decision.families().iter().map(|it| u64::from(it.stars)).sum();
        verdicts.push(VerdictRow {
            position: effort.compared as i64,
            winner: effort.confirmed as i64,
            outcome: "effort",
            distance: related as i64,
            ..VerdictRow::default()
        });
        batch("verdict", verdicts.finish())
    }

    /// The rows of `groups.parquet` for documents: `position`, `file`, `record`, `named`, `page`,
    /// `own`, and the columns of a verdict, which are null for a document without a match.
    pub fn group_rows(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, "verdict");
        let positions = rows.numbers("position")?;
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_unstable_by_key(|&row| positions[row]);
        let loaded = rows.pages(|_| true)?;
        let pages = &loaded.pages;
        let file: &StringArray = rows.column("file")?;
        let record: &Int64Array = rows.column("record")?;
        let winner: &Int64Array = rows.column("winner")?;
        let winner_id: &StringArray = rows.column("winner_id")?;
        let outcome: &StringArray = rows.column("outcome")?;
        let distance: &Int64Array = rows.column("distance")?;
        let similarity: &Float32Array = rows.column("similarity")?;
        let rule: &StringArray = rows.column("rule")?;
        let reason: &StringArray = rows.column("reason")?;
        let rank: &Int64Array = rows.column("rank")?;
        let own_similarity: &Float32Array = rows.column("own_similarity")?;
        let mut groups = Groups::default();
        for (page, row) in (0..).zip(order) {
            let known = winner.is_valid(row);
            let stays = !known || outcome.value(row) == "kept";
            let shared = !stays && own_similarity.is_valid(row);
            groups.push(GroupRow {
                position: positions[row],
                document: pages.id(page),
                url: Some(pages.url(page)).filter(|url| !url.is_empty()),
                group: if known { winner.value(row) } else { positions[row] },
                winner: if known { winner_id.value(row) } else { pages.id(page) },
                earlier: false,
                outcome: if known { outcome.value(row) } else { "kept" },
                distance: (!stays).then(|| distance.value(row)),
                similarity: (!stays).then(|| similarity.value(row)),
                rule: (!stays && rule.is_valid(row)).then(|| rule.value(row)),
                reason: (!stays && reason.is_valid(row)).then(|| reason.value(row)),
                file: file.value(row),
                record: record.value(row),
                rank: if known { rank.value(row) } else { 0 },
                own_similarity: shared.then(|| own_similarity.value(row)),
                own_words: pages.own(page).map(|own| i64::from(own.text.words())),
            });
        }
        batch("group", groups.finish())
    }
}

/// Pairs and members, by places.
fn near(rows: &Rows<'_>, kinds: &[i64], loaded: &Loaded<'_>) -> Result<Near, Error> {
    let positions = rows.numbers("position")?;
    let other: &Int64Array = rows.column("other")?;
    let distance: &Int64Array = rows.column("distance")?;
    let similarity: &Float32Array = rows.column("similarity")?;
    let place = |position: i64| {
        let missing = || rows.wrong(format!("position {position} is named and not there"));
        loaded.place(position).ok_or_else(missing)
    };
    let mut near = Near::default();
    for row in (0..rows.len()).filter(|&row| kinds[row] != 0) {
        let (one, two) = (place(positions[row])?, place(other.value(row))?);
        if kinds[row] == 3 {
            near.links.push((two, one));
            continue;
        }
        let (distance, similarity) = (distance.value(row) as u8, similarity.value(row));
        match kinds[row] {
            1 => near.pairs.push(NearPair { a: one, b: two, distance, similarity }),
            2 => near.members.push(Member { page: one, representative: two, distance, similarity }),
            kind => return Err(rows.wrong(format!("there is no kind {kind}"))),
        }
    }
    // The order of the rows must not matter.
    near.pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    near.members.sort_unstable_by_key(|member| member.page);
    Ok(near)
}
