//! Makes signatures of pages by a recipe.
//!
//! A [`Fingerprinter`] owns every buffer, so a million pages take no more memory than the largest of them, and
//! less after it.
//! Clone it for each thread; clones share the tables. Guarantees that the same bytes and recipe give the same
//! signature on every platform and thread. A page without features has no fingerprint, so empty pages match
//! nothing.

use super::bits::{BitSums, Fingerprint};
use super::content::ContentHash;
use super::keyed::KeyedMaker;
use super::part_words::{PartWords, give_back};
use super::recipe::{Recipe, RecipeError, Weighting};
use super::recipe_id::RecipeId;
use super::simhash::{self, Tally};
use super::sketch::{Sketch, Sketcher};
use crate::features::{
    FrequencyError, FrequencyWeights, ShingleSize, WordFilter, WordHasher, shingles,
};
use crate::hamming::Kernel;
use crate::page::{Body, Document, ExtractOptions, Extractor, Hints, Page, PageError};
use crate::text::Parts;
use crate::text::language::{Stemming, StopWords};
use std::sync::Arc;

/// The signature of a page: everything that later stages compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Equal exactly for equal extracted texts; for pages with few words, titles and addresses in
    /// the text must be equal, too.
    pub content: ContentHash,
    /// Words that passed the filters.
    pub words: u32,
    /// Shingles that went into the fingerprint, repeats included.
    pub features: u32,
    /// Whether the page has fewer features than the recipe requires; similarity means little for
    /// such a page.
    pub too_short: bool,
    /// Bytes of text hidden by the page's markup, without white space; hidden text is not used
    /// otherwise.
    pub hidden_bytes: usize,
    /// Whether more text is hidden than shown.
    pub hides_most: bool,
    /// `None` if the page has no features.
    pub comparable: Option<Comparable>,
}

impl Signature {
    /// For a page without text, which can only be an exact copy.
    pub const fn without_text(content: ContentHash) -> Self {
        Self {
            content,
            words: 0,
            features: 0,
            too_short: true,
            hidden_bytes: 0,
            hides_most: false,
            comparable: None,
        }
    }
}

/// The comparable part of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparable {
    pub fingerprint: Fingerprint,
    /// The sums behind the bits, which show the weak ones.
    pub sums: BitSums,
    /// Confirms near-duplicates that the fingerprint proposes.
    pub sketch: Sketch,
}

/// Makes signatures by one recipe. Reuse it to keep its buffers; clone it for another thread.
#[derive(Debug)]
pub struct Fingerprinter {
    pub(super) recipe: Arc<Recipe>,
    id: RecipeId,
    pub(super) weights: Option<Arc<FrequencyWeights>>,
    pub(super) extractor: Extractor,
    pub(super) maker: Maker,
    pub(super) keyed: Option<KeyedMaker>,
}

impl Fingerprinter {
    /// Makes a fingerprinter. TF-IDF recipes need `weights`; others must not have them.
    ///
    /// # Errors
    ///
    /// The recipe is invalid, or the table does not fit it.
    pub fn new(
        recipe: Recipe,
        weights: Option<Arc<FrequencyWeights>>,
    ) -> Result<Self, RecipeError> {
        recipe.validate()?;
        match (&weights, recipe.weighting) {
            (None, Weighting::TfIdf) => {
                return Err(RecipeError::NeedsTable { recipe: recipe.name });
            }
            (Some(table), Weighting::TfIdf) if table.features_key() != recipe.features_key() => {
                return Err(RecipeError::Table(FrequencyError::OtherFeatures {
                    found: table.features_key(),
                    wanted: recipe.features_key(),
                }));
            }
            (Some(_), Weighting::Presence | Weighting::Count) => {
                return Err(RecipeError::NeedsNoTable { recipe: recipe.name });
            }
            (Some(_), Weighting::TfIdf) | (None, Weighting::Presence | Weighting::Count) => {}
        }
        let words = word_hasher(&recipe)?;
        let id = recipe.id(weights.as_deref());
        Ok(Self::assemble(Arc::new(recipe), id, weights, words))
    }

    fn assemble(
        recipe: Arc<Recipe>,
        id: RecipeId,
        weights: Option<Arc<FrequencyWeights>>,
        words: WordHasher,
    ) -> Self {
        let extractor =
            Extractor::new(ExtractOptions { extent: recipe.extent, ..Default::default() });
        Self { recipe, id, weights, extractor, maker: Maker::new(words), keyed: None }
    }

    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The label of its fingerprints: name and digest of the recipe.
    pub fn recipe_id(&self) -> &RecipeId {
        &self.id
    }

    /// The signature of a page as bytes: HTML or plain text in any encoding.
    ///
    /// # Errors
    ///
    /// The bytes are neither HTML nor text.
    pub fn page(&mut self, bytes: &[u8], hints: &Hints<'_>) -> Result<Signature, PageError> {
        let Hints { content_type, url } = *hints;
        let document = Document { content_type, url, ..Document::new(Body::Bytes(bytes)) };
        Ok(self.document(&document)?.signature)
    }

    /// The signature of a page as decoded HTML.
    ///
    /// # Errors
    ///
    /// The page exceeds a limit and cannot be cut.
    pub fn html(&mut self, html: &str) -> Result<Signature, PageError> {
        Ok(self.document(&Document::new(Body::Html(html)))?.signature)
    }

    ///
    /// # Errors
    ///
    /// The text exceeds a limit and cannot be cut.
    pub fn text(&mut self, text: &str) -> Result<Signature, PageError> {
        Ok(self.document(&Document::new(Body::Text(text)))?.signature)
    }

    ///
    /// # Errors
    ///
    /// [`Error::NoWords`](crate::Error::NoWords) if the text has no words.
    pub fn fingerprint(&mut self, text: &str) -> Result<Fingerprint, crate::Error> {
        self.text(text)?.comparable.map(|it| it.fingerprint).ok_or(crate::Error::NoWords)
    }

    /// The signature of an extracted page, for this recipe's extent.
    pub fn extracted(&mut self, page: &Page) -> Signature {
        let signature = self.extracted_text(&page.text);
        let few = ContentHash::of_few_words(page, self.recipe.extent, signature.words);
        Signature { content: few.unwrap_or(signature.content), ..signature }
    }

    pub(super) fn extracted_text(&mut self, text: &str) -> Signature {
        self.maker.signature(text, &self.recipe, self.weights.as_deref(), None)
    }

    pub(super) fn word_hasher(&mut self) -> &mut WordHasher {
        &mut self.maker.words
    }

    pub(super) fn weights(&self) -> Option<&FrequencyWeights> {
        self.weights.as_deref()
    }
}

impl Default for Fingerprinter {
    fn default() -> Self {
        Self::new(Recipe::default(), None).expect("the default recipe is valid and needs no table")
    }
}

impl Clone for Fingerprinter {
    /// Copies recipe, tables and key, not the buffers.
    fn clone(&self) -> Self {
        let (recipe, weights) = (Arc::clone(&self.recipe), self.weights.clone());
        let words = self.maker.words.clone();
        let made = Self::assemble(recipe, self.id.clone(), weights, words);
        Self { keyed: self.keyed.clone(), ..made }
    }
}

/// Extracts the features of pages by a recipe, for training its frequency table.
///
/// A TF-IDF recipe cannot make fingerprints before its table is trained, but it can make features.
#[derive(Debug)]
pub struct FeatureReader {
    extractor: Extractor,
    words: WordHasher,
    recipe: Recipe,
    hashes: Vec<u64>,
    features: Vec<u64>,
}

impl Clone for FeatureReader {
    /// Copies the recipe, not the buffers.
    fn clone(&self) -> Self {
        Self::assemble(self.recipe.clone(), self.words.clone())
    }
}

impl FeatureReader {
    /// Makes a feature reader.
    ///
    /// # Errors
    ///
    /// The recipe is invalid.
    pub fn new(recipe: Recipe) -> Result<Self, RecipeError> {
        recipe.validate()?;
        let words = word_hasher(&recipe)?;
        Ok(Self::assemble(recipe, words))
    }

    fn assemble(recipe: Recipe, words: WordHasher) -> Self {
        let extractor =
            Extractor::new(ExtractOptions { extent: recipe.extent, ..Default::default() });
        Self { extractor, words, recipe, hashes: Vec::new(), features: Vec::new() }
    }

    /// The text of a document and its features with repeats; the caller may reorder them.
    ///
    /// # Errors
    ///
    /// The body is neither HTML nor text.
    pub fn document(
        &mut self,
        document: &Document<'_>,
    ) -> Result<(&Page, &mut Vec<u64>), PageError> {
        let page = self.extractor.document(document)?;
        self.hashes.clear();
        self.features.clear();
        self.words.hash_into(&page.text, &mut self.hashes);
        shingles(&self.hashes, self.recipe.shingle, &mut self.features);
        Ok((page, &mut self.features))
    }
}

/// The word hasher of a recipe.
///
/// # Errors
///
/// A stop-word list or stemmer is unknown.
pub fn word_hasher(recipe: &Recipe) -> Result<WordHasher, RecipeError> {
    let filter = WordFilter {
        min_chars: usize::from(recipe.min_word_chars),
        stop_words: match &recipe.stop_words {
            Some(code) => Some(Arc::new(StopWords::for_language(code)?)),
            None => None,
        },
        stemming: recipe.stemming.as_deref().map(Stemming::named).transpose()?,
    };
    Ok(WordHasher::new(recipe.unspaced, filter, recipe.seed)
        .taking_joined(recipe.joined)
        .taking_confusables(recipe.confusables))
}

/// The buffers for making signatures from texts.
#[derive(Debug)]
pub(super) struct Maker {
    kernel: Kernel,
    pub(super) words: WordHasher,
    part: PartWords,
    features: Vec<u64>,
    /// All features, if each counts once.
    distinct: Vec<u64>,
    sketcher: Sketcher,
}

impl Maker {
    fn new(words: WordHasher) -> Self {
        let (kernel, sketcher) = (Kernel::best(), Sketcher::default());
        let (features, distinct) = (Vec::new(), Vec::new());
        Self { kernel, words, part: PartWords::default(), features, distinct, sketcher }
    }

    /// Makes the signature. If a keyed maker is given, it reads the text as well. A long text is
    /// read in parts.
    pub(super) fn signature(
        &mut self,
        text: &str,
        recipe: &Recipe,
        weights: Option<&FrequencyWeights>,
        mut keyed: Option<&mut KeyedMaker>,
    ) -> Signature {
        let (mut tally, mut words, mut count) = (Tally::default(), 0, 0);
        self.part.clear();
        let mut parts = Parts::of(text);
        while !parts.is_done() {
            let hashes = self.part.next_part();
            match &mut keyed {
                Some(keyed) => keyed.read_part(&mut self.words, &mut parts, hashes),
                None => self.words.hash_part(&mut parts, hashes),
            }
            let (part, last) = (&self.part, parts.is_done());
            part.shingles(self.kernel, recipe.sketch_shingle, last, &mut self.features);
            self.sketcher.add(&self.features, last);
            let features = if recipe.shingle == ShingleSize::ONE {
                part.words()
            } else {
                part.shingles(self.kernel, recipe.shingle, last, &mut self.features);
                &self.features
            };
            words += part.words().len();
            count += features.len();
            match (recipe.weighting, weights) {
                (Weighting::TfIdf, Some(weights)) => {
                    for &feature in features {
                        tally.add(feature, weights.weight(feature));
                    }
                }
                (Weighting::Presence, _) => self.distinct.extend_from_slice(features),
                // `new` refuses TF-IDF without a table.
                (Weighting::Count | Weighting::TfIdf, _) => tally.add_all(features),
            }
        }
        if recipe.weighting == Weighting::Presence {
            self.distinct.sort_unstable();
            self.distinct.dedup();
            tally.add_all(&self.distinct);
            self.distinct.clear();
            give_back(&mut self.distinct);
        }
        let comparable = self.sketcher.finish().map(|sketch| {
            let sums = tally.sums_by(self.kernel);
            Comparable { fingerprint: simhash::cut(&sums, recipe.tie), sums, sketch }
        });
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Signature {
            content: ContentHash::of(text),
            words: u32::try_from(words).unwrap_or(u32::MAX),
            features: count,
            too_short: count < recipe.min_features,
            hidden_bytes: 0,
            hides_most: false,
            comparable,
        }
    }
}
