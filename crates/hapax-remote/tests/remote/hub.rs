//! Datasets of a fake hub with the real one's answers. The real hub is never contacted.

use std::io::Read;

use hapax_remote::{Finder, Found};

use crate::server::{Page, Server};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

#[test]
fn a_dataset_is_listed_in_pages_and_read_at_one_commit() {
    let (hub, storage) = (Server::start(), Server::start());
    let api = "/api/datasets/owner/corpus";
    let sha = format!(r#"{{"id": "owner/corpus", "sha": "{COMMIT}"}}"#);
    hub.put(&format!("{api}/revision/main"), Page::Json(sha.clone(), None));
    hub.put(&format!("{api}/revision/refs%2Fconvert"), Page::Json(sha, None));
    let file = |path: &str| {
        format!(r#"{{"type": "file", "oid": "a1", "size": {}, "path": "{path}"}}"#, path.len())
    };
    let folder = r#"{"type": "directory", "oid": "b2", "size": 0, "path": "data/more"}"#;
    let tree = format!("{api}/tree/{COMMIT}/data");
    let (first, second) =
        (format!("{tree}?recursive=true"), format!("{tree}?recursive=true&cursor=2"));
    let link = ("Link", format!("<{}{second}>; rel=\"next\"", hub.url));
    let page = format!("[{}, {folder}]", file("data/z.jsonl"));
    hub.put(&first, Page::Json(page, Some(link)));
    hub.put(&second, Page::Json(format!("[{}]", file("data/more/a b.jsonl")), None));
    let resolve = format!("/datasets/owner/corpus/resolve/{COMMIT}/data");
    hub.file(&format!("{resolve}/z.jsonl"), b"data/z.jsonl", "z");
    // Large files are on another host.
    let other = storage.url.replace("127.0.0.1", "localhost");
    hub.put(
        &format!("{resolve}/more/a%20b.jsonl"),
        Page::Redirect(format!("{other}/blob?signed=1")),
    );
    storage.file("/blob", b"data/more/a b.jsonl", "blob");
    let mut finder = Finder::default().with_hub(&hub.url, Some("hf_secret"));
    let Found::Below(found) = finder.find("hf://datasets/owner/corpus/data").unwrap() else {
        panic!("not a folder");
    };
    let names: Vec<&str> = found.iter().map(|(object, _)| object.name()).collect();
    let start = "hf://datasets/owner/corpus/data";
    assert_eq!(names, [format!("{start}/more/a b.jsonl"), format!("{start}/z.jsonl")]);
    for (object, _) in &found {
        let mut text = String::new();
        object.reader().read_to_string(&mut text).unwrap();
        assert!(object.name().ends_with(&text), "{text}");
        assert_eq!(object.version(), COMMIT);
    }
    let Found::Matching(some) =
        finder.find("hf://datasets/owner/corpus@refs%2Fconvert/data/**/a*.jsonl").unwrap()
    else {
        panic!("not a pattern");
    };
    assert_eq!(some.len(), 1, "{some:?}");
    let bearer = |it: &crate::server::Request| it.headers.get("authorization").cloned();
    assert!(hub.requests().iter().all(|it| bearer(it).as_deref() == Some("Bearer hf_secret")));
    assert!(storage.requests().iter().all(|it| bearer(it).is_none()));
    // A listing must not name files outside of the folder.
    let page = format!("[{}]", file("data/../../other/secrets.jsonl"));
    hub.put(&first, Page::Json(page, None));
    let error = finder.find("hf://datasets/owner/corpus/data/").unwrap_err().to_string();
    assert!(error.contains("inside the dataset"), "{error}");
    let link = ("Link", format!("<{other}{second}>; rel=\"next\""));
    hub.put(&first, Page::Json("[]".to_owned(), Some(link)));
    let error = finder.find("hf://datasets/owner/corpus/data/").unwrap_err().to_string();
    assert!(error.contains("same host"), "{error}");
}
