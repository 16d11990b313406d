//! The pages, the log and the policy of all engines.

use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax_search::SearchPage;
use hapax_search::log::Query;
use hapax_search::policy::Policy;

pub(crate) fn fingerprinter() -> Fingerprinter {
    Fingerprinter::new(Recipe::built_in("web-2").unwrap(), None).unwrap()
}

const SUBJECTS: [&str; 6] = ["harbour", "bakery", "library", "telescope", "图书馆", "望遠鏡"];

/// Families of near-copies with different scores, in three scripts, and some unrelated pages.
pub(crate) fn pages() -> Vec<SearchPage> {
    let mut by = fingerprinter();
    let mut pages = Vec::new();
    for (number, subject) in SUBJECTS.iter().enumerate() {
        for copy in 0..5u32 {
            let words: String = (0..60)
                .map(|word| {
                    format!(
                        "{subject} {}{} ",
                        ["of", "and", "with"][word % 3],
                        (word * 7 + number) % 29
                    )
                })
                .collect();
            let body = match copy {
                // The last page of each family has its own text.
                4 => {
                    format!("another text that only mentions the {subject}, number {number}, once")
                }
                _ => format!("{words} advertisement{copy}"),
            };
            let url = format!("http://host{copy}.test/{number}");
            let mut page = SearchPage::new(url.as_str(), body.as_str(), &by.text(&body).unwrap());
            page.url = url;
            page.title = format!("About {subject}");
            page.score = (copy != 3).then(|| f64::from((copy * 3 + number as u32) % 5));
            page.language = ["en", "en", "en", "en", "zh", "ja"][number].to_owned();
            pages.push(page);
        }
    }
    pages
}

pub(crate) fn log() -> Vec<Query> {
    let texts =
        SUBJECTS.into_iter().chain(["about", "text number", "\"another text\" -harbour", "!!"]);
    texts
        .zip([90, 80, 70, 60, 50, 40, 30, 20, 10, 1])
        .map(|(text, count)| Query { text: text.to_owned(), count })
        .collect()
}

pub(crate) fn policy() -> Policy {
    Policy::from_toml("within = 6\nkeep = \"score\"\nmin-similarity = 0.6").unwrap()
}
