//! A whole file of fingerprints in memory.
//!
//! Either all documents with a fingerprint have sketches or none has.

use std::collections::BTreeMap;
use std::path::Path;

use hapax::fingerprint::{ContentHash, Fingerprint, Sketch};
use hapax::similarity::Evidence;

use super::super::LinesError;
use super::{Form, Listed, each};
use crate::pages::Pages;

/// Documents with what is known of them, in order.
#[derive(Debug, Default)]
pub struct Fingerprints {
    /// Their names; where they have none, their numbers in the file.
    pub ids: Vec<String>,
    /// Addresses of those that have another name.
    urls: BTreeMap<u32, String>,
    /// Their fingerprints; `None` for a document that has none or is too short to judge by it.
    pub fingerprints: Vec<Option<Fingerprint>>,
    /// What exact copies share; `None` where nothing is known, or the document has no text.
    pub contents: Vec<Option<ContentHash>>,
    /// Their sketches, all zeros where there is not a fingerprint; none at all when the list has none.
    pub sketches: Vec<Sketch>,
    /// Documents without a fingerprint.
    pub without: u64,
    /// Documents too short to judge.
    pub too_short: u64,
}

impl Fingerprints {
    /// What a document is compared by; `None` without a fingerprint. Equal texts are found before.
    pub(crate) fn evidence(&self, document: u32) -> Option<Evidence<'_>> {
        let fingerprint = (*self.fingerprints.get(document as usize)?)?;
        let sketch = self.sketches.get(document as usize);
        Some(Evidence { fingerprint, sketch, content: None, too_short: false })
    }

    /// The address of a document that has another name.
    pub fn url(&self, document: u32) -> Option<&str> {
        self.urls.get(&document).map(String::as_str)
    }

    /// Reads a file, or standard input for `-`.
    ///
    /// # Errors
    ///
    /// As for [`each`]; or a name is not UTF-8, some documents have a sketch and some have not, or
    /// there are too many.
    pub fn open(path: &Path) -> Result<Self, LinesError> {
        let mut all = Self::default();
        each(path, Form::Recognized, &mut |_, listed| {
            let line = listed.number;
            all.push(listed).map_err(|what| LinesError::Bad { line, what })
        })?;
        Ok(all)
    }

    /// Adds a document.
    ///
    /// # Errors
    ///
    /// There are too many, its name is not UTF-8, or some have a sketch and some have not.
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
        // Documents without text are not copies of each other.
        self.contents.push(content.filter(|content| *content != ContentHash::of("")));
        Ok(())
    }
}
