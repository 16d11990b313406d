//! Fingerprints in the forms people have them: numbers as text, bytes, or what
//! `hapax fingerprint` writes.
//!
//! A line is a fingerprint and, behind spaces or a tab, a name; or a JSON object with
//! `fingerprint`, `id`, `recipe` and `sums`. Each line is judged for itself, so a file may mix the
//! forms, but not recipes.

use crate::failure::{Failure, io_error};
use crate::readable;
use hapax::fingerprint::{BitSums, Fingerprint, RecipeId};
use serde::Deserialize;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// One fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) fingerprint: Fingerprint,
    /// Line of the file, or number of the 8 bytes; from 1.
    pub(super) line: u64,
    pub(super) name: Option<Vec<u8>>,
    /// What its bits were cut from.
    pub(super) sums: Option<Box<BitSums>>,
}

/// What is done with sums: they take half a kilobyte each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    Checked,
    Kept,
}

/// Everything in a file.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) all: Vec<Record>,
    /// Lines of pages that have no fingerprint.
    pub(super) without: u64,
    /// The recipe, if any line states one.
    pub(super) recipe: Option<RecipeId>,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Binary,
}

/// Reads a file, or standard input for `-`.
///
/// # Errors
///
/// It cannot be read, a line is no fingerprint, or recipes are mixed.
pub(super) fn read(path: &Path, form: Form, sums: Sums) -> Result<Records, Failure> {
    let bytes = read_all(path)?;
    let records = match form {
        Form::Text => text(&bytes, sums),
        Form::Binary => binary(&bytes),
    };
    records.map_err(|wrong| Failure::Run(anyhow::anyhow!("{}: {wrong}", readable::path(path))))
}

/// The bytes of a file, or standard input for `-`.
pub(super) fn read_all(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    read.map_err(|error| Failure::Run(io_error("read", path, error)))?;
    Ok(bytes)
}

fn binary(bytes: &[u8]) -> Result<Records, String> {
    let (words, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(format!(
            "{} bytes are no whole number of fingerprints of 8 bytes; leave out --binary for text",
            bytes.len()
        ));
    }
    let record = |(line, word): (u64, &[u8; 8])| Record {
        fingerprint: Fingerprint::from_bits(u64::from_le_bytes(*word)),
        line,
        name: None,
        sums: None,
    };
    Ok(Records { all: (1..).zip(words).map(record).collect(), ..Records::default() })
}

fn text(bytes: &[u8], sums: Sums) -> Result<Records, String> {
    let mut records = Records::default();
    for (line, content) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if content.trim_ascii().is_empty() {
            continue;
        }
        let parsed = match content {
            [b'{', ..] => json_line(content, &mut records.recipe),
            _ => plain_line(content),
        };
        match parsed.map_err(|wrong| format!("line {line}: {wrong}"))? {
            Some(Parsed { fingerprint, name, sums: given }) => {
                let sums = given.filter(|_| sums == Sums::Kept);
                records.all.push(Record { fingerprint, line, name, sums });
            }
            None => records.without += 1,
        }
    }
    Ok(records)
}

/// What a line says.
struct Parsed {
    fingerprint: Fingerprint,
    name: Option<Vec<u8>>,
    sums: Option<Box<BitSums>>,
}

#[derive(Deserialize)]
struct JsonLine {
    fingerprint: Value,
    id: Option<Value>,
    recipe: Option<String>,
    sums: Option<Vec<i64>>,
}

/// Nothing for a page that has no fingerprint.
fn json_line(content: &[u8], recipe: &mut Option<RecipeId>) -> Result<Option<Parsed>, String> {
    let line: JsonLine =
        serde_json::from_slice(content).map_err(|error| format!("bad JSON: {error}"))?;
    if let Some(stated) = line.recipe {
        let stated: RecipeId = stated.parse().map_err(|error| format!("{error}"))?;
        match recipe {
            Some(recipe) => recipe.must_be(&stated).map_err(|error| error.to_string())?,
            None => *recipe = Some(stated),
        }
    }
    let name = match line.id {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name.into_bytes()),
        Some(Value::Number(number)) => Some(number.to_string().into_bytes()),
        Some(_) => return Err("`id` is neither text nor a number".to_owned()),
    };
    let fingerprint = match line.fingerprint {
        Value::Null => return Ok(None),
        Value::String(digits) => fingerprint(digits.as_bytes())?,
        Value::Number(number) => match number.as_u64() {
            Some(bits) => Fingerprint::from_bits(bits),
            None => return Err(format!("{number} is no 64-bit fingerprint")),
        },
        _ => return Err("`fingerprint` is neither text nor a number".to_owned()),
    };
    let sums = line.sums.map(|sums| bit_sums(&sums, fingerprint)).transpose()?;
    Ok(Some(Parsed { fingerprint, name, sums }))
}

/// Sums must be those of the fingerprint. One of zero may have been cut to either value.
fn bit_sums(given: &[i64], fingerprint: Fingerprint) -> Result<Box<BitSums>, String> {
    let sums: [i64; 64] = given
        .try_into()
        .map_err(|_| format!("`sums` are {} numbers and a fingerprint has 64 bits", given.len()))?;
    for (bit, &sum) in sums.iter().enumerate() {
        let set = fingerprint.to_bits() >> bit & 1 == 1;
        if sum != 0 && set != (sum > 0) {
            return Err(format!(
                "`sums` are not those of the fingerprint: bit {bit} is {} and its sum {sum}",
                u8::from(set)
            ));
        }
    }
    Ok(Box::new(BitSums::new(sums)))
}

/// Nothing for a page that has no fingerprint.
fn plain_line(content: &[u8]) -> Result<Option<Parsed>, String> {
    let (escaped, content) = match content {
        [b'\\', rest @ ..] => (true, rest),
        _ => (false, content.trim_ascii_start()),
    };
    let end = content.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(content.len());
    let (digits, rest) = content.split_at(end);
    // `fingerprint` writes two spaces, and what follows is the path to the byte.
    let name = match rest {
        [b' ', b' ', name @ ..] => name,
        [_, name @ ..] => name.trim_ascii_start(),
        [] => rest,
    };
    if digits.len() == 16 && digits.iter().all(|&byte| byte == b'-') {
        return Ok(None);
    }
    let name = if escaped { unescaped(name) } else { name.to_vec() };
    let name = (!name.is_empty()).then_some(name);
    Ok(Some(Parsed { fingerprint: fingerprint(digits)?, name, sums: None }))
}

/// Undoes what `hapax fingerprint` does to a path with line breaks.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(&other) => other,
                None => b'\\',
            },
            other => other,
        });
    }
    plain
}

fn fingerprint(digits: &[u8]) -> Result<Fingerprint, String> {
    let text = std::str::from_utf8(digits).unwrap_or_default();
    // `from_str_radix` would take a sign.
    let bits = if let Some(hexadecimal) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        all_of(hexadecimal, u8::is_ascii_hexdigit).and_then(|t| u64::from_str_radix(t, 16).ok())
    } else if text.len() == 16 {
        all_of(text, u8::is_ascii_hexdigit).and_then(|t| u64::from_str_radix(t, 16).ok())
    } else {
        all_of(text, u8::is_ascii_digit).and_then(|t| t.parse().ok())
    };
    bits.map(Fingerprint::from_bits).ok_or_else(|| {
        let shown: String = String::from_utf8_lossy(digits).chars().take(40).collect();
        format!(
            "`{}` is no fingerprint: 16 hexadecimal digits, 0x and up to 16, or a decimal number \
             up to {}",
            readable::harmless(&shown),
            u64::MAX
        )
    })
}

fn all_of(text: &str, kind: fn(&u8) -> bool) -> Option<&str> {
    text.bytes().all(|byte| kind(&byte)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &str) -> Vec<(u64, u64, Option<String>)> {
        let records = text(input.as_bytes(), Sums::Kept).unwrap();
        let name = |r: &Record| r.name.clone().map(|name| String::from_utf8(name).unwrap());
        records.all.iter().map(|r| (r.line, r.fingerprint.to_bits(), name(r))).collect()
    }

    #[test]
    fn every_form_of_line_is_understood() {
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(read("00000000000000ff\n"), [(1, 255, None)]);
        assert_eq!(read("0xFF\r\n\n255\t17"), [(1, 255, None), (3, 255, some("17"))]);
        assert_eq!(read("00000000000000ff  a b .html"), [(1, 255, some("a b .html"))]);
        assert_eq!(read("00000000000000ff   led"), [(1, 255, some(" led"))]);
        assert_eq!(read("\\00000000000000ff  a\\nb\\\\c"), [(1, 255, some("a\nb\\c"))]);
        assert_eq!(read("18446744073709551615"), [(1, u64::MAX, None)]);
        assert_eq!(read("{\"fingerprint\":\"0xff\",\"id\":7}"), [(1, 255, some("7"))]);
        assert_eq!(read("{\"fingerprint\":255}"), [(1, 255, None)]);
    }

    #[test]
    fn pages_without_a_fingerprint_are_counted() {
        let given = "----------------  empty.html\n{\"fingerprint\":null,\"id\":\"x\"}\n";
        let records = text(given.as_bytes(), Sums::Kept).unwrap();
        assert_eq!((records.all.len(), records.without), (0, 2));
    }

    #[test]
    fn sums_are_kept_when_they_are_wanted() {
        let sums: [i64; 64] = std::array::from_fn(|bit| if bit < 8 { 9 } else { -(bit as i64) });
        let line = format!("{{\"fingerprint\":255,\"sums\":{sums:?}}}\n255\n");
        let kept = |sums| text(line.as_bytes(), sums).unwrap().all;
        assert_eq!(kept(Sums::Kept)[0].sums, Some(Box::new(BitSums::new(sums))));
        assert_eq!(kept(Sums::Kept)[1].sums, None);
        assert_eq!(kept(Sums::Checked)[0].sums, None);
    }

    #[test]
    fn what_is_no_fingerprint_is_named() {
        let other = format!("{{\"fingerprint\":1,\"sums\":{:?}}}", [1; 64]);
        for (given, told) in [
            ("1\nxyz", "line 2: `xyz` is no fingerprint"),
            ("18446744073709551616", "`18446744073709551616` is no fingerprint"),
            ("+1", "`+1` is no fingerprint"),
            ("0x", "`0x` is no fingerprint"),
            ("0x+f", "`0x+f` is no fingerprint"),
            ("zz00000000000000", "is no fingerprint"),
            ("{\"id\":\"a\"}", "missing field `fingerprint`"),
            ("{\"fingerprint\":-1}", "-1 is no 64-bit fingerprint"),
            ("{\"fingerprint\":[]}", "neither text nor a number"),
            ("{\"fingerprint\":1", "line 1: bad JSON"),
            ("{\"fingerprint\":1,\"recipe\":\"web\"}", "web"),
            ("{\"fingerprint\":1,\"sums\":[1,2]}", "`sums` are 2 numbers"),
            ("{\"fingerprint\":1,\"sums\":[0.5]}", "bad JSON"),
            (&other, "line 1: `sums` are not those of the fingerprint: bit 1 is 0 and its sum 1"),
        ] {
            let wrong = text(given.as_bytes(), Sums::Kept).unwrap_err();
            assert!(wrong.contains(told), "{given}: {wrong}");
        }
        assert!(binary(&[0; 9]).unwrap_err().contains("9 bytes"));
    }
}
