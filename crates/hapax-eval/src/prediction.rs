//! Predictions about a corpus: its groups, and the representative of each removed document.
//!
//! Comes from a [`Decision`] of the job, or from another program's table, so that both are scored alike.

use std::collections::BTreeMap;
use std::path::Path;

use hapax::group::Outcome;
use hapax_dedup::{Decision, Pages};

use crate::error::Error;
use crate::truth;

#[derive(Clone, Debug, Default)]
pub struct Prediction {
    /// The group of every document, given as the position of its representative.
    pub group: Vec<u32>,
    /// Removed documents, each with its representative.
    pub removed: Vec<(u32, u32)>,
    /// Number of removed exact copies.
    pub exact: u64,
}

impl Prediction {
    /// The prediction of the job.
    pub fn of(decision: &Decision<'_>) -> Self {
        let mut prediction = Self::default();
        for page in 0..decision.pages().len() as u32 {
            let verdict = decision.verdict(page);
            prediction.group.push(verdict.winner);
            match verdict.outcome {
                Outcome::Kept => {}
                Outcome::Exact => {
                    prediction.exact += 1;
                    prediction.removed.push((page, verdict.winner));
                }
                _ => prediction.removed.push((page, verdict.winner)),
            }
        }
        prediction
    }

    /// The prediction of another program: lines of `id`, tab, `group`. The first line of a group
    /// names its representative; documents that are not listed are alone.
    ///
    /// # Errors
    ///
    /// The table cannot be read, or lists no document of the corpus.
    pub fn read(path: &Path, pages: &Pages) -> Result<Self, Error> {
        let name = path.display().to_string();
        let all = (0..pages.len() as u32).rev();
        let by_id: BTreeMap<&str, u32> = all.map(|page| (pages.id(page), page)).collect();
        let mut group: Vec<u32> = (0..pages.len() as u32).collect();
        let mut removed = Vec::new();
        let mut first: BTreeMap<String, u32> = BTreeMap::new();
        let lines = truth::lines(path)?;
        let mut found = 0;
        for (at, line) in lines.iter().enumerate() {
            let Some((id, label)) = line.split_once('\t') else {
                let what = "expected id and group, separated by a tab".to_owned();
                return Err(Error::Bad { path: name, line: at as u64 + 1, what });
            };
            let Some(&page) = by_id.get(id) else { continue };
            found += 1;
            let winner = *first.entry(label.to_owned()).or_insert(page);
            group[page as usize] = winner;
            if winner != page {
                removed.push((page, winner));
            }
        }
        if found == 0 {
            let first = lines.first().map_or(String::new(), |it| it.chars().take(80).collect());
            return Err(Error::UnknownDocuments {
                path: name,
                first,
                document: pages.id(0).to_owned(),
            });
        }
        Ok(Self { group, removed, exact: 0 })
    }

    /// Whether two documents are in one group.
    pub fn together(&self, a: u32, b: u32) -> bool {
        self.group[a as usize] == self.group[b as usize]
    }

    /// Number of documents in the largest group; 1 if all are alone.
    pub fn largest(&self) -> u64 {
        let groups = truth::known::members(&self.group);
        groups.iter().map(Vec::len).max().unwrap_or(1) as u64
    }
}
