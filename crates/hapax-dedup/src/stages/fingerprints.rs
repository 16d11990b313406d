//! Reads what `hapax fingerprint` writes: plain lines, or JSON with sketches.

use std::io::BufRead;

use hapax::fingerprint::{Fingerprint, Sketch};
use serde::Deserialize;

use super::{LinesError, each_line, unescaped};
use crate::pages::Pages;

/// Documents with fingerprints.
#[derive(Debug, Default)]
pub struct Fingerprints {
    /// Names, in order.
    pub ids: Vec<String>,
    /// Their fingerprints.
    pub fingerprints: Vec<Fingerprint>,
    /// Their sketches: one each, or none at all when the lines have none.
    pub sketches: Vec<Sketch>,
    /// Lines without a fingerprint.
    pub without: u64,
    /// Documents too short to judge, left out.
    pub too_short: u64,
}

#[derive(Deserialize)]
struct Line {
    id: String,
    recipe: Option<String>,
    fingerprint: Option<String>,
    sketch: Option<String>,
    #[serde(default)]
    too_short: bool,
}

/// What stands for the fingerprint of a page that has none.
const NONE: &str = "----------------";

impl Fingerprints {
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
            if all.ids.len() >= Pages::MOST {
                return Err(LinesError::TooMany { most: Pages::MOST });
            }
            if !text.starts_with('{') {
                return all.plain(text).map_err(bad);
            }
            let entry: Line = serde_json::from_str(text).map_err(|e| bad(e.to_string()))?;
            match (&recipe, &entry.recipe) {
                (Some(first), Some(found)) if first != found => {
                    let (found, first) = (found.clone(), first.clone());
                    return Err(LinesError::Recipes { line, found, first });
                }
                (None, Some(found)) => recipe = Some(found.clone()),
                (Some(_), _) | (None, None) => {}
            }
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
        if digits == NONE {
            self.without += 1;
            return Ok(());
        }
        if !self.sketches.is_empty() {
            return Err("a plain line among lines with sketches; write all with --json".to_owned());
        }
        self.fingerprints.push(digits.parse().map_err(|_| shape())?);
        self.ids.push(if escape { unescaped(name) } else { name.to_owned() });
        Ok(())
    }

    fn json(&mut self, entry: Line) -> Result<(), String> {
        let Some(digits) = entry.fingerprint else {
            self.without += 1;
            return Ok(());
        };
        if entry.too_short {
            self.too_short += 1;
            return Ok(());
        }
        if entry.sketch.is_none() != self.sketches.is_empty() && !self.ids.is_empty() {
            return Err("some lines have a sketch and some have not".to_owned());
        }
        let fingerprint = digits.parse().map_err(|_| format!("{digits:?} is no fingerprint"))?;
        if let Some(digits) = entry.sketch {
            let sketch = sketch(&digits).ok_or("a sketch is 256 hexadecimal digits")?;
            self.sketches.push(sketch);
        }
        self.fingerprints.push(fingerprint);
        self.ids.push(entry.id);
        Ok(())
    }
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
