//! Compares many mappings of one collection, to choose one.
//!
//! Every second page trains the mappings; of the others some are new and the rest stored. True pairs come from exact
//! Jaccard similarity without partitioning, and a mapping's loss is the share that it misses. To imitate a changing
//! collection, the stored pages are cut into parts in their order, and the imbalance of the parts is compared.
//!
//! Source: Zhu et al. 2012, 6.1.

use super::PartitionError;
use super::compare::StoredPages;
use super::dictionary::LengthVector;
use super::features::PageFeatures;
use super::mapping::{Mapping, MappingSettings, Placed};
use super::quality::{Quality, coefficient_of_variation, imbalance, measure};

#[derive(Clone, Debug, PartialEq)]
pub struct StudySettings {
    pub dimensions: Vec<usize>,
    pub machines: Vec<u32>,
    /// Pages below this similarity need not be compared.
    pub tau: f64,
    /// As in [`MappingSettings`].
    pub rho: Option<f64>,
    /// Whether pages are split by language first.
    pub by_language: bool,
    /// Maximum number of pages that count as new.
    pub new: usize,
    /// Number of parts that imitate a changing collection.
    pub parts: usize,
}

/// The results of one mapping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Lengths per page.
    pub dimensions: usize,
    pub machines: u32,
    /// Factor by which length ranges were widened.
    pub rho: f64,
    pub cells: usize,
    pub quality: Quality,
    /// Coefficient of variation of the imbalance over parts of the collection.
    pub variation: f64,
}

/// All trials and the pages they used.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Number of pages that mappings were learned from.
    pub sample: usize,
    pub stored: usize,
    pub new: usize,
    /// Number of similar pairs of a new and a stored page.
    pub pairs: usize,
    /// Languages with their number of sampled pages.
    pub languages: Vec<(String, u64)>,
    /// For each number of dimensions, all numbers of machines.
    pub trials: Vec<Trial>,
}

/// Tries all mappings. Calls `watch` with the share of the work that is done, from 0 to 1.
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
    // New pages are spread evenly over the collection.
    let every = (others.len() / settings.new.max(1)).max(2);
    let (new, stored): (Vec<_>, Vec<_>) =
        others.into_iter().enumerate().partition(|(at, _)| at % every == every - 1);
    let new: Vec<&PageFeatures> =
        new.into_iter().map(|(_, page)| page).take(settings.new).collect();
    let stored: Vec<&PageFeatures> = stored.into_iter().map(|(_, page)| page).collect();
    if new.is_empty() || stored.is_empty() {
        return Err(PartitionError::NoSample);
    }
    let pairs = similar_pairs(&new, &stored, settings.tau, &mut |share| watch(0.5 * share))?;
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

/// All pairs of a new and a stored page with a similarity of at least `tau`, by exact comparison of
/// every pair.
///
/// # Errors
///
/// `tau` is out of range.
pub fn similar_pairs(
    new: &[&PageFeatures],
    stored: &[&PageFeatures],
    tau: f64,
    watch: &mut dyn FnMut(f64),
) -> Result<Vec<(u32, u32)>, PartitionError> {
    let no_lengths = LengthVector::new(&[0])?;
    let pages =
        stored.iter().enumerate().map(|(id, page)| (no_lengths, id as u32, page.shingles.clone()));
    let stored_pages = StoredPages::new(pages, tau)?;
    let mut pairs = Vec::new();
    let mut matches = Vec::new();
    for (number, page) in new.iter().enumerate() {
        matches.clear();
        stored_pages.compare(&no_lengths, &page.shingles, None, &mut matches);
        pairs.extend(matches.iter().map(|it| (number as u32, it.id)));
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
    fn a_study_tries_all_settings() {
        // Copies are adjacent, so one is stored and the other is new or trains the mapping.
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
            let Quality { imbalance, avoided, recall, .. } = trial.quality;
            assert!(imbalance >= 1.0 && (0.0..=1.0).contains(&avoided));
            // Copies are in the same cell.
            assert!((recall - 1.0).abs() < 1e-12, "{trial:?}");
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
        let pairs = similar_pairs(&new, &stored, 0.9, &mut |_| ()).unwrap();
        // Exactly the ten pages on both sides.
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
