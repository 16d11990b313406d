//! jaccard5 computed by its definition.
//!
//! Drop comments, script and style with their content, replace every other tag by a space, decode entities,
//! lower-case, split into runs of letters and digits (every Han, Hiragana or Katakana character is a token), take the
//! set of distinct runs of five tokens (all tokens as one if there are fewer than five).

use std::collections::BTreeSet;

pub(crate) fn visible_text(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = ["<!--", "<script", "<style"]
            .into_iter()
            .zip(["-->", "</script>", "</style>"])
            .find(|(start, _)| rest.starts_with(start))
            .map_or(">", |(_, end)| end);
        out.push(' ');
        rest = rest.find(end).map_or("", |at| &rest[at + end.len()..]);
    }
    out.push_str(rest);
    unescape(&out)
}

pub(crate) fn unescape(text: &str) -> String {
    let names =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&middot;", "·"), ("&copy;", "©")];
    let plain = names.into_iter().fold(text.to_owned(), |t, (name, c)| t.replace(name, c));
    plain.replace("&amp;", "&")
}

pub(crate) fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut run = String::new();
    for c in text.to_lowercase().chars() {
        let alone = matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
        if alone || !c.is_alphanumeric() {
            tokens.extend((!run.is_empty()).then(|| std::mem::take(&mut run)));
        }
        if alone {
            tokens.push(c.to_string());
        } else if c.is_alphanumeric() {
            run.push(c);
        }
    }
    tokens.extend((!run.is_empty()).then_some(run));
    tokens
}

pub(crate) fn shingles(text: &str) -> BTreeSet<u64> {
    let tokens = tokens(text);
    if tokens.len() < 5 {
        return BTreeSet::from([hash(&tokens)]);
    }
    tokens.windows(5).map(hash).collect()
}

pub(crate) fn jaccard(a: &BTreeSet<u64>, b: &BTreeSet<u64>) -> f64 {
    let common = a.intersection(b).count();
    common as f64 / (a.len() + b.len() - common) as f64
}

/// FNV-1a, 64 bits, over the tokens with a separator after each; collisions do not happen at the
/// sizes of these tests.
fn hash(tokens: &[String]) -> u64 {
    let bytes = tokens.iter().flat_map(|token| token.bytes().chain([0xff]));
    fnv(bytes)
}

pub(crate) fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes
        .fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
