//! From documents to what a mapping of pages to machines needs of them, in the order of the corpus.
//!
//! Documents are read and extracted exactly as the whole job does it. What is neither HTML nor text has
//! no words.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use hapax::fingerprint::{Fingerprinter, RecipeError};
use hapax_corpus::Source;
use hapax_partition::{FeatureMaker, PageFeatures};

use super::signing::{AtHand, each};

/// One document and its features.
#[derive(Clone, Debug, PartialEq)]
pub struct Featured {
    pub id: String,
    /// How many bytes its body has.
    pub bytes: u64,
    /// Words, shingles, language.
    pub features: PageFeatures,
}

/// Makes the features of documents on many threads.
#[derive(Debug)]
pub struct Featuring<'f> {
    fingerprinter: &'f Fingerprinter,
    first: FeatureMaker,
}

impl<'f> Featuring<'f> {
    /// By the words of a recipe.
    ///
    /// # Errors
    ///
    /// The recipe is invalid.
    pub fn new(fingerprinter: &'f Fingerprinter) -> Result<Self, RecipeError> {
        Ok(Self { fingerprinter, first: FeatureMaker::new(fingerprinter.recipe())? })
    }

    /// Hands every document, or a damaged record that was passed, to `take` in order.
    ///
    /// # Errors
    ///
    /// The first bad record in the order of the corpus, unless bad records are skipped; or what
    /// `take` says.
    pub fn each<E: From<hapax_corpus::Error>>(
        &self,
        source: &Source,
        threads: NonZero<usize>,
        take: impl FnMut(Result<Featured, hapax_corpus::Error>) -> Result<(), E>,
    ) -> Result<(), E> {
        let idle: Mutex<Vec<FeatureMaker>> = Mutex::new(Vec::new());
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        let work = |AtHand { document, page, .. }: AtHand<'_>| {
            let ready = lock().pop();
            let mut maker = ready.unwrap_or_else(|| self.first.clone());
            let features = page.map(|page| maker.features(&page.text)).unwrap_or_default();
            lock().push(maker);
            Featured {
                id: document.id.to_string(),
                bytes: document.body.content.as_bytes().len() as u64,
                features,
            }
        };
        each(source, self.fingerprinter, threads, work, take)
    }
}
