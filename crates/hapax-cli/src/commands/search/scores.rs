//! What pages are worth: a file with a line for each, the address, a tab and a number.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::anyhow;

use crate::failure::Failure;
use crate::readable;

/// A line that is longer has no address in it.
const LONGEST_LINE: u64 = 1 << 16;

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, f64>, Failure> {
    let cannot = |error| Failure::io("read", path, error);
    let mut lines = BufReader::new(File::open(path).map_err(cannot)?);
    let mut scores = BTreeMap::new();
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let read = std::io::Read::take(&mut lines, LONGEST_LINE).read_until(b'\n', &mut line);
        if read.map_err(cannot)? == 0 {
            break;
        }
        let text = std::str::from_utf8(&line).unwrap_or_default().trim_end_matches(['\n', '\r']);
        if text.is_empty() && line.len() <= 2 {
            continue;
        }
        let parsed = text.rsplit_once('\t').and_then(|(url, score)| {
            let score = score.trim().parse::<f64>().ok().filter(|score| score.is_finite())?;
            (!url.is_empty()).then(|| (url.to_owned(), score))
        });
        let (url, score) = parsed.ok_or_else(|| {
            let path = readable::path(path);
            anyhow!("{path}, line {number}: an address, a tab and a number are needed")
        })?;
        scores.insert(url, score);
    }
    Ok(scores)
}
