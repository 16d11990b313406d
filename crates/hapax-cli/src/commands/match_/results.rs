//! From hits to lines: which documents they are, and what those are called.
//!
//! Ids are looked up in the order of the file, names in the order of ids, so that each block is read
//! once; lines come out in the order of the queries.

use std::collections::BTreeMap;

use hapax_corpus::hpx::Hpx;
use serde::Serialize;

use super::failed;
use super::queries::Queries;
use super::search::Searched;
use crate::failure::Failure;
use crate::output::Output;

/// Of documents that share a fingerprint so many are told.
const TOLD: u32 = 32;

/// Lines whose names are looked up together.
const TOGETHER: usize = 1 << 18;

/// A query and a document near it. Ordered by query, then distance, then document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) query: u32,
    pub(super) distance: u8,
    pub(super) document: u64,
}

/// What was found, for every query.
///
/// # Errors
///
/// Ids cannot be read.
pub(super) fn rows(searched: &Searched, stored: &Hpx, first: bool) -> Result<Vec<Row>, Failure> {
    let mut lookup = stored.lookup();
    let mut hits: Vec<_> = searched.hits.iter().collect();
    hits.sort_unstable_by_key(|hit| hit.position);
    let mut rows = Vec::with_capacity(hits.len());
    for hit in hits {
        let copies = if first { 1 } else { u64::from(hit.copies.min(TOLD)) };
        for position in hit.position..hit.position + copies {
            let document = lookup.id(position).map_err(failed)?;
            rows.push(Row { query: hit.query, distance: hit.distance, document });
        }
    }
    rows.sort_unstable();
    let mut twins = searched.twins.clone();
    twins.sort_unstable();
    let mut more = Vec::new();
    let mut at = 0;
    for (one, other) in twins {
        at += rows[at..].partition_point(|row| row.query < one);
        let same = rows[at..].iter().take_while(|row| row.query == one);
        more.extend(same.map(|row| Row { query: other, ..*row }));
    }
    rows.append(&mut more);
    rows.sort_unstable();
    Ok(rows)
}

/// Writes a line for each row.
///
/// # Errors
///
/// Names cannot be read, or lines not written.
pub(super) fn write(
    rows: &[Row],
    queries: &Queries,
    stored: &Hpx,
    json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut lookup = stored.lookup();
    let mut line = Vec::new();
    for rows in rows.chunks(TOGETHER) {
        let mut names: BTreeMap<u64, Option<Vec<u8>>> =
            rows.iter().map(|row| (row.document, None)).collect();
        for (&id, name) in &mut names {
            *name = lookup.name(id).map_err(failed)?.map(<[u8]>::to_vec);
        }
        for row in rows {
            line.clear();
            let query = queries.name(row.query as usize);
            let number = queries.number(row.query as usize);
            let document = names.get(&row.document).and_then(Option::as_deref);
            if json {
                let record = Record {
                    query: shown(query, number),
                    document: shown(document, row.document),
                    distance: row.distance,
                };
                serde_json::to_writer(&mut line, &record).map_err(anyhow::Error::new)?;
            } else {
                push(&mut line, query, number);
                line.push(b'\t');
                push(&mut line, document, row.document);
                line.extend_from_slice(format!("\t{}", row.distance).as_bytes());
            }
            line.push(b'\n');
            output.write(&line)?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Record {
    query: String,
    document: String,
    distance: u8,
}

fn shown(name: Option<&[u8]>, number: u64) -> String {
    name.map_or_else(|| number.to_string(), |name| String::from_utf8_lossy(name).into_owned())
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
