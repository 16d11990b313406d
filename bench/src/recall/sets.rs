//! Collections and queries as files, created once.

use anyhow::Context;
use hapax::fingerprint::simhash::{Tie, cut};
use hapax::fingerprint::{BitSums, Fingerprint};
use hapax_corpus::hpx::Appender;
use hapax_synth::{Rng, family_sums};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::weak::documents::Documents;

const SEED: u64 = 1;

/// Source of fingerprints.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Set {
    /// Random numbers, and edited copies of each query among them: no chance matches
    Uniform,
    /// Pages of a synthetic web, 29 % of them edited copies, with topics whose pages are close to
    /// each other
    Documents,
}

pub(super) struct Files {
    pub(super) stored: PathBuf,
    pub(super) empty: PathBuf,
    pub(super) queries: PathBuf,
}

/// Maximum number of stored copies per query.
const MOST_COPIES: u64 = 20;

impl Set {
    /// The files with this many pages and queries, from an earlier run if possible.
    pub(super) fn files(self, keep: &Path, pages: usize, queries: usize) -> anyhow::Result<Files> {
        let folder = keep.join(format!("{self:?}-{pages}-{queries}").to_lowercase());
        let file = |name: &str| folder.join(name);
        let files = Files {
            stored: file("stored.hpx"),
            empty: file("empty.hpx"),
            queries: file("queries.jsonl"),
        };
        // Written last, so the other files are complete.
        if files.queries.exists() {
            return Ok(files);
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let (stored, sums) = match self {
            Self::Uniform => uniform(pages, queries),
            Self::Documents => {
                let documents = Documents::new(SEED, pages, pages, queries)?;
                (documents.stored, documents.sums)
            }
        };
        write_stored(&files.stored, &stored)?;
        write_stored(&files.empty, &[])?;
        write_queries(&files.queries, &sums)?;
        Ok(files)
    }
}

/// Random numbers with edited copies of the queries among them, and the sums of the queries.
fn uniform(pages: usize, queries: usize) -> (Vec<Fingerprint>, Vec<BitSums>) {
    let of = |query, member| BitSums::new(family_sums(SEED, query, member));
    let mut random = Rng::new(SEED);
    let mut stored: Vec<Fingerprint> = Vec::with_capacity(pages);
    for query in 0..queries as u64 {
        // Few queries have many copies.
        let copies = 1 + (random.unit().powi(3) * MOST_COPIES as f64) as u64;
        let left = pages - stored.len();
        stored.extend((1..=copies).take(left).map(|copy| cut(&of(query, copy), Tie::Zero)));
    }
    let others = pages - stored.len();
    stored.extend((0..others).map(|_| Fingerprint::from_bits(random.bits())));
    // Shuffles the copies among the others.
    for last in (1..stored.len()).rev() {
        stored.swap(last, random.below(last as u64 + 1) as usize);
    }
    (stored, (0..queries as u64).map(|query| of(query, 0)).collect())
}

/// Writes names like those of a crawler.
fn write_stored(path: &Path, stored: &[Fingerprint]) -> anyhow::Result<()> {
    let mut appender = Appender::create(path, "")?;
    for (number, fingerprint) in stored.iter().enumerate() {
        let name = format!("https://www{}.example/page/{number}.html", number % 9973);
        appender.push(fingerprint.to_bits(), Some(name.as_bytes()))?;
    }
    appender.finish()?;
    Ok(())
}

fn write_queries(path: &Path, sums: &[BitSums]) -> anyhow::Result<()> {
    let mut file = std::io::BufWriter::new(fs::File::create(path)?);
    for (number, sums) in sums.iter().enumerate() {
        let fingerprint = cut(sums, Tie::Zero);
        let sums = sums.as_array();
        writeln!(
            file,
            "{{\"id\":\"query {number}\",\"fingerprint\":\"{fingerprint}\",\"sums\":{sums:?}}}"
        )?;
    }
    file.flush()?;
    Ok(())
}
