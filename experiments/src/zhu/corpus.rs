//! Pages for the experiments: lengths of millions of synthetic pages, features of real pages.

use std::num::NonZero;

use anyhow::{Context, Result};
use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax::page::{ExtractOptions, Extractor, Hints};
use hapax_corpus::{ReadOptions, Source};
use hapax_dedup::stages::featuring::Featuring;
use hapax_dedup::stages::signing::{AtHand, each};
use hapax_partition::{Dictionary, FeatureMaker, LengthVector, PageFeatures};
use hapax_synth::{
    EditKind, Language, LanguageMix, Length, Scratch, Visit, Web, WebOptions, Weighting,
};
use rayon::prelude::*;

use crate::bench::Bench;

/// The paper's recipe: sets of shingles.
pub(super) const RECIPE: &str = "zhu-shingles";
/// Sets of real pages, combined into one collection.
const SETS: [&str; 4] = ["web-uci", "debdocs", "phpdoc", "cjk-lohelp"];
/// Number of pages used to balance a dictionary.
const BALANCED_ON: u64 = 5_000;

/// A web in one language, as in the paper, whose lengths can be shifted.
pub(super) fn web(seed: u64, pages: u64, length: Length) -> Web {
    let mut options = WebOptions::new(seed, pages);
    options.languages = LanguageMix::only(Language::Latin);
    options.length = length;
    Web::new(options)
}

/// Dictionaries with one, two and three dimensions, balanced on the first pages of a web.
pub(super) fn dictionaries(web: &Web) -> Result<Vec<Dictionary>> {
    let mut words: Vec<(u64, u64)> = Vec::new();
    let (mut scratch, mut bag) = (Scratch::default(), Vec::new());
    for page in 0..BALANCED_ON.min(web.len()) {
        web.bag(page, Weighting::Frequency, &mut scratch, &mut bag);
        words.extend(bag.iter().map(|&(word, count)| (word, u64::from(count))));
    }
    words.sort_unstable();
    let counts: Vec<(u64, u64)> = words
        .chunk_by(|a, b| a.0 == b.0)
        .map(|run| (run[0].0, run.iter().map(|it| it.1).sum()))
        .collect();
    let made = (1..=3).map(|dimensions| Dictionary::balanced(dimensions, counts.clone()));
    made.map(|it| it.context("cannot balance a dictionary")).collect()
}

/// The lengths of all pages of a web, for each dictionary. Skips exact copies: the paper assumes
/// that they were removed before, and hundreds of them would overload one machine in any mapping.
pub(super) fn lengths(web: &Web, dictionaries: &[Dictionary]) -> Result<Vec<Vec<LengthVector>>> {
    let pages: Result<Vec<Vec<LengthVector>>> = (0..web.len() as usize)
        .into_par_iter()
        .with_min_len(1024)
        .filter(|&page| !same_words(web.truth(page as u64).kind))
        .map_init(
            || (Scratch::default(), Vec::new()),
            |(scratch, bag), page| {
                web.bag(page as u64, Weighting::Frequency, scratch, bag);
                let of = |dictionary: &Dictionary| {
                    let mut lengths = vec![0u32; dictionary.dimensions()];
                    for &(word, count) in bag.iter() {
                        lengths[usize::from(dictionary.dimension(word))] += count;
                    }
                    LengthVector::new(&lengths).context("a page without dimensions")
                };
                dictionaries.iter().map(of).collect()
            },
        )
        .collect();
    let pages = pages?;
    Ok((0..dictionaries.len()).map(|at| pages.iter().map(|page| page[at]).collect()).collect())
}

/// Whether a copy has all words of its original, possibly in other places.
fn same_words(kind: EditKind) -> bool {
    use EditKind::{Exact, OtherTemplate, ParagraphMoved, Refreshed};
    matches!(kind, Exact | Refreshed | OtherTemplate | ParagraphMoved)
}

/// The features of all available real pages; `None` without any.
pub(super) fn real(bench: &Bench<'_>) -> Result<Option<(Vec<PageFeatures>, String)>> {
    let recipe = Recipe::built_in(RECIPE)?;
    let by = Fingerprinter::new(recipe, None)?;
    let featuring = Featuring::new(&by)?;
    let threads = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let (mut pages, mut names) = (Vec::new(), Vec::new());
    for name in SETS {
        let Some(path) = bench.set(name) else { continue };
        bench.say(format!("  reading {name}"));
        let source = Source::open(&[path.display().to_string()], ReadOptions::default())?;
        let features = |at_hand: AtHand<'_>| featuring.of(at_hand).features;
        each(&source, &by, threads, features, |page| {
            let page = page.map_err(|bad| bad.error)?;
            if !page.words.is_empty() {
                pages.push(page);
            }
            anyhow::Ok(())
        })?;
        names.push(name);
    }
    Ok((!pages.is_empty()).then(|| (pages, names.join(", "))))
}

/// Computes features of synthetic pages some weeks later.
pub(super) struct Revisits<'w> {
    web: &'w Web,
    extractor: Extractor,
    maker: FeatureMaker,
}

impl<'w> Revisits<'w> {
    pub(super) fn new(web: &'w Web) -> Result<Self> {
        let maker = FeatureMaker::new(&Recipe::built_in(RECIPE)?)?;
        Ok(Self { web, extractor: Extractor::new(ExtractOptions::default()), maker })
    }

    /// `None` if the page is deleted or redirects.
    pub(super) fn features(&mut self, page: u64, week: u32) -> Result<Option<PageFeatures>> {
        let Visit::Page(page) = self.web.revisit(page, week) else { return Ok(None) };
        let purified = self.extractor.extract_html(&page.html, &Hints::default())?;
        Ok(Some(self.maker.features(&purified.text)))
    }
}
