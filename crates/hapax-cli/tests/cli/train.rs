//! Frequency tables, and fingerprints made with them.

use crate::folder::{ARTICLE, Folder, stderr};

fn corpus() -> Folder {
    let folder = Folder::new();
    for i in 0..60usize {
        let own: String = (0..i % 9 + 3).map(|j| format!("own{}x{j} ", i * i)).collect();
        folder.write(&format!("site/{i}.txt"), format!("harbour crane {own} number{i} {own}"));
    }
    folder.write("site/empty.html", "");
    folder
}

#[test]
fn a_table_is_trained_and_used() {
    let folder = corpus();
    let assert = folder.hapax(&["train", "site", "--out", "words.hdf"]).assert().code(0);
    let printed = stderr(&assert);
    assert!(printed.contains("words.hdf: 60 documents, "), "{printed}");
    assert!(printed.contains("the commonest is in 60 documents (100.0 %)"), "{printed}");
    assert!(printed.contains("1 without features"), "{printed}");

    let with_table =
        ["fingerprint", "site", "--recipe", "sood-tfidf", "--frequencies", "words.hdf"];
    let weighed = folder.output(&with_table);
    assert_eq!(weighed.lines().count(), 61);
    assert_eq!(weighed, folder.output(&with_table));
    let plain = folder.output(&["fingerprint", "site"]);
    assert_ne!(plain, weighed);
}

#[test]
fn the_table_is_the_same_for_any_number_of_threads() {
    let folder = corpus();
    for threads in ["1", "2", "7"] {
        let out = format!("{threads}.hdf");
        folder.output(&["train", "site", "--threads", threads, "--out", &out]);
    }
    assert!(folder.read("1.hdf") == folder.read("2.hdf"));
    assert!(folder.read("1.hdf") == folder.read("7.hdf"));
}

#[test]
fn another_table_gives_another_recipe() {
    let folder = corpus();
    folder.output(&["train", "site", "--out", "a.hdf"]);
    folder.output(&["train", "site", "--width", "12", "--out", "b.hdf"]);
    let recipe_of = |table: &str| {
        let json = folder.output(&[
            "fingerprint",
            "site/1.txt",
            "--json",
            "--recipe",
            "sood-tfidf",
            "--frequencies",
            table,
        ]);
        let page: serde_json::Value = serde_json::from_str(&json).unwrap();
        page["recipe"].as_str().unwrap().to_owned()
    };
    assert!(recipe_of("a.hdf").starts_with("sood-tfidf:"));
    assert_ne!(recipe_of("a.hdf"), recipe_of("b.hdf"));
}

#[test]
fn pages_without_words_give_no_table() {
    let folder = Folder::new();
    let printed = folder.write("a.html", "").refusal(1, &["train", "a.html", "--out", "t.hdf"]);
    assert!(printed.contains("no page has features"), "{printed}");
    assert_eq!(folder.names(), ["a.html"]);
}

#[test]
fn bad_pages_are_skipped_on_request_and_not_counted() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("b.html", b"\x89PNG\r\n\x1a\n\0\0\0\r");
    let arguments = ["train", "--skip-bad", "a.html", "b.html", "--out", "t.hdf"];
    let assert = folder.hapax(&arguments).assert().code(0);
    assert!(stderr(&assert).contains("t.hdf: 1 document, "), "{}", stderr(&assert));
    assert!(stderr(&assert).contains("1 skipped"));
}

#[test]
fn a_corpus_is_counted_by_its_documents() {
    let folder = corpus();
    let mut lines = String::new();
    for i in 0..60usize {
        let text = String::from_utf8(folder.read(&format!("site/{i}.txt"))).unwrap();
        lines.push_str(&serde_json::json!({ "key": i, "article": text }).to_string());
        lines.push('\n');
    }
    folder.write("corpus.jsonl", &lines);
    folder.output(&["train", "site", "--out", "pages.hdf"]);
    for threads in ["1", "3"] {
        let fields = ["--text-field", "article", "--id-field", "key", "--threads", threads];
        let train = ["train", "corpus.jsonl", "--out", "lines.hdf", "--force"];
        let arguments = [&train, &fields[..]].concat();
        let printed = stderr(&folder.hapax(&arguments).assert().code(0));
        assert!(printed.contains("lines.hdf: 60 documents, "), "{printed}");
        assert!(printed.contains("the commonest is in 60 documents (100.0 %)"), "{printed}");
        assert!(folder.read("lines.hdf") == folder.read("pages.hdf"));
    }
}
