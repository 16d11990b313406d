//! The similarity of two texts, with their differing bits and shingles.

use hapax::fingerprint::Comparison;
use hapax::fingerprint::explain::DifferingBit;
use serde::{Deserialize, Serialize};

/// The answer of `hapax compare --json` and `POST /v1/compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    pub same_text: bool,
    /// `None` if a page has no words.
    pub distance: Option<u32>,
    /// The sketches' estimate of the Jaccard similarity of the texts, 0 to 1.
    pub similarity: Option<f64>,
    /// Of the estimate.
    pub standard_error: Option<f64>,
    /// `None` if a text is not known.
    pub exact: Option<Exact>,
    pub differing_bits: Vec<Bit>,
}

/// Exact similarities, and the numbers of distinct shingles behind them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exact {
    pub jaccard: f64,
    pub containment: f64,
    pub cosine: f64,
    pub shared: usize,
    pub only_left: usize,
    pub only_right: usize,
    /// Words per shingle.
    pub shingle: usize,
}

/// A differing bit; rank 1 is a page's weakest bit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bit {
    pub bit: u8,
    pub left_sum: i64,
    pub right_sum: i64,
    pub left_rank: u8,
    pub right_rank: u8,
}

impl Compared {
    /// Compares two texts by shingles of this many words.
    pub fn new(c: &Comparison, shingle: usize) -> Self {
        let &Comparison { jaccard, containment, cosine, shared, only_left, only_right, .. } = c;
        let bit = |&DifferingBit { bit, left_sum, right_sum, left_rank, right_rank }| Bit {
            bit,
            left_sum,
            right_sum,
            left_rank,
            right_rank,
        };
        let bits = c.bits.as_ref();
        Self {
            same_text: c.same_text,
            distance: bits.map(|bits| bits.distance),
            similarity: bits.map(|bits| bits.estimate.jaccard),
            standard_error: bits.map(|bits| bits.estimate.standard_error),
            exact: Some(Exact {
                jaccard,
                containment,
                cosine,
                shared,
                only_left,
                only_right,
                shingle,
            }),
            differing_bits: bits
                .map_or(Vec::new(), |bits| bits.differing.iter().map(bit).collect()),
        }
    }
}
