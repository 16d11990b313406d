//! Readers: requests that do not change the writers' pages, and some deliberately wrong ones.
//!
//! Also records real pages, so that the service extracts texts, learns frames and keeps texts; each reader uses as
//! many addresses for them as there are real pages.

use super::{JSON, Shared};
use crate::pages;
use crate::wire::request;
use anyhow::{Result, ensure};
use hapax_client::client::encoded;
use std::sync::atomic::Ordering;

/// Sends requests until the end.
pub(super) fn ask(
    shared: &Shared,
    place: u64,
    known: u64,
    recipe: &str,
    real: &[String],
) -> Result<()> {
    let mut n = place;
    shared.keep_asking(|connection| {
        n = n.wrapping_add(7919);
        let page = n % known;
        let path = format!("/v1/pages/{}", encoded(&pages::url(page)));
        let html = "<title>A page</title><p>some words of a page about nothing at all";
        let (asked, wanted): (Vec<u8>, &[u16]) = match n % 13 {
            0 => (request("GET", "/v1/stats", JSON, ""), &[200]),
            1 => (request("GET", "/v1/groups?limit=20", JSON, ""), &[200]),
            2 => (request("GET", &format!("/v1/events?after={page}&limit=20"), JSON, ""), &[200]),
            // The page may have been deleted just now.
            3 => (request("GET", &path, JSON, ""), &[200, 404]),
            4 => {
                let body = serde_json::json!({"url": "http://a/", "html": html});
                (request("POST", "/v1/check", JSON, &body.to_string()), &[200])
            }
            5 => {
                let sides =
                    serde_json::json!({"left": {"html": html}, "right": {"text": "a page"}});
                (request("POST", "/v1/compare", JSON, &sides.to_string()), &[200])
            }
            6 => (request("GET", "/metrics", JSON, ""), &[200]),
            7 => (request("POST", "/v1/check", JSON, "{\"url\":"), &[400]),
            8 => (request("GET", "/v1/groups/4294967295", JSON, ""), &[404]),
            9 | 10 => {
                let html = &real[(n / 13) as usize % real.len()];
                let url = format!("https://www.real{place}.example/{}.html", html.len());
                let body = serde_json::json!({"url": url, "html": html}).to_string();
                let path = if n % 13 == 9 { "/v1/check" } else { "/v1/pages" };
                (request("POST", path, JSON, &body), &[200])
            }
            _ => {
                let body = pages::ready(page, pages::url(page), recipe)?;
                (request("POST", "/v1/check", JSON, &body), &[200])
            }
        };
        let Ok(status) = connection.ask(&asked) else { return Ok(None) };
        ensure!(
            wanted.contains(&status),
            "a question was answered {status}, not {wanted:?}: {}",
            String::from_utf8_lossy(&connection.body)
        );
        let counter = if wanted[0] == 200 { &shared.read } else { &shared.refused };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(Some(status))
    })
}
