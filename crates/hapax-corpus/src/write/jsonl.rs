//! Writes one JSON object per line.
//!
//! A line read from JSONL is written unchanged. Any other document becomes an object of `id`, `url`, `html` or
//! `text`, `content_type`, `fetched`, `score` and `language`, without missing fields. Content that is neither
//! page nor text becomes a `text` of null and the bytes in `base64`, which readers skip.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Serialize;

use super::characters;
use crate::document::{Document, Kind};
use crate::error::Error;
use crate::original::Original;

#[derive(Serialize)]
struct Object<'d> {
    id: &'d str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<Cow<'d, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Option<Cow<'d, str>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fetched: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'d str>,
}

/// Appends the line of a document.
pub(super) fn line(out: &mut Vec<u8>, document: &Document<'_>) -> Result<(), Error> {
    if let Original::Json(line) = &document.original {
        out.extend_from_slice(line.as_bytes());
    } else {
        serde_json::to_writer(&mut *out, &object(document)).map_err(|error| Error::Output {
            path: document.id.to_string(),
            what: error.to_string(),
        })?;
    }
    out.push(b'\n');
    Ok(())
}

fn object<'d>(document: &'d Document<'_>) -> Object<'d> {
    let kind = document.body.kind;
    let text = |wanted| (kind == wanted).then(|| characters::of(document));
    Object {
        id: &document.id,
        url: document.url.as_deref(),
        html: text(Kind::Html),
        text: (kind != Kind::Html).then(|| text(Kind::Text)),
        base64: (kind == Kind::Other)
            .then(|| BASE64_STANDARD.encode(document.body.content.as_bytes())),
        content_type: document.content_type.as_deref(),
        fetched: document.fetched.map(|it| it.to_string()),
        score: document.score,
        language: document.language.as_deref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, encoded) in pairs {
            assert_eq!(BASE64_STANDARD.encode(plain), encoded);
        }
    }
}
