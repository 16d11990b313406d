//! In how many documents each feature occurs.
//!
//! Every thread has a [`Counter`] of its own; their tables add up to the same whole however the documents were
//! shared out. [`Occurrences`] is what the table cannot be asked: which features there are.

use hapax::features::Frequencies;
use hapax::features::frequency::FrequencyError;
use hapax::fingerprint::FeatureReader;
use hapax_corpus::Document;

use super::signing::not_a_page;
use crate::signature::known;

/// Documents whose features are remembered, to say something about them at the end.
const SAMPLED_PAGES: usize = 64;
/// Features remembered of a sampled document.
const SAMPLED_FEATURES: usize = 4096;

/// One thread: counts the features of documents.
#[derive(Clone, Debug)]
pub struct Counter {
    reader: FeatureReader,
    table: Frequencies,
}

/// What was counted of a document.
#[derive(Debug)]
pub struct Counted {
    pub bytes: u64,
    /// Of its text, only the beginning counts.
    pub cut: bool,
    /// Features of the page, repeats included.
    pub all: u64,
    pub distinct: u64,
    /// Some of the distinct ones, of the first pages.
    sample: Vec<u64>,
}

impl Counter {
    /// Adds to a table that is made for the reader's features.
    pub fn new(reader: FeatureReader, table: Frequencies) -> Self {
        Self { reader, table }
    }

    /// The sum of its table and those of others.
    ///
    /// # Errors
    ///
    /// They are not of the same features and width.
    pub fn sum(self, others: Vec<Self>) -> Result<Frequencies, FrequencyError> {
        let mut whole = self.table;
        for other in others {
            whole.merge(&other.table)?;
        }
        Ok(whole)
    }

    /// Adds a document to the table. Of a corpus, what is neither HTML nor text is a document without
    /// words.
    ///
    /// # Errors
    ///
    /// A file that is neither HTML nor text.
    pub fn count(&mut self, document: &Document<'_>) -> Result<Counted, hapax_corpus::Error> {
        let mut none = Vec::new();
        let (cut, features) = match known(document).and_then(|it| self.reader.document(&it)) {
            Ok((page, features)) => (page.truncated, features),
            Err(error) => not_a_page(document, error).map_or(Ok((false, &mut none)), Err)?,
        };
        let all = features.len() as u64;
        if all > 0 {
            // Makes them distinct, too.
            self.table.add_document(features);
        }
        // The first of each file; of these, the first of all are kept.
        let early = document.place.number <= SAMPLED_PAGES as u64;
        let sampled = if early { SAMPLED_FEATURES } else { 0 };
        Ok(Counted {
            bytes: document.body.content.as_bytes().len() as u64,
            cut,
            all,
            distinct: features.len() as u64,
            sample: features.iter().copied().take(sampled).collect(),
        })
    }
}

/// What is known about the features beyond the table.
#[derive(Clone, Debug, Default)]
pub struct Occurrences {
    /// Distinct features of each document, added up.
    pub all: u64,
    sample: Vec<u64>,
    /// How many documents it is of.
    sampled: usize,
}

impl Occurrences {
    /// Adds a document; they come in the order of the corpus.
    pub fn add(&mut self, counted: Counted) {
        self.all += counted.distinct;
        if self.sampled < SAMPLED_PAGES {
            self.sampled += 1;
            self.sample.extend(counted.sample);
        }
    }

    /// How many documents the commonest feature of the first documents is in, and the share of their features
    /// that is in a single one.
    pub fn commonest_and_single(&self, table: &Frequencies) -> (u64, f64) {
        let mut sample = self.sample.clone();
        sample.sort_unstable();
        sample.dedup();
        let frequencies: Vec<u32> = sample.iter().map(|&f| table.frequency(f)).collect();
        let commonest = u64::from(frequencies.iter().copied().max().unwrap_or(0));
        let single = frequencies.iter().filter(|&&n| n <= 1).count();
        (commonest, single as f64 / sample.len().max(1) as f64)
    }
}
