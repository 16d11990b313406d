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
use super::sketch::{Sketch, Sketcher};
use crate::features::hash::SECRET;
use crate::features::{ShingleSize, WordHasher, shingles};
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
    maker: KeyedMaker,
}

impl Fingerprinter {
    /// A reader by this recipe.
    pub fn keyed(&self, key: &Key) -> KeyedReader {
        let extent = self.recipe.extent;
        let extractor = Extractor::new(ExtractOptions { extent, ..Default::default() });
        let words = self.maker.words.clone().keyed(Arc::clone(&key.0));
        KeyedReader { extractor, words, maker: self.keyed_maker(key) }
    }

    /// The same recipe; documents get a sketch under the key, too.
    #[must_use]
    pub fn with_key(mut self, key: &Key) -> Self {
        self.keyed = Some(self.keyed_maker(key));
        self
    }

    /// Was it given a key?
    pub const fn has_key(&self) -> bool {
        self.keyed.is_some()
    }

    fn keyed_maker(&self, key: &Key) -> KeyedMaker {
        KeyedMaker::new(key.clone(), self.recipe.sketch_shingle)
    }
}

/// The buffers between the words of a text and its sketch under a key.
#[derive(Debug)]
pub(super) struct KeyedMaker {
    key: Key,
    size: ShingleSize,
    /// Of the words of the text that is read.
    hashes: Vec<u64>,
    shingles: Vec<u64>,
    sketcher: Sketcher,
}

impl KeyedMaker {
    fn new(key: Key, size: ShingleSize) -> Self {
        let (hashes, shingles) = (Vec::new(), Vec::new());
        Self { key, size, hashes, shingles, sketcher: Sketcher::default() }
    }

    /// Appends the public hashes of the words of a text, and remembers those under the key.
    pub(super) fn read(&mut self, words: &mut WordHasher, text: &str, public: &mut Vec<u64>) {
        self.hashes.clear();
        words.hash_both(text, &self.key.0, public, &mut self.hashes);
    }

    /// Of the text that was read last; `None` without words.
    pub(super) fn sketch(&mut self) -> Option<Sketch> {
        self.shingles.clear();
        shingles(&self.hashes, self.size, &mut self.shingles);
        self.sketcher.sketch(&self.shingles)
    }
}

impl Clone for KeyedMaker {
    /// Same recipe and key, own buffers.
    fn clone(&self) -> Self {
        Self::new(self.key.clone(), self.size)
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
        let KeyedMaker { size, hashes, shingles: set, .. } = &mut self.maker;
        set.clear();
        shingles(hashes, *size, set);
        set.sort_unstable();
        set.dedup();
        Ok(set)
    }

    /// The sketch of a document under the key; `None` without words.
    pub fn sketch(&mut self, document: &Document<'_>) -> Result<Option<Sketch>, PageError> {
        self.read(document)?;
        Ok(self.maker.sketch())
    }

    fn read(&mut self, document: &Document<'_>) -> Result<(), PageError> {
        let page = self.extractor.document(document)?;
        self.maker.hashes.clear();
        self.words.hash_into(&page.text, &mut self.maker.hashes);
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
    fn a_fingerprinter_with_a_key_makes_the_reader_s_sketch_and_its_own_signature() {
        let (plain, key) = (Fingerprinter::default(), Key::new(b"any"));
        let text = text(&(0..40).collect::<Vec<_>>());
        let document = Document::new(Body::Text(&text));
        let sketch = plain.keyed(&key).sketch(&document).unwrap();
        let expected = plain.clone().text(&text).unwrap();
        let mut keyed = plain.with_key(&key).clone();
        let signed = keyed.document(&document).unwrap();
        assert_eq!((signed.keyed, signed.signature), (sketch, expected));
        assert_eq!(keyed.document(&Document::new(Body::Text(""))).unwrap().keyed, None);
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
