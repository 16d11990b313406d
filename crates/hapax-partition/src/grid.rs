//! Cells of length vectors, and their assignment to machines.
//!
//! Each dimension is cut into intervals ([`slicing`]); a cell is one interval of each. Neighbouring cells have close
//! numbers, and every machine has a run of cells, cut so that the maximum load is minimal. Lengths of a page are
//! similar in all dimensions, so most cells are empty; intervals are narrowed until the sample is balanced or the
//! threshold allows no finer ones. Assigning cells individually would balance slightly better, but cost three times
//! the messages. Source: Zhu et al. 2012, 4.1 and 4.3; the number of intervals and the runs are ours.
//!
//! ```text
//!   length 2 |  8  9 | 10 11     12 cells, 3 machines:
//!            |-------+------     0 1 2 3 4 | 5 6 7 | 8 9 10 11
//!            |  4  5 |  6  7
//!            |  0  1 |  2  3     few pages are far from the diagonal
//!            +--------------- length 1
//! ```

use super::PartitionError;
use super::bounds::Bounds;
use super::dictionary::LengthVector;
use super::slicing::{self, Lengths};

pub const MOST_MACHINES: u32 = 1 << 16;
/// Limited because all cells are counted when a grid is learned.
pub const MOST_CELLS: usize = 1 << 22;
/// Stops narrowing when the fullest machine has at most this many times the average.
const BALANCED: f64 = 1.05;

/// Settings for learning a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridSettings {
    pub machines: u32,
    /// Pages below this similarity need not be compared; sets the width of fine intervals.
    pub tau: f64,
}

/// The default threshold of fine intervals.
pub const DEFAULT_TAU: f64 = 0.8;

impl GridSettings {
    /// The defaults for this number of machines.
    ///
    /// # Errors
    ///
    /// `machines` is not in 1 to [`MOST_MACHINES`].
    pub fn for_machines(machines: u32) -> Result<Self, PartitionError> {
        let settings = Self { machines, tau: DEFAULT_TAU };
        settings.check().map(|()| settings)
    }

    fn check(&self) -> Result<(), PartitionError> {
        Bounds::new(self.tau, 1.0)?;
        match self.machines {
            1..=MOST_MACHINES => Ok(()),
            given => Err(PartitionError::Machines { given, most: MOST_MACHINES }),
        }
    }
}

/// Length vectors divided into cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Left ends of the intervals, per dimension.
    ends: Vec<Vec<u32>>,
}

impl Cells {
    /// From the left ends of the intervals, per dimension.
    ///
    /// # Errors
    ///
    /// There are no dimensions or too many, too many cells, or ends that do not start at 0 and
    /// ascend.
    pub fn new(ends: Vec<Vec<u32>>) -> Result<Self, PartitionError> {
        LengthVector::new(&vec![0; ends.len()])?;
        let ascend = |ends: &Vec<u32>| {
            ends.first() == Some(&0) && ends.windows(2).all(|two| two[0] < two[1])
        };
        if let Some(dimension) = ends.iter().position(|ends| !ascend(ends)) {
            return Err(PartitionError::Ends { dimension });
        }
        let cells = ends.iter().fold(1usize, |cells, ends| cells.saturating_mul(ends.len()));
        match cells <= MOST_CELLS {
            true => Ok(Self { ends }),
            false => Err(PartitionError::Cells { given: cells, most: MOST_CELLS }),
        }
    }

    pub fn count(&self) -> usize {
        self.ends.iter().map(Vec::len).product()
    }

    /// The left ends of the intervals, per dimension.
    pub fn intervals(&self) -> &[Vec<u32>] {
        &self.ends
    }

    /// The cell of a page. Lengths missing at the end count as 0.
    pub fn of(&self, page: &LengthVector) -> usize {
        let lengths = page.lengths().iter().copied().chain(std::iter::repeat(0));
        self.ends
            .iter()
            .zip(lengths)
            .fold(0, |cell, (ends, length)| cell * ends.len() + slicing::interval(ends, length))
    }

    /// The cells that can contain near-duplicates of a page, ascending; includes the page's own.
    pub fn near(&self, page: &LengthVector, bounds: &Bounds) -> Vec<usize> {
        let lengths = page.lengths().iter().copied().chain(std::iter::repeat(0));
        let mut cells = vec![0];
        for (ends, length) in self.ends.iter().zip(lengths) {
            let (from, to) = bounds.range(length);
            let met = slicing::interval(ends, from)..=slicing::interval(ends, to);
            cells = cells
                .iter()
                .flat_map(|cell| met.clone().map(move |interval| cell * ends.len() + interval))
                .collect();
        }
        cells
    }
}

/// The run of cells of each machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// The first cell of each machine except the first machine. A machine whose run starts where
    /// the next one's does has no cells.
    starts: Vec<usize>,
}

impl Runs {
    /// From the first cells of all machines except the first.
    ///
    /// # Errors
    ///
    /// They do not ascend, or there are too many machines.
    pub fn new(starts: Vec<usize>) -> Result<Self, PartitionError> {
        let machines = u32::try_from(starts.len()).unwrap_or(u32::MAX).saturating_add(1);
        GridSettings::for_machines(machines)?;
        match starts.windows(2).all(|two| two[0] <= two[1]) {
            true => Ok(Self { starts }),
            false => Err(PartitionError::Runs),
        }
    }

    /// Cuts cells with these page counts into runs that minimize the maximum load of a machine.
    pub fn balanced(pages: &[u64], machines: u32) -> Self {
        let fullest = pages.iter().max().copied().unwrap_or(0);
        let (mut least, mut enough) = (fullest, pages.iter().sum::<u64>());
        while least < enough {
            let middle = least + (enough - least) / 2;
            match runs_of(pages, middle).len() < machines as usize {
                true => enough = middle,
                false => least = middle + 1,
            }
        }
        let mut starts = runs_of(pages, enough);
        // Unused machines get empty runs.
        starts.resize(machines as usize - 1, pages.len());
        Self { starts }
    }

    pub fn machines(&self) -> u32 {
        self.starts.len() as u32 + 1
    }

    pub fn machine(&self, cell: usize) -> u32 {
        self.starts.partition_point(|&start| start <= cell) as u32
    }

    /// The first cells of all machines except the first.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Pages of the fullest machine divided by the average.
    fn imbalance(&self, pages: &[u64]) -> f64 {
        let mut on = vec![0u64; self.machines() as usize];
        for (cell, pages) in pages.iter().enumerate() {
            on[self.machine(cell) as usize] += pages;
        }
        let all: u64 = on.iter().sum();
        let fullest = on.iter().max().copied().unwrap_or(0);
        fullest as f64 * on.len() as f64 / (all as f64).max(1.0)
    }
}

/// The starts of runs, except the first, such that no run has more than `most` pages.
fn runs_of(pages: &[u64], most: u64) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut run = 0u64;
    for (cell, &pages) in pages.iter().enumerate() {
        if run + pages > most && run > 0 {
            starts.push(cell);
            run = 0;
        }
        run += pages;
    }
    starts
}

/// Learns cells for each of several kinds of pages, and runs over the cells of all kinds.
pub(super) fn learn(
    samples: &[&[LengthVector]],
    dimensions: usize,
    settings: &GridSettings,
) -> Result<(Vec<Cells>, Runs), PartitionError> {
    settings.check()?;
    let pages = || samples.iter().flat_map(|sample| sample.iter());
    if pages().next().is_none() {
        return Err(PartitionError::NoSample);
    }
    if let Some(page) = pages().find(|page| page.lengths().len() != dimensions) {
        let found = page.lengths().len();
        return Err(PartitionError::MixedDimensions { expected: dimensions, found });
    }
    let slices: Vec<Vec<Slices>> = samples
        .iter()
        .map(|sample| (0..dimensions).map(|at| Slices::of(sample, at, settings.tau)).collect())
        .collect();
    let finest = slices.iter().flatten().map(|slices| slices.fine.len()).max().unwrap_or(1);
    let mut best: Option<(f64, Vec<Cells>, Runs)> = None;
    let mut intervals = 1;
    loop {
        let cells: Result<Vec<Cells>, PartitionError> = slices
            .iter()
            .map(|of| Cells::new(of.iter().map(|slices| slices.merged(intervals)).collect()))
            .collect();
        // Too many cells: keep the previous ones.
        let Ok(cells) = cells else { break };
        let counts = count(samples, &cells);
        let runs = Runs::balanced(&counts, settings.machines);
        let imbalance = runs.imbalance(&counts);
        let better = best.as_ref().is_none_or(|(least, ..)| imbalance < least * 0.98);
        if better {
            best = Some((imbalance, cells, runs));
        }
        if imbalance <= BALANCED || intervals >= finest {
            break;
        }
        intervals = (intervals * 5 / 4 + 1).min(finest);
    }
    best.map(|(_, cells, runs)| (cells, runs)).ok_or(PartitionError::NoSample)
}

/// Number of pages in each cell, one kind after the other.
fn count(samples: &[&[LengthVector]], cells: &[Cells]) -> Vec<u64> {
    let mut counts = Vec::new();
    for (sample, cells) in samples.iter().zip(cells) {
        let first = counts.len();
        counts.resize(first + cells.count(), 0);
        for page in *sample {
            counts[first + cells.of(page)] += 1;
        }
    }
    counts
}

/// The lengths and fine intervals of one dimension of a sample.
struct Slices {
    lengths: Lengths,
    fine: Vec<u32>,
}

impl Slices {
    fn of(sample: &[LengthVector], dimension: usize, tau: f64) -> Self {
        let mut lengths = Lengths::new();
        for page in sample {
            *lengths.entry(page.lengths()[dimension]).or_default() += 1;
        }
        let fine = slicing::fine(&lengths, tau);
        Self { lengths, fine }
    }

    fn merged(&self, intervals: usize) -> Vec<u32> {
        slicing::merge(&self.fine, &self.lengths, intervals)
    }
}

/// Assigns stored pages to machines, and says which machines a new page must be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    cells: Cells,
    runs: Runs,
}

impl Grid {
    /// Learns a grid from a sample of pages.
    ///
    /// # Errors
    ///
    /// The sample is empty or has pages of different dimensions, or a setting is out of range.
    pub fn learn(sample: &[LengthVector], settings: &GridSettings) -> Result<Self, PartitionError> {
        let dimensions = sample.first().ok_or(PartitionError::NoSample)?.lengths().len();
        let (mut cells, runs) = learn(&[sample], dimensions, settings)?;
        let cells = cells.pop().ok_or(PartitionError::NoSample)?;
        Ok(Self { cells, runs })
    }

    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// The machine that stores a page.
    pub fn machine(&self, page: &LengthVector) -> u32 {
        self.runs.machine(self.cells.of(page))
    }

    /// The machines a new page must be sent to, ascending; includes the one that will store it.
    pub fn machines_near(&self, page: &LengthVector, bounds: &Bounds) -> Vec<u32> {
        let cells = self.cells.near(page, bounds);
        let mut machines: Vec<u32> =
            cells.into_iter().map(|cell| self.runs.machine(cell)).collect();
        machines.sort_unstable();
        machines.dedup();
        machines
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn pages(dimensions: usize) -> impl Strategy<Value = Vec<LengthVector>> {
        let page = vec(0u32..400, dimensions).prop_map(|it| LengthVector::new(&it).unwrap());
        vec(page, 1..150)
    }

    proptest! {
        #[test]
        fn pages_within_each_others_bounds_are_compared_on_some_machine(
            pages in (1usize..=3).prop_flat_map(pages),
            machines in 1u32..20,
            tau in 0.6f64..0.95,
            rho in 1.0f64..1.3,
        ) {
            let settings = GridSettings { machines, tau };
            let grid = Grid::learn(&pages, &settings).unwrap();
            let bounds = Bounds::new(tau, rho).unwrap();
            for new in &pages {
                let visited = grid.machines_near(new, &bounds);
                prop_assert!(visited.contains(&grid.machine(new)));
                prop_assert!(visited.iter().all(|&machine| machine < machines));
                for stored in pages.iter().filter(|stored| bounds.admit(new, stored)) {
                    prop_assert!(visited.contains(&grid.machine(stored)));
                }
            }
        }

        #[test]
        fn no_other_runs_have_a_smaller_maximum_load(
            pages in vec(0u64..30, 1..9),
            machines in 1u32..5,
        ) {
            let runs = Runs::balanced(&pages, machines);
            prop_assert_eq!(runs.machines(), machines);
            let mut on = vec![0u64; machines as usize];
            for (cell, pages) in pages.iter().enumerate() {
                on[runs.machine(cell) as usize] += pages;
            }
            let all: u64 = pages.iter().sum();
            prop_assert_eq!(on.iter().sum::<u64>(), all);
            prop_assert_eq!(on.iter().max().copied().unwrap(), fullest_by_trying(&pages, machines));
        }
    }

    /// The minimal maximum load, by trying all cuts.
    fn fullest_by_trying(pages: &[u64], machines: u32) -> u64 {
        if machines == 1 {
            return pages.iter().sum();
        }
        (0..=pages.len())
            .map(|at| {
                let first = pages[..at].iter().sum::<u64>();
                first.max(fullest_by_trying(&pages[at..], machines - 1))
            })
            .min()
            .unwrap()
    }

    #[test]
    fn intervals_become_narrower_until_machines_are_balanced() {
        // Two lengths that nearly agree, like those of pages, with more short pages than long ones.
        let page = |n: u32| {
            let length = 20 + n * n / 8000;
            LengthVector::new(&[length, length * (700 + n * 7919 % 600) / 1000]).unwrap()
        };
        let pages: Vec<LengthVector> = (0..4000).map(page).collect();
        let grid = Grid::learn(&pages, &GridSettings::for_machines(16).unwrap()).unwrap();
        let mut on = vec![0u32; 16];
        pages.iter().for_each(|page| on[grid.machine(page) as usize] += 1);
        // A formula would give 4 by 4 cells, 4 of which contain nearly all pages: 4 times the
        // average.
        assert!(*on.iter().max().unwrap() < 2 * 4000 / 16, "{on:?}");
        assert!(grid.cells().count() > 64);
    }

    #[test]
    fn unusable_samples_and_settings_are_refused() {
        let settings = GridSettings::for_machines(4).unwrap();
        assert_eq!(Grid::learn(&[], &settings), Err(PartitionError::NoSample));
        let mixed = [LengthVector::new(&[1]).unwrap(), LengthVector::new(&[1, 2]).unwrap()];
        let expected = PartitionError::MixedDimensions { expected: 1, found: 2 };
        assert_eq!(Grid::learn(&mixed, &settings), Err(expected));
        assert!(GridSettings::for_machines(0).is_err());
        let settings = GridSettings { tau: 0.0, ..settings };
        assert!(Grid::learn(&mixed[..1], &settings).is_err());
    }

    #[test]
    fn invalid_cells_and_runs_are_refused() {
        let ends = |ends: &[&[u32]]| Cells::new(ends.iter().map(|it| it.to_vec()).collect());
        assert_eq!(ends(&[&[0, 5], &[0, 5, 9]]).unwrap().count(), 6);
        assert_eq!(ends(&[&[0, 5], &[1, 5]]), Err(PartitionError::Ends { dimension: 1 }));
        assert_eq!(ends(&[&[0, 5, 5]]), Err(PartitionError::Ends { dimension: 0 }));
        assert!(ends(&[]).is_err() && ends(&[&[]]).is_err());
        let many: Vec<u32> = (0..2000).collect();
        assert!(ends(&[&many, &many]).is_ok());
        assert!(matches!(ends(&[&many, &many, &many]), Err(PartitionError::Cells { .. })));
        assert_eq!(Runs::new(vec![3, 2]), Err(PartitionError::Runs));
        assert_eq!(Runs::new(vec![2, 2]).unwrap().machine(2), 2);
    }
}
