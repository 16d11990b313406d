//! A complete mapping: languages, each with its dictionary and cells, on one set of machines.
//!
//! Each language with enough sampled pages gets a dictionary and cells; all other pages share one part. Machines have
//! runs of the cells of all parts. Guarantees that a page is stored in one cell, and that a pair above tau is
//! compared if both keep to the bounds and have the same guessed language; [`quality`](super::quality) measures the
//! loss. Holds for Jaccard, not for the distance of fingerprints. Does no I/O: see [`to_toml`](Mapping::to_toml) and
//! [`from_toml`](Mapping::from_toml). Source: Zhu et al. 2012, 4.

use std::collections::BTreeMap;

use super::PartitionError;
use super::bounds::{Bounds, Deviations};
use super::dictionary::{Dictionary, LengthVector};
use super::features::PageFeatures;
use super::grid::{self, Cells, GridSettings, Runs};
use super::language::NO_LANGUAGE;

/// A language needs at least this many pages and this share of a sample for a part of its own.
const LEAST_PAGES: usize = 50;
const LEAST_SHARE: f64 = 0.01;
/// The largest widening factor that the paper tried.
pub const MOST_RHO: f64 = 1.3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MappingSettings {
    /// Lengths per page: 1 to 4.
    pub dimensions: usize,
    pub machines: u32,
    /// Pages below this similarity need not be compared.
    pub tau: f64,
    /// Factor that widens the length ranges. `None`: from the deviations that half of the sampled
    /// pages do not exceed, up to [`MOST_RHO`].
    pub rho: Option<f64>,
    /// Whether pages are split by language first.
    pub by_language: bool,
}

impl MappingSettings {
    /// Checks the settings, so that errors appear before pages are read.
    ///
    /// # Errors
    ///
    /// A value is out of range.
    pub fn check(&self) -> Result<(), PartitionError> {
        Dictionary::by_hash(self.dimensions)?;
        GridSettings::for_machines(self.machines)?;
        Bounds::new(self.tau, self.rho.unwrap_or(1.0)).map(drop)
    }
}

/// One part of a mapping: a language, or the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// ISO 639-1; [`NO_LANGUAGE`] for the rest.
    pub language: String,
    /// Number of sampled pages.
    pub pages: u64,
    pub dictionary: Dictionary,
    pub cells: Cells,
}

/// Assigns stored pages to cells and machines, and says where a new page must be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// The recipe of the words.
    recipe: String,
    bounds: Bounds,
    deviations: Deviations,
    parts: Vec<Part>,
    /// The number of each part's first cell.
    firsts: Vec<usize>,
    runs: Runs,
}

/// A page's part and lengths in a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Index in [`Mapping::parts`].
    pub part: u16,
    /// Its lengths in the dictionary of that part.
    pub lengths: LengthVector,
}

impl Mapping {
    /// Learns a mapping from a sample whose words are those of `recipe`.
    ///
    /// # Errors
    ///
    /// The sample is empty, or a setting is out of range.
    pub fn learn(
        sample: &[PageFeatures],
        recipe: &str,
        settings: &MappingSettings,
    ) -> Result<Self, PartitionError> {
        settings.check()?;
        let MappingSettings { dimensions, machines, tau, rho, by_language } = *settings;
        let mut by: BTreeMap<&str, Vec<&PageFeatures>> = BTreeMap::new();
        by.insert(NO_LANGUAGE, Vec::new());
        for page in sample {
            let language = if by_language { page.language } else { NO_LANGUAGE };
            by.entry(language).or_default().push(page);
        }
        let least = (LEAST_SHARE * sample.len() as f64).max(LEAST_PAGES as f64) as usize;
        let few =
            |(code, of): &(&&str, &Vec<&PageFeatures>)| **code != NO_LANGUAGE && of.len() < least;
        let rare: Vec<&str> = by.iter().filter(few).map(|(code, _)| *code).collect();
        for code in rare {
            let pages = by.remove(code).unwrap_or_default();
            by.entry(NO_LANGUAGE).or_default().extend(pages);
        }
        let mut dictionaries = Vec::new();
        let mut lengths: Vec<Vec<LengthVector>> = Vec::new();
        for pages in by.values() {
            let dictionary = Dictionary::balanced(dimensions, word_counts(pages))?;
            lengths.push(pages.iter().map(|page| dictionary.lengths(&page.words)).collect());
            dictionaries.push(dictionary);
        }
        let samples: Vec<&[LengthVector]> = lengths.iter().map(Vec::as_slice).collect();
        let (cells, runs) = grid::learn(&samples, dimensions, &GridSettings { machines, tau })?;
        let measured = by.values().zip(&lengths).flat_map(|(pages, lengths)| {
            pages.iter().zip(lengths).map(|(page, lengths)| (*lengths, page.shingles.len() as u32))
        });
        // If no sampled page has words in all dimensions, the deviations are unknown.
        let deviations =
            Deviations::sampled(measured, 0.5).unwrap_or(Deviations { epsilon: 0.0, delta: 0.0 });
        let bounds = Bounds::new(tau, rho.unwrap_or_else(|| deviations.rho().min(MOST_RHO)))?;
        let parts = by
            .iter()
            .zip(dictionaries)
            .zip(cells)
            .map(|(((language, pages), dictionary), cells)| Part {
                language: (*language).to_owned(),
                pages: pages.len() as u64,
                dictionary,
                cells,
            })
            .collect();
        Self::new(recipe.to_owned(), bounds, deviations, parts, runs)
    }

    /// Assembles a mapping.
    ///
    /// # Errors
    ///
    /// There is no part for the rest, a language occurs twice, or dimensions differ.
    pub fn new(
        recipe: String,
        bounds: Bounds,
        deviations: Deviations,
        parts: Vec<Part>,
        runs: Runs,
    ) -> Result<Self, PartitionError> {
        let sorted = parts.windows(2).all(|two| two[0].language < two[1].language);
        let Some(rest) = parts.first().filter(|part| part.language == NO_LANGUAGE && sorted) else {
            return Err(PartitionError::Languages);
        };
        let expected = rest.dictionary.dimensions();
        for part in &parts {
            for found in [part.dictionary.dimensions(), part.cells.intervals().len()] {
                if found != expected {
                    return Err(PartitionError::MixedDimensions { expected, found });
                }
            }
        }
        let firsts = parts
            .iter()
            .scan(0, |next, part| {
                let first = *next;
                *next += part.cells.count();
                Some(first)
            })
            .collect();
        Ok(Self { recipe, bounds, deviations, parts, firsts, runs })
    }

    /// The name of the recipe whose words are used.
    pub fn recipe(&self) -> &str {
        &self.recipe
    }

    /// The bounds on lengths of near-duplicates.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The deviations of the sample.
    pub fn deviations(&self) -> &Deviations {
        &self.deviations
    }

    /// The parts; the first one is the rest.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Number of lengths of a page.
    pub fn dimensions(&self) -> usize {
        self.parts.first().map_or(0, |part| part.dictionary.dimensions())
    }

    pub fn place(&self, page: &PageFeatures) -> Placed {
        let language = |part: &Part| part.language.as_str().cmp(page.language);
        let part = self.parts.binary_search_by(language).unwrap_or(0);
        let lengths = self.parts[part].dictionary.lengths(&page.words);
        Placed { part: part as u16, lengths }
    }

    /// One more than the highest cell number.
    pub fn cells(&self) -> usize {
        self.parts.iter().map(|part| part.cells.count()).sum()
    }

    pub fn cell(&self, page: &Placed) -> usize {
        let part = usize::from(page.part);
        self.firsts[part] + self.parts[part].cells.of(&page.lengths)
    }

    /// The cells that can contain near-duplicates of a page, ascending; includes the page's own.
    pub fn cells_near(&self, page: &Placed) -> Vec<usize> {
        let part = usize::from(page.part);
        let mut cells = self.parts[part].cells.near(&page.lengths, &self.bounds);
        cells.iter_mut().for_each(|cell| *cell += self.firsts[part]);
        cells
    }

    pub fn machine(&self, cell: usize) -> u32 {
        self.runs.machine(cell)
    }

    /// The machines of these cells, ascending and distinct.
    pub fn machines(&self, cells: &[usize]) -> Vec<u32> {
        let mut machines: Vec<u32> = cells.iter().map(|&cell| self.machine(cell)).collect();
        machines.sort_unstable();
        machines.dedup();
        machines
    }
}

/// Number of occurrences of each word.
fn word_counts(pages: &[&PageFeatures]) -> Vec<(u64, u64)> {
    let mut words: Vec<u64> = pages.iter().flat_map(|page| page.words.iter().copied()).collect();
    words.sort_unstable();
    words.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Pages of a few lengths in two languages and without one, with a Zipf-like distribution of
    /// words.
    pub(in super::super) fn pages(count: u64) -> Vec<PageFeatures> {
        let mix = |n: u64| {
            let mut z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        (0..count)
            .map(|page| {
                let language = ["en", "de", "en", ""][(mix(page) % 4) as usize];
                let length = 20 + mix(page ^ 0xabcd) % 400;
                let word = |n: u64| {
                    let dice = mix(page << 20 | n);
                    // Small numbers are frequent.
                    mix((dice % 1000 * (dice >> 20 & 1023) / 1000) << 8 | language.len() as u64)
                };
                let words: Vec<u64> = (0..length).map(word).collect();
                let mut shingles: Vec<u64> = words
                    .windows(3)
                    .map(|three| mix(three[0] ^ three[1].rotate_left(7) ^ three[2]))
                    .collect();
                shingles.sort_unstable();
                shingles.dedup();
                PageFeatures { language, words, shingles }
            })
            .collect()
    }

    pub(in super::super) fn settings(dimensions: usize, machines: u32) -> MappingSettings {
        MappingSettings { dimensions, machines, tau: 0.8, rho: None, by_language: true }
    }

    #[test]
    fn each_language_has_its_own_cells_and_all_share_machines() {
        let pages = pages(2000);
        for dimensions in 1..=3 {
            let mapping = Mapping::learn(&pages, "test", &settings(dimensions, 8)).unwrap();
            let languages: Vec<&str> =
                mapping.parts().iter().map(|part| part.language.as_str()).collect();
            assert_eq!(languages, ["", "de", "en"]);
            let mut on = vec![0; 8];
            for page in &pages {
                let placed = mapping.place(page);
                assert_eq!(mapping.parts()[usize::from(placed.part)].language, page.language);
                let (home, near) = (mapping.cell(&placed), mapping.cells_near(&placed));
                assert!(near.contains(&home) && home < mapping.cells());
                assert!(mapping.machines(&near).contains(&mapping.machine(home)));
                on[mapping.machine(home) as usize] += 1;
            }
            assert!(on.iter().all(|&pages| pages < 2000 / 4), "{on:?}");
            let rho = mapping.bounds().rho();
            assert!((1.0..=MOST_RHO).contains(&rho), "{rho}");
        }
    }

    #[test]
    fn a_language_with_few_pages_belongs_to_the_rest() {
        let mut pages = pages(400);
        pages[7].language = "fr";
        let mapping = Mapping::learn(&pages, "test", &settings(2, 4)).unwrap();
        assert!(mapping.parts().iter().all(|part| part.language != "fr"));
        assert_eq!(mapping.place(&pages[7]).part, 0);
        // So does a language that was not in the sample.
        let unrelated = PageFeatures { language: "ja", ..pages[0].clone() };
        assert_eq!(mapping.place(&unrelated).part, 0);
        let single = MappingSettings { by_language: false, ..settings(2, 4) };
        assert_eq!(Mapping::learn(&pages, "test", &single).unwrap().parts().len(), 1);
    }

    #[test]
    fn bad_settings_and_empty_samples_are_refused() {
        let pages = pages(60);
        assert_eq!(Mapping::learn(&[], "test", &settings(1, 4)), Err(PartitionError::NoSample));
        for bad in [
            settings(0, 4),
            settings(5, 4),
            settings(2, 0),
            MappingSettings { tau: 1.5, ..settings(2, 4) },
            MappingSettings { rho: Some(0.5), ..settings(2, 4) },
        ] {
            assert!(Mapping::learn(&pages, "test", &bad).is_err(), "{bad:?}");
        }
    }
}
