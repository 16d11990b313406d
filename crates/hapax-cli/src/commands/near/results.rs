//! Writes matches as lines.
//!
//! Looks up names in file order, so that each block of them is read once.

use super::failed;
use crate::failure::Failure;
use crate::output::Output;
use hapax_corpus::hpx::{Hpx, Lookup};
use hapax_dedup::stages::searching::{Answers, Queries, Row};
use serde::Serialize;
use std::collections::BTreeMap;

pub(super) struct Results<'a> {
    queries: &'a Queries,
    lookup: Lookup,
    output: Output,
    json: bool,
    /// Number of queries with a match.
    matched: u64,
    matches: u64,
}

impl<'a> Results<'a> {
    pub(super) fn new(queries: &'a Queries, stored: &Hpx, output: Output, json: bool) -> Self {
        Self { queries, lookup: stored.lookup(), output, json, matched: 0, matches: 0 }
    }

    /// Writes the matches of some queries.
    pub(super) fn write(&mut self, answers: &Answers<'_>) -> Result<(), Failure> {
        let rows = answers.rows;
        let mut names: BTreeMap<u64, Option<Vec<u8>>> =
            rows.iter().map(|row| (row.document, None)).collect();
        for (&id, name) in &mut names {
            *name = self.lookup.name(id).map_err(failed)?.map(<[u8]>::to_vec);
        }
        let name = |row: &Row| names.get(&row.document).and_then(Option::as_deref);
        let mut line = Vec::new();
        let mut rest = rows;
        for query in answers.queries.clone() {
            let same = rest.partition_point(|row| row.query as usize == query);
            let (found, others) = rest.split_at(same);
            rest = others;
            self.matched += u64::from(!found.is_empty());
            self.matches += found.len() as u64;
            line.clear();
            let (called, number) = (self.queries.name(query), self.queries.number(query));
            if self.json {
                let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
                let matches = found.iter().map(|row| MatchRecord {
                    id: row.document + 1,
                    name: name(row).map(text),
                    distance: row.distance,
                });
                let record = QueryRecord {
                    query: called.map_or_else(|| number.to_string(), text),
                    fingerprint: self.queries.query(query).fingerprint.to_string(),
                    recall: answers.recall,
                    matches: matches.collect(),
                };
                serde_json::to_writer(&mut line, &record).map_err(anyhow::Error::new)?;
                line.push(b'\n');
            } else {
                for row in found {
                    push(&mut line, called, number);
                    line.push(b'\t');
                    push(&mut line, name(row), row.document + 1);
                    line.extend_from_slice(format!("\t{}\n", row.distance).as_bytes());
                }
            }
            self.output.write(&line)?;
        }
        Ok(())
    }

    /// Completes the output; returns the numbers of queries with a match and of matches.
    pub(super) fn finish(self) -> Result<(u64, u64), Failure> {
        self.output.finish()?;
        Ok((self.matched, self.matches))
    }
}

#[derive(Serialize)]
struct QueryRecord {
    query: String,
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    recall: Option<f64>,
    matches: Vec<MatchRecord>,
}

#[derive(Serialize)]
struct MatchRecord {
    /// Position in the collection, from 1.
    id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    distance: u8,
}

fn push(line: &mut Vec<u8>, name: Option<&[u8]>, number: u64) {
    let Some(name) = name else {
        line.extend_from_slice(number.to_string().as_bytes());
        return;
    };
    for &byte in name {
        match byte {
            b'\\' => line.extend_from_slice(b"\\\\"),
            b'\t' => line.extend_from_slice(b"\\t"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            _ => line.push(byte),
        }
    }
}
