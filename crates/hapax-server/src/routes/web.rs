//! The web page: a few files inside the program, without a build step or external resources. Code that compares
//! two pages is shared with the page that `hapax compare --html` writes.

use super::PathParameter;
use crate::error::{ApiError, Code};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hapax_report::{PAIR_SCRIPT, PAIR_STYLE, ROWS_STYLE};
use std::sync::LazyLock;

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Name, type, content.
const FILES: [(&str, &str, &str); 19] = [
    ("index.html", HTML, include_str!("../../web/index.html")),
    ("style.css", STYLE, include_str!("../../web/style.css")),
    ("rows.css", STYLE, ROWS_STYLE),
    ("pair.css", STYLE, PAIR_STYLE),
    ("side_by_side.js", SCRIPT, PAIR_SCRIPT),
    ("app.js", SCRIPT, include_str!("../../web/app.js")),
    ("api.js", SCRIPT, include_str!("../../web/api.js")),
    ("dom.js", SCRIPT, include_str!("../../web/dom.js")),
    ("check.js", SCRIPT, include_str!("../../web/check.js")),
    ("verdict.js", SCRIPT, include_str!("../../web/verdict.js")),
    ("file.js", SCRIPT, include_str!("../../web/file.js")),
    ("compare.js", SCRIPT, include_str!("../../web/compare.js")),
    ("pair.js", SCRIPT, include_str!("../../web/pair.js")),
    ("search.js", SCRIPT, include_str!("../../web/search.js")),
    ("groups.js", SCRIPT, include_str!("../../web/groups.js")),
    ("history.js", SCRIPT, include_str!("../../web/history.js")),
    ("overview.js", SCRIPT, include_str!("../../web/overview.js")),
    ("settings.js", SCRIPT, include_str!("../../web/settings.js")),
    ("chart.js", SCRIPT, include_str!("../../web/chart.js")),
];

/// An entity tag that changes with every file.
static TAG: LazyLock<String> = LazyLock::new(|| {
    let mut hash = blake3::Hasher::new();
    for (name, _, text) in FILES {
        hash.update(name.as_bytes()).update(text.as_bytes());
    }
    format!("\"{}\"", &hash.finalize().to_hex()[..16])
});

fn file(name: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    let unknown = || ApiError::new(Code::NotFound, "there is no such file");
    let (_, kind, text) = FILES.iter().find(|(known, ..)| *known == name).ok_or_else(unknown)?;
    let kept = [(header::ETAG, TAG.as_str()), (header::CACHE_CONTROL, "no-cache")];
    let known =
        headers.get(header::IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == TAG.as_bytes());
    Ok(match known {
        true => (StatusCode::NOT_MODIFIED, kept).into_response(),
        false => (kept, [(header::CONTENT_TYPE, *kind)], *text).into_response(),
    })
}

/// `GET /`
pub async fn index(headers: HeaderMap) -> Result<Response, ApiError> {
    file("index.html", &headers)
}

/// `GET /assets/{file}`
pub async fn asset(
    PathParameter(name): PathParameter<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    file(&name, &headers)
}
