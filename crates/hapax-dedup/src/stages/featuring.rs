//! Extracts the features of documents that partitioning over machines needs, in parallel.
//!
//! Content that is neither HTML nor text has no words.

use std::sync::{Mutex, PoisonError};

use hapax::fingerprint::{Fingerprinter, RecipeError};
use hapax_partition::{FeatureMaker, PageFeatures};

use super::signing::AtHand;

#[derive(Clone, Debug, PartialEq)]
pub struct Featured {
    pub id: String,
    /// Size of the body in bytes.
    pub bytes: u64,
    pub features: PageFeatures,
}

/// Extracts features on many threads.
#[derive(Debug)]
pub struct Featuring {
    first: FeatureMaker,
    idle: Mutex<Vec<FeatureMaker>>,
}

impl Featuring {
    /// Splits text into words as the recipe does.
    ///
    /// # Errors
    ///
    /// The recipe is invalid.
    pub fn new(fingerprinter: &Fingerprinter) -> Result<Self, RecipeError> {
        Ok(Self { first: FeatureMaker::new(fingerprinter.recipe())?, idle: Mutex::default() })
    }

    pub fn of(&self, AtHand { document, page, .. }: AtHand<'_>) -> Featured {
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let ready = lock().pop();
        let mut maker = ready.unwrap_or_else(|| self.first.clone());
        let features = page.map(|page| maker.features(&page.text)).unwrap_or_default();
        lock().push(maker);
        Featured {
            id: document.id.to_string(),
            bytes: document.body.content.as_bytes().len() as u64,
            features,
        }
    }
}
