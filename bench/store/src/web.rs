//! The synthetic web as observations, generated on two threads.

use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax::page::{Body, Document};
use hapax_store::{Action, Observation};
use hapax_synth::{Length, Visit, Web, WebOptions};

/// A web with this many pages, of moderate length because their text is generated for every visit.
pub(crate) fn web(pages: u64) -> Web {
    let length = Length { mu: 4.9, sigma: 0.9, least: 20, most: 2000 };
    Web::new(WebOptions { length, ..WebOptions::new(11, pages) })
}

pub(crate) fn fingerprinter() -> anyhow::Result<Fingerprinter> {
    Ok(Fingerprinter::new(Recipe::built_in("web-2")?, None)?)
}

/// The results of crawling these pages in a week: 0 for the first visit.
pub(crate) fn visits(
    web: &Web,
    by: &Fingerprinter,
    pages: &[u64],
    week: u32,
) -> anyhow::Result<Vec<Action>> {
    let half = pages.len().div_ceil(2).max(1);
    let parts: anyhow::Result<Vec<Vec<Action>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = pages
            .chunks(half)
            .map(|part| {
                let mut by = by.clone();
                scope.spawn(move || {
                    part.iter().map(|&index| visit(web, &mut by, index, week)).collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    Ok(parts?.into_iter().flatten().collect())
}

fn visit(web: &Web, by: &mut Fingerprinter, index: u64, week: u32) -> anyhow::Result<Action> {
    let found = if week == 0 { Visit::Page(web.page(index)) } else { web.revisit(index, week) };
    Ok(match found {
        Visit::Page(page) => {
            let signed = by.document(&Document::new(Body::Html(&page.html)))?;
            let (keyed, fetched) = (signed.keyed, Some(page.fetched));
            let score = Some(1.0 / web.popularity(index) as f64);
            let seen = Observation::new(page.url, &signed.signature);
            let seen = Observation { keyed, fetched, score, ..seen };
            Action::Observe(Box::new(seen))
        }
        Visit::Moved(to) => {
            let (from, to) = (web.page(index).url, web.page(to).url);
            Action::Redirect { from, to, fetched: None }
        }
        Visit::Gone => Action::Forget { url: web.page(index).url },
    })
}

/// A uniformly distributed number, the same in every run.
pub(crate) fn scatter(n: u64) -> u64 {
    crate::pages::scramble(n ^ 0x5eed)
}
