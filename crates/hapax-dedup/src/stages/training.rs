//! Counts in how many documents each feature occurs.
//!
//! Every thread has its own [`Counter`]; the sum of their tables does not depend on how documents were
//! distributed. The table cannot list its features, so [`Occurrences`] keeps a sample of them.

use hapax::features::Frequencies;
use hapax::features::frequency::FrequencyError;
use hapax::fingerprint::FeatureReader;
use hapax_corpus::Document;

use super::signing::not_a_page;
use crate::signature::known;

/// Documents whose features are sampled for the final summary.
const SAMPLED_PAGES: usize = 64;
/// Features sampled per document.
const SAMPLED_FEATURES: usize = 4096;

/// Counts the features of documents on one thread.
#[derive(Clone, Debug)]
pub struct Counter {
    reader: FeatureReader,
    table: Frequencies,
}

/// The counts of one document.
#[derive(Debug)]
pub struct Counted {
    pub bytes: u64,
    /// Whether only the beginning of its text was counted.
    pub cut: bool,
    /// Features of the page, including repeats.
    pub all: u64,
    pub distinct: u64,
    /// Some of the distinct features, for the first pages only.
    sample: Vec<u64>,
}

impl Counter {
    /// Adds to `table`, which must fit the features of `reader`.
    pub fn new(reader: FeatureReader, table: Frequencies) -> Self {
        Self { reader, table }
    }

    /// The sum of this table and others.
    ///
    /// # Errors
    ///
    /// The tables differ in features or width.
    pub fn sum(self, others: Vec<Self>) -> Result<Frequencies, FrequencyError> {
        let mut whole = self.table;
        for other in others {
            whole.merge(&other.table)?;
        }
        Ok(whole)
    }

    /// Adds a document to the table. In a corpus, content that is neither HTML nor text is a
    /// document without words.
    ///
    /// # Errors
    ///
    /// A file, not a record of a corpus, is neither HTML nor text.
    pub fn count(&mut self, document: &Document<'_>) -> Result<Counted, hapax_corpus::Error> {
        let mut none = Vec::new();
        let (cut, features) = match known(document).and_then(|it| self.reader.document(&it)) {
            Ok((page, features)) => (page.truncated, features),
            Err(error) => not_a_page(document, error).map_or(Ok((false, &mut none)), Err)?,
        };
        let all = features.len() as u64;
        if all > 0 {
            // Also removes repeats.
            self.table.add_document(features);
        }
        // The first documents of each file; of these, the first of the corpus are kept.
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

/// Statistics about features beyond the table.
#[derive(Clone, Debug, Default)]
pub struct Occurrences {
    /// Sum over documents of their distinct features.
    pub all: u64,
    sample: Vec<u64>,
    /// Number of documents in the sample.
    sampled: usize,
}

impl Occurrences {
    /// Adds a document; call in corpus order.
    pub fn add(&mut self, counted: Counted) {
        self.all += counted.distinct;
        if self.sampled < SAMPLED_PAGES {
            self.sampled += 1;
            self.sample.extend(counted.sample);
        }
    }

    /// Among the features of sampled documents: the largest number of documents of one, and the
    /// share that occur in one document only.
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
