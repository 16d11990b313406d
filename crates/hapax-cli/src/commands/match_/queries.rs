//! A batch of queries: fingerprints, names and weak bits, as small as they can be.
//!
//! Lines are read one at a time, so a file of many gigabytes takes the memory of what is kept of
//! it: 8 bytes a query, its name, and 32 bytes of weak bits where every query has them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;

use hapax::fingerprint::RecipeId;
use hapax::join::matching::WeakOrder;
use hapax::join::matching::weak::WEAKEST;
use hapax_corpus::hpx::Hpx;
use serde::Deserialize;
use serde_json::Value;

use super::failed;
use crate::failure::Failure;
use crate::readable;

/// The longest line that is read.
const LONGEST_LINE: u64 = 1 << 20;

/// See the module header.
#[derive(Debug, Default)]
pub(super) struct Queries {
    fingerprints: Vec<u64>,
    /// Line, or number in a .hpx file, of each.
    lines: Vec<u64>,
    names: Vec<u8>,
    name_ends: Vec<usize>,
    orders: Vec<WeakOrder>,
    recipe: Option<RecipeId>,
    /// Pages that have no fingerprint.
    pub(super) without: u64,
}

impl Queries {
    /// Reads a file, or standard input for `-`.
    ///
    /// # Errors
    ///
    /// It cannot be read, a line is no fingerprint, or recipes are mixed.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |told: String| anyhow::anyhow!("{}: {told}", readable::path(path));
        let unreadable = |error| Failure::io("read", path, error);
        if path.as_os_str() == "-" {
            return Ok(Self::lines(&mut stdin().lock()).map_err(wrong)?);
        }
        let mut file = BufReader::with_capacity(1 << 18, File::open(path).map_err(unreadable)?);
        if file.fill_buf().map_err(unreadable)?.starts_with(b"hapaxHPX") {
            return Self::stored(path);
        }
        Ok(Self::lines(&mut file).map_err(wrong)?)
    }

    /// Of a .hpx file, in the order of ids.
    fn stored(path: &Path) -> Result<Self, Failure> {
        let hpx = Hpx::open(path).map_err(failed)?;
        let recipe = match hpx.recipe() {
            "" => None,
            stated => Some(stated.parse::<RecipeId>().map_err(anyhow::Error::new)?),
        };
        let mut lookup = hpx.lookup();
        let mut stream = hpx.stream(1 << 16);
        let (mut piece, mut position) = (Vec::new(), 0);
        let mut entries = Vec::new();
        while stream.next_piece(&mut piece).map_err(failed)? {
            for &fingerprint in &piece {
                entries.push((lookup.id(position).map_err(failed)?, fingerprint));
                position += 1;
            }
        }
        entries.sort_unstable();
        let mut queries = Self { recipe, ..Self::default() };
        for (id, fingerprint) in entries {
            let name = lookup.name(id).map_err(failed)?;
            queries.push(fingerprint, id, name.unwrap_or_default());
        }
        Ok(queries)
    }

    fn lines(input: &mut dyn BufRead) -> Result<Self, String> {
        let mut queries = Self::default();
        let mut bytes = Vec::new();
        for line in 1.. {
            bytes.clear();
            let read = input.take(LONGEST_LINE + 1).read_until(b'\n', &mut bytes);
            let read = read.map_err(|error| format!("line {line}: {error}"))?;
            if read == 0 {
                break;
            }
            if read as u64 > LONGEST_LINE {
                return Err(format!("line {line} is longer than {LONGEST_LINE} bytes"));
            }
            queries.line(&bytes, line).map_err(|wrong| format!("line {line}: {wrong}"))?;
        }
        if queries.orders.len() < queries.fingerprints.len() {
            queries.orders = Vec::new();
        }
        Ok(queries)
    }

    fn line(&mut self, bytes: &[u8], line: u64) -> Result<(), String> {
        let content = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if content.trim_ascii().is_empty() {
            return Ok(());
        }
        if content.first() == Some(&b'{') {
            return self.json(content, line);
        }
        let (escaped, content) = match content {
            [b'\\', rest @ ..] => (true, rest),
            _ => (false, content.trim_ascii_start()),
        };
        let is_gap = |byte: &u8| matches!(byte, b' ' | b'\t');
        let (digits, rest) =
            content.split_at(content.iter().position(is_gap).unwrap_or(content.len()));
        if digits == b"----------------" {
            self.without += 1;
            return Ok(());
        }
        let name = match rest {
            [b' ', b' ', name @ ..] => name,
            [_, name @ ..] => name.trim_ascii_start(),
            [] => rest,
        };
        let bits = fingerprint(digits)?;
        if escaped {
            self.push(bits, line, &unescaped(name))
        } else {
            self.push(bits, line, name)
        }
        Ok(())
    }

    fn json(&mut self, content: &[u8], line: u64) -> Result<(), String> {
        let given: Line =
            serde_json::from_slice(content).map_err(|error| format!("bad JSON: {error}"))?;
        if let Some(stated) = given.recipe {
            let stated: RecipeId = stated.parse().map_err(|error| format!("{error}"))?;
            match &self.recipe {
                Some(recipe) => recipe.must_be(&stated).map_err(|error| error.to_string())?,
                None => self.recipe = Some(stated),
            }
        }
        let name = match given.id {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(name)) => name,
            Some(Value::Number(number)) => number.to_string(),
            Some(_) => return Err("`id` is neither text nor a number".to_owned()),
        };
        let bits = match given.fingerprint {
            Value::Null => {
                self.without += 1;
                return Ok(());
            }
            Value::String(digits) => fingerprint(digits.as_bytes())?,
            Value::Number(number) => {
                number.as_u64().ok_or_else(|| format!("{number} is no 64-bit fingerprint"))?
            }
            _ => return Err("`fingerprint` is neither text nor a number".to_owned()),
        };
        if let Some(weak) = given.weak_bits {
            let order = order(&weak)?;
            // With the first query that has none, those of the others are of no use.
            if self.orders.len() == self.fingerprints.len() {
                self.orders.extend(order);
            }
        }
        self.push(bits, line, name.as_bytes());
        Ok(())
    }

    fn push(&mut self, fingerprint: u64, line: u64, name: &[u8]) {
        self.fingerprints.push(fingerprint);
        self.lines.push(line);
        self.names.extend_from_slice(name);
        self.name_ends.push(self.names.len());
    }

    pub(super) fn len(&self) -> usize {
        self.fingerprints.len()
    }

    pub(super) fn fingerprints(&self) -> &[u64] {
        &self.fingerprints
    }

    /// The weak bits of every query, if all have them.
    pub(super) fn orders(&self) -> Option<&[WeakOrder]> {
        (!self.orders.is_empty()).then_some(&self.orders[..])
    }

    /// The recipe, if any line states one.
    pub(super) fn recipe(&self) -> Option<String> {
        self.recipe.as_ref().map(RecipeId::to_string)
    }

    /// What a query is called, if it has a name.
    pub(super) fn name(&self, query: usize) -> Option<&[u8]> {
        let start = query.checked_sub(1).map_or(0, |before| self.name_ends[before]);
        let name = &self.names[start..self.name_ends[query]];
        (!name.is_empty()).then_some(name)
    }

    /// Its line, or number in a .hpx file.
    pub(super) fn number(&self, query: usize) -> u64 {
        self.lines[query]
    }
}

#[derive(Deserialize)]
struct Line {
    fingerprint: Value,
    id: Option<Value>,
    recipe: Option<String>,
    weak_bits: Option<Vec<u64>>,
}

/// The weakest bits; none where fewer are given than a search wants.
fn order(weak: &[u64]) -> Result<Option<WeakOrder>, String> {
    let mut seen = 0u64;
    for &position in weak {
        if position > 63 || seen >> position & 1 == 1 {
            return Err("`weak_bits` are not different numbers from 0 to 63".to_owned());
        }
        seen |= 1 << position;
    }
    Ok((weak.len() >= WEAKEST).then(|| std::array::from_fn(|rank| weak[rank] as u8)))
}

/// Undoes what `hapax fingerprint` does to a path with line breaks.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        let next = if byte == b'\\' { bytes.next().unwrap_or(&byte) } else { &byte };
        plain.push(match (byte, *next) {
            (b'\\', b'n') => b'\n',
            (b'\\', b'r') => b'\r',
            (_, other) => other,
        });
    }
    plain
}

fn fingerprint(digits: &[u8]) -> Result<u64, String> {
    let text = std::str::from_utf8(digits).unwrap_or_default();
    let prefixed = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    let hexadecimal = prefixed.or((text.len() == 16).then_some(text));
    // `from_str_radix` would take a sign.
    let bits = match hexadecimal {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    };
    bits.ok_or_else(|| {
        let shown: String = String::from_utf8_lossy(digits).chars().take(40).collect();
        format!(
            "`{}` is no fingerprint: 16 hexadecimal digits, 0x and up to 16, or a decimal number",
            readable::harmless(&shown)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Queries, String> {
        Queries::lines(&mut text.as_bytes())
    }

    #[test]
    fn every_form_of_line_is_understood() {
        let text = "00000000000000ff\n\n0xFF a b\r\n255\tc\n\\00000000000000ff  a\\nb\\\\c\n\
                    {\"fingerprint\":\"0xff\",\"id\":7}\n----------------  empty\n";
        let queries = read(text).unwrap();
        assert_eq!(queries.fingerprints(), [255; 5]);
        assert_eq!((queries.without, queries.len()), (1, 5));
        let names: Vec<_> = (0..5).map(|i| queries.name(i).unwrap_or_default()).collect();
        assert_eq!(names, [&b""[..], b"a b", b"c", b"a\nb\\c", b"7"]);
        assert_eq!((0..5).map(|i| queries.number(i)).collect::<Vec<_>>(), [1, 3, 4, 5, 6]);
        assert!(queries.orders().is_none());
    }

    #[test]
    fn weak_bits_are_taken_when_all_have_them() {
        let bits: Vec<String> = (0..64).rev().map(|bit: u32| bit.to_string()).collect();
        let line = format!("{{\"fingerprint\":1,\"weak_bits\":[{}]}}\n", bits.join(","));
        let queries = read(&line.repeat(3)).unwrap();
        assert_eq!(queries.orders().unwrap()[2][..2], [63, 62]);
        assert!(read(&format!("{line}1\n{line}")).unwrap().orders().is_none());
        assert!(read(&format!("1\n{line}")).unwrap().orders().is_none());
    }

    #[test]
    fn what_is_no_fingerprint_is_named() {
        for (given, told) in [
            ("1\nxyz", "line 2: `xyz` is no fingerprint"),
            ("+1", "`+1`"),
            ("0x", "`0x`"),
            ("18446744073709551616", "is no fingerprint"),
            ("{\"fingerprint\":-1}", "-1 is no 64-bit fingerprint"),
            ("{\"fingerprint\":1", "line 1: bad JSON"),
            ("{\"fingerprint\":1,\"weak_bits\":[64]}", "`weak_bits`"),
            ("{\"fingerprint\":1,\"weak_bits\":[3,3]}", "`weak_bits`"),
        ] {
            let wrong = read(given).unwrap_err();
            assert!(wrong.contains(told), "{given}: {wrong}");
        }
    }
}
