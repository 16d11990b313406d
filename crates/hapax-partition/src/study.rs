//! Compares many mappings of one collection, to choose one.
//!
//! Every second page is learned from; of the others some are new and the rest stored. True pairs come from exact
//! Jaccard similarity without partitioning, and a mapping's loss is the share it misses. A changing collection is
//! imitated by cutting the stored pages into parts in their order and comparing the imbalance of the parts.
//!
//! Source: Zhu et al. 2012, 6.1.

use super::PartitionError;
use super::compare::Shelf;
use super::dictionary::LengthVector;
use super::features::PageFeatures;
use super::mapping::{Mapping, MappingSettings, Placed};
use super::quality::{Quality, coefficient_of_variation, imbalance, measure};

#[derive(Clone, Debug, PartialEq)]
pub struct StudySettings {
    pub dimensions: Vec<usize>,
    pub machines: Vec<u32>,
    /// Pages less similar than this need not be compared.
    pub tau: f64,
    /// As in [`MappingSettings`].
    pub rho: Option<f64>,
    /// Are pages split by language first?
    pub by_language: bool,
    /// Pages that count as new, at most.
    pub new: usize,
    /// Parts that stand for a changing collection.
    pub parts: usize,
}

/// One mapping that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Lengths of a page.
    pub dimensions: usize,
    pub machines: u32,
    /// By how much ranges were enlarged.
    pub rho: f64,
    /// Cells of the mapping.
    pub cells: usize,
    pub quality: Quality,
    /// The coefficient of variation of the imbalance over parts of the collection.
    pub variation: f64,
}

/// All that were tried, and on what.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Pages that were learnt from.
    pub sample: usize,
    pub stored: usize,
    pub new: usize,
    /// Pairs of a new and a stored page that are alike.
    pub pairs: usize,
    /// Languages and the pages of the sample in each.
    pub languages: Vec<(String, u64)>,
    /// Dimensions by dimensions, machines by machines.
    pub trials: Vec<Trial>,
}

/// Tries all. `watch` is called with the share of the work that is done, from 0 to 1.
///
/// # Errors
///
/// There are too few pages, or a setting is out of range.
pub fn study(
    pages: &[PageFeatures],
    settings: &StudySettings,
    watch: &mut dyn FnMut(f64),
) -> Result<Study, PartitionError> {
    let of = |remainder: usize| {
        pages.iter().enumerate().filter(move |(at, _)| at % 2 == remainder).map(|(_, page)| page)
    };
    let sample: Vec<PageFeatures> = of(0).cloned().collect();
    let others: Vec<&PageFeatures> = of(1).collect();
    // New pages come from everywhere.
    let every = (others.len() / settings.new.max(1)).max(2);
    let (new, stored): (Vec<_>, Vec<_>) =
        others.into_iter().enumerate().partition(|(at, _)| at % every == every - 1);
    let new: Vec<&PageFeatures> =
        new.into_iter().map(|(_, page)| page).take(settings.new).collect();
    let stored: Vec<&PageFeatures> = stored.into_iter().map(|(_, page)| page).collect();
    if new.is_empty() || stored.is_empty() {
        return Err(PartitionError::NoSample);
    }
    let pairs = alike(&new, &stored, settings.tau, &mut |share| watch(0.5 * share))?;
    let mut study = Study {
        sample: sample.len(),
        stored: stored.len(),
        new: new.len(),
        pairs: pairs.len(),
        languages: Vec::new(),
        trials: Vec::new(),
    };
    let all = (settings.dimensions.len() * settings.machines.len()).max(1) as f64;
    for &dimensions in &settings.dimensions {
        for &machines in &settings.machines {
            let StudySettings { tau, rho, by_language, .. } = *settings;
            let how = MappingSettings { dimensions, machines, tau, rho, by_language };
            let mapping = Mapping::learn(&sample, "", &how)?;
            let place = |pages: &[&PageFeatures]| -> Vec<Placed> {
                pages.iter().map(|page| mapping.place(page)).collect()
            };
            let (placed, asking) = (place(&stored), place(&new));
            let part = placed.len().div_ceil(settings.parts.max(1)).max(1);
            let imbalances: Vec<f64> =
                placed.chunks(part).map(|part| imbalance(&mapping, part)).collect();
            study.trials.push(Trial {
                dimensions,
                machines,
                rho: mapping.bounds().rho(),
                cells: mapping.cells(),
                quality: measure(&mapping, &placed, &asking, &pairs),
                variation: coefficient_of_variation(&imbalances),
            });
            if study.languages.is_empty() {
                let parts = mapping.parts().iter();
                study.languages = parts.map(|it| (it.language.clone(), it.pages)).collect();
            }
            watch(0.5 + 0.5 * study.trials.len() as f64 / all);
        }
    }
    Ok(study)
}

/// All pairs of a new and a stored page that are at least so much alike, by exact comparison with
/// everything.
///
/// # Errors
///
/// The similarity is out of range.
pub fn alike(
    new: &[&PageFeatures],
    stored: &[&PageFeatures],
    tau: f64,
    watch: &mut dyn FnMut(f64),
) -> Result<Vec<(u32, u32)>, PartitionError> {
    let nowhere = LengthVector::new(&[0])?;
    let pages =
        stored.iter().enumerate().map(|(id, page)| (nowhere, id as u32, page.shingles.clone()));
    let shelf = Shelf::new(pages, tau)?;
    let mut pairs = Vec::new();
    let mut found = Vec::new();
    for (number, page) in new.iter().enumerate() {
        found.clear();
        shelf.compare(&nowhere, &page.shingles, None, &mut found);
        pairs.extend(found.iter().map(|it| (number as u32, it.id)));
        if number % 64 == 63 {
            watch(number as f64 / new.len() as f64);
        }
    }
    pairs.sort_unstable();
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::super::mapping::tests::pages;
    use super::*;

    #[test]
    fn a_study_tries_everything_that_was_asked_for() {
        // Copies lie one apart, so that one is stored and the other one new or learnt from.
        let mut pages = pages(1200);
        for at in (0..1200).step_by(5) {
            if at + 14 < 1200 {
                pages[at + 14] = pages[at].clone();
            }
        }
        let settings = StudySettings {
            dimensions: vec![1, 3],
            machines: vec![2, 16],
            tau: 0.8,
            rho: Some(1.1),
            by_language: true,
            new: 100,
            parts: 5,
        };
        let mut shares = Vec::new();
        let study = study(&pages, &settings, &mut |share| shares.push(share)).unwrap();
        assert_eq!((study.sample, study.new + study.stored), (600, 600));
        assert_eq!(study.trials.len(), 4);
        assert!(study.pairs > 0);
        for trial in &study.trials {
            let Quality { imbalance, avoided, found, .. } = trial.quality;
            assert!(imbalance >= 1.0 && (0.0..=1.0).contains(&avoided));
            // Copies are in the same place.
            assert!((found - 1.0).abs() < 1e-12, "{trial:?}");
            assert!(trial.variation >= 0.0);
        }
        assert_eq!(shares.last(), Some(&1.0));
        assert!(shares.windows(2).all(|two| two[0] <= two[1]));
    }

    #[test]
    fn pairs_are_those_of_the_definition() {
        let pages = pages(60);
        let (new, stored): (Vec<&PageFeatures>, Vec<&PageFeatures>) =
            (pages[..20].iter().collect(), pages[10..].iter().collect());
        let pairs = alike(&new, &stored, 0.9, &mut |_| ()).unwrap();
        // The ten that are on both sides, and nobody else.
        let expected: Vec<(u32, u32)> = (10..20).map(|at| (at, at - 10)).collect();
        assert_eq!(pairs, expected);
    }

    #[test]
    fn two_pages_are_too_few() {
        let settings = StudySettings {
            dimensions: vec![1],
            machines: vec![2],
            tau: 0.8,
            rho: None,
            by_language: false,
            new: 10,
            parts: 10,
        };
        assert_eq!(study(&pages(2), &settings, &mut |_| ()), Err(PartitionError::NoSample));
    }
}
