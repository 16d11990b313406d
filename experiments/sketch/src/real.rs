//! Pairs of real pages with their exact similarity.
//!
//! A folder contains `docs.jsonl.zst` (`id` and `html` or `text` per line) and `refpairs.tsv.zst` (`id1 id2 jaccard`
//! per line, after a header). Pairs are sampled evenly over similarity; pairs below the file's minimum are neighbours
//! in the file (often from one site) and random pages. Exact similarity is computed again here from the hashes that
//! the sketches get. Texts are not passed on.

use crate::errors::Share;
use anyhow::{Context, Result};
use hapax::features::hash::{ShingleSize, scramble, shingles, word_hash};
use html5gum::{Token, Tokenizer};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Number of pairs per band of similarity, 0.05 wide, from 0.5 to 1 (excluding 1, where every
/// method is exact).
const PAIRS_PER_BAND: usize = 400;
const BANDS: usize = 10;
/// Number of other pairs.
const UNLISTED: usize = 2000;
/// The files contain no pairs of shorter texts.
const LEAST_SHINGLES: usize = 10;

/// Pages as sorted sets of shingle hashes, and pairs of them.
pub(crate) struct RealSet {
    pub(crate) name: String,
    pub(crate) pages: Vec<Vec<u64>>,
    /// Indices of two pages and their exact Jaccard similarity.
    pub(crate) pairs: Vec<(usize, usize, f64)>,
    /// Share of the listed pairs whose similarity agrees with ours within 0.01.
    pub(crate) as_listed: Share,
}

impl RealSet {
    /// Reads the folder and samples the pairs deterministically.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let (ids, pages): (Vec<_>, Vec<_>) = read_pages(folder)?.into_iter().unzip();
        let place: BTreeMap<&str, usize> =
            ids.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
        let mut pairs = Vec::new();
        let mut as_listed = Share::default();
        for (a, b, listed) in listed_pairs(folder, &place)? {
            let exact = jaccard(&pages[a], &pages[b]);
            as_listed.add((exact - listed).abs() <= 0.01);
            pairs.push((a, b, exact));
        }
        for i in 0..UNLISTED as u64 {
            let a = (scramble(2 * i) % pages.len() as u64) as usize;
            let neighbour = (a + 1) % pages.len();
            let far = (scramble(2 * i + 1) % pages.len() as u64) as usize;
            let b = if i % 2 == 0 { neighbour } else { far };
            if pages[a].len().min(pages[b].len()) >= LEAST_SHINGLES {
                let exact = jaccard(&pages[a], &pages[b]);
                if exact < 0.5 {
                    pairs.push((a, b, exact));
                }
            }
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, pages, pairs, as_listed })
    }
}

#[derive(Deserialize)]
struct Line {
    id: String,
    html: Option<String>,
    text: Option<String>,
}

fn open(path: &Path) -> Result<impl BufRead> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut decoder = zstd::Decoder::new(file)?;
    decoder.window_log_max(27)?;
    Ok(BufReader::new(decoder))
}

fn read_pages(folder: &Path) -> Result<Vec<(String, Vec<u64>)>> {
    let path = folder.join("docs.jsonl.zst");
    let mut pages = Vec::new();
    for line in open(&path)?.lines() {
        let line: Line = serde_json::from_str(&line?)
            .with_context(|| format!("{}, line {}", path.display(), pages.len() + 1))?;
        let text = match line.html {
            Some(html) => visible_text(&html),
            None => line.text.unwrap_or_default(),
        };
        pages.push((line.id, shingle_set(&text)));
    }
    Ok(pages)
}

/// Up to [`PAIRS_PER_BAND`] pairs of each band, chosen by the hash of their line's number.
fn listed_pairs(folder: &Path, place: &BTreeMap<&str, usize>) -> Result<Vec<(usize, usize, f64)>> {
    let path = folder.join("refpairs.tsv.zst");
    let mut bands = vec![Vec::new(); BANDS];
    for (number, line) in open(&path)?.lines().enumerate().skip(1) {
        let line = line?;
        let mut fields = line.split('\t');
        let mut page = || fields.next().and_then(|id| place.get(id).copied());
        let (a, b) = (page(), page());
        let similarity = fields.next().and_then(|j| j.parse::<f64>().ok());
        let (Some(a), Some(b), Some(similarity)) = (a, b, similarity) else {
            anyhow::bail!("{}, line {}: not a pair of known pages", path.display(), number + 1);
        };
        if (0.5..1.0).contains(&similarity) {
            let band = ((similarity - 0.5) / 0.05) as usize;
            bands[band.min(BANDS - 1)].push((scramble(number as u64), a, b, similarity));
        }
    }
    for band in &mut bands {
        band.sort_unstable_by_key(|&(order, ..)| order);
        band.truncate(PAIRS_PER_BAND);
    }
    Ok(bands.into_iter().flatten().map(|(_, a, b, similarity)| (a, b, similarity)).collect())
}

/// Text between tags, with entities decoded, without scripts and styles.
fn visible_text(html: &str) -> String {
    let mut text = String::new();
    let mut hidden = false;
    for Ok(token) in Tokenizer::new(html) {
        match token {
            Token::String(part) if !hidden => text.push_str(&String::from_utf8_lossy(&part)),
            Token::StartTag(tag) => {
                hidden = matches!(tag.name.as_slice(), b"script" | b"style") && !tag.self_closing;
                text.push(' ');
            }
            Token::EndTag(_) => {
                hidden = false;
                text.push(' ');
            }
            _ => {}
        }
    }
    text
}

/// The sorted set of runs of five words. A word is a run of letters and digits in lower case; a
/// Han, Hiragana or Katakana character is a word.
fn shingle_set(text: &str) -> Vec<u64> {
    let mut words = Vec::new();
    let mut word = String::new();
    let finish = |word: &mut String, words: &mut Vec<u64>| {
        if !word.is_empty() {
            words.push(word_hash(word, 0));
            word.clear();
        }
    };
    for c in text.chars() {
        if is_word(c) {
            finish(&mut word, &mut words);
            words.push(word_hash(c.encode_utf8(&mut [0; 4]), 0));
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        } else {
            finish(&mut word, &mut words);
        }
    }
    finish(&mut word, &mut words);
    let mut set = Vec::new();
    shingles(&words, const { ShingleSize::new(5).expect("1 to 8") }, &mut set);
    set.sort_unstable();
    set.dedup();
    set
}

fn is_word(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
        && c.is_alphanumeric()
}

/// The exact Jaccard similarity of two sorted sets.
fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let shared = a.iter().filter(|s| b.binary_search(s).is_ok()).count();
    shared as f64 / (a.len() + b.len() - shared).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_between_tags_and_outside_of_scripts_and_styles() {
        let html = "<p>One&amp;<b>two</b><script>no()</script><!-- no --><style>no</style>&eacute;";
        let words: Vec<_> = visible_text(html).split_whitespace().map(str::to_owned).collect();
        assert_eq!(words, ["One&", "two", "é"]);
    }

    #[test]
    fn ideographs_are_words_and_case_is_ignored() {
        assert_eq!(shingle_set("Ab 北京 cd, ef"), shingle_set("aB-北 京.CD/EF"));
        assert_eq!(shingle_set("北京 a b c d").len(), 2);
        assert_eq!(shingle_set("a b").len(), 1);
        assert_eq!(shingle_set("... !").len(), 0);
    }

    #[test]
    fn similarity_is_intersection_over_union() {
        assert_eq!(jaccard(&[1, 2, 3], &[2, 3, 4]), 0.5);
        assert_eq!(jaccard(&[], &[]), 0.0);
    }
}
