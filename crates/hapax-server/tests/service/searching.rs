//! Searches an index next to the repository.

use crate::running::{Running, fingerprinter};
use hapax_search::tantivy::{TantivyIndex, Writer, WriterOptions};
use hapax_search::{Removing, SearchPage};
use serde_json::Value;
use std::path::Path;

fn page(url: &str, body: &str, score: f64) -> SearchPage {
    let mut page = SearchPage::new(url, body, &fingerprinter().text(body).unwrap());
    page.url = url.to_owned();
    page.title = "News".to_owned();
    page.score = Some(score);
    page
}

/// Two copies and 30 unrelated pages.
fn index(folder: &Path) -> String {
    let path = folder.join("index");
    let recipe = fingerprinter().recipe_id().clone();
    let mut writer = Writer::create(&path, recipe, WriterOptions::smallest()).unwrap();
    let crane = "The city council voted on Tuesday to restore the old harbour crane, which has \
                 stood unused for many years and is the last of its kind on this coast.";
    writer.put(&page("http://copy.test/", crane, 0.1)).unwrap();
    writer.put(&page("http://news.test/", crane, 0.9)).unwrap();
    for number in 0..30 {
        let text = format!("page {number} about something else of its own, number {number}");
        writer.put(&page(&format!("http://other.test/{number:02}"), &text, 0.5)).unwrap();
    }
    writer.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

fn asked(running: &Running, query: &str) -> Value {
    running.get(&format!("/v1/search?{query}")).json()
}

fn urls(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["url"].as_str().unwrap()).collect()
}

#[test]
fn results_are_collapsed_by_default_and_paged() {
    let folder = tempfile::tempdir().unwrap();
    let path = index(folder.path());
    let running = Running::with(&format!("[search]\nindex = {path:?}"));
    assert_eq!(running.get("/v1/settings").good()["search_index"], true);
    let folded = asked(&running, "q=harbour");
    assert_eq!(urls(&folded), ["http://news.test/"]);
    assert_eq!(folded["hits"][0]["copies"][0]["url"], "http://copy.test/");
    assert_eq!((&folded["results"], &folded["folded"]), (&Value::from(2), &Value::from(1)));
    assert_eq!(urls(&asked(&running, "q=harbour&collapse=false")).len(), 2);

    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let answer = asked(&running, &format!("q=something&limit=7{after}"));
        seen.extend(urls(&answer).into_iter().map(str::to_owned));
        let Some(next) = answer["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 30);

    // Commits of others are visible to the next request.
    let mut index = TantivyIndex::open(&path).unwrap();
    index.remove(&["http://news.test/".to_owned()], "job").unwrap();
    assert_eq!(urls(&asked(&running, "q=harbour")), ["http://copy.test/"]);
}

#[test]
fn invalid_searches_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = index(folder.path());
    let running = Running::with(&format!("[search]\nindex = {path:?}"));
    let status = |query: &str| running.get(&format!("/v1/search?{query}")).status;
    assert_eq!(status("q=%21%21"), 200);
    for bad in ["", "q=a&limit=0", "q=a&after=x", "q=a&after=99999", "q=a&rank=0", "q=a&collapse=7"]
    {
        assert_eq!(status(bad), 400, "{bad}");
    }
    assert_eq!(status(&format!("q={}", "a".repeat(1001))), 400);
    let without = Running::start();
    assert_eq!(without.get("/v1/settings").good()["search_index"], false);
    let answer = without.get("/v1/search?q=a");
    assert_eq!(answer.status, 404);
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains("--search-index"));
}
