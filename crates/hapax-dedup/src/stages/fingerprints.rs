//! Reads what `hapax fingerprint` writes: plain lines, or JSON with sketches; tables are read by
//! [`table`](super::table).
//!
//! Whatever is in the list is of one recipe, and has sketches throughout or not at all. Who is near whom is
//! not known here.

use std::io::BufRead;

use hapax::fingerprint::{ContentHash, Fingerprint, Sketch};
use hapax::similarity::Evidence;
use serde::{Deserialize, Deserializer};

use super::{LinesError, each_line, one_recipe, unescaped};
use crate::pages::Pages;

/// Documents with what is known of them, in order.
#[derive(Debug, Default)]
pub struct Fingerprints {
    /// Their names.
    pub ids: Vec<String>,
    /// Their fingerprints; `None` for a document that has none or is too short to judge by it.
    pub fingerprints: Vec<Option<Fingerprint>>,
    /// What exact copies share; `None` where nothing is known, or the document has no text.
    pub contents: Vec<Option<ContentHash>>,
    /// Their sketches, all zeros where there is no fingerprint; none at all when the list has none.
    pub sketches: Vec<Sketch>,
    /// Documents without a fingerprint.
    pub without: u64,
    /// Documents too short to judge.
    pub too_short: u64,
}

/// A document on its way into the list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listed {
    /// Its fingerprint.
    pub fingerprint: Option<Fingerprint>,
    /// What exact copies share.
    pub content: Option<ContentHash>,
    /// Its sketch.
    pub sketch: Option<Sketch>,
    /// Too few words to judge by the fingerprint.
    pub too_short: bool,
}

#[derive(Deserialize)]
struct Line {
    id: String,
    recipe: Option<String>,
    /// Null for a page without features; not there at all in a line of something else.
    #[serde(default, deserialize_with = "even_null")]
    fingerprint: Option<Option<String>>,
    content: Option<String>,
    sketch: Option<String>,
    #[serde(default)]
    too_short: bool,
}

/// What stands for the fingerprint of a page that has none.
const NONE: &str = "----------------";

impl Fingerprints {
    /// What a document is compared by; `None` without a fingerprint. Equal texts are found before.
    pub(super) fn evidence(&self, document: u32) -> Option<Evidence<'_>> {
        let fingerprint = (*self.fingerprints.get(document as usize)?)?;
        let sketch = self.sketches.get(document as usize);
        Some(Evidence { fingerprint, sketch, content: None, too_short: false })
    }

    /// Reads all lines.
    ///
    /// # Errors
    ///
    /// A line is neither form, or of another recipe than the first.
    pub fn read(reader: &mut dyn BufRead) -> Result<Self, LinesError> {
        let mut all = Self::default();
        let mut recipe: Option<String> = None;
        each_line(reader, |line, text| {
            let bad = |what: String| LinesError::Bad { line, what };
            if !text.starts_with('{') {
                return all.plain(text).map_err(bad);
            }
            let entry: Line = serde_json::from_str(text).map_err(|e| bad(e.to_string()))?;
            one_recipe(&mut recipe, entry.recipe.as_deref(), line)?;
            all.json(entry).map_err(bad)
        })?;
        Ok(all)
    }

    fn plain(&mut self, text: &str) -> Result<(), String> {
        let shape = || "expected 16 hexadecimal digits, two spaces and a name, or JSON".to_owned();
        let (escape, text) = match text.strip_prefix('\\') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (digits, name) = text.split_once("  ").ok_or_else(shape)?;
        let name = if escape { unescaped(name) } else { name.to_owned() };
        let fingerprint = match digits {
            NONE => None,
            digits => Some(digits.parse().map_err(|_| shape())?),
        };
        self.push(name, Listed { fingerprint, ..Listed::default() })
    }

    fn json(&mut self, entry: Line) -> Result<(), String> {
        let fingerprint = entry.fingerprint.ok_or(
            "it has no `fingerprint`, not even null: make these lines with `hapax fingerprint --json`",
        )?;
        let fingerprint = fingerprint
            .as_deref()
            .map(|digits| digits.parse().map_err(|_| format!("{digits:?} is no fingerprint")));
        let content = entry
            .content
            .as_deref()
            .map(|digits| digits.parse().map_err(|_| format!("{digits:?} is no content hash")));
        let sketch = entry
            .sketch
            .as_deref()
            .map(|digits| sketch(digits).ok_or("a sketch is 256 hexadecimal digits".to_owned()));
        let listed = Listed {
            fingerprint: fingerprint.transpose()?,
            content: content.transpose()?,
            sketch: sketch.transpose()?,
            too_short: entry.too_short,
        };
        self.push(entry.id, listed)
    }

    /// Adds a document.
    ///
    /// # Errors
    ///
    /// There are too many, or some have a sketch and some have not.
    pub fn push(&mut self, id: String, document: Listed) -> Result<(), String> {
        if self.ids.len() >= Pages::MOST {
            return Err(format!("more than {} documents", Pages::MOST));
        }
        let Listed { fingerprint, content, sketch, too_short } = document;
        self.without += u64::from(fingerprint.is_none());
        self.too_short += u64::from(too_short && fingerprint.is_some());
        let judged = fingerprint.filter(|_| !too_short);
        let nothing = Sketch::from_bytes(&[0; 128]);
        if sketch.is_some() && self.sketches.is_empty() {
            if self.fingerprints.iter().any(Option::is_some) {
                return Err("it has a sketch and those before have not".to_owned());
            }
            self.sketches.resize(self.ids.len(), nothing);
        }
        if sketch.is_none() && judged.is_some() && !self.sketches.is_empty() {
            return Err("it has no sketch and those before have".to_owned());
        }
        if !self.sketches.is_empty() || sketch.is_some() {
            self.sketches.push(sketch.unwrap_or(nothing));
        }
        self.ids.push(id);
        self.fingerprints.push(judged);
        // Documents without text are not copies of each other.
        self.contents.push(content.filter(|content| *content != ContentHash::of("")));
        Ok(())
    }
}

fn even_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

fn sketch(digits: &str) -> Option<Sketch> {
    let mut bytes = [0; 128];
    if digits.len() != 256 || !digits.is_ascii() {
        return None;
    }
    for (byte, two) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()?;
    }
    Some(Sketch::from_bytes(&bytes))
}
