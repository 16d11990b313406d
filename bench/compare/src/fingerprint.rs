//! Fingerprints of texts, and the similarity of given pairs.
//!
//! Ours is the whole signature of recipe `web-2`: 64 bits with their strength, sketch and content hash; pairs are
//! compared by the bits or by the sketch. gaoya computes 64 bits of the words, or 128 minima of runs of five words.
//! Times the fingerprints, not the comparisons. A similarity is any number that grows with similarity; the caller
//! chooses the bound.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use gaoya::minhash::{MinHasher, MinHasher32, compute_minhash_similarity};
use gaoya::simhash::{SimHash, SimSipHasher64};
use hapax::fingerprint::{Comparable, Fingerprinter, Recipe, sketch};
use serde::Deserialize;

use crate::measure::{Report, repeated};
use crate::{Document, read_documents};

#[derive(Deserialize)]
pub(crate) struct Job {
    tool: Tool,
    texts: PathBuf,
    /// A file with the positions of both texts of each pair.
    pairs: PathBuf,
    /// The output file: a JSON list of similarities in the order of the pairs.
    out: PathBuf,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Tool {
    HapaxBits,
    HapaxSketch,
    GaoyaSimhash,
    GaoyaMinhash,
}

/// Words in a run.
const RUN: usize = 5;
const MINIMA: usize = 128;

pub(crate) fn run(job: &Job) -> Result<Report> {
    let documents = read_documents(&job.texts)?;
    let pairs = fs::read(&job.pairs).with_context(|| job.pairs.display().to_string())?;
    let pairs: Vec<(usize, usize)> = serde_json::from_slice(&pairs)?;
    let (mut report, likenesses) = match job.tool {
        Tool::HapaxBits => hapax(&documents, &pairs, false)?,
        Tool::HapaxSketch => hapax(&documents, &pairs, true)?,
        Tool::GaoyaSimhash => simhash(&documents, &pairs),
        Tool::GaoyaMinhash => minhash(&documents, &pairs),
    };
    fs::write(&job.out, serde_json::to_vec(&likenesses)?)
        .with_context(|| job.out.display().to_string())?;
    report.items = documents.len();
    Ok(report)
}

type Similarities = (Report, Vec<f64>);

fn hapax(
    documents: &[Document],
    pairs: &[(usize, usize)],
    by_sketch: bool,
) -> Result<Similarities> {
    let mut by = Fingerprinter::new(Recipe::built_in("web-2")?, None)?;
    let (signatures, seconds) = repeated(|| {
        documents.iter().map(|document| by.text(&document.text)).collect::<Result<Vec<_>, _>>()
    });
    let signatures = signatures?;
    let likeness = |a: &Comparable, b: &Comparable| {
        if by_sketch {
            a.sketch.estimate(&b.sketch).jaccard
        } else {
            -f64::from(a.fingerprint.distance(b.fingerprint))
        }
    };
    let likenesses =
        pairs.iter().map(|&(a, b)| match (&signatures[a].comparable, &signatures[b].comparable) {
            (Some(a), Some(b)) => likeness(a, b),
            // A page without words is similar to no other.
            (None, _) | (_, None) => -64.0,
        });
    let (what, each) = if by_sketch {
        ("web-2, compared by the sketch", sketch::BYTES)
    } else {
        ("web-2, compared by 64 bits", size_of::<u64>())
    };
    Ok((report(what, seconds, each * documents.len()), likenesses.collect()))
}

fn simhash(documents: &[Document], pairs: &[(usize, usize)]) -> Similarities {
    let by = SimHash::<SimSipHasher64, u64, 64>::new(SimSipHasher64::new(1, 2));
    let (bits, seconds) = repeated(|| {
        let of = |document: &Document| {
            let text = document.text.to_lowercase();
            by.create_signature(text.split_whitespace())
        };
        documents.iter().map(of).collect::<Vec<u64>>()
    });
    let likenesses = pairs.iter().map(|&(a, b)| -f64::from((bits[a] ^ bits[b]).count_ones()));
    (report("64 bits of the words", seconds, 8 * documents.len()), likenesses.collect())
}

fn minhash(documents: &[Document], pairs: &[(usize, usize)]) -> Similarities {
    let by = MinHasher32::new(MINIMA);
    let (minima, seconds) = repeated(|| {
        let of = |document: &Document| {
            let text = document.text.to_lowercase();
            let words: Vec<&str> = text.split_whitespace().collect();
            by.create_signature(words.windows(RUN.min(words.len()).max(1)))
        };
        documents.iter().map(of).collect::<Vec<Vec<u32>>>()
    });
    let likenesses = pairs.iter().map(|&(a, b)| compute_minhash_similarity(&minima[a], &minima[b]));
    let bytes = 4 * MINIMA * documents.len();
    (report("128 minima of 5-word runs", seconds, bytes), likenesses.collect())
}

fn report(setting: &str, seconds: f64, bytes: usize) -> Report {
    Report { setting: setting.into(), seconds, bytes: Some(bytes), ..Report::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax::fingerprint::{Tally, Tie, simhash};

    /// Both must compute the same: our sums of their hashes (the signature of a single word is its
    /// hash) give their signature, except that a sum of zero may become either bit.
    #[test]
    fn gaoya_and_hapax_compute_the_same_bits_from_the_same_hashes() {
        let by = SimHash::<SimSipHasher64, u64, 64>::new(SimSipHasher64::new(1, 2));
        let text = "a rose is a rose is a rose, and a word that occurs once is a hapax";
        for words in 1..=text.split(' ').count() {
            let mut tally = Tally::default();
            for word in text.split(' ').take(words) {
                tally.add(by.create_signature(std::iter::once(word)), 1);
            }
            let sums = tally.sums();
            let agree = [Tie::Zero, Tie::One].map(|tie| simhash::cut(&sums, tie).to_bits());
            let signature = by.create_signature(text.split(' ').take(words));
            assert_eq!((signature ^ agree[0]) & (signature ^ agree[1]), 0, "{words} words");
        }
    }
}
