//! Sketches under a key, for matches that nobody could prepare.
//!
//! The recipe is public, so a text can be made whose fingerprint and sketch are those of another one. Whoever
//! removes pages confirms a match under a [`Key`] that was not known when the pages were made: the words themselves
//! are hashed with it, so that neither chosen minima nor words with colliding public hashes outlive it. The text, its
//! words and its shingles are those of the recipe, and so is the true Jaccard similarity of two pages.
//!
//! Does not say when a match is confirmed: [`MinSimilarity`](crate::similarity::MinSimilarity) does.

use std::fmt;
use std::sync::Arc;

use super::content::ContentHash;
use super::fingerprinter::Fingerprinter;
use super::recipe::Recipe;
use super::sketch::{Sketch, Sketcher};
use crate::features::hash::SECRET;
use crate::features::{WordHasher, shingles};
use crate::page::{Document, ExtractOptions, Extractor, PageError};

/// Makes hashes of words that cannot be computed without it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Arc<[u8; SECRET]>);

impl Key {
    /// A key from bytes that nobody can guess.
    pub fn new(bytes: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("hapax: key of confirmations");
        hasher.update(bytes);
        let mut secret = [0; SECRET];
        hasher.finalize_xof().fill(&mut secret);
        Self(Arc::new(secret))
    }

    /// The key of a set of texts: any order gives the same, any other set another one. Who makes a page
    /// cannot know it without all the others, and changes it with every change of the page.
    pub fn of_texts(contents: impl IntoIterator<Item = ContentHash>) -> Self {
        let mut all: Vec<_> = contents.into_iter().map(|content| content.to_bytes()).collect();
        all.sort_unstable();
        Self::new(all.as_flattened())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Reads documents as a recipe does and hashes their words with a key. One for each thread.
#[derive(Debug)]
pub struct KeyedReader {
    extractor: Extractor,
    words: WordHasher,
    recipe: Arc<Recipe>,
    hashes: Vec<u64>,
    shingles: Vec<u64>,
    sketcher: Sketcher,
}

impl Fingerprinter {
    /// A reader by this recipe.
    pub fn keyed(&self, key: &Key) -> KeyedReader {
        let recipe = Arc::clone(&self.recipe);
        KeyedReader {
            extractor: Extractor::new(ExtractOptions {
                extent: recipe.extent,
                ..Default::default()
            }),
            words: self.maker.words.clone().keyed(Arc::clone(&key.0)),
            recipe,
            hashes: Vec::new(),
            shingles: Vec::new(),
            sketcher: Sketcher::default(),
        }
    }
}

impl KeyedReader {
    /// The shingles of a document's sketch, distinct and ascending.
    ///
    /// # Errors
    ///
    /// The body is neither HTML nor text.
    pub fn shingles(&mut self, document: &Document<'_>) -> Result<&[u64], PageError> {
        self.read(document)?;
        self.shingles.sort_unstable();
        self.shingles.dedup();
        Ok(&self.shingles)
    }

    /// The sketch of a document under the key; `None` without words.
    pub fn sketch(&mut self, document: &Document<'_>) -> Result<Option<Sketch>, PageError> {
        self.read(document)?;
        Ok(self.sketcher.sketch(&self.shingles))
    }

    fn read(&mut self, document: &Document<'_>) -> Result<(), PageError> {
        let page = self.extractor.document(document)?;
        self.hashes.clear();
        self.shingles.clear();
        self.words.hash_into(&page.text, &mut self.hashes);
        shingles(&self.hashes, self.recipe.sketch_shingle, &mut self.shingles);
        Ok(())
    }
}

/// The Jaccard similarity of two sets, distinct and ascending; 1 of two empty ones.
pub fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut shared) = (0, 0, 0usize);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        shared += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    match a.len() + b.len() - shared {
        0 => 1.0,
        all => shared as f64 / all as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Body;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn text(words: &[u16]) -> String {
        words.iter().map(|word| format!("w{word} ")).collect()
    }

    fn read(reader: &mut KeyedReader, text: &str) -> (Vec<u64>, Sketch) {
        let document = Document::new(Body::Text(text));
        let shingles = reader.shingles(&document).unwrap().to_vec();
        (shingles, reader.sketch(&document).unwrap().unwrap())
    }

    #[test]
    fn a_key_does_not_depend_on_the_order_of_the_texts_and_on_each_of_them() {
        let [a, b, c] = ["a", "b", "c"].map(ContentHash::of);
        assert_eq!(Key::of_texts([a, b, c]), Key::of_texts([c, a, b]));
        for other in [&[a, b][..], &[a, b, b], &[a, b, c, c]] {
            assert_ne!(Key::of_texts([a, b, c]), Key::of_texts(other.iter().copied()));
        }
    }

    #[test]
    fn keys_make_other_hashes_of_the_same_words() {
        let by = Fingerprinter::default();
        let text = text(&(0..400).collect::<Vec<_>>());
        let sketches = [b"one", b"two"].map(|key| read(&mut by.keyed(&Key::new(key)), &text).1);
        assert!(sketches[0].estimate(&sketches[1]).jaccard < 0.2);
    }

    proptest! {
        #[test]
        fn the_key_does_not_change_how_alike_two_texts_are(
            a in prop::collection::vec(0u16..9, 6..60),
            b in prop::collection::vec(0u16..9, 6..60),
        ) {
            let windows = |words: &[u16]| -> BTreeSet<Vec<u16>> {
                words.windows(5).map(<[u16]>::to_vec).collect()
            };
            let (x, y) = (windows(&a), windows(&b));
            let exact = x.intersection(&y).count() as f64 / x.union(&y).count() as f64;
            let mut reader = Fingerprinter::default().keyed(&Key::new(b"any"));
            let (x, y) = (read(&mut reader, &text(&a)), read(&mut reader, &text(&b)));
            prop_assert_eq!(jaccard(&x.0, &y.0), exact);
            let estimate = x.1.estimate(&y.1);
            prop_assert!((estimate.jaccard - exact).abs() <= 6.0 * estimate.standard_error);
        }
    }
}
