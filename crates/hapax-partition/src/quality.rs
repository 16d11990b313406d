//! Measures a mapping.
//!
//! *Imbalance* is the number of pages on the fullest machine divided by the average. *Avoided* is the share of
//! messages saved, compared with sending every new page to every other machine. *Work* counts comparisons cell by
//! cell; the slowest machine decides. *Recall* is the share of known pairs whose stored page is in a cell that the
//! new page is sent to.
//!
//! Source: Zhu et al. 2012, 6.1, Figures 4 to 6.

use super::bounds::Bounds;
use super::dictionary::LengthVector;
use super::grid::Grid;
use super::mapping::{Mapping, Placed};

/// Assigns pages to cells and cells to machines.
pub trait Layout {
    /// What the layout knows of a page.
    type Page;

    /// One more than the highest cell number.
    fn cells(&self) -> usize;
    fn machines(&self) -> u32;
    fn machine(&self, cell: usize) -> u32;
    /// The cell that stores a page.
    fn home(&self, page: &Self::Page) -> usize;
    /// The cells that a new page is sent to; includes its home.
    fn visits(&self, page: &Self::Page) -> Vec<usize>;
}

impl Layout for (&Grid, &Bounds) {
    type Page = LengthVector;

    fn cells(&self) -> usize {
        self.0.cells().count()
    }

    fn machines(&self) -> u32 {
        self.0.runs().machines()
    }

    fn machine(&self, cell: usize) -> u32 {
        self.0.runs().machine(cell)
    }

    fn home(&self, page: &LengthVector) -> usize {
        self.0.cells().of(page)
    }

    fn visits(&self, page: &LengthVector) -> Vec<usize> {
        self.0.cells().near(page, self.1)
    }
}

impl Layout for Mapping {
    type Page = Placed;

    fn cells(&self) -> usize {
        self.cells()
    }

    fn machines(&self) -> u32 {
        self.runs().machines()
    }

    fn machine(&self, cell: usize) -> u32 {
        self.machine(cell)
    }

    fn home(&self, page: &Placed) -> usize {
        self.cell(page)
    }

    fn visits(&self, page: &Placed) -> Vec<usize> {
        self.cells_near(page)
    }
}

/// Measured properties of a layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Pages of the fullest machine divided by the average; 1 is best.
    pub imbalance: f64,
    /// Share of messages to other machines that is saved; 1 with one machine.
    pub avoided: f64,
    /// Share of known pairs that are compared; 1 without known pairs.
    pub recall: f64,
    /// Comparisons without a mapping: every new page with every stored one.
    pub all: u64,
    /// Comparisons on all machines.
    pub work: u64,
    /// Comparisons on the machine with the most.
    pub slowest: u64,
}

impl Quality {
    /// Speed relative to one machine that compares with all stored pages.
    pub fn speed_up(&self) -> f64 {
        if self.slowest == 0 { 1.0 } else { self.all as f64 / self.slowest as f64 }
    }
}

/// Pages of the fullest machine divided by the average.
pub fn imbalance<L: Layout>(layout: &L, stored: &[L::Page]) -> f64 {
    let mut on = vec![0u64; layout.machines() as usize];
    for page in stored {
        on[layout.machine(layout.home(page)) as usize] += 1;
    }
    let fullest = on.iter().max().copied().unwrap_or(0);
    if stored.is_empty() { 1.0 } else { fullest as f64 * on.len() as f64 / stored.len() as f64 }
}

/// Measures a layout with stored pages, new pages, and known pairs of near-duplicates (positions of
/// the new and the stored page).
pub fn measure<L: Layout>(
    layout: &L,
    stored: &[L::Page],
    new: &[L::Page],
    pairs: &[(u32, u32)],
) -> Quality {
    let mut in_cell = vec![0u64; layout.cells()];
    let homes: Vec<usize> = stored.iter().map(|page| layout.home(page)).collect();
    for &cell in &homes {
        in_cell[cell] += 1;
    }
    let machines = layout.machines() as usize;
    let mut work_on = vec![0u64; machines];
    let mut sent = 0u64;
    for page in new {
        let mut visited = Vec::new();
        for cell in layout.visits(page) {
            let machine = layout.machine(cell);
            work_on[machine as usize] += in_cell[cell];
            visited.push(machine);
        }
        visited.sort_unstable();
        visited.dedup();
        sent += (visited.len() as u64).saturating_sub(1);
    }
    let is_compared = |&&(a, b): &&(u32, u32)| match (new.get(a as usize), homes.get(b as usize)) {
        (Some(page), Some(cell)) => layout.visits(page).contains(cell),
        _ => false,
    };
    let possible = new.len() as u64 * (machines as u64 - 1);
    let ratio = |part: f64, whole: f64, empty: f64| if whole > 0.0 { part / whole } else { empty };
    Quality {
        imbalance: imbalance(layout, stored),
        avoided: ratio((possible - sent) as f64, possible as f64, 1.0),
        recall: ratio(pairs.iter().filter(is_compared).count() as f64, pairs.len() as f64, 1.0),
        all: new.len() as u64 * stored.len() as u64,
        work: work_on.iter().sum(),
        slowest: work_on.iter().max().copied().unwrap_or(0),
    }
}

/// Standard deviation divided by the mean, for a complete population; 0 for an empty one.
pub fn coefficient_of_variation(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    if mean == 0.0 { 0.0 } else { variance.sqrt() / mean }
}

#[cfg(test)]
mod tests {
    use super::super::grid::GridSettings;
    use super::*;

    fn page(length: u32) -> LengthVector {
        LengthVector::new(&[length]).unwrap()
    }

    #[test]
    fn two_machines_with_short_and_long_pages_exchange_no_messages() {
        let stored: Vec<LengthVector> =
            [10, 10, 11, 11, 1000, 1300].into_iter().map(page).collect();
        let grid = Grid::learn(&stored, &GridSettings::for_machines(2).unwrap()).unwrap();
        let bounds = Bounds::new(0.8, 1.0).unwrap();
        let new = [page(10), page(1300)];
        let quality = measure(&(&grid, &bounds), &stored, &new, &[(0, 0), (1, 4), (0, 5)]);
        assert!((quality.imbalance - 4.0 / 3.0).abs() < 1e-12);
        assert!((quality.avoided - 1.0).abs() < 1e-12);
        assert!((quality.recall - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!((quality.all, quality.work, quality.slowest), (12, 6, 4));
        assert!((quality.speed_up() - 3.0).abs() < 1e-12);
    }

    #[test]
    fn one_machine_is_balanced_and_sends_no_messages() {
        let stored = [page(3), page(900)];
        let grid = Grid::learn(&stored, &GridSettings::for_machines(1).unwrap()).unwrap();
        let bounds = Bounds::new(0.9, 1.0).unwrap();
        let quality = measure(&(&grid, &bounds), &stored, &stored, &[]);
        assert_eq!((quality.imbalance, quality.avoided, quality.recall), (1.0, 1.0, 1.0));
    }

    #[test]
    fn variation_is_relative_to_the_mean() {
        assert_eq!(coefficient_of_variation(&[]), 0.0);
        assert_eq!(coefficient_of_variation(&[2.0, 2.0]), 0.0);
        assert!((coefficient_of_variation(&[1.0, 3.0]) - 0.5).abs() < 1e-12);
    }
}
