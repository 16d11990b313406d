//! Which column of a table is what, by the rule that files are read by.

use std::collections::BTreeMap;

use hapax_corpus::{Fields, Role};
use pyo3::prelude::*;

/// For each of `id`, `url`, `html`, `text`, `score`, `fetched` and `language` its column, if there is one; `named` are
/// the names that the caller gives.
#[pyfunction]
pub(crate) fn document_columns(
    columns: Vec<String>,
    mut named: BTreeMap<String, String>,
) -> BTreeMap<&'static str, String> {
    let fields = Fields {
        id: named.remove("id"),
        url: named.remove("url"),
        html: named.remove("html"),
        text: named.remove("text"),
        score: named.remove("score"),
        fetched: named.remove("fetched"),
        language: named.remove("language"),
    };
    let found = Role::ALL.into_iter().filter_map(|role| {
        let column = fields.find(role, |name| columns.iter().find(|column| *column == name))?;
        Some((name(role), column.clone()))
    });
    found.collect()
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Id => "id",
        Role::Url => "url",
        Role::Html => "html",
        Role::Text => "text",
        Role::Score => "score",
        Role::Fetched => "fetched",
        Role::Language => "language",
    }
}
