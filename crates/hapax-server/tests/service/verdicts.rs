//! Pages observed, checked, looked up, changed.

use crate::running::{Running, fingerprinter, text};
use hapax_client::client::{Client, ClientError, encoded};
use hapax_client::wire::PageInput;
use serde_json::{Value, json};
use std::time::Duration;

fn page(url: &str, text: &str) -> Value {
    json!({ "url": url, "text": text })
}

#[test]
fn a_near_copy_is_recognised_and_its_group_can_be_browsed() {
    let server = Running::start();
    let original = text(1, 300);
    let copy = format!("{original} and one more sentence");
    let first = server.post("/v1/pages", page("http://a/original", &original)).good();
    assert_eq!((&first["verdict"], &first["winner"]), (&json!("new"), &json!("http://a/original")));
    let checked = server.post("/v1/check", page("http://b/much/longer/copy", &copy)).good();
    assert_eq!((&checked["verdict"], &checked["recorded"]), (&json!("near"), &json!(false)));
    let second = server.post("/v1/pages", page("http://b/much/longer/copy", &copy)).good();
    assert_eq!((&second["verdict"], &second["removable"]), (&json!("near"), &json!(true)));
    assert_eq!(second["winner"], "http://a/original");
    assert_eq!(second["matches"][0]["url"], "http://a/original");
    let group = second["group"].as_u64().unwrap();
    let group = server.get(&format!("/v1/groups/{group}")).good();
    assert_eq!((group["rows"].as_array().unwrap().len(), &group["members"]), (2, &json!(2)));
    assert_eq!(group["rows"][1]["status"]["reason"]["rule"], second["reason"]["rule"]);
    for found in [
        "/v1/groups",
        "/v1/groups?search=b/much",
        "/v1/groups?search=http://a",
        "/v1/groups?sort=number",
    ] {
        assert_eq!(server.get(found).good()["rows"][0]["winner"], "http://a/original", "{found}");
    }
    assert_eq!(server.get("/v1/groups?search=nowhere").good()["rows"], json!([]));
}

#[test]
fn a_page_is_looked_up_scored_redirected_and_forgotten() {
    let server = Running::start();
    let url = "http://a/x?y=1&z=ü/ #";
    let path = format!("/v1/pages/{}", encoded(url));
    server.post("/v1/pages", json!({"url": url, "text": text(2, 100), "fetched": 50})).good();
    server.post("/v1/pages", page("http://b/", &text(2, 100))).good();
    let known = server.get(&path).good();
    assert_eq!((&known["url"], &known["state"]), (&json!(url), &json!("content")));
    let scored = server.ask("PUT", &format!("{path}/score"), json!({"score": 2.5})).good();
    assert_eq!((&scored["url"], &scored["is_winner"]), (&json!(url), &json!(true)));
    assert_eq!(server.get(&path).good()["score"], 2.5);
    let moved = server.ask("PUT", &format!("{path}/redirect"), json!({"to": "http://b/"})).good();
    assert_eq!((&moved["verdict"], &moved["winner"]), (&json!("redirect"), &json!("http://b/")));
    assert_eq!(server.ask("DELETE", &path, Value::Null).good()["pages"], 1);
    assert_eq!(server.get(&path).code(), "not_found");
    assert_eq!(server.post("/v1/expire", json!({"before": 100})).good()["pages"], 0);
    let listed = server.get("/v1/pages?prefix=http://b").good();
    assert_eq!(listed["rows"][0]["url"], "http://b/");
}

#[test]
fn pages_compared_under_an_older_frame_are_compared_again() {
    let server = Running::start();
    let site = hapax_synth::TemplatedSite::new(7, "shop.test", 300, 10);
    let observed: Vec<Value> = (0..40)
        .map(|number| {
            let hapax_synth::SitePage { url, html } = site.page(number);
            server.post("/v1/pages", json!({"url": url, "html": html, "fetched": number})).good()
        })
        .collect();
    // Without a frame the whole pages decide.
    assert_eq!((&observed[1]["removable"], &observed[1]["own"]), (&json!(true), &Value::Null));
    let rechecked = server.post("/v1/recheck", json!({})).good()["pages"].as_u64().unwrap();
    assert!((7..=40).contains(&rechecked), "{rechecked}");
    for number in 0..40 {
        let path = format!("/v1/pages/{}", encoded(&site.page(number).url));
        let status = &server.get(&path).good()["status"];
        assert_eq!(status["removable"], false, "{number}");
        assert!(status["own"]["words"].as_u64().unwrap() >= 10, "{status}");
        assert!(status["own"]["frame"].as_u64().unwrap() >= 1, "{status}");
    }
    assert_eq!(server.post("/v1/recheck", json!({})).good()["pages"], 0);
}

#[test]
fn a_ready_fingerprint_is_compared_like_its_text() {
    let server = Running::start();
    let words = text(3, 120);
    let signature = fingerprinter().text(&words).unwrap();
    let comparable = signature.comparable.unwrap();
    let hex: String =
        comparable.sketch.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let recipe = fingerprinter().recipe_id().to_string();
    let ready = json!({
        "recipe": recipe, "fingerprint": comparable.fingerprint.to_string(), "sketch": hex,
        "content": signature.content.to_string(), "words": 120, "features": 118,
    });
    server.post("/v1/pages", json!({"url": "http://a", "signature": ready})).good();
    let copy = server.post("/v1/check", page("http://b", &words)).good();
    assert_eq!((&copy["verdict"], &copy["alike"]["similarity"]), (&json!("exact"), &json!(1.0)));
    let mut other = ready;
    other["recipe"] = json!("web-9:0123456789abcdef");
    assert_eq!(
        server.post("/v1/check", json!({"url": "u", "signature": other})).code(),
        "other_recipe"
    );
}

#[test]
fn two_pages_are_compared_with_their_differences() {
    let server = Running::start();
    let words = text(4, 60);
    let changed = words.replacen(' ', " inserted ", 30);
    server.post("/v1/pages", page("http://a", &words)).good();
    // The text is stored by a separate thread.
    let sides = json!({"left": {"url": "http://a"}, "right": {"text": changed}});
    let compared = (0..100)
        .map(|_| server.post("/v1/compare", sides.clone()).good())
        .inspect(|compared| {
            if compared["rows"].is_null() {
                std::thread::sleep(Duration::from_millis(20));
            }
        })
        .find(|compared| !compared["rows"].is_null())
        .unwrap();
    let rows = compared["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["same"].is_string()), "{compared}");
    let only = |side: &Value| {
        side.as_array().is_some_and(|pieces| pieces.iter().any(|piece| piece["mark"] == "only"))
    };
    assert!(rows.iter().any(|row| only(&row["right"])), "{compared}");
    assert!(compared["exact"]["jaccard"].as_f64().unwrap() < 1.0);
    assert!(compared["standard_error"].as_f64().unwrap() > 0.0);
    for side in ["left", "right"] {
        let sums = compared["sums"][side].as_array().unwrap();
        let bits = u64::from_str_radix(compared[side]["fingerprint"].as_str().unwrap(), 16);
        let bits = bits.unwrap();
        let positive = (0..64).filter(|&j| sums[j].as_i64().unwrap() > 0);
        assert_eq!((sums.len(), positive.fold(0, |all, j| all | 1 << j)), (64, bits), "{side}");
    }
    let missing = json!({"left": {"url": "http://nowhere"}, "right": {"text": "x"}});
    assert_eq!(server.post("/v1/compare", missing).code(), "not_found");
    let both = json!({"left": {"url": "http://a", "text": "x"}, "right": {"text": "x"}});
    assert_eq!(server.post("/v1/compare", both).code(), "invalid");
}

#[test]
fn events_are_read_waited_for_and_streamed() {
    let server = Running::start();
    server.post("/v1/pages", page("http://a", &text(5, 50))).good();
    let seen = server.get("/v1/events").good();
    assert_eq!(seen["rows"][0]["change"], "joined");
    let last = seen["next"].as_str().unwrap().to_owned();
    std::thread::scope(|scope| {
        let waiting =
            scope.spawn(|| server.get(&format!("/v1/events?after={last}&wait=30")).good());
        std::thread::sleep(Duration::from_millis(50));
        server.post("/v1/pages", page("http://b", &text(6, 50))).good();
        assert_eq!(waiting.join().unwrap()["rows"][0]["url"], "http://b");
    });
    use std::io::{BufRead, BufReader, Write};
    let mut stream = server.connect();
    stream
        .write_all(b"GET /v1/events/stream HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 1\r\n\r\n")
        .unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let told = lines.skip_while(|line| !line.starts_with("id: ")).take(3).collect::<Vec<_>>();
    assert_eq!((told[0].as_str(), told[1].as_str()), ("id: 2", "event: joined"));
    assert!(told[2].contains(r#""url":"http://b""#), "{told:?}");
}

#[test]
fn acknowledged_pages_are_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::over(folder.path(), "");
    server.post("/v1/pages", page("http://a", &text(7, 80))).good();
    server.stop();
    assert!(server.service.is_stopping());
    drop(server);
    let server = Running::over(folder.path(), "");
    let again = server.post("/v1/pages", page("http://a", &text(7, 80))).good();
    assert_eq!((&again["verdict"], &again["tier"]), (&json!("unchanged"), &json!("winner")));
    assert_eq!(server.get("/v1/stats").good()["pages"], 1);
    let metrics = server.get("/metrics");
    assert!(metrics.body.contains("hapax_pages 1\n"), "{}", metrics.body);
    assert!(metrics.body.contains(r#"hapax_tiers_total{tier="winner"} 1"#), "{}", metrics.body);
}

#[test]
fn known_pages_are_unchanged_or_changed_and_the_nearest_is_named() {
    let server = Running::start();
    let said = |route: &str, url: &str, words: &str| server.post(route, page(url, words)).good();
    let long = text(11, 120);
    let first = said("/v1/check", "http://a", &long);
    assert_eq!((&first["verdict"], &first["seen"]), (&json!("new"), &json!("first")));
    assert_eq!(first["nearest"], Value::Null);
    said("/v1/pages", "http://a", &long);
    for route in ["/v1/check", "/v1/pages"] {
        let again = said(route, "http://a", &long);
        assert_eq!((&again["verdict"], &again["seen"]), (&json!("unchanged"), &json!("unchanged")));
    }
    // Half of it is new: beyond the bound, but still the nearest.
    let half = format!("{} {}", &long[..long.len() / 2], text(12, 60));
    let other = said("/v1/check", "http://b", &half);
    assert_eq!((&other["verdict"], &other["nearest"]["url"]), (&json!("new"), &json!("http://a")));
    let similarity = other["nearest"]["similarity"].as_f64().unwrap();
    assert!((0.1..0.84).contains(&similarity), "{other}");
    for route in ["/v1/check?nearest=false", "/v1/pages?nearest=false"] {
        let quick = said(route, "http://b", &half);
        assert_eq!((&quick["verdict"], &quick["nearest"]), (&json!("new"), &Value::Null));
        let copy = said(route, "http://d", &half);
        assert_eq!(
            copy["nearest"].is_object(),
            route.contains("pages"),
            "a match is named: {copy}"
        );
    }
    assert_eq!(server.post("/v1/check?nearest=maybe", page("http://b", &half)).code(), "invalid");
    let changed = said("/v1/pages", "http://a", &text(13, 120));
    assert_eq!((&changed["verdict"], &changed["seen"]), (&json!("changed"), &json!("changed")));
    let known = server.get("/v1/pages/http%3A%2F%2Fa").good();
    assert_eq!(known["status"]["verdict"], "unique");
    let fetched = known["fetched"].as_str().unwrap();
    assert!(fetched > "2023" && fetched.ends_with('Z'), "now, unless given: {known}");
    let events = server.get("/v1/events").good();
    let events = events["rows"].as_array().unwrap();
    assert!(events.iter().all(|event| event["at"].as_str().is_some_and(|at| at.ends_with('Z'))));
    assert!(events.iter().any(|event| event["change"] == "changed"), "{events:#?}");
    let dated = json!({"url": "http://c", "text": "some words", "fetched": "2026-03-01T12:00:00Z"});
    server.post("/v1/pages", dated).good();
    assert_eq!(server.get("/v1/pages/http%3A%2F%2Fc").good()["fetched"], "2026-03-01T12:00:00Z");
    assert_eq!(server.post("/v1/expire", json!({"before": "2026-03-02"})).good()["pages"], 1);
    let itself = server.post("/v1/pages", json!({"url": "http://a", "redirect": "http://a"}));
    assert_eq!(itself.code(), "invalid");
}

#[test]
fn the_client_offers_the_operations_of_the_repository() {
    let server = Running::start();
    let client = Client::new(&format!("http://{}", server.address), None, Duration::from_secs(30));
    let input = |url: &str, seed| PageInput {
        url: url.into(),
        text: Some(text(seed, 90)),
        ..PageInput::default()
    };
    assert_eq!(client.observe(&input("http://a", 8)).unwrap().verdict, "new");
    assert_eq!(client.check(&input("http://b", 8)).unwrap().verdict, "exact");
    assert_eq!(client.page("http://b", None).unwrap(), None);
    let scored = client.score("http://a", Some(1.0)).unwrap().unwrap();
    assert_eq!((&*scored.verdict, scored.is_winner), ("unique", true));
    assert_eq!(client.score("http://b", Some(1.0)).unwrap(), None);
    assert_eq!(client.page("http://a", None).unwrap().unwrap().page.score, Some(1.0));
    assert_eq!(client.redirect("http://old", "http://a", None).unwrap().verdict, "redirect");
    assert_eq!(client.groups(None, 10).unwrap().rows.len(), 1);
    let moved = client.page("http://old", None).unwrap().unwrap();
    assert_eq!(moved.page.redirects_to.as_deref(), Some("http://a"));
    for piece in [1, 10] {
        let found = client.page_group("http://old", None, piece).unwrap().unwrap();
        let urls: Vec<&str> = found.pages.rows.iter().map(|row| row.url.as_str()).collect();
        assert_eq!(
            (found.group.winner.as_str(), urls),
            ("http://a", vec!["http://a", "http://old"])
        );
    }
    assert_eq!(client.page_group("http://b", None, 10).unwrap(), None);
    assert_eq!(client.stats().unwrap().pages, 2);
    assert_eq!(client.events(0, 1, 0).unwrap().rows[0].sequence, 1);
    let lines =
        (0..2500).map(|n| format!("{{\"url\":\"http://c/{n}\",\"text\":\"{}\"}}\n", text(n, 12)));
    let lines: String = lines.chain(["no json\n".into()]).collect();
    let answers: Vec<_> = client.batch(lines.as_bytes()).collect::<Result<_, _>>().unwrap();
    assert_eq!(answers.len(), 2501);
    assert!(answers.iter().zip(1..).all(|(answer, line)| answer.line == line));
    assert!(client.forget("http://a").unwrap());
    assert!(!client.forget("http://a").unwrap());
    let refused = client.observe(&PageInput { url: "http://x".into(), ..PageInput::default() });
    assert!(matches!(refused, Err(ClientError::Refused { status: 400, .. })), "{refused:?}");
}
