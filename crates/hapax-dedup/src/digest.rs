//! A digest of what was read of a batch, by which the second reading knows that it reads the same.
//!
//! Covers the undecoded records of a file of lines or archive records, otherwise everything that a decision may
//! use: names, bodies and facts of documents. Detects files that were replaced, not forgeries of the digest.

use hapax_corpus::{Batch, Document};
use xxhash_rust::xxh3::Xxh3;

pub(crate) struct BatchDigest {
    raw: Option<u64>,
    documents: Xxh3,
}

impl BatchDigest {
    /// The digest of a batch, to which its documents must be [added](Self::add).
    pub(crate) fn of(batch: &Batch) -> Self {
        Self { raw: batch.digest(), documents: Xxh3::new() }
    }

    pub(crate) fn add(&mut self, document: &Document<'_>) {
        if self.raw.is_some() {
            return;
        }
        let [url, language] =
            [&document.url, &document.language].map(|text| text.as_deref().unwrap_or_default());
        let body = document.body.content.as_bytes();
        for text in [document.id.as_bytes(), url.as_bytes(), language.as_bytes(), body] {
            self.documents.update(&(text.len() as u64).to_le_bytes());
            self.documents.update(text);
        }
        let score = document.score.map_or(u64::MAX, f64::to_bits);
        let fetched = document.fetched.map_or(i64::MAX, |it| it.seconds());
        self.documents.update(&score.to_le_bytes());
        self.documents.update(&fetched.to_le_bytes());
    }

    pub(crate) fn finish(self) -> u64 {
        self.raw.unwrap_or_else(|| self.documents.digest())
    }
}
