//! Groups over time: their history, the rules that choose winners, and the status of pages.

use crate::running::{Running, text};
use hapax_client::client::encoded;
use serde_json::{Value, json};

/// Two unrelated pages, and a page that matches both and wins over both.
fn merged(server: &Running) -> (u64, u64) {
    let words = |changed: &dyn Fn(usize) -> bool| {
        let word = |n| if changed(n) { format!("other{n}") } else { format!("word{n}") };
        (0..200).map(word).collect::<Vec<_>>().join(" ")
    };
    let send = |url: &str, text: String, score: Value| {
        let page = json!({"url": url, "text": text, "score": score});
        server.post("/v1/pages", page).good()["group"].as_u64().unwrap()
    };
    let one = send("http://l/1", words(&|_| false), Value::Null);
    let two = send("http://l/3", words(&|n| n < 10 || (100..110).contains(&n)), Value::Null);
    assert_ne!(one, two);
    let left = send("http://l/2", words(&|n| n < 10), json!(9));
    (left, one + two - left)
}

#[test]
fn of_a_merge_the_group_that_ended_comes_first_and_both_have_it_in_their_history() {
    let server = Running::start();
    let (left, ended) = merged(&server);
    let events = server.get("/v1/events").good();
    let events = events["rows"].as_array().unwrap();
    let merge = events.iter().find(|event| event["change"] == "merged").unwrap();
    assert_eq!((&merge["group"], &merge["other_group"]), (&json!(ended), &json!(left)));
    for group in [left, ended] {
        let history = server.get(&format!("/v1/groups/{group}/events")).good();
        assert!(history["rows"].as_array().unwrap().contains(merge), "{history}");
        assert_eq!(history["next"], Value::Null);
    }
    assert_eq!(server.get(&format!("/v1/groups/{ended}")).status, 404);
    assert_eq!(server.get("/v1/groups/77/events").status, 404);
}

#[test]
fn a_history_is_read_in_parts_newest_first_without_gaps() {
    let server = Running::start();
    merged(&server);
    for n in 0..7 {
        server
            .post("/v1/pages", json!({"url": format!("http://x/{n}"), "text": text(n, 90)}))
            .good();
        let score = json!({"score": 10 + n});
        let page = encoded(if n % 2 == 0 { "http://l/1" } else { "http://l/3" });
        server.ask("PUT", &format!("/v1/pages/{page}/score"), score).good();
    }
    let all = server.get("/v1/events?limit=1000").good()["rows"].as_array().unwrap().clone();
    let group = server.get("/v1/pages/http%3A%2F%2Fl%2F1").good()["group"].as_u64().unwrap();
    let names = |event: &&Value| {
        [&event["group"], &event["other_group"]].into_iter().any(|named| *named == json!(group))
    };
    let wanted: Vec<Value> = all.iter().rev().filter(names).cloned().collect();
    assert!(wanted.len() > 5, "{wanted:?}");
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let piece = server.get(&format!("/v1/groups/{group}/events?limit=3{after}")).good();
        found.extend(piece["rows"].as_array().unwrap().clone());
        let Some(next) = piece["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(found, wanted);
}

#[test]
fn groups_are_found_by_any_part_of_an_address_each_once() {
    let server = Running::start();
    let urls = [
        "http://www.tea.example/b",
        "https://tea.example/a",
        "https://x.example/green-tea/",
        "https://y.example/?q=TEA",
        "https://z.example/coffee",
    ];
    for (url, n) in urls.into_iter().zip(0..) {
        server.post("/v1/pages", json!({"url": url, "text": text(n, 90)})).good();
    }
    let found = |part: &str, limit: usize| {
        let (mut winners, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/groups?search={}&limit={limit}{after}", encoded(part));
            let piece = server.get(&path).good();
            let rows = piece["rows"].as_array().unwrap();
            winners.extend(rows.iter().map(|row| row["winner"].as_str().unwrap().to_owned()));
            let Some(next) = piece["next"].as_str() else { break };
            after = format!("&after={}", encoded(next));
        }
        winners.sort();
        winners
    };
    for limit in [1, 2, 100] {
        assert_eq!(found("tea", limit), urls[..4], "{limit} a time");
        assert_eq!(found("example/GREEN", limit), urls[2..3]);
        assert_eq!(found("https://z", limit), urls[4..]);
        assert_eq!(found("://tea", limit), urls[1..2]);
        assert!(found("milk", limit).is_empty());
    }
    assert_eq!(server.get("/v1/groups?search=tea&after=x").status, 400);
}

#[test]
fn rules_and_markets_are_set_and_read() {
    let server = Running::start();
    merged(&server);
    let rules = server.ask("PUT", "/v1/rules", json!({"rules": "score"})).good();
    assert_eq!(rules, json!({"rules": "score", "markets": {}}));
    server.ask("PUT", "/v1/markets/short", json!({"rules": "shortest-url"})).good();
    let shown = server.get("/v1/rules").good();
    assert_eq!(shown["markets"], json!({"short": "shortest-url"}));
    assert_eq!(server.get("/v1/settings").good()["markets"], shown["markets"]);
    let path = "/v1/pages/http%3A%2F%2Fl%2F1";
    assert_eq!(server.get(path).good()["status"]["winner"], "http://l/2");
    let there = server.get(&format!("{path}?market=short")).good();
    assert_eq!(
        (&there["status"]["winner"], &there["status"]["is_winner"]),
        (&json!("http://l/1"), &json!(true))
    );
    let group = server.get(&format!("{path}/group?market=short&limit=2")).good();
    assert_eq!(
        (&group["winner"], group["rows"].as_array().unwrap().len()),
        (&json!("http://l/1"), 2)
    );
    let next = group["next"].as_str().unwrap();
    let rest = server.get(&format!("{path}/group?market=short&limit=2&after={next}")).good();
    assert_eq!((rest["rows"].as_array().unwrap().len(), &rest["next"]), (1, &Value::Null));
    for (method, path, body, status) in [
        ("GET", "/v1/pages/http%3A%2F%2Fl%2F1?market=none", Value::Null, 404),
        ("PUT", "/v1/rules", json!({"rules": "no-such-rule"}), 400),
        ("PUT", "/v1/markets/a%20b", json!({"rules": "score"}), 400),
        ("DELETE", "/v1/markets/none", Value::Null, 404),
    ] {
        assert_eq!(server.ask(method, path, body).status, status, "{method} {path}");
    }
    assert_eq!(server.ask("DELETE", "/v1/markets/short", Value::Null).good()["markets"], json!({}));
}

#[test]
fn the_numbers_for_prometheus_name_the_parts_of_the_index() {
    let server = Running::start();
    merged(&server);
    let metrics = server.get("/metrics").body;
    for line in
        ["hapax_index_segments ", "hapax_index_bytes ", "hapax_fsyncs ", "hapax_tiers_total"]
    {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    let stats = server.get("/v1/stats").good();
    let shown = format!("hapax_index_segments {}\n", stats["index_segments"]);
    assert!(metrics.contains(&shown), "{shown} is not in\n{metrics}");
}
