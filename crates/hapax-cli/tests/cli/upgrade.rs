//! Files of former versions, stored in `tests/fixtures`: the current program reads them with the same answers, or
//! refuses them with the name of their recipe if that no longer exists.
//!
//! A folder is one version: the files that it wrote from `pages.jsonl`, and its answer to each query in
//! [`QUESTIONS`]. A fixture is created once, by the version it is named after, with `FIXTURE_VERSION=0.1 cargo test
//! --release -p hapax-cli maker_of_files -- --ignored`, and never changed. Fixtures of the repository's own file are
//! in `hapax-store`.

use crate::folder::Folder;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Commands that write every kind of file; run in the fixture's folder.
const MAKERS: &[&[&str]] = &[
    &["fingerprint", "pages.jsonl", "--json", "--out", "prints.jsonl"],
    &["fingerprint", "pages.jsonl", "--out", "prints.parquet"],
    &["near", "build", "prints.jsonl", "--out", "crawl.hpx", "--quiet"],
    &["train", "pages.jsonl", "--recipe", "sood-tfidf", "--width", "12", "--out", "words.hdf"],
    &["dedup", "pages.jsonl", "--out", "clean", "--quiet"],
    &["search", "build", "pages.jsonl", "--out", "index", "--quiet"],
];

/// Queries, and the files with the former answers.
const QUESTIONS: &[(&str, &[&str])] = &[
    ("match.txt", &["near", "find", "prints.jsonl", "--index", "crawl.hpx", "--within", "3", "-q"]),
    ("pairs.txt", &["pairs", "prints.parquet", "--quiet"]),
    ("search.txt", &["search", "query", "--index", "index", "harbour", "crane", "--json"]),
];

/// Commands that need the former pipeline from page to fingerprint. It was not frozen before
/// `web-2`, so they are refused with these words.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "train one with this recipe",
        &["fingerprint", "pages.jsonl", "--recipe", "sood-tfidf", "--frequencies", "words.hdf"],
    ),
    ("web-1", &["dedup", "more.jsonl", "--against", "clean", "--out", "again", "-q"]),
];

/// Indexes of version 0.1, which are converted, and their former answers.
const CONVERTED: &[(&str, &str)] =
    &[("plain.seg", "near-plain.txt"), ("compressed.seg", "near-compressed.txt")];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn copy(from: &Path, folder: &Folder, below: &str) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), folder, &format!("{name}/")),
            false => drop(folder.write(&name, std::fs::read(entry.path()).unwrap())),
        }
    }
}

/// An answer without members that JSON objects have gained since, because clients ignore them.
/// Former members and all lists are kept.
fn without_new_members(says: &str, said: &str) -> String {
    fn only(says: &mut Value, said: &Value) {
        match (says, said) {
            (Value::Object(says), Value::Object(said)) => {
                says.retain(|name, _| said.contains_key(name));
                says.iter_mut().for_each(|(name, value)| only(value, &said[name]));
            }
            (Value::Array(says), Value::Array(said)) => {
                says.iter_mut().zip(said).for_each(|(says, said)| only(says, said));
            }
            _ => {}
        }
    }
    match (serde_json::from_str(says), serde_json::from_str(said)) {
        (Ok(mut now), Ok(then)) => {
            only(&mut now, &then);
            // Equal values are written in their former form.
            if now == then { said.to_owned() } else { format!("{now}\n") }
        }
        _ => says.to_owned(),
    }
}

#[test]
fn files_of_every_former_version_give_their_former_answers() {
    let mut versions = 0;
    for version in std::fs::read_dir(fixtures()).unwrap() {
        let version = version.unwrap().path();
        let folder = Folder::new();
        copy(&version, &folder, "");
        for (answer, question) in QUESTIONS {
            let said = String::from_utf8(folder.read(answer)).unwrap();
            let says = without_new_members(&folder.output(question), &said);
            assert_eq!(says, said, "{}: {question:?}", version.display());
            assert!(!said.is_empty(), "{answer} asks nothing");
        }
        for (index, answer) in CONVERTED.iter().filter(|it| version.join(it.0).exists()) {
            let find = ["near", "find", "prints.jsonl", "--within", "3", "-q", "--index"];
            let printed = folder.refusal(1, &[&find[..], &[index]].concat());
            let convert = format!("hapax near build {index} --out {index}.hpx");
            assert!(printed.contains(&convert), "{printed}");
            let words: Vec<&str> = convert.split(' ').skip(1).collect();
            folder.output(&words);
            let said = String::from_utf8(folder.read(answer)).unwrap();
            let converted = format!("{index}.hpx");
            assert_eq!(folder.output(&[&find[..], &[&converted]].concat()), said);
        }
        for (said, question) in REFUSED {
            let error = folder.refusal(1, question);
            assert!(error.contains(said), "{question:?}: {error}");
        }
        versions += 1;
    }
    assert_ne!(versions, 0, "there is no fixture");
}

#[test]
#[ignore = "makes a fixture; the header says how"]
fn maker_of_files() {
    let Some(version) = std::env::var_os("FIXTURE_VERSION") else { return };
    let folder = fixtures().join(version);
    std::fs::create_dir_all(&folder).unwrap();
    let here = |words: &[&str]| {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_hapax"));
        command.current_dir(&folder).args(words).assert().success().get_output().stdout.clone()
    };
    std::fs::write(folder.join("pages.jsonl"), pages()).unwrap();
    let new: String = (0..40).map(|word| format!("a page nobody{word} has seen ")).collect();
    let new = serde_json::json!({"url": "https://example.org/new", "text": new});
    std::fs::write(folder.join("more.jsonl"), format!("{}{new}\n", pages())).unwrap();
    for words in MAKERS {
        here(words);
    }
    for (answer, question) in QUESTIONS {
        std::fs::write(folder.join(answer), here(question)).unwrap();
    }
}

/// Four subjects with three pages each: two nearly equal ones and a different one.
fn pages() -> String {
    let subjects = ["the harbour crane", "a tea house", "the night ferry", "an old clock"];
    let mut lines = String::new();
    for (subject, n) in subjects.iter().zip(1..) {
        for copy in ["", " Printed on Monday.", " Other words entirely stand here."] {
            let body: String = (0..40)
                .map(|word| match copy.starts_with(" Other") {
                    true => format!("something{word} else{n} "),
                    false => format!("{subject} word{} of {n} ", word * n % 17),
                })
                .collect();
            let url = format!("https://example.org/{n}/{}", copy.len());
            let line = serde_json::json!({"url": url, "text": format!("{body}{copy}")});
            lines.push_str(&format!("{line}\n"));
        }
    }
    lines
}
