//! What remains of a page, as Python holds it.
//!
//! Never changes, can be pickled, and is compared only with signatures of its own recipe. How it is
//! made is not known here.

use std::hash::{DefaultHasher, Hash, Hasher};

use hapax::fingerprint::{
    BitSums, Comparable, ContentHash, Fingerprint, RecipeId, Signature as Engine, Sketch,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::errors::raised;

/// What remains of a page: fingerprint, weak bits, sketch and content hash.
#[pyclass(frozen, module = "hapax")]
pub(crate) struct Signature {
    pub(crate) signature: Engine,
    pub(crate) recipe: RecipeId,
}

/// What pickle keeps: recipe, content, words, features, too short, and of a page with words
/// fingerprint, sums and sketch.
type Parts = (String, Vec<u8>, u32, u32, bool, Option<(u64, Vec<i64>, Vec<u8>)>);

impl Signature {
    fn comparable(&self) -> Option<&Comparable> {
        self.signature.comparable.as_ref()
    }

    /// Both comparable parts, if the pages have words and one recipe made them.
    fn comparables<'a>(
        &'a self,
        other: &'a Self,
    ) -> PyResult<Option<(&'a Comparable, &'a Comparable)>> {
        let same = self.recipe.must_be(&other.recipe);
        same.map_err(|error| raised("RecipeMismatchError", error.to_string(), None))?;
        Ok(self.comparable().zip(other.comparable()))
    }
}

#[pymethods]
impl Signature {
    /// The 64 bits as an int; None for a page without words.
    #[getter]
    fn fingerprint(&self) -> Option<u64> {
        self.comparable().map(|it| it.fingerprint.to_bits())
    }

    /// The fingerprint as sixteen hexadecimal digits.
    #[getter]
    fn hex(&self) -> Option<String> {
        self.comparable().map(|it| it.fingerprint.to_string())
    }

    /// The positions of all bits, the weakest first.
    #[getter]
    fn weak_bits<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.comparable()
            .map(|comparable| PyTuple::new(py, comparable.sums.weakest_first()))
            .transpose()
    }

    /// The weighted sum each bit was cut from, bit 0 first.
    #[getter]
    fn sums<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.comparable().map(|comparable| PyTuple::new(py, comparable.sums.as_array())).transpose()
    }

    /// The similarity sketch, 128 bytes.
    #[getter]
    fn sketch<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.comparable().map(|comparable| PyBytes::new(py, &comparable.sketch.to_bytes()))
    }

    /// Thirty-two hexadecimal digits, equal exactly for equal texts.
    #[getter]
    fn content(&self) -> String {
        self.signature.content.to_string()
    }

    /// Words that passed the recipe's filters.
    #[getter]
    fn words(&self) -> u32 {
        self.signature.words
    }

    /// Shingles that went into the fingerprint, repeats included.
    #[getter]
    fn features(&self) -> u32 {
        self.signature.features
    }

    /// Too little text for similarity to say much.
    #[getter]
    fn too_short(&self) -> bool {
        self.signature.too_short
    }

    /// Name and digest of the recipe.
    #[getter]
    fn recipe(&self) -> String {
        self.recipe.to_string()
    }

    /// How many bits differ from another signature's; None when one of them has no words.
    fn distance(&self, other: &Self) -> PyResult<Option<u32>> {
        Ok(self.comparables(other)?.map(|(a, b)| a.fingerprint.distance(b.fingerprint)))
    }

    /// The estimated share of common passages, 0 to 1; None when one of them has no words.
    fn similarity(&self, other: &Self) -> PyResult<Option<f64>> {
        Ok(self.comparables(other)?.map(|(a, b)| a.sketch.estimate(&b.sketch).jaccard))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.recipe == other.recipe && self.signature == other.signature
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.signature.content.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let words = self.signature.words;
        match self.comparable() {
            Some(comparable) => format!("Signature({}, {words} words)", comparable.fingerprint),
            None => "Signature(no words)".to_owned(),
        }
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (Parts,))> {
        let Self { signature, recipe } = slf.get();
        let comparable = signature.comparable.as_ref().map(|comparable| {
            let sums = comparable.sums.as_array().to_vec();
            (comparable.fingerprint.to_bits(), sums, comparable.sketch.to_bytes().to_vec())
        });
        let parts = (
            recipe.to_string(),
            signature.content.to_bytes().to_vec(),
            signature.words,
            signature.features,
            signature.too_short,
            comparable,
        );
        Ok((slf.get_type().getattr("_of_parts")?.unbind(), (parts,)))
    }

    /// What pickle kept.
    #[staticmethod]
    fn _of_parts(parts: Parts) -> PyResult<Self> {
        let (recipe, content, words, features, too_short, comparable) = parts;
        let wrong = || raised("ArgumentError", "these are not the parts of a signature", None);
        let comparable = match comparable {
            None => None,
            Some((bits, sums, sketch)) => Some(Comparable {
                fingerprint: Fingerprint::from_bits(bits),
                sums: BitSums::new(sums.try_into().map_err(|_| wrong())?),
                sketch: Sketch::from_bytes(&sketch.try_into().map_err(|_| wrong())?),
            }),
        };
        let content = ContentHash::from_bytes(content.try_into().map_err(|_| wrong())?);
        let signature = Engine {
            content,
            words,
            features,
            too_short,
            hidden_bytes: 0,
            hides_most: false,
            comparable,
        };
        Ok(Self { signature, recipe: recipe.parse().map_err(|_| wrong())? })
    }
}
