//! Real pages for experiments: the 165 bundled pages, and sets from the bench's folder.
//!
//! Always reads `examples/docs`, so that everybody can run every experiment; a folder of pages adds its sets. Large
//! sets are sampled evenly.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result};
use hapax::page::{Hints, decoded};
use hapax_corpus::{Content, Kind, ReadOptions, Source};

use crate::bench::Bench;

/// The bundled pages.
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/docs");

/// Names of possible sets in a folder of pages.
const SETS: [&str; 4] = ["debdocs", "web-uci", "phpdoc", "cjk-lohelp"];

#[derive(Clone, Debug)]
pub(crate) struct RealSet {
    pub(crate) name: String,
    /// The sampled pages.
    pub(crate) pages: Vec<RealPage>,
}

#[derive(Clone, Debug)]
pub(crate) struct RealPage {
    /// Its address, or its name if it has none.
    pub(crate) url: String,
    /// Decoded.
    pub(crate) html: String,
}

/// The examples and the sets of the bench's folder, each with at most `most` pages.
///
/// # Errors
///
/// An existing set cannot be read.
pub(crate) fn real_sets(bench: &Bench<'_>, most: usize) -> Result<Vec<RealSet>> {
    let mut sets = vec![read("examples", Path::new(EXAMPLES), most)?];
    for name in SETS {
        if let Some(path) = bench.set(name) {
            bench.say(format!("  reading {name}"));
            sets.push(read(name, &path, most)?);
        }
    }
    Ok(sets)
}

/// All of `0..count` in order, or `most` of them evenly spaced.
pub(crate) fn sampled(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |at| at * count / taken.max(1))
}

fn read(name: &str, path: &Path, most: usize) -> Result<RealSet> {
    let shown = path.display();
    let input = path.to_str().with_context(|| format!("{shown} is no Unicode"))?;
    let source = Source::open(&[input], ReadOptions::default())
        .with_context(|| format!("cannot read {shown}"))?;
    let mut pages = Vec::new();
    for mut batch in source.batches() {
        for document in batch.documents() {
            let document = document.with_context(|| format!("cannot read {shown}"))?;
            let url = document.url.as_deref().unwrap_or(&document.id).to_owned();
            let html: Cow<'_, str> = match (&document.body.content, document.body.kind) {
                (_, Kind::Other) => continue,
                (Content::Str(text), _) => Cow::Borrowed(text),
                (Content::Bytes(bytes), _) => {
                    let hints = Hints { content_type: document.content_type.as_deref(), url: None };
                    decoded(bytes, &hints).with_context(|| format!("cannot decode {url}"))?.1
                }
            };
            pages.push(RealPage { url, html: html.into_owned() });
        }
    }
    let count = pages.len();
    let mut pages: Vec<Option<RealPage>> = pages.into_iter().map(Some).collect();
    let pages = sampled(count, most).filter_map(|at| pages[at].take()).collect();
    Ok(RealSet { name: name.to_owned(), pages })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_sampled_evenly() {
        assert_eq!(sampled(10, 4).collect::<Vec<_>>(), [0, 2, 5, 7]);
        assert_eq!(sampled(3, 9).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(sampled(0, 9).count(), 0);
    }

    #[test]
    fn the_examples_exist_and_contain_tags() {
        let examples = read("examples", Path::new(EXAMPLES), 20).unwrap();
        assert_eq!(examples.pages.len(), 20);
        let all = read("examples", Path::new(EXAMPLES), usize::MAX).unwrap();
        assert_eq!(all.pages.len(), 165);
        assert!(examples.pages.iter().all(|page| page.html.contains('<')));
    }
}
