//! Keyed sketches, which detect forged matches.
//!
//! Recipes are public, so an attacker can construct a text with the fingerprint and sketch of another one.
//! Before a page is removed, a match can be confirmed under a [`Key`] that was unknown when the pages were
//! written: words are hashed with the key, so neither chosen minima nor words with colliding public hashes
//! carry over. Text, words and shingles are those of the recipe, and so is the true Jaccard similarity of two
//! pages.
//!
//! Does not decide whether a match is confirmed; [`similarity`](crate::similarity) does.

use std::fmt;
use std::sync::Arc;

use super::fingerprinter::Fingerprinter;
use super::part_words::{PartWords, give_back};
use super::short_sketch::{ShortSketch, ShortSketcher};
use super::sketch::{Sketch, Sketcher};
use crate::features::hash::SECRET;
use crate::features::{ShingleSize, WordHasher, shingles};
use crate::hamming::Kernel;
use crate::page::{Document, ExtractOptions, Extractor, PageError};
use crate::text::Parts;

/// A secret for word hashes.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    bytes: Arc<[u8]>,
    secret: Arc<[u8; SECRET]>,
}

impl Key {
    /// Makes a key from bytes that cannot be guessed.
    pub fn new(bytes: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("hapax: key of confirmations");
        hasher.update(bytes);
        let mut secret = [0; SECRET];
        hasher.finalize_xof().fill(&mut secret);
        Self { bytes: bytes.into(), secret: Arc::new(secret) }
    }

    /// The bytes it was made from; keep them secret.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Reads documents by a recipe and hashes their words with a key. One per thread.
#[derive(Debug)]
pub struct KeyedReader {
    extractor: Extractor,
    words: WordHasher,
    hashes: Vec<u64>,
    maker: KeyedMaker,
}

impl Fingerprinter {
    /// A reader with this recipe.
    pub fn keyed(&self, key: &Key) -> KeyedReader {
        let extent = self.recipe.extent;
        let extractor = Extractor::new(ExtractOptions { extent, ..Default::default() });
        let words = self.maker.words.clone().keyed(Arc::clone(&key.secret));
        let maker = self.keyed_maker(key, Size::Full);
        KeyedReader { extractor, words, hashes: Vec::new(), maker }
    }

    /// The same fingerprinter, which also makes keyed sketches.
    #[must_use]
    pub fn with_key(mut self, key: &Key) -> Self {
        self.keyed = Some(self.keyed_maker(key, Size::Full));
        self
    }

    /// The same fingerprinter, which also makes short keyed sketches.
    #[must_use]
    pub fn with_short_key(mut self, key: &Key) -> Self {
        self.keyed = Some(self.keyed_maker(key, Size::Short));
        self
    }

    pub fn key(&self) -> Option<&Key> {
        self.keyed.as_ref().map(|keyed| &keyed.key)
    }

    fn keyed_maker(&self, key: &Key, size: Size) -> KeyedMaker {
        KeyedMaker::new(key.clone(), self.recipe.sketch_shingle, size)
    }
}

#[derive(Clone, Copy, Debug)]
enum Size {
    Full,
    Short,
}

/// The buffers for making keyed sketches.
#[derive(Debug)]
pub(super) struct KeyedMaker {
    kernel: Kernel,
    key: Key,
    shingle: ShingleSize,
    size: Size,
    part: PartWords,
    shingles: Vec<u64>,
    sketcher: Sketcher,
    short: ShortSketcher,
}

impl KeyedMaker {
    fn new(key: Key, shingle: ShingleSize, size: Size) -> Self {
        let (part, shingles) = (PartWords::default(), Vec::new());
        let (sketcher, short) = (Sketcher::default(), ShortSketcher::default());
        Self { kernel: Kernel::best(), key, shingle, size, part, shingles, sketcher, short }
    }

    /// Appends the public hashes of the words of a part of a text, and adds those under the key to
    /// the sketch.
    pub(super) fn read_part(
        &mut self,
        words: &mut WordHasher,
        parts: &mut Parts<'_>,
        public: &mut Vec<u64>,
    ) {
        words.hash_part_twice(parts, &self.key.secret, public, self.part.next_part());
        self.sketch_part(parts.is_done());
    }

    fn sketch_part(&mut self, last: bool) {
        self.part.shingles(self.kernel, self.shingle, last, &mut self.shingles);
        match self.size {
            Size::Full => self.sketcher.add(&self.shingles, last),
            Size::Short => self.short.add(&self.shingles, last),
        }
    }

    /// The sketch of the text that was read, in the size that was asked for; both are `None`
    /// without words.
    pub(super) fn sketches(&mut self) -> (Option<Sketch>, Option<ShortSketch>) {
        self.part.clear();
        match self.size {
            Size::Full => (self.sketcher.finish(), None),
            Size::Short => (None, self.short.finish()),
        }
    }
}

impl Clone for KeyedMaker {
    /// Copies recipe and key, not the buffers.
    fn clone(&self) -> Self {
        Self::new(self.key.clone(), self.shingle, self.size)
    }
}

impl KeyedReader {
    /// The shingles behind a document's sketch, distinct and ascending.
    ///
    /// # Errors
    ///
    /// The body is neither HTML nor text.
    pub fn shingles(&mut self, document: &Document<'_>) -> Result<&[u64], PageError> {
        let page = self.extractor.document(document)?;
        self.hashes.clear();
        self.words.hash_into(&page.text, &mut self.hashes);
        let KeyedMaker { shingle, shingles: set, .. } = &mut self.maker;
        set.clear();
        shingles(&self.hashes, *shingle, set);
        self.hashes.clear();
        give_back(&mut self.hashes);
        set.sort_unstable();
        set.dedup();
        Ok(set)
    }

    /// The keyed sketch of a document; `None` without words.
    pub fn sketch(&mut self, document: &Document<'_>) -> Result<Option<Sketch>, PageError> {
        let page = self.extractor.document(document)?;
        let mut parts = Parts::of(&page.text);
        while !parts.is_done() {
            self.words.hash_part(&mut parts, self.maker.part.next_part());
            self.maker.sketch_part(parts.is_done());
        }
        Ok(self.maker.sketches().0)
    }
}

/// The Jaccard similarity of two sets, which must be distinct and ascending; 1 for two empty ones.
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
    fn a_fingerprinter_with_a_key_makes_the_reader_s_sketch_and_an_unchanged_signature() {
        let (plain, key) = (Fingerprinter::default(), Key::new(b"any"));
        let text = text(&(0..40).collect::<Vec<_>>());
        let document = Document::new(Body::Text(&text));
        let sketch = plain.keyed(&key).sketch(&document).unwrap();
        let expected = plain.clone().text(&text).unwrap();
        let mut keyed = plain.clone().with_key(&key).clone();
        let signed = keyed.document(&document).unwrap();
        assert_eq!(
            (signed.keyed, signed.short, signed.signature),
            (sketch, None, expected.clone())
        );
        let nothing = Document::new(Body::Text(""));
        assert_eq!(keyed.document(&nothing).unwrap().keyed, None);

        let short = {
            let mut reader = plain.keyed(&key);
            ShortSketcher::default().sketch(reader.shingles(&document).unwrap())
        };
        let mut keyed = plain.with_short_key(&key).clone();
        let signed = keyed.document(&document).unwrap();
        assert_eq!((signed.keyed, signed.short, signed.signature), (None, short, expected));
        assert_eq!(keyed.document(&nothing).unwrap().short, None);
        assert_eq!(keyed.key().map(Key::bytes), Some(&b"any"[..]));
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
        fn the_key_does_not_change_the_similarity_of_two_texts(
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
