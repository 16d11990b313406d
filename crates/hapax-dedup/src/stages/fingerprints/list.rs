//! Loads a whole file of fingerprints into memory.
//!
//! Either all documents with a fingerprint have sketches or none has.

use std::collections::BTreeMap;
use std::path::Path;

use hapax::fingerprint::{ContentHash, Fingerprint, Sketch};
use hapax::similarity::Evidence;

use super::super::LinesError;
use super::{Form, Listed, each};
use crate::pages::Pages;

/// Documents with their signatures, in order.
#[derive(Debug, Default)]
pub struct Fingerprints {
    /// Names; the number in the file for documents without a name.
    pub ids: Vec<String>,
    /// Addresses, for documents with a name other than their address.
    urls: BTreeMap<u32, String>,
    /// `None` for a document without a fingerprint or with too few words for one.
    pub fingerprints: Vec<Option<Fingerprint>>,
    /// What exact copies share; `None` if unknown or if the document has no text.
    pub contents: Vec<Option<ContentHash>>,
    /// All zeros without a fingerprint; an empty list if the file has no sketches.
    pub sketches: Vec<Sketch>,
    /// Number of documents without a fingerprint.
    pub without: u64,
    /// Number of documents with too few words.
    pub too_short: u64,
}

impl Fingerprints {
    /// What similarity is computed from; `None` without a fingerprint. Does not cover exact copies.
    pub(crate) fn evidence(&self, document: u32) -> Option<Evidence<'_>> {
        let fingerprint = (*self.fingerprints.get(document as usize)?)?;
        let sketch = self.sketches.get(document as usize);
        Some(Evidence { fingerprint, sketch, content: None, too_short: false })
    }

    /// The address of a document whose name is different.
    pub fn url(&self, document: u32) -> Option<&str> {
        self.urls.get(&document).map(String::as_str)
    }

    /// Reads a file; `-` is standard input.
    ///
    /// # Errors
    ///
    /// As for [`each`]; also if a name is not UTF-8, only some documents have a sketch, or there
    /// are too many.
    pub fn open(path: &Path) -> Result<Self, LinesError> {
        let mut all = Self::default();
        each(path, Form::Recognized, &mut |_, listed| {
            let line = listed.number;
            all.push(listed).map_err(|what| LinesError::Bad { line, what })
        })?;
        Ok(all)
    }

    /// Appends a document.
    ///
    /// # Errors
    ///
    /// There are too many, its name is not UTF-8, or only some documents have a sketch.
    pub fn push(&mut self, document: Listed) -> Result<(), String> {
        if self.ids.len() >= Pages::MOST {
            return Err(format!("more than {} documents", Pages::MOST));
        }
        let Listed { number, name, url, fingerprint, content, sketch, too_short, .. } = document;
        let id = match name {
            Some(name) => String::from_utf8(name).map_err(|_| "the name is not UTF-8")?,
            None => number.to_string(),
        };
        self.without += u64::from(fingerprint.is_none());
        self.too_short += u64::from(too_short && fingerprint.is_some());
        let comparable = fingerprint.filter(|_| !too_short);
        let nothing = Sketch::from_bytes(&[0; 128]);
        if sketch.is_some() && self.sketches.is_empty() {
            if self.fingerprints.iter().any(Option::is_some) {
                return Err("it has a sketch and those before have not".to_owned());
            }
            self.sketches.resize(self.ids.len(), nothing);
        }
        if sketch.is_none() && comparable.is_some() && !self.sketches.is_empty() {
            return Err("it has no sketch and those before have".to_owned());
        }
        if !self.sketches.is_empty() || sketch.is_some() {
            self.sketches.push(sketch.unwrap_or(nothing));
        }
        if let Some(url) = url.filter(|url| !url.is_empty() && *url != id) {
            self.urls.insert(self.ids.len() as u32, url);
        }
        self.ids.push(id);
        self.fingerprints.push(comparable);
        // Documents without text do not match each other.
        self.contents.push(content.filter(|content| *content != ContentHash::of("")));
        Ok(())
    }
}
