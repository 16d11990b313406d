//! Formats a document as a line or as a JSON object, as `lines` parses them.

use std::path::Path;

use hapax::fingerprint::Signature;
use serde::Serialize;

use super::lines::NONE;

/// Fingerprint, two spaces, name.
pub fn line(name: &[u8], signature: &Signature) -> Vec<u8> {
    let mut line = Vec::with_capacity(name.len() + 20);
    let escaped = name.iter().any(|b| matches!(b, b'\\' | b'\n' | b'\r'));
    if escaped {
        line.push(b'\\');
    }
    match &signature.comparable {
        Some(comparable) => line.extend_from_slice(comparable.fingerprint.to_string().as_bytes()),
        None => line.extend_from_slice(NONE),
    }
    line.extend_from_slice(b"  ");
    for &byte in name {
        match byte {
            b'\\' => line.extend_from_slice(b"\\\\"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            _ => line.push(byte),
        }
    }
    line.push(b'\n');
    line
}

/// A page as a JSON object.
#[derive(Debug, Serialize)]
pub struct PageRecord<'a> {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    recipe: &'a str,
    fingerprint: Option<String>,
    content: String,
    words: u32,
    features: u32,
    too_short: bool,
    no_features: bool,
    hidden_bytes: usize,
    hides_most: bool,
    weak_bits: Option<Vec<u8>>,
    sketch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<Vec<i64>>,
}

impl<'a> PageRecord<'a> {
    /// All parts of a signature, under the page's path.
    pub fn new(path: &Path, recipe: &'a str, signature: &Signature) -> Self {
        Self::named(path.to_string_lossy().into_owned(), None, recipe, signature)
    }

    /// As [`new`](Self::new), for a document that may have an address.
    pub fn named(id: String, url: Option<String>, recipe: &'a str, signature: &Signature) -> Self {
        let comparable = signature.comparable.as_ref();
        Self {
            id,
            url,
            recipe,
            fingerprint: comparable.map(|m| m.fingerprint.to_string()),
            content: signature.content.to_string(),
            words: signature.words,
            features: signature.features,
            too_short: signature.too_short,
            no_features: comparable.is_none(),
            hidden_bytes: signature.hidden_bytes,
            hides_most: signature.hides_most,
            weak_bits: comparable.map(|m| m.sums.weakest_first().to_vec()),
            sketch: comparable.map(|m| m.sketch.to_string()),
            sums: None,
        }
    }

    /// Adds the SimHash sums.
    #[must_use]
    pub fn with_sums(mut self, signature: &Signature) -> Self {
        self.sums = signature.comparable.as_ref().map(|it| it.sums.as_array().to_vec());
        self
    }
}
