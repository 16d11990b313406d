//! Groups documents from a list of pairs.
//!
//! Reads the output of `hapax pairs`: lines of distance, similarity, two names and, where a document has an
//! address other than its name, two addresses, separated by tabs; or JSON. Documents with the same text count
//! as one, as do documents with one fingerprint and nothing else known: they share all near matches.

use std::collections::BTreeMap;
use std::io::BufRead;

use hapax::fingerprint::ContentHash;
use hapax::group::batch::UnionFind;
use hapax::group::{BatchInput, Grouping, NearPair, PageFacts, Rules};
use serde::{Deserialize, Serialize};

use super::{LinesError, each_line, escaped, unescaped};
use crate::error::Error;

/// A pair by names; also its JSON form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedPair {
    pub a: String,
    pub b: String,
    pub distance: u8,
    /// Estimated similarity; `None` if unknown.
    pub similarity: Option<f32>,
    /// Whether both have the same text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// The address of `a`, if different from its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b_url: Option<String>,
}

impl NamedPair {
    /// The pair as a line of columns.
    pub fn line(&self) -> String {
        let similarity = match self.similarity {
            _ if self.exact => SAME.to_owned(),
            Some(similarity) => format!("{similarity:.4}"),
            None => "-".to_owned(),
        };
        let Self { a, b, distance, a_url, b_url, .. } = self;
        let mut line = format!("{distance}\t{similarity}\t{}\t{}", escaped(a), escaped(b));
        if a_url.is_some() || b_url.is_some() {
            for url in [a_url, b_url] {
                line.push('\t');
                line.push_str(&escaped(url.as_deref().unwrap_or_default()));
            }
        }
        line
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('{') {
            return serde_json::from_str(text)
                .map_err(|error| format!("{error}; {}", not_pairs(text.as_bytes())));
        }
        let cells: Vec<&str> = text.split('\t').collect();
        let shape = || not_pairs(text.as_bytes());
        let (&[distance, similarity, a, b], urls) = (match &cells[..] {
            [names @ .., a_url, b_url] if cells.len() == 6 => (names, [*a_url, *b_url]),
            names => (names, [""; 2]),
        }) else {
            return Err(shape());
        };
        let [a_url, b_url] = urls.map(|url| (!url.is_empty()).then(|| unescaped(url)));
        let exact = similarity == SAME;
        let similarity = match similarity {
            "-" => None,
            SAME => Some(1.0),
            number => Some(number.parse().map_err(|_| shape())?),
        };
        let distance = distance.parse().ok().filter(|bits| *bits <= 64).ok_or_else(shape)?;
        Ok(Self { a: unescaped(a), b: unescaped(b), distance, similarity, exact, a_url, b_url })
    }
}

/// What a line should have been, and which command reads what it seems to be.
fn not_pairs(text: &[u8]) -> String {
    let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let fingerprints = ["PAR1", "hapaxHPX", "hapaxSEG", "id,"];
    let fingerprints = fingerprints.iter().any(|start| text.starts_with(start.as_bytes()))
        || text.windows(13).any(|it| it == b"\"fingerprint\"")
        || digits == 16;
    match fingerprints {
        true => "these are fingerprints: hapax pairs reads them, and writes the pairs of them",
        false => "expected distance, similarity and two names between tabs, or JSON, as hapax pairs writes them",
    }
    .to_owned()
}

/// In place of the similarity of documents with the same text.
const SAME: &str = "=";

/// Documents and their pairs.
#[derive(Debug, Default)]
pub struct Pairs {
    /// Names in order of first occurrence.
    pub names: Vec<String>,
    /// Addresses that differ from names, by place.
    urls: BTreeMap<u32, String>,
    /// Pairs by places of names.
    pub pairs: Vec<NearPair>,
    /// Pairs that count as one document, by places of names.
    same: Vec<(u32, u32)>,
}

impl Pairs {
    ///
    /// # Errors
    ///
    /// A line is not a pair.
    pub fn read(reader: &mut dyn BufRead) -> Result<Self, LinesError> {
        let mut all = Gathering::default();
        each_line(reader, |line, text| {
            let bad = |what| LinesError::Bad { line, what };
            let text = std::str::from_utf8(text).map_err(|_| bad(not_pairs(text)))?;
            all.add(NamedPair::parse(text).map_err(bad)?).map_err(bad)
        })?;
        Ok(all.pairs)
    }

    /// Makes the list from pairs in memory.
    ///
    /// # Errors
    ///
    /// A pair has an invalid similarity; the error has its number, from 1.
    pub fn of(named: impl IntoIterator<Item = NamedPair>) -> Result<Self, LinesError> {
        let mut all = Gathering::default();
        for (line, pair) in (1..).zip(named) {
            all.add(pair).map_err(|what| LinesError::Bad { line, what })?;
        }
        Ok(all.pairs)
    }

    /// Groups the documents. A name serves as the address of a document without one.
    ///
    /// # Errors
    ///
    /// There are too many documents.
    pub fn group(&self, rules: &Rules) -> Result<Grouping, Error> {
        let pages: Vec<PageFacts<'_>> = self.facts();
        let mut same = UnionFind::new(self.names.len() as u32);
        for &(a, b) in &self.same {
            same.union(a, b);
        }
        let contents: Vec<Option<ContentHash>> = (0..self.names.len() as u32)
            .map(|place| {
                let mut bytes = [0; 16];
                bytes[..4].copy_from_slice(&same.find(place).to_le_bytes());
                Some(ContentHash::from_bytes(bytes))
            })
            .collect();
        let (contents, pairs) = (&contents[..], &self.pairs[..]);
        Ok(Grouping::of(
            rules,
            &BatchInput { pages: &pages, contents, pairs, ..BatchInput::default() },
        )?)
    }

    /// The facts that winner rules compare.
    pub fn facts(&self) -> Vec<PageFacts<'_>> {
        let url = |(place, name)| self.urls.get(&place).unwrap_or(name);
        let urls = (0u32..).zip(&self.names).map(url);
        (0..).zip(urls).map(|(id, url)| PageFacts { id, ..PageFacts::at(url) }).collect()
    }
}

/// Numbers names in order of first occurrence.
#[derive(Default)]
struct Gathering {
    pairs: Pairs,
    places: BTreeMap<String, u32>,
}

impl Gathering {
    fn add(&mut self, pair: NamedPair) -> Result<(), String> {
        let similarity = pair.similarity.unwrap_or(1.0);
        if !(0.0..=1.0).contains(&similarity) {
            return Err(format!("similarity {similarity} is not from 0 to 1"));
        }
        let Self { pairs, places } = self;
        let mut place = |name: String, url: Option<String>| {
            let next = pairs.names.len() as u32;
            let place = *places.entry(name).or_insert_with_key(|name| {
                pairs.names.push(name.clone());
                next
            });
            if let Some(url) = url {
                pairs.urls.insert(place, url);
            }
            place
        };
        let (a, b) = (place(pair.a, pair.a_url), place(pair.b, pair.b_url));
        if pair.exact || (pair.distance == 0 && pair.similarity.is_none()) {
            pairs.same.push((a, b));
        }
        pairs.pairs.push(NearPair { a, b, distance: pair.distance, similarity });
        Ok(())
    }
}
