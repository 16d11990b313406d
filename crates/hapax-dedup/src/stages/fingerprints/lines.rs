//! Parses fingerprints by lines: digits and a name, or a JSON object. The only parser of such lines.
//!
//! Each line is parsed by itself, so a file may mix both kinds, but not recipes. Tables and `.hpx` files are
//! read by sibling modules.

use std::io::BufRead;

use hapax::fingerprint::{BitSums, Fingerprint, RecipeId};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::super::{LinesError, each_line};
use super::{Listed, Stated, Take, content, kind, sketch};

/// In place of the fingerprint of a page without one.
pub(super) const NONE: &[u8] = b"----------------";

/// Calls `take` for every line that is not blank.
pub(super) fn each<E: From<LinesError>>(
    reader: &mut dyn BufRead,
    take: Take<'_, E>,
) -> Result<(), E> {
    let mut stated = Stated::default();
    each_line(reader, |number, text| {
        let bad = |what| LinesError::Bad { line: number, what };
        let (recipe, listed) = match text {
            [b'{', ..] => json(text).map_err(bad)?,
            _ => (None, plain(text).map_err(bad)?),
        };
        stated.see(recipe.as_deref(), number)?;
        take(stated.get(), Listed { number, ..listed })
    })
}

#[derive(Deserialize)]
struct Line {
    /// Null for a page without features; missing if the line is something else.
    #[serde(default, deserialize_with = "even_null")]
    fingerprint: Option<Value>,
    id: Option<Value>,
    url: Option<String>,
    recipe: Option<String>,
    content: Option<String>,
    sketch: Option<String>,
    #[serde(default)]
    too_short: bool,
    sums: Option<Vec<i64>>,
    a: Option<Value>,
}

fn even_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// The recipe that a line states, and its document.
fn json(text: &[u8]) -> Result<(Option<String>, Listed), String> {
    let line: Line = serde_json::from_slice(text).map_err(|error| format!("bad JSON: {error}"))?;
    let Some(given) = line.fingerprint else {
        return Err(kind::json_without_fingerprint(line.a.is_some()));
    };
    if let Some(stated) = &line.recipe {
        stated.parse::<RecipeId>().map_err(|error| error.to_string())?;
    }
    let name = match line.id {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name.into_bytes()),
        Some(Value::Number(number)) => Some(number.to_string().into_bytes()),
        Some(_) => return Err("`id` is neither text nor a number".to_owned()),
    };
    let bits = match given {
        Value::Null => None,
        Value::String(digits) => Some(fingerprint(digits.as_bytes())?),
        Value::Number(number) => match number.as_u64() {
            Some(bits) => Some(Fingerprint::from_bits(bits)),
            None => return Err(format!("{number} is not a 64-bit fingerprint")),
        },
        _ => return Err("`fingerprint` is neither text nor a number".to_owned()),
    };
    let sums = match (&line.sums, bits) {
        (Some(sums), Some(bits)) => Some(bit_sums(sums, bits)?),
        _ => None,
    };
    let listed = Listed {
        number: 0,
        name: name.filter(|name| !name.is_empty()),
        url: line.url,
        fingerprint: bits,
        content: line.content.as_deref().map(content).transpose()?,
        sketch: line.sketch.as_deref().map(sketch).transpose()?,
        too_short: line.too_short,
        sums,
    };
    Ok((line.recipe, listed))
}

/// Checks that sums fit the fingerprint. A sum of zero allows either bit.
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

fn plain(text: &[u8]) -> Result<Listed, String> {
    let (escaped, text) = match text {
        [b'\\', rest @ ..] => (true, rest),
        _ => (false, text.trim_ascii_start()),
    };
    let end = text.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    // `fingerprint` writes two spaces; everything after them is the path, to the byte.
    let name = match rest {
        [b' ', b' ', name @ ..] => name,
        [_, name @ ..] => name.trim_ascii_start(),
        [] => rest,
    };
    let name = if escaped { unescaped(name) } else { name.to_vec() };
    let name = (!name.is_empty()).then_some(name);
    let fingerprint = if digits == NONE { None } else { Some(fingerprint(digits)?) };
    Ok(Listed { name, fingerprint, ..Listed::default() })
}

/// Undoes the escaping of line breaks in paths by `hapax fingerprint`.
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

/// Parses 16 hexadecimal digits, `0x` and up to 16, or a decimal number.
pub(super) fn fingerprint(digits: &[u8]) -> Result<Fingerprint, String> {
    let text = std::str::from_utf8(digits).unwrap_or_default();
    let prefixed = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    // `from_str_radix` would accept a sign.
    let bits = match prefixed.or((text.len() == 16).then_some(text)) {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    };
    bits.map(Fingerprint::from_bits).ok_or_else(|| {
        let shown: String = String::from_utf8_lossy(digits).chars().take(40).collect();
        format!(
            "`{}` is not a fingerprint: 16 hexadecimal digits, 0x and up to 16, or a decimal number \
             up to {}; hapax fingerprint makes them of documents",
            shown.escape_debug(),
            u64::MAX
        )
    })
}
