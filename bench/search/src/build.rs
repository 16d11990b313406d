//! Builds an index of corpora with the library.

use crate::arguments::Arguments;
use anyhow::Context;
use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax::page::{ExtractOptions, Extractor, Hints};
use hapax_corpus::{Content, Kind, ReadOptions, Source};
use hapax_search::SearchPage;
use hapax_search::rank::scores::Scores;
use hapax_search::tantivy::{Writer, WriterOptions};
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Instant;

pub(crate) fn run(mut arguments: Arguments) -> anyhow::Result<()> {
    let scores: Option<PathBuf> = arguments.given("scores")?;
    let out: PathBuf = arguments.needed("out")?;
    let inputs = arguments.done()?;

    let started = Instant::now();
    let scores = scores.as_deref().map(Scores::read).transpose()?.unwrap_or_default();
    let recipe = Recipe::built_in("web-2").context("there is no recipe web-2")?;
    let fingerprinter = Fingerprinter::new(recipe, None)?;
    let options =
        ExtractOptions { extent: fingerprinter.recipe().extent, ..ExtractOptions::default() };
    let source = Source::open(&inputs, ReadOptions::default())?;
    let writing = WriterOptions { threads: 2, memory: 512 << 20 };
    let mut writer = Writer::create(&out, fingerprinter.recipe_id().clone(), writing)?;
    let (mut pages, mut scored) = (0u64, 0u64);
    let threads = NonZero::new(2).context("two is not zero")?;
    source.in_order(
        threads,
        |mut batch| -> anyhow::Result<Vec<SearchPage>> {
            let mut extractor = Extractor::new(options.clone());
            let mut fingerprinter = fingerprinter.clone();
            let mut pages = Vec::new();
            for document in batch.documents() {
                let document = document?;
                let url = document.url.as_deref();
                let hints = Hints { content_type: document.content_type.as_deref(), url };
                let page = match (&document.body.content, document.body.kind) {
                    (Content::Str(text), Kind::Html) => extractor.extract_html(text, &hints)?,
                    (Content::Str(text), _) => extractor.extract_text(text)?,
                    (Content::Bytes(bytes), _) => extractor.extract(bytes, &hints)?,
                };
                let signature = fingerprinter.extracted(page);
                // Ids of several corpora may collide; addresses do not.
                let name = url.unwrap_or(&document.id);
                pages.push(SearchPage {
                    url: url.unwrap_or_default().to_owned(),
                    title: page.title.clone().unwrap_or_default(),
                    language: page.language.clone().unwrap_or_default(),
                    ..SearchPage::new(name, page.text.as_str(), &signature)
                });
            }
            Ok(pages)
        },
        |batch| {
            for mut page in batch? {
                page.score = scores.get(&page.url, &page.name);
                pages += 1;
                scored += u64::from(page.score.is_some());
                writer.put(&page)?;
            }
            anyhow::Ok(())
        },
    )?;
    writer.finish()?;
    println!(
        "{pages} pages indexed in {:.1} s, {scored} with a score",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}
