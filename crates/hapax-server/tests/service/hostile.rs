//! Any input to the parsers of requests ends in a value or an error, never in a panic.
//!
//! Tests the parsers one by one, then all of them behind the real routes: any method, path, parameters, headers
//! and body, most of them nearly valid.

use crate::running::fingerprinter;
use hapax_client::prepare;
use hapax_client::wire::PageInput;
use hapax_server::fetch::ranges::{Allowed, Range};
use hapax_server::fetch::robots::Robots;
use hapax_server::routes::read_json;
use hapax_server::{Layers, access};
use proptest::prelude::*;
use std::net::IpAddr;

/// JSON that is nearly a page: valid names, any values.
fn nearly_a_page() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "url",
        "html",
        "text",
        "signature",
        "redirect",
        "score",
        "fetched",
        "headers",
        "recipe",
        "other",
    ]);
    let value = prop_oneof![
        Just("null".to_owned()),
        any::<f64>().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        "\\PC{0,40}".prop_map(|text| serde_json::Value::from(text).to_string()),
        "[<>a-z&#;/!\" -]{0,60}".prop_map(|text| serde_json::Value::from(text).to_string()),
        Just(r#"{"recipe":"web-2:0","fingerprint":"é","sketch":null,"content":""}"#.to_owned()),
        Just(r#"{"link":"<;>;rel=canonical"}"#.to_owned()),
    ];
    prop::collection::vec((name, value), 0..6).prop_map(|fields| {
        let fields: Vec<String> = fields.iter().map(|(n, v)| format!("{n:?}:{v}")).collect();
        format!("{{{}}}", fields.join(","))
    })
}

/// A body with a byte or two changed, truncated, or repeated.
fn spoilt() -> impl Strategy<Value = Vec<u8>> {
    let digits = |n: usize| "5".repeat(n);
    let signature = format!(
        r#"{{"url":"http://a/","signature":{{"recipe":"{}","fingerprint":"{}","sketch":"{}","content":"{}"}}}}"#,
        fingerprinter().recipe_id(),
        digits(16),
        digits(256),
        digits(32)
    );
    let bodies = vec![
        signature,
        r#"{"url":"http://a/b","html":"<p>one two","headers":{"Link":"</c>; rel=canonical"}}"#
            .into(),
        r#"{"url":"http://a/c","redirect":"http://a/d","fetched":9,"score":-1e300}"#.into(),
        "{\"url\":\"http://a/e\",\"text\":\"x\"}\n\n{}\n".into(),
        r#"{"left":{"text":"one two"},"right":{"url":"http://a/b"}}"#.into(),
        r#"{"rules":"score, prefer-host:a b c"}"#.into(),
        r#"{"url":"http://127.0.0.1:1/","record":false}"#.into(),
        r#"{"before":3}"#.into(),
        r#"{"score":null}"#.into(),
        r#"{"to":"http://a/z"}"#.into(),
    ];
    let change = (any::<prop::sample::Index>(), any::<u8>());
    let changes = prop::collection::vec(change, 0..3);
    let cut = prop::option::of(any::<prop::sample::Index>());
    (prop::sample::select(bodies), changes, cut, any::<bool>()).prop_map(
        |(body, changes, cut, twice): (String, _, Option<prop::sample::Index>, _)| {
            let mut bytes = body.into_bytes();
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            if twice {
                bytes.extend_from_within(..);
            }
            bytes
        },
    )
}

/// A path of the list with arbitrary variables; sometimes an unknown path.
fn some_path() -> impl Strategy<Value = String> {
    let paths: Vec<&str> = hapax_server::routes::list().into_iter().map(|(_, path)| path).collect();
    let part = prop_oneof![
        Just("0".to_owned()),
        Just("http%3A%2F%2Fa%2Fb".to_owned()),
        Just("%ff%00%C3".to_owned()),
        "[0-9]{0,12}",
        "[a-z%0-9.]{0,9}"
    ];
    let query = prop_oneof![
        Just(String::new()),
        "(after|limit|wait|sort|least|market|search|since|prefix)=[0-9a-z%.-]{0,8}",
        "[&=%a-z0-9+]{0,20}",
    ];
    (prop::sample::select(paths), part, query).prop_map(|(path, part, query)| {
        let mut words = path.split('/').map(|word| match word.strip_prefix('{') {
            Some(_) => part.clone(),
            None => word.to_owned(),
        });
        let path = words.by_ref().collect::<Vec<_>>().join("/");
        if query.is_empty() { path } else { format!("{path}?{query}") }
    })
}

/// Sends requests to the routes as they are behind a connection; returns the status of each answer.
fn statuses(requests: Vec<(String, String, String, Vec<u8>)>) -> Vec<u16> {
    use axum::body::Body;
    use http_body_util::BodyExt;
    let folder = tempfile::tempdir().unwrap();
    let settings = hapax_store::Settings::new(fingerprinter().recipe_id().clone());
    let store = hapax_store::Repository::create(folder.path(), settings).unwrap();
    let mut layers = Layers::new().unwrap();
    layers.set("test", "fetch.delay_seconds", "0.0").unwrap();
    layers.set("test", "limits.idle_seconds", "1").unwrap();
    let service =
        hapax_server::Service::new(store, fingerprinter(), layers.finish().unwrap()).unwrap();
    let app = hapax_server::App::new(service.clone());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let found = runtime.block_on(async {
        let mut found = Vec::new();
        for (method, path, kind, body) in requests {
            let request = axum::http::Request::builder()
                .method(method.as_str())
                .uri(&path)
                .header("host", "localhost")
                .header("content-type", kind)
                .body(Body::from(body));
            // Invalid requests do not get this far.
            let Ok(request) = request else { continue };
            let answer = app.answer(IpAddr::from([127, 0, 0, 1]), request).await;
            found.push(answer.status().as_u16());
            let endless = path.starts_with("/v1/events");
            if !endless {
                let _ = answer.into_body().collect().await;
            }
        }
        found
    });
    service.begin_stop();
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    service.finish();
    found
}

proptest! {
    // Each case is a repository and a dozen requests.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_request_to_the_routes_is_answered_without_an_internal_error(
        requests in prop::collection::vec(
            (
                prop::sample::select(vec!["GET", "POST", "PUT", "DELETE", "PATCH"]),
                some_path(),
                prop::sample::select(vec!["application/json", "application/x-ndjson", "text/x"]),
                spoilt(),
            ),
            1..12,
        )
    ) {
        let wait = |path: &str| path.contains("wait=");
        let requests: Vec<_> = requests
            .into_iter()
            .filter(|(_, path, ..)| !wait(path))
            .map(|(method, path, kind, body)| {
                (method.to_owned(), path, kind.to_owned(), body)
            })
            .collect();
        for status in statuses(requests) {
            // 502 is for addresses that cannot be fetched.
            prop_assert!(status < 500 || status == 502, "{}", status);
        }
    }
}

proptest! {
    #[test]
    fn any_page_is_accepted_or_refused(json in nearly_a_page()) {
        let mut fingerprinter = fingerprinter();
        if let Ok(input) = read_json::<PageInput>(json.as_bytes()) {
            let _ = prepare::prepare(&mut fingerprinter, input);
        }
    }

    #[test]
    fn any_bytes_are_json_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_json::<PageInput>(&bytes);
    }

    #[test]
    fn any_robots_file_can_be_evaluated(text in "([a-zA-Z-]{0,12}:? ?[/*$a-zé]{0,8}\n?){0,12}", path in "\\PC{0,20}") {
        let text = text.replace("aa", "user-agent: *\ndisallow: /");
        let _ = Robots::parse(&text, "hapax").allows(&path);
    }

    #[test]
    fn any_range_is_read_or_refused_and_any_address_classified(text in "[0-9a-f:./]{0,24}", bits in any::<u128>()) {
        let range = text.parse::<Range>();
        let address = IpAddr::V6(bits.into());
        let _ = range.map(|range| range.contains(address));
        let _ = Allowed::default().admits(address);
    }

    #[test]
    fn any_settings_are_read_or_refused(text in "\\PC{0,60}", name in "[a-z_.]{0,20}") {
        let mut layers = Layers::new().unwrap();
        let _ = layers.file("test", &text);
        let _ = layers.set("test", &name, &text);
        let _ = layers.finish();
    }

    #[test]
    fn any_headers_are_let_in_or_not(host in "[ -~]{0,30}", token in "[ -~]{0,30}") {
        use axum::http::{HeaderMap, HeaderValue, header};
        let access = access::Access::new(&hapax_server::config::Tokens::default(), &[]).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(&host).unwrap());
        headers.insert(header::AUTHORIZATION, HeaderValue::from_str(&token).unwrap());
        let _ = access.allow(access::Scope::Write, &headers, IpAddr::from([127, 0, 0, 1]));
    }
}
