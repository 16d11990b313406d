//! What purifying promises, seen from outside.
//!
//! * `markup`: which parts of a page become text.
//! * `facts`: title, canonical address, refresh, language, links.
//! * `encodings`: bytes in many encodings through the whole way.
//! * `hostile`: pages made to hurt. They pass by ending.
//! * `properties`: what holds for any bytes.
//! * `oracle`: the same text as from a tree built by the standard's full algorithm.

mod encodings;
mod facts;
mod hostile;
mod markup;
mod oracle;
mod properties;

use super::{Hints, Page, Purifier, PurifyOptions};

/// The page of decoded HTML under default options.
fn page_of(html: &str) -> Page {
    let mut purifier = Purifier::new(PurifyOptions::default());
    purifier.purify_html(html, &Hints::default()).unwrap().clone()
}

fn text_of(html: &str) -> String {
    page_of(html).text
}

/// The page with its links, found at `url`.
fn linked_page(html: &str, url: Option<&str>) -> Page {
    let options = PurifyOptions { collect_links: true, ..PurifyOptions::default() };
    let mut purifier = Purifier::new(options);
    purifier.purify_html(html, &Hints { url, ..Hints::default() }).unwrap().clone()
}
