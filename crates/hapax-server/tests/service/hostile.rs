//! Whatever is sent to a parser of requests ends in a value or an error, never in a panic.

use crate::running::fingerprinter;
use hapax_server::fetch::ranges::{Allowed, Range};
use hapax_server::fetch::robots::Robots;
use hapax_server::prepare::{self, Tools};
use hapax_server::routes::read_json;
use hapax_server::wire::PageInput;
use hapax_server::{Layers, access};
use proptest::prelude::*;
use std::net::IpAddr;

/// JSON that is nearly a page: the right names, any values.
fn nearly_a_page() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "url", "html", "text", "imprint", "redirect", "score", "fetched", "headers", "recipe",
        "other",
    ]);
    let value = prop_oneof![
        Just("null".to_owned()),
        any::<f64>().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        "\\PC{0,40}".prop_map(|text| serde_json::Value::from(text).to_string()),
        "[<>a-z&#;/!\" -]{0,60}".prop_map(|text| serde_json::Value::from(text).to_string()),
        Just(r#"{"recipe":"web-1:0","fingerprint":"é","sketch":null,"content":""}"#.to_owned()),
        Just(r#"{"link":"<;>;rel=canonical"}"#.to_owned()),
    ];
    prop::collection::vec((name, value), 0..6).prop_map(|fields| {
        let fields: Vec<String> = fields.iter().map(|(n, v)| format!("{n:?}:{v}")).collect();
        format!("{{{}}}", fields.join(","))
    })
}

proptest! {
    #[test]
    fn any_page_is_taken_or_refused(json in nearly_a_page()) {
        let mut tools = Tools::new(fingerprinter());
        if let Ok(input) = read_json::<PageInput>(json.as_bytes()) {
            let _ = prepare::prepare(&mut tools, input);
        }
    }

    #[test]
    fn any_bytes_are_json_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_json::<PageInput>(&bytes);
    }

    #[test]
    fn any_robots_file_can_be_asked(text in "([a-zA-Z-]{0,12}:? ?[/*$a-zé]{0,8}\n?){0,12}", path in "\\PC{0,20}") {
        let text = text.replace("aa", "user-agent: *\ndisallow: /");
        let _ = Robots::parse(&text, "hapax").allows(&path);
    }

    #[test]
    fn any_range_is_read_or_refused_and_any_address_judged(text in "[0-9a-f:./]{0,24}", bits in any::<u128>()) {
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
        let access = access::Access::new(&hapax_server::config::Tokens::default());
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(&host).unwrap());
        headers.insert(header::AUTHORIZATION, HeaderValue::from_str(&token).unwrap());
        let _ = access.allow(access::Scope::Write, &headers, IpAddr::from([127, 0, 0, 1]));
    }
}
