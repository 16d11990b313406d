//! Tests of text extraction through its public interface. `oracle` compares with a tree built by the standard's
//! full algorithm; `hostile` pages pass by ending.

mod encodings;
mod facts;
mod hidden;
mod hostile;
mod main_content;
mod markup;
mod oracle;
mod properties;

use super::{Extent, ExtractOptions, Extractor, Hints, Page};

/// The page of decoded HTML under default options.
fn page_of(html: &str) -> Page {
    let mut extractor = Extractor::new(ExtractOptions::default());
    extractor.extract_html(html, &Hints::default()).unwrap().clone()
}

fn text_of(html: &str) -> String {
    page_of(html).text
}

/// The page at `url`, with its links.
fn linked_page(html: &str, url: Option<&str>) -> Page {
    let options = ExtractOptions { collect_links: true, ..ExtractOptions::default() };
    let mut extractor = Extractor::new(options);
    extractor.extract_html(html, &Hints { url, ..Hints::default() }).unwrap().clone()
}

/// The main content of decoded HTML.
fn main_text_of(html: &str) -> String {
    let options = ExtractOptions { extent: Extent::MainContent, ..ExtractOptions::default() };
    let mut extractor = Extractor::new(options);
    extractor.extract_html(html, &Hints::default()).unwrap().text.clone()
}
