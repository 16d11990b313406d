//! A temporary folder, jobs that run in it, and their tables read back.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use hapax::fingerprint::{Fingerprinter, Key, Recipe};
use hapax_corpus::{Fields, ReadOptions, Source};
use hapax_dedup::{Error, Finished, Options, dedup};
use tempfile::TempDir;

pub(crate) struct Folder(TempDir);

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) winner: String,
    pub(crate) outcome: String,
    pub(crate) similarity: Option<f64>,
    pub(crate) reason: Option<String>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// Cleans inputs into a subfolder.
    pub(crate) fn dedup(
        &self,
        inputs: &[&str],
        out: &str,
        change: impl FnOnce(&mut Options),
    ) -> Result<Finished, Error> {
        let inputs: Vec<String> = inputs.iter().map(|it| (*it).to_owned()).collect();
        dedup(&inputs, &self.path(out), &options(change), &mut ())
    }

    /// Names of everything in a subfolder, including hidden files.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Some columns of every row of a table.
    pub(crate) fn fields(&self, name: &str, columns: &[&str]) -> Vec<Vec<Option<String>>> {
        let fields = Fields { text: Some("outcome".into()), ..Fields::default() };
        let read = ReadOptions { fields, ..ReadOptions::default() };
        let source = Source::open(&[self.path(name).display().to_string()], read).unwrap();
        let mut rows = Vec::new();
        for mut batch in source.batches() {
            for document in batch.documents() {
                let document = document.unwrap();
                rows.push(columns.iter().map(|column| document.field(column)).collect());
            }
        }
        rows
    }

    /// The rows of a table by document.
    pub(crate) fn table(&self, name: &str) -> BTreeMap<String, Row> {
        let fields = Fields {
            id: Some("document".into()),
            text: Some("outcome".into()),
            ..Fields::default()
        };
        let read = ReadOptions { fields, ..ReadOptions::default() };
        let source = Source::open(&[self.path(name).display().to_string()], read).unwrap();
        let mut rows = BTreeMap::new();
        for mut batch in source.batches() {
            for document in batch.documents() {
                let document = document.unwrap();
                let similarity = document.field("similarity").map(|it| it.parse().unwrap());
                let row = Row {
                    winner: document.field("winner").unwrap(),
                    outcome: document.field("outcome").unwrap(),
                    similarity,
                    reason: document.field("reason"),
                };
                let known = rows.insert(document.id.into_owned(), row);
                assert_eq!(known, None, "a document has one row");
            }
        }
        rows
    }
}

pub(crate) fn options(change: impl FnOnce(&mut Options)) -> Options {
    let recipe = Recipe::built_in("web-2").unwrap();
    let mut options = Options::new(Fingerprinter::new(recipe, None).unwrap());
    options.threads = NonZero::new(2).unwrap();
    // Results are compared byte for byte.
    options.key = Some(Key::new(b"the key of these tests"));
    change(&mut options);
    options
}

/// The bundled sample.
pub(crate) fn sample() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    root.join("examples").join("docs")
}

/// Lines of JSONL.
pub(crate) fn jsonl<'a>(documents: impl IntoIterator<Item = (String, &'a str)>) -> String {
    let line = |(id, text): (String, &str)| {
        format!("{{\"id\": {}, \"text\": {}}}\n", quoted(&id), quoted(text))
    };
    documents.into_iter().map(line).collect()
}

/// Lines of JSONL of pages at addresses.
pub(crate) fn html_jsonl<'a>(pages: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let line = |(url, html): (&str, &str)| {
        format!("{{\"url\": {}, \"html\": {}}}\n", quoted(url), quoted(html))
    };
    pages.into_iter().map(line).collect()
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A text of `count` different words.
pub(crate) fn words(count: usize, seed: usize) -> String {
    (0..count).map(|i| format!("w{} ", (i * 7919 + seed * 104_729) % 99_991)).collect()
}
