//! Extracts the text of pages: JSON lines with a field `html` in, JSON lines with a field `text` out.
//!
//! `cargo run --release -p hapax --example extract < pages.jsonl`
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::io::BufRead;

use hapax::page::{ExtractOptions, Extractor, Hints};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut extractor = Extractor::new(ExtractOptions::default());
    for line in std::io::stdin().lock().lines() {
        let page: Value = serde_json::from_str(&line?)?;
        let html = page["html"].as_str().ok_or("a page has no field html")?;
        let page = extractor.extract_html(html, &Hints::default())?;
        println!("{}", json!({"text": page.text}));
    }
    Ok(())
}
