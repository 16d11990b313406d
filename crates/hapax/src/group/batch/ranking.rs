//! Sorts many pages by preference.
//!
//! Uses the order of [`Rules::order`], redirecting pages last. Comparing two pages at a time would fetch their
//! addresses from memory for every comparison; instead, pages are sorted column by column: by the first number
//! in which any of them differ, then every run of equal pages by the second, and so on, then by eight bytes of
//! the address at a time. Runs keep the order of positions until a column splits them, so memory is read
//! sequentially.

use super::BatchInput;
use super::nodes::Nodes;
use crate::group::facts::PageFacts;
use crate::group::reason::DecidedBy;
use crate::group::rules::{Rules, tie_break};

/// Bytes of an address per column.
const CHUNK: usize = 8;

/// The costs of some pages under the rules: one row of numbers per page, smaller is better.
pub(super) struct Costs {
    /// Row index by position; meaningless for pages without a row.
    row: Vec<u32>,
    /// Rows of a redirect flag followed by one number per rule.
    numbers: Vec<u64>,
    width: usize,
    /// Columns in which not all rows are equal.
    varying: Vec<usize>,
}

impl Costs {
    /// Rows for `pages`, which are ascending positions.
    pub(super) fn of(rules: &Rules, input: &BatchInput<'_>, nodes: &Nodes, pages: &[u32]) -> Self {
        let width = 1 + rules.list().len();
        let mut row = vec![0; input.pages.len()];
        let mut numbers = Vec::with_capacity(pages.len() * width);
        for (i, &page) in (0u32..).zip(pages) {
            row[page as usize] = i;
            numbers.push(u64::from(nodes.redirects[page as usize]));
            let facts = &input.pages[page as usize];
            numbers.extend(rules.list().iter().map(|rule| rule.cost(facts)));
        }
        let differ = |&column: &usize| {
            let mut values = numbers.iter().skip(column).step_by(width);
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let varying = (0..width).filter(differ).collect();
        Self { row, numbers, width, varying }
    }

    fn at(&self, page: u32) -> &[u64] {
        let from = self.row[page as usize] as usize * self.width;
        &self.numbers[from..from + self.width]
    }

    /// The criterion that prefers the winner over a page that does not redirect.
    pub(super) fn decided(&self, input: &BatchInput<'_>, winner: u32, loser: u32) -> DecidedBy {
        let (a, b) = (self.at(winner), self.at(loser));
        match self.varying.iter().find(|&&column| a[column] != b[column]) {
            Some(0) => DecidedBy::Redirect,
            Some(&column) => DecidedBy::Rule((column - 1) as u8),
            None => tie_break(&input.pages[winner as usize], &input.pages[loser as usize]).1,
        }
    }

    /// Sorts pages that have rows, best first. Pages with equal address and id keep the order of
    /// their positions.
    pub(super) fn sort(&self, input: &BatchInput<'_>, pages: &mut [u32]) {
        let facts = |page: u32| &input.pages[page as usize];
        let mut keyed: Vec<(u64, u32)> = Vec::new();
        let mut runs = vec![(0, pages.len(), Column::Number(0))];
        while let Some((from, to, column)) = runs.pop() {
            let run = &mut pages[from..to];
            let after_chunks = |done: usize| {
                let longer = run.iter().any(|&page| facts(page).url.len() > done * CHUNK);
                if longer { Column::Chunk(done) } else { Column::Length }
            };
            // The column may not exist; then the following one is used.
            let column = match column {
                Column::Number(i) if i >= self.varying.len() => after_chunks(0),
                Column::Chunk(i) => after_chunks(i),
                Column::Number(_) | Column::Length | Column::Id => column,
            };
            let next = match column {
                Column::Number(i) => Some(Column::Number(i + 1)),
                Column::Chunk(i) => Some(Column::Chunk(i + 1)),
                Column::Length => Some(Column::Id),
                Column::Id => None,
            };
            keyed.clear();
            keyed.extend(run.iter().map(|&page| (self.key(facts(page), page, column), page)));
            if keyed.iter().any(|&(key, _)| key != keyed[0].0) {
                keyed.sort_unstable();
                for (place, &(_, page)) in run.iter_mut().zip(&keyed) {
                    *place = page;
                }
            }
            let mut start = from;
            for equal in keyed.chunk_by(|a, b| a.0 == b.0) {
                if let Some(next) = next
                    && equal.len() > 1
                {
                    runs.push((start, start + equal.len(), next));
                }
                start += equal.len();
            }
        }
    }

    fn key(&self, facts: &PageFacts<'_>, page: u32, column: Column) -> u64 {
        match column {
            Column::Number(i) => self.at(page)[self.varying[i]],
            Column::Chunk(i) => chunk(&facts.url, i),
            Column::Length => facts.url.len() as u64,
            Column::Id => facts.id,
        }
    }
}

#[derive(Clone, Copy)]
enum Column {
    /// An index into `varying`.
    Number(usize),
    /// Bytes of the address, padded with zeros.
    Chunk(usize),
    /// Length, which distinguishes an address from one with trailing zeros.
    Length,
    Id,
}

fn chunk(url: &str, i: usize) -> u64 {
    let rest = url.as_bytes().get(i * CHUNK..).unwrap_or_default();
    let mut bytes = [0; CHUNK];
    let n = rest.len().min(CHUNK);
    bytes[..n].copy_from_slice(&rest[..n]);
    u64::from_be_bytes(bytes)
}
