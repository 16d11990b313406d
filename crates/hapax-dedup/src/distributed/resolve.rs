//! What becomes of the documents of whole components, and the rows of the tables.
//!
//! Into [`Steps::resolve`] go rows of four kinds, which the column `kind` distinguishes:
//!
//! | `kind` | `position` | `other`, `distance`, `similarity` | `named`, `page` |
//! |---|---|---|---|
//! | 0 a document | its position | | both |
//! | 1 a confirmed pair | one | the other | |
//! | 2 a member | its position | its representative | |
//! | 3 a link | one representative | another one of its cluster, nothing else | |
//!
//! Whole components must come together, several in a batch or one.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float32Builder, Int64Builder, StringBuilder};
use arrow_array::{Array, Float32Array, Int64Array, RecordBatch, StringArray};
use hapax::group::NearPair;

use super::Steps;
use super::rows::{Loaded, Rows, batch, numbers};
use crate::decide::{Found, resolve_groups};
use crate::error::Error;
use crate::facts::FactTable;
use crate::near::{Matcher, Member, Near};
use crate::outputs::outcome_name;
use crate::pages::Pages;

const KIND: &str = "linked";

#[derive(Default)]
struct Verdicts {
    position: Int64Builder,
    winner: Int64Builder,
    winner_id: StringBuilder,
    outcome: StringBuilder,
    distance: Int64Builder,
    similarity: Float32Builder,
    rule: StringBuilder,
    reason: StringBuilder,
    rank: Int64Builder,
    own_similarity: Float32Builder,
}

impl Steps {
    /// A verdict on every document: `position`, `winner`, `winner_id`, `outcome`, `distance`, `similarity`,
    /// `rule`, `reason`, its `rank` in its group, the winner's being 0, and `own_similarity`; and one row with outcome `effort`: sketches compared, pairs confirmed, and groups
    /// that plain closure would have merged (as `distance`).
    ///
    /// # Errors
    ///
    /// These are no rows of linked, or a component is not whole.
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
            verdicts.position.append_value(position(page));
            verdicts.winner.append_value(position(verdict.winner));
            verdicts.winner_id.append_value(pages.id(verdict.winner));
            verdicts.outcome.append_value(outcome_name(verdict.outcome));
            verdicts.distance.append_value(i64::from(verdict.distance));
            verdicts.similarity.append_value(verdict.similarity);
            verdicts.rule.append_option(reason.as_ref().map(|it| it.rule));
            verdicts.reason.append_option(reason.as_ref().map(|it| it.text.as_str()));
            verdicts.rank.append_value(ranks[page as usize]);
            verdicts.own_similarity.append_option(pages.own_shared(page, verdict.winner));
        }
        let effort = decision.effort();
        let related: u64 = decision.families().iter().map(|it| u64::from(it.stars)).sum();
        verdicts.effort(effort.compared as i64, effort.confirmed as i64, related as i64);
        verdicts.finish()
    }

    /// The rows of `groups.parquet` for documents: `position`, `file`, `record`, `named`, `page`, `own`, and the columns
    /// of a verdict, which are null for a document without linked.
    ///
    /// # Errors
    ///
    /// These are no such rows.
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
        let [mut document, mut url, mut winners, mut outcomes, mut rules, mut reasons, mut files] =
            std::array::from_fn(|_| StringBuilder::new());
        let [mut group, mut distances, mut records, mut ranks, mut own_words] =
            std::array::from_fn(|_| Int64Builder::new());
        let [mut similarities, mut own_similarities] =
            std::array::from_fn(|_| Float32Builder::new());
        let mut earlier = BooleanBuilder::new();
        for (page, row) in (0..).zip(order) {
            let known = winner.is_valid(row);
            let stays = !known || outcome.value(row) == "kept";
            document.append_value(pages.id(page));
            url.append_option(Some(pages.url(page)).filter(|url| !url.is_empty()));
            group.append_value(if known { winner.value(row) } else { positions[row] });
            winners.append_value(if known { winner_id.value(row) } else { pages.id(page) });
            earlier.append_value(false);
            outcomes.append_value(if known { outcome.value(row) } else { "kept" });
            distances.append_option((!stays).then(|| distance.value(row)));
            similarities.append_option((!stays).then(|| similarity.value(row)));
            rules.append_option((!stays && rule.is_valid(row)).then(|| rule.value(row)));
            reasons.append_option((!stays && reason.is_valid(row)).then(|| reason.value(row)));
            files.append_value(file.value(row));
            records.append_value(record.value(row));
            ranks.append_value(if known { rank.value(row) } else { 0 });
            let shared = !stays && own_similarity.is_valid(row);
            own_similarities.append_option(shared.then(|| own_similarity.value(row)));
            own_words.append_option(pages.own(page).map(|own| i64::from(own.text.words())));
        }
        batch(
            "group",
            vec![
                ("position", numbers(loaded.positions.clone())),
                ("document", Arc::new(document.finish())),
                ("url", Arc::new(url.finish())),
                ("group", Arc::new(group.finish())),
                ("winner", Arc::new(winners.finish())),
                ("earlier", Arc::new(earlier.finish())),
                ("outcome", Arc::new(outcomes.finish())),
                ("distance", Arc::new(distances.finish())),
                ("similarity", Arc::new(similarities.finish())),
                ("rule", Arc::new(rules.finish())),
                ("reason", Arc::new(reasons.finish())),
                ("file", Arc::new(files.finish())),
                ("record", Arc::new(records.finish())),
                ("rank", Arc::new(ranks.finish())),
                ("own_similarity", Arc::new(own_similarities.finish())),
                ("own_words", Arc::new(own_words.finish())),
            ],
        )
    }
}

/// Pairs and members by places.
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
    // However the rows came.
    near.pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    near.members.sort_unstable_by_key(|member| member.page);
    Ok(near)
}

impl Verdicts {
    fn effort(&mut self, compared: i64, confirmed: i64, related: i64) {
        self.position.append_value(compared);
        self.winner.append_value(confirmed);
        self.winner_id.append_null();
        self.outcome.append_value("effort");
        self.distance.append_value(related);
        self.similarity.append_null();
        self.rule.append_null();
        self.reason.append_null();
        self.rank.append_null();
        self.own_similarity.append_null();
    }

    fn finish(mut self) -> Result<RecordBatch, Error> {
        batch(
            "verdict",
            vec![
                ("position", Arc::new(self.position.finish())),
                ("winner", Arc::new(self.winner.finish())),
                ("winner_id", Arc::new(self.winner_id.finish())),
                ("outcome", Arc::new(self.outcome.finish())),
                ("distance", Arc::new(self.distance.finish())),
                ("similarity", Arc::new(self.similarity.finish())),
                ("rule", Arc::new(self.rule.finish())),
                ("reason", Arc::new(self.reason.finish())),
                ("rank", Arc::new(self.rank.finish())),
                ("own_similarity", Arc::new(self.own_similarity.finish())),
            ],
        )
    }
}
