//! Folders, globs and lists.

use hapax_corpus::{Entry, Kind, ReadOptions, Source};

use crate::make::{Folder, gzip, read_all, read_well, response};

fn names(all: &crate::make::Everything, root: &str) -> Vec<String> {
    all.ids().iter().map(|id| id.trim_start_matches(root).to_owned()).collect()
}

#[test]
fn a_folder_is_read_in_order_and_hidden_and_foreign_files_are_left_out() {
    let folder = Folder::new();
    folder.file("b.html", "<p>b");
    folder.file("a/z.txt", "z");
    folder.file("a/y.htm.gz", gzip(b"<p>y"));
    folder.file("a/.hidden.html", "no");
    folder.file(".git/x.html", "no");
    folder.file("style.css", "no");
    folder.file("picture", b"\x89PNG\0");
    folder.file("page", "<!doctype html><p>no ending");
    folder.file("c.warc.gz", gzip(&response("http://a.test/", "w")));
    let all = read_well(&folder.root());
    let expected = ["/a/y.htm.gz", "/a/z.txt", "/b.html", "http://a.test/", "/page"];
    assert_eq!(names(&all, &folder.root()), expected);
    assert_eq!(all.bodies(), ["<p>y", "z", "<p>b", "w", "<!doctype html><p>no ending"]);
    assert_eq!(all.documents[0].body.kind, Kind::Html);
    assert_eq!(all.documents[1].body.kind, Kind::Text);
}

#[test]
fn many_small_files_keep_their_order() {
    let folder = Folder::new();
    for n in 0..300 {
        folder.file(&format!("{n:03}.txt"), n.to_string());
    }
    let expected: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    assert_eq!(read_well(&folder.root()).bodies(), expected);
}

#[test]
fn globs_and_lists_stand_for_their_files() {
    let folder = Folder::new();
    let a = folder.file("a.txt", "a");
    folder.file("b.txt", "b");
    folder.file("c.html", "c");
    let glob = folder.path("*.txt").to_str().unwrap().to_owned();
    assert_eq!(read_well(&glob).bodies(), ["a", "b"]);
    let html = folder.path("c.h*").to_str().unwrap().to_owned();
    let list = format!("@{}", folder.file("list", format!("{html}\n\n{a}\r\n")));
    assert_eq!(read_well(&list).bodies(), ["c", "a"]);
}

#[test]
fn inputs_that_match_nothing_are_an_error() {
    let folder = Folder::new();
    folder.file("empty/.keep", "");
    let error = |input: &str| {
        let input = folder.path(input).to_str().unwrap().to_owned();
        let source = Source::open(&[input], ReadOptions::default());
        source.and_then(|source| read_all(&source).map(drop)).unwrap_err().to_string()
    };
    assert!(error("*.warc").contains("matches no file"));
    assert!(error("empty").contains("empty holds no pages (.html "));
    assert!(error("missing.warc").contains("cannot read"));
}

#[test]
fn a_missing_file_is_counted_with_skip_bad() {
    let folder = Folder::new();
    let here = folder.file("a.txt", "a");
    let gone = folder.path("gone.txt").to_str().unwrap().to_owned();
    let options = ReadOptions { skip_bad: true, ..ReadOptions::default() };
    let all = read_all(&Source::open(&[gone, here], options).unwrap()).unwrap();
    assert_eq!((all.bodies(), all.bad.len()), (vec!["a".to_owned()], 1));
}

#[cfg(unix)]
#[test]
fn unreadable_inputs_have_their_place_with_skip_bad() {
    let folder = Folder::new();
    folder.file("empty/style.css", "p {}");
    folder.file("site/a.txt", "a");
    std::os::unix::fs::symlink("nowhere", folder.path("site/b.html")).unwrap();
    folder.file("site/c.txt", "c");
    let inputs = ["empty", "*.warc", "site"].map(|name| folder.path(name));
    let options = ReadOptions { skip_bad: true, ..ReadOptions::default() };
    let source = Source::open(&inputs, options.clone()).unwrap();
    let mut told = Vec::new();
    for mut batch in source.batches() {
        told.extend(batch.entries().map(|entry| match entry.unwrap() {
            Entry::Document(document) => document.id.to_string(),
            Entry::Bad(error) => error.to_string(),
            Entry::Fact(_) | Entry::Passed { .. } => String::new(),
        }));
    }
    let ends = [".text .md .markdown)", "matches no file", "a.txt", "link to nothing", "c.txt"];
    assert!(
        told.len() == ends.len() && told.iter().zip(ends).all(|(it, end)| it.ends_with(end)),
        "{told:?}"
    );
    assert!(Source::open(&inputs[2..], ReadOptions::default()).is_err());
    let all = ReadOptions { all_files: true, ..options };
    assert_eq!(read_all(&Source::open(&inputs[..1], all).unwrap()).unwrap().bodies(), ["p {}"]);
}

#[test]
#[cfg(unix)]
fn links_that_lead_out_of_a_folder_are_followed_only_when_that_is_asked_for() {
    let folder = Folder::new();
    folder.file("secret.txt", "not for the corpus");
    folder.file("site/a.txt", "one");
    folder.file("site/below/c.txt", "three");
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, folder.path(at)).unwrap();
    link("../secret.txt", "site/b.txt");
    link("below/c.txt", "site/d.txt");
    let inputs = [folder.path("site")];
    let told = Source::open(&inputs, ReadOptions::default()).err().unwrap().to_string();
    assert!(told.contains("site/b.txt") && told.contains("outside the folder"), "{told}");
    let bodies = |options| read_all(&Source::open(&inputs, options).unwrap()).unwrap().bodies();
    let skipping = ReadOptions { skip_bad: true, ..ReadOptions::default() };
    assert_eq!(bodies(skipping), ["one", "three", "three"]);
    let following = ReadOptions { follow_links: true, ..ReadOptions::default() };
    assert_eq!(bodies(following), ["one", "not for the corpus", "three", "three"]);
}
