//! Memory use once the buffers have grown to the size of a page: no allocation per word or per page.

use allocation_counter::measure;
use hapax::fingerprint::{Fingerprinter, Key, Recipe};
use hapax::page::Hints;
use hapax_synth::{Web, WebOptions};

const HINTS: Hints<'static> = Hints { content_type: Some("text/html; charset=utf-8"), url: None };

#[test]
fn allocations_do_not_grow_with_the_words_of_a_page() {
    let mut by = Fingerprinter::new(Recipe::built_in("web-2").unwrap(), None).unwrap();
    let page = |words: usize| format!("<p>{}", "Every page, once. Größe 北京 ".repeat(words));
    let (small, large) = (page(10), page(5_000));
    // Lets the buffers grow.
    by.page(large.as_bytes(), &HINTS).unwrap();
    by.page(small.as_bytes(), &HINTS).unwrap();
    let for_small = measure(|| assert!(by.page(small.as_bytes(), &HINTS).is_ok()));
    let for_large = measure(|| assert!(by.page(large.as_bytes(), &HINTS).is_ok()));
    assert_eq!(for_large.count_total, for_small.count_total, "for 500 times as many words");
}

#[test]
fn memory_does_not_grow_with_the_number_of_pages() {
    let web = Web::new(WebOptions::new(7, 400));
    let pages: Vec<String> = (0..400).map(|i| web.page(i).html).collect();
    let mut by = Fingerprinter::new(Recipe::built_in("web-2").unwrap(), None).unwrap();
    let mut all = || {
        for page in &pages {
            by.page(page.as_bytes(), &HINTS).unwrap();
        }
    };
    all();
    let again = measure(all);
    assert_eq!(again.bytes_current, 0, "bytes kept after 400 more pages");
}

#[test]
fn a_long_text_takes_little_more_than_its_size_and_leaves_no_large_buffers() {
    let mut by = Fingerprinter::default().with_short_key(&Key::new(b"any"));
    by.text("a few words").unwrap();
    let text: String = (0..400_000).map(|n| format!("word{n} ")).collect();
    let taken = measure(|| assert!(by.text(&text).is_ok()));
    let (most, least) = (taken.bytes_max as usize, text.len());
    assert!(most < least + (4 << 20), "{most} bytes for a text of {least}");
    let kept =
        measure(|| assert!(by.text("a few words").is_ok())).bytes_current + taken.bytes_current;
    assert!(kept < 3 << 20, "{kept} bytes kept");
}
