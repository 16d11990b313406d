//! A forger against the service: with the public signature of a victim, and after a thousand queries.

use crate::running::{Running, fingerprinter, text};
use hapax_synth::forge;
use serde_json::{Value, json};

/// Victims, each with a forgery.
const VICTIMS: u32 = 6;

fn forged(victim: &str, seed: u64) -> String {
    let public = fingerprinter().text(victim).unwrap().comparable.unwrap();
    forge(public.fingerprint.to_bits(), &public.sketch.to_bytes(), victim, None, seed).text
}

fn url(who: &str, number: u32) -> String {
    format!("https://{who}{number}.test/")
}

fn page(who: &str, number: u32, text: &str) -> Value {
    json!({"url": url(who, number), "text": text})
}

/// Victims lost to their forgeries, and true copies found.
fn lost_and_found(server: &Running) -> (usize, usize) {
    let stands = |who: &str, number: u32| {
        let at = url(who, number).replace(':', "%3A").replace('/', "%2F");
        server.get(&format!("/v1/pages/{at}")).good()
    };
    let lost = (0..VICTIMS).filter(|&i| stands("victim", i)["status"]["removable"] == true);
    let found = (0..VICTIMS).filter(|&i| {
        let copy = &stands("copier", i)["status"];
        copy["verdict"] == "near" && copy["winner"] == *url("victim", i)
    });
    (lost.count(), found.count())
}

#[test]
fn a_forger_removes_no_page_even_after_a_thousand_queries() {
    let server = Running::start();
    for i in 0..VICTIMS {
        let victim = text(50 + i, 257);
        let mut forgery = forged(&victim, u64::from(i));
        server.post("/v1/pages", page("victim", i, &victim)).good();
        if i == 0 {
            // Checks variants of 20 forgeries of one victim: none may be a copy.
            let forgeries: Vec<String> = (0..20).map(|seed| forged(&victim, seed)).collect();
            for question in 0..1_000 {
                let variant = format!("{} variant{question}", forgeries[question % 20]);
                let said = server.post("/v1/check", page("forger", i, &variant)).good();
                assert_eq!(said["verdict"], "new", "question {question}: {said}");
                // The nearest page is named by public data.
                assert_eq!(said["nearest"]["url"], *url("victim", i), "{said}");
                forgery = variant;
            }
        }
        server.post("/v1/pages", page("forger", i, &forgery)).good();
        // The forger's page is better in everything that its author controls.
        let path = url("forger", i).replace(':', "%3A").replace('/', "%2F");
        server.ask("PUT", &format!("/v1/pages/{path}/score"), json!({"score": 9.0})).good();
        server.post("/v1/pages", page("copier", i, &format!("{victim} indeed"))).good();
    }
    assert_eq!(lost_and_found(&server), (0, VICTIMS as usize));
}
