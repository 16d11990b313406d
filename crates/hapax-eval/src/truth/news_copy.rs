//! Reads NEWS-COPY: articles of historical newspapers, most of them reprinted by other papers.
//!
//! Articles are one JSON object of named objects with `article` and `headline`; the ground truth is an array of pairs
//! of names, whose connected components are groups. Also reads the republished form: one JSON object per line with
//! `article` and `cluster`. Published scores are adjusted Rand indices on `article`; hyphens at line ends are joined
//! as there. Source: Silcock, D'Amico-Wong, Yang and Dell, "Noise-Robust De-Duplication at Scale", 2022.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::Truth;
use crate::connect::Sets;
use crate::error::Error;

/// The groups given by the pairs or by `cluster`.
///
/// # Errors
///
/// The file cannot be read or has neither form.
pub fn truth(path: &Path) -> Result<Truth, Error> {
    let bad = |what: &str| bad(path, what);
    match parse(path)? {
        Content::One(Value::Array(pairs)) => {
            let named = pairs.iter().map(|pair| match pair.as_array().map(Vec::as_slice) {
                Some([a, b]) => a.as_str().zip(b.as_str()),
                _ => None,
            });
            let pairs: Option<Vec<_>> = named.collect();
            pairs.map(|it| groups_of(&it)).ok_or_else(|| bad("expected an array of pairs of names"))
        }
        Content::Lines(lines) => {
            let groups = lines.iter().enumerate().map(|(at, line)| {
                let cluster = &line["cluster"];
                (!cluster.is_null()).then(|| (name_of(line, at), cluster.to_string()))
            });
            let groups: Option<Vec<_>> = groups.collect();
            groups.map(Truth::Groups).ok_or_else(|| bad("a line has no `cluster`"))
        }
        Content::One(_) => Err(bad("expected an array of pairs, or lines with `cluster`")),
    }
}

/// Writes the articles as JSONL with `id` and `text`, to be read like any other input.
///
/// # Errors
///
/// A file cannot be read or written, or does not contain articles.
pub fn documents(path: &Path, out: &Path) -> Result<(), Error> {
    let articles: Vec<(String, Map<String, Value>)> = match parse(path)? {
        Content::One(Value::Object(named)) => named
            .into_iter()
            .map(|(name, article)| match article {
                Value::Object(article) => Ok((name, article)),
                _ => Err(bad(path, &format!("`{name}` is not an object"))),
            })
            .collect::<Result<_, _>>()?,
        Content::Lines(lines) => {
            let name = |(at, line): (usize, Map<String, Value>)| (name_of(&line, at), line);
            lines.into_iter().enumerate().map(name).collect()
        }
        Content::One(_) => return Err(bad(path, "expected an object of articles by name")),
    };
    let failed = |source| Error::Io { what: "write", path: out.display().to_string(), source };
    let mut to = std::io::BufWriter::new(std::fs::File::create(out).map_err(failed)?);
    for (name, article) in articles {
        let text = article.get("article").and_then(Value::as_str).unwrap_or_default();
        let line = json!({ "id": name, "text": text.replace("-\n", "") });
        writeln!(to, "{line}").map_err(failed)?;
    }
    to.flush().map_err(failed)
}

enum Content {
    One(Value),
    Lines(Vec<Map<String, Value>>),
}

fn parse(path: &Path) -> Result<Content, Error> {
    let bytes = std::fs::read(path).map_err(|source| {
        let path = path.display().to_string();
        Error::Io { what: "read", path, source }
    })?;
    if let Ok(one) = serde_json::from_slice::<Value>(&bytes)
        && one.get("article").is_none()
    {
        return Ok(Content::One(one));
    }
    let lines = super::lines(path)?;
    let parsed: Result<Vec<_>, _> = lines.iter().map(|line| serde_json::from_str(line)).collect();
    parsed.map(Content::Lines).map_err(|error| bad(path, &format!("not JSON: {error}")))
}

fn name_of(line: &Map<String, Value>, at: usize) -> String {
    match line.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(other) => other.to_string(),
        None => at.to_string(),
    }
}

/// Each connected component is a group, named after its first member.
fn groups_of(pairs: &[(&str, &str)]) -> Truth {
    let names: BTreeSet<&str> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let place = |name: &str| names.binary_search(&name).unwrap_or_default() as u32;
    let mut sets = Sets::new(names.len());
    for (a, b) in pairs {
        sets.connect(place(a), place(b));
    }
    let group = |at: usize| names[sets.first(at as u32) as usize].to_owned();
    Truth::Groups(names.iter().enumerate().map(|(at, id)| ((*id).to_owned(), group(at))).collect())
}

fn bad(path: &Path, what: &str) -> Error {
    Error::Bad { path: path.display().to_string(), line: 1, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.json");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn connected_pairs_of_names_are_one_group() {
        let (_folder, path) = file(r#"[["a.jpg_1","b.jpg_2"],["b.jpg_2","c.jpg_3"]]"#);
        let Truth::Groups(groups) = truth(&path).unwrap() else { panic!("not groups") };
        assert_eq!(groups.len(), 3);
        assert!(groups.iter().all(|(_, group)| group == "a.jpg_1"), "{groups:?}");
        let (_folder, path) = file(r#"[["a"]]"#);
        assert!(truth(&path).is_err());
    }

    #[test]
    fn articles_by_name_become_documents() {
        let (folder, path) =
            file(r#"{"a.jpg_1":{"id":"a.jpg_1","headline":"H","article":"news-\npaper text"}}"#);
        let out = folder.path().join("out.jsonl");
        documents(&path, &out).unwrap();
        let text = std::fs::read_to_string(out).unwrap();
        assert_eq!(text, "{\"id\":\"a.jpg_1\",\"text\":\"newspaper text\"}\n");
    }

    #[test]
    fn lines_with_clusters_are_both() {
        let (folder, path) =
            file("{\"article\":\"x\",\"cluster\":4}\n{\"article\":\"y\",\"cluster\":4}\n");
        let Truth::Groups(groups) = truth(&path).unwrap() else { panic!("not groups") };
        assert_eq!(groups, [("0".to_owned(), "4".to_owned()), ("1".to_owned(), "4".to_owned())]);
        let out = folder.path().join("out.jsonl");
        documents(&path, &out).unwrap();
        assert_eq!(std::fs::read_to_string(out).unwrap().lines().count(), 2);
    }
}
