//! Exact copies and crowds: who leads, and who is represented by whom.
//!
//! | column | holds |
//! |---|---|
//! | `role` | 0 a leader, which goes on; 1 an exact copy of `target`; 2 a member led by `target`; 9 effort |
//! | `position` | of the document; how many sketches were compared, of effort |
//! | `target` | as above; how many strangers there are, of effort |
//! | `distance`, `similarity` | of members |
//! | `named`, `page` | of leaders: whether others name it as canonical, and its imprint |
//! | `meets` | who must be in one batch in the next turn; 0 for those that need not |
//!
//! [`Kernels::copies`] needs all rows with one `meets` of the imprints in one batch,
//! [`Kernels::turn`] all leaders with one `meets`.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, Float32Builder, Int64Builder};
use arrow_array::{Array, BinaryArray, Float32Array, Int64Array, RecordBatch};

use super::rows::{Loaded, Rows, batch, numbers};
use super::{Kernels, mixed};
use crate::error::Error;
use crate::exact;
use crate::facts::FactTable;
use crate::imprints::page_of_bytes;
use crate::near::crowd::{CROWD, TURNS, sketch_part, turn, twins};
use crate::near::{Judge, Led, Member};
use crate::pages::Pages;

const KIND: &str = "role";
const LEADER: i64 = 0;
const COPY: i64 = 1;
const MEMBER: i64 = 2;
const EFFORT: i64 = 9;

#[derive(Default)]
struct Roles {
    role: Int64Builder,
    position: Int64Builder,
    target: Int64Builder,
    distance: Int64Builder,
    similarity: Float32Builder,
    named: BooleanBuilder,
    page: BinaryBuilder,
    meets: Int64Builder,
}

impl Kernels {
    /// Turns after [`copies`](Self::copies).
    pub const TURNS: usize = TURNS;

    /// As many that meet are a crowd.
    pub const CROWD: usize = CROWD;

    /// Finds exact copies, chooses the best of each text, and leaders among those with one fingerprint.
    ///
    /// # Errors
    ///
    /// These are no rows of imprints with `position` and `named`, or a page came twice.
    pub fn copies(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, "imprint");
        let loaded = rows.pages(|_| true)?;
        let pages = &loaded.pages;
        let table = FactTable::marked(pages, &self.options.keep, &loaded.named);
        let judge = Judge::new(pages, self.options.within, self.options.min_similarity);
        let classes = exact::classes(pages, &table, |_| true);
        let mut roles = Roles::default();
        let key = |page: u32| (pages.scope(page), pages.content(page));
        for class in classes.copies.chunk_by(|&a, &b| key(a) == key(b)) {
            let Some(best) = table.best(class.iter().copied()) else { continue };
            for &page in class.iter().filter(|&&page| page != best) {
                roles.linked(COPY, loaded.positions[page as usize], &loaded, best, 0, 1.0);
            }
        }
        let mut led = Led::default();
        for scope in classes.representatives.chunk_by(|&a, &b| pages.scope(a) == pages.scope(b)) {
            let found = twins(scope, pages, &judge, &table);
            led.leaders.extend(found.leaders);
            led.members.extend(found.members);
            led.strangers += found.strangers;
        }
        roles.led(&loaded, &led, Some(0));
        roles.effort(judge.compared(), led.strangers);
        roles.finish()
    }

    /// Who would meet whom in any of the turns, and how many: `meets` and `count`. What is nowhere
    /// together with 64 others need not take turns.
    ///
    /// # Errors
    ///
    /// These are no rows of roles.
    pub fn meetings(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, KIND);
        let (keys, _) = keys_of_leaders(&rows)?;
        let mut keys: Vec<i64> = keys.into_iter().flatten().collect();
        keys.sort_unstable();
        let (mut meets, mut counts) = (Vec::new(), Vec::new());
        for same in keys.chunk_by(|a, b| a == b) {
            meets.push(same[0]);
            counts.push(same.len() as i64);
        }
        batch("meeting", vec![("meets", numbers(meets)), ("count", numbers(counts))])
    }

    /// Rows of leaders, with `meets` of the first turn where one of `crowded`, which is ascending,
    /// concerns them, and null where none does.
    ///
    /// # Errors
    ///
    /// These are no rows of roles.
    pub fn suspects(&self, rows: &RecordBatch, crowded: &[i64]) -> Result<RecordBatch, Error> {
        let given = Rows::of(rows, KIND);
        let (keys, leaders) = keys_of_leaders(&given)?;
        let mut meets: Vec<Option<i64>> = vec![Some(0); given.len()];
        for (keys, row) in keys.iter().zip(leaders) {
            let suspect = keys.iter().any(|key| crowded.binary_search(key).is_ok());
            meets[row] = keys.first().copied().filter(|_| suspect);
        }
        let at = rows.schema().index_of("meets").map_err(|e| given.wrong(e.to_string()))?;
        let mut columns = rows.columns().to_vec();
        columns[at] = Arc::new(Int64Array::from(meets));
        RecordBatch::try_new(rows.schema(), columns).map_err(|e| given.wrong(e.to_string()))
    }

    /// One of the turns, from 0: crowds among leaders that share a part of the sketch.
    ///
    /// # Errors
    ///
    /// These are no rows of roles, or a leader came twice.
    pub fn turn(&self, rows: &RecordBatch, number: usize) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, KIND);
        let role = rows.numbers("role")?;
        let loaded = rows.pages(|row| role[row] == LEADER)?;
        let pages = &loaded.pages;
        let table = FactTable::marked(pages, &self.options.keep, &loaded.named);
        let judge = Judge::new(pages, self.options.within, self.options.min_similarity);
        let mut roles = Roles::default();
        roles.pass(&rows, role)?;
        let mut order: Vec<u32> = (0..pages.len() as u32).collect();
        order.sort_by_key(|&page| pages.scope(page));
        let mut led = Led::default();
        for scope in order.chunk_by(|&a, &b| pages.scope(a) == pages.scope(b)) {
            let mut one = Led { leaders: scope.to_vec(), ..Led::default() };
            turn(&mut one, number, pages, &judge, &table);
            led.leaders.extend(one.leaders);
            led.members.extend(one.members);
        }
        roles.led(&loaded, &led, (number + 1 < TURNS).then_some(number + 1));
        roles.effort(judge.compared(), 0);
        roles.finish()
    }
}

fn key_of(pages: &Pages, page: u32, number: usize) -> i64 {
    let part = sketch_part(pages.sketch(page), number);
    mixed(&[pages.scope(page).0, 3 + number as u64, part]).cast_signed()
}

/// The keys of every leader in all turns, and its row.
fn keys_of_leaders(rows: &Rows<'_>) -> Result<(Vec<[i64; TURNS]>, Vec<usize>), Error> {
    let role = rows.numbers("role")?;
    let bytes: &BinaryArray = rows.column("page")?;
    let leaders: Vec<usize> = (0..rows.len()).filter(|&row| role[row] == LEADER).collect();
    let mut keys = Vec::with_capacity(leaders.len());
    for &row in &leaders {
        let page = page_of_bytes(bytes.value(row));
        let page = page.ok_or_else(|| rows.wrong(format!("the page of row {row} is damaged")))?;
        let mut one = Pages::default();
        one.push(&page);
        let mut its = [0; TURNS];
        for (number, key) in its.iter_mut().enumerate() {
            *key = key_of(&one, 0, number);
        }
        keys.push(its);
    }
    Ok((keys, leaders))
}

impl Roles {
    fn row(&mut self, role: i64, position: i64, target: Option<i64>, near: Option<(u8, f32)>) {
        self.role.append_value(role);
        self.position.append_value(position);
        self.target.append_option(target);
        self.distance.append_option(near.map(|it| i64::from(it.0)));
        self.similarity.append_option(near.map(|it| it.1));
    }

    fn linked(
        &mut self,
        role: i64,
        position: i64,
        loaded: &Loaded<'_>,
        target: u32,
        distance: u8,
        similarity: f32,
    ) {
        let target = loaded.positions[target as usize];
        self.row(role, position, Some(target), Some((distance, similarity)));
        self.named.append_null();
        self.page.append_null();
        self.meets.append_value(0);
    }

    /// Leaders, with what they meet by in the next turn if there is one, and members.
    fn led(&mut self, loaded: &Loaded<'_>, led: &Led, next: Option<usize>) {
        for &page in &led.leaders {
            self.row(LEADER, loaded.positions[page as usize], None, None);
            self.named.append_value(loaded.named[page as usize]);
            self.page.append_value(loaded.bytes[page as usize]);
            self.meets.append_value(next.map_or(0, |next| key_of(&loaded.pages, page, next)));
        }
        for &Member { page, leader, distance, similarity } in &led.members {
            let position = loaded.positions[page as usize];
            self.linked(MEMBER, position, loaded, leader, distance, similarity);
        }
    }

    fn effort(&mut self, compared: u64, strangers: u64) {
        self.row(EFFORT, compared as i64, Some(strangers as i64), None);
        self.named.append_null();
        self.page.append_null();
        self.meets.append_value(0);
    }

    /// Rows that are no leaders, as they are.
    fn pass(&mut self, rows: &Rows<'_>, role: &[i64]) -> Result<(), Error> {
        let position = rows.numbers("position")?;
        let target: &Int64Array = rows.column("target")?;
        let distance: &Int64Array = rows.column("distance")?;
        let similarity: &Float32Array = rows.column("similarity")?;
        for row in (0..rows.len()).filter(|&row| role[row] != LEADER) {
            let target = target.is_valid(row).then(|| target.value(row));
            let near = distance.is_valid(row).then(|| (distance.value(row) as u8, similarity.value(row)));
            self.row(role[row], position[row], target, near);
            self.named.append_null();
            self.page.append_null();
            self.meets.append_value(0);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<RecordBatch, Error> {
        batch(
            KIND,
            vec![
                ("role", Arc::new(self.role.finish())),
                ("position", Arc::new(self.position.finish())),
                ("target", Arc::new(self.target.finish())),
                ("distance", Arc::new(self.distance.finish())),
                ("similarity", Arc::new(self.similarity.finish())),
                ("named", Arc::new(self.named.finish())),
                ("page", Arc::new(self.page.finish())),
                ("meets", Arc::new(self.meets.finish())),
            ],
        )
    }
}
