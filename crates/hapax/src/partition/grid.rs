//! Cells of length vectors, and the machines they live on.
//!
//! Each dimension is cut into intervals ([`slicing`]); a cell is one interval of
//! each. There are at least as many cells as machines, as far as the lengths allow, and cells are
//! given to machines the largest first, each to the machine with the fewest pages.
//!
//! Source: Zhu et al. 2012, 4.1 and 4.3.

use std::collections::BTreeMap;

use super::PartitionError;
use super::bounds::Bounds;
use super::dictionary::LengthVector;
use super::slicing::{self, Lengths};

/// The most machines.
pub const MOST_MACHINES: u32 = 1 << 16;

/// How a grid is learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridSettings {
    /// How many machines there are.
    pub machines: u32,
    /// Pages less alike than this need not meet; sets the width of fine intervals.
    pub tau: f64,
}

/// The threshold of fine intervals, unless the caller says otherwise.
pub const DEFAULT_TAU: f64 = 0.8;

impl GridSettings {
    /// The usual ones for so many machines.
    ///
    /// # Errors
    ///
    /// There is none, or too many.
    pub fn for_machines(machines: u32) -> Result<Self, PartitionError> {
        match machines {
            1..=MOST_MACHINES => Ok(Self { machines, tau: DEFAULT_TAU }),
            given => Err(PartitionError::Machines { given, most: MOST_MACHINES }),
        }
    }
}

/// Which machine a page lives on, and which ones a new page must be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Left ends of the intervals of each dimension.
    ends: Vec<Vec<u32>>,
    /// The machine of each cell; the last dimension counts fastest.
    machine_of: Vec<u32>,
    machines: u32,
}

impl Grid {
    /// Learns a grid from a sample of pages.
    ///
    /// # Errors
    ///
    /// The sample is empty or has pages of different dimensions, or a setting is out of range.
    pub fn learn(sample: &[LengthVector], settings: &GridSettings) -> Result<Self, PartitionError> {
        let GridSettings { machines, tau } = *settings;
        GridSettings::for_machines(machines)?;
        Bounds::new(tau, 1.0)?;
        let dimensions = sample.first().ok_or(PartitionError::NoSample)?.lengths().len();
        let other = sample.iter().map(|page| page.lengths().len()).find(|&it| it != dimensions);
        if let Some(found) = other {
            return Err(PartitionError::MixedDimensions { expected: dimensions, found });
        }
        let intervals = at_least_root(machines, dimensions as u32);
        let ends: Vec<Vec<u32>> = (0..dimensions)
            .map(|dimension| {
                let mut lengths = Lengths::new();
                for page in sample {
                    *lengths.entry(page.lengths()[dimension]).or_default() += 1;
                }
                let fine = slicing::fine(&lengths, tau);
                slicing::merge(&fine, &lengths, intervals as usize)
            })
            .collect();
        let cells = ends.iter().map(Vec::len).product();
        let mut grid = Self { ends, machine_of: vec![0; cells], machines };
        let mut loads = vec![0u64; cells];
        for page in sample {
            loads[grid.cell(page)] += 1;
        }
        grid.machine_of = share_out(&loads, machines);
        Ok(grid)
    }

    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.machine_of.len()
    }

    /// How many machines there are.
    pub fn machines(&self) -> u32 {
        self.machines
    }

    /// The left ends of the intervals of each dimension.
    pub fn intervals(&self) -> &[Vec<u32>] {
        &self.ends
    }

    /// The machine of a cell.
    pub fn machine_of_cell(&self, cell: usize) -> u32 {
        self.machine_of[cell]
    }

    /// The cell of a page. A page with fewer lengths than the grid has dimensions has none of the
    /// words of the others.
    pub fn cell(&self, page: &LengthVector) -> usize {
        let lengths = page.lengths().iter().copied().chain(std::iter::repeat(0));
        self.ends
            .iter()
            .zip(lengths)
            .fold(0, |cell, (ends, length)| cell * ends.len() + slicing::interval(ends, length))
    }

    /// The machine a page lives on.
    pub fn machine(&self, page: &LengthVector) -> u32 {
        self.machine_of[self.cell(page)]
    }

    /// The cells in which near-duplicates of a page can be, ascending; its own is among them.
    pub fn cells_near(&self, page: &LengthVector, bounds: &Bounds) -> Vec<usize> {
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

    /// The machines a new page must be sent to, ascending; the one it will live on is among them.
    pub fn machines_near(&self, page: &LengthVector, bounds: &Bounds) -> Vec<u32> {
        let mut machines: Vec<u32> =
            self.cells_near(page, bounds).into_iter().map(|cell| self.machine_of[cell]).collect();
        machines.sort_unstable();
        machines.dedup();
        machines
    }
}

/// The least number whose `root`-th power is at least `value`.
fn at_least_root(value: u32, root: u32) -> u32 {
    (1..=value).find(|&it| u64::from(it).saturating_pow(root) >= u64::from(value)).unwrap_or(1)
}

/// Cells to machines: the fullest first, each to the machine that has least.
fn share_out(loads: &[u64], machines: u32) -> Vec<u32> {
    let mut order: Vec<usize> = (0..loads.len()).collect();
    order.sort_by_key(|&cell| std::cmp::Reverse(loads[cell]));
    // Pages, then cells, then number: empty cells are spread as well.
    let mut least: BTreeMap<(u64, u32, u32), ()> =
        (0..machines).map(|it| ((0, 0, it), ())).collect();
    let mut machine_of = vec![0; loads.len()];
    for cell in order {
        let Some(((pages, cells, machine), ())) = least.pop_first() else { break };
        machine_of[cell] = machine;
        least.insert((pages + loads[cell], cells + 1, machine), ());
    }
    machine_of
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
        fn pages_within_each_others_bounds_meet_on_a_machine(
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
                for stored in &pages {
                    let inside = new.lengths().iter().zip(stored.lengths()).all(|(&a, &b)| {
                        let (from, to) = bounds.range(a);
                        (from..=to).contains(&b)
                    });
                    if inside {
                        prop_assert!(visited.contains(&grid.machine(stored)));
                    }
                }
            }
        }

        #[test]
        fn no_machine_has_more_than_its_share_and_the_largest_cell(
            loads in vec(0u64..50, 1..60),
            machines in 1u32..10,
        ) {
            let machine_of = share_out(&loads, machines);
            let mut on = vec![0u64; machines as usize];
            for (cell, &machine) in machine_of.iter().enumerate() {
                on[machine as usize] += loads[cell];
            }
            let share = loads.iter().sum::<u64>() / u64::from(machines);
            let largest = loads.iter().max().copied().unwrap_or(0);
            prop_assert!(on.iter().all(|&load| load <= share + largest));
        }
    }

    #[test]
    fn the_number_of_intervals_makes_enough_cells() {
        for (machines, dimensions, expected) in
            [(64, 1, 64), (64, 2, 8), (64, 3, 4), (32, 3, 4), (2, 3, 2), (1, 3, 1)]
        {
            assert_eq!(at_least_root(machines, dimensions), expected);
        }
    }

    #[test]
    fn what_cannot_be_learnt_from_is_refused() {
        let settings = GridSettings::for_machines(4).unwrap();
        assert_eq!(Grid::learn(&[], &settings), Err(PartitionError::NoSample));
        let mixed = [LengthVector::new(&[1]).unwrap(), LengthVector::new(&[1, 2]).unwrap()];
        let expected = PartitionError::MixedDimensions { expected: 1, found: 2 };
        assert_eq!(Grid::learn(&mixed, &settings), Err(expected));
        assert!(GridSettings::for_machines(0).is_err());
        let settings = GridSettings { tau: 0.0, ..settings };
        assert!(Grid::learn(&mixed[..1], &settings).is_err());
    }
}
