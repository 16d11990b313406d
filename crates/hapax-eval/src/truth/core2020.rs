//! Reads the CORE deduplication dataset of 2020: 100,000 scholarly documents with their duplicates.
//!
//! One JSON object per line. `core_id` names the document, `labelled_duplicates` lists its duplicates (empty or
//! absent for none), its text is `processed_title` and `processed_abstract`, or else `original_title` and
//! `original_abstract`. A document is correct if the predicted set of duplicates is the labelled one.
//!
//! Source: Gyawali, Anastasiou and Knoth, "Deduplication of Scholarly Documents using Locality Sensitive Hashing
//! and Word Embeddings", LREC 2020; layout as in the published file `core_2020-05-10_deduplication`.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::Truth;
use crate::error::Error;

/// Every document with its duplicates.
///
/// # Errors
///
/// The file cannot be read, or a line is not such an object.
pub fn truth(path: &Path) -> Result<Truth, Error> {
    let records = records(path)?;
    Ok(Truth::Lists(records.into_iter().map(|it| (it.id, it.duplicates)).collect()))
}

/// Writes the documents as JSONL with `id` and `text`, to be read like any other input.
///
/// # Errors
///
/// The file cannot be read or written, or a line is not such an object.
pub fn documents(path: &Path, out: &Path) -> Result<(), Error> {
    let failed = |source| Error::Io { what: "write", path: out.display().to_string(), source };
    let mut to = std::io::BufWriter::new(std::fs::File::create(out).map_err(failed)?);
    for record in records(path)? {
        let line = json!({ "id": record.id, "text": record.text });
        writeln!(to, "{line}").map_err(failed)?;
    }
    to.flush().map_err(failed)
}

struct Record {
    id: String,
    text: String,
    duplicates: Vec<String>,
}

fn records(path: &Path) -> Result<Vec<Record>, Error> {
    let bad = |line: usize, what: &str| Error::Bad {
        path: path.display().to_string(),
        line: line as u64 + 1,
        what: what.to_owned(),
    };
    let lines = super::lines(path)?;
    let read = |(at, line): (usize, &String)| {
        let record: Value =
            serde_json::from_str(line).map_err(|error| bad(at, &format!("not JSON: {error}")))?;
        let id = id_of(&record["core_id"]).ok_or_else(|| bad(at, "no `core_id`"))?;
        let duplicates = match &record["labelled_duplicates"] {
            Value::Null => Vec::new(),
            Value::Array(ids) => ids.iter().filter_map(id_of).collect(),
            _ => return Err(bad(at, "`labelled_duplicates` is not a list")),
        };
        let text = |processed: &str, original: &str| {
            let found = [processed, original].into_iter().find_map(|name| record[name].as_str());
            found.unwrap_or_default().to_owned()
        };
        let title = text("processed_title", "original_title");
        let summary = text("processed_abstract", "original_abstract");
        Ok(Record { id, text: format!("{title}\n{summary}"), duplicates })
    };
    lines.iter().enumerate().map(read).collect()
}

/// Ids occur as strings and as numbers.
fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = concat!(
        r#"{"core_id":"11251086","doi":"10.1/x","original_abstract":"A B.","original_title":"T","processed_title":"t","processed_abstract":"a b","cat":"exact_dup","labelled_duplicates":["82332306"]}"#,
        "\n",
        r#"{"core_id":82332306,"original_title":"T","original_abstract":"A B","cat":"exact_dup","labelled_duplicates":["11251086"]}"#,
        "\n",
        r#"{"core_id":"3","processed_title":"other","processed_abstract":"words","cat":"non_dup","labelled_duplicates":[]}"#,
        "\n"
    );

    #[test]
    fn documents_and_duplicates_are_read_from_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = (folder.path().join("core.jsonl"), folder.path().join("docs.jsonl"));
        std::fs::write(&path, SAMPLE).unwrap();
        let Truth::Lists(lists) = truth(&path).unwrap() else { panic!("not lists") };
        assert_eq!(lists[1], ("82332306".to_owned(), vec!["11251086".to_owned()]));
        assert_eq!(lists[2].1.len(), 0);
        documents(&path, &out).unwrap();
        let text = std::fs::read_to_string(&out).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with(r#"{"id":"11251086","text":"t\na b"}"#), "{text}");
        assert!(text.contains(r#""text":"T\nA B""#), "{text}");
    }

    #[test]
    fn an_error_names_the_line_without_an_id() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core.jsonl");
        std::fs::write(&path, format!("{SAMPLE}{{\"doi\":1}}\n")).unwrap();
        assert!(truth(&path).unwrap_err().to_string().contains("line 4: no `core_id`"));
    }
}
