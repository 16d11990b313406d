//! Sums of estimation errors.

/// Sums that give bias and root mean square error.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Errors {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Errors {
    pub(crate) fn add(&mut self, error: f64) {
        self.count += 1.0;
        self.sum += error;
        self.squares += error * error;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Mean error in thousandths.
    pub(crate) fn bias(&self) -> f64 {
        1000.0 * self.sum / self.count
    }

    /// Root mean square error in thousandths.
    pub(crate) fn root_mean_square(&self) -> f64 {
        1000.0 * (self.squares / self.count).sqrt()
    }
}

/// The share of cases in which a condition held.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    held: usize,
    of: usize,
}

impl Share {
    pub(crate) fn add(&mut self, held: bool) {
        self.held += usize::from(held);
        self.of += 1;
    }

    pub(crate) fn percent(&self) -> f64 {
        100.0 * self.held as f64 / self.of as f64
    }

    pub(crate) fn of(&self) -> usize {
        self.of
    }
}
