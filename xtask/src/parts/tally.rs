//! Counts passed and failed tests in the output of test programs.
//!
//! Ignores all lines except the final one, so numbers printed by tests are not counted.

use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    /// Reads the final line of a Rust test program.
    pub(super) fn of_libtest(line: &str) -> Self {
        let Some(result) = line.strip_prefix("test result: ") else { return Self::default() };
        let count = |what: &str| {
            result
                .split([';', '.'])
                .find_map(|phrase| phrase.trim().strip_suffix(what)?.trim().parse().ok())
                .unwrap_or(0)
        };
        Self { passed: count(" passed"), failed: count(" failed") }
    }

    /// Reads the line `N passed, N failed`.
    pub(crate) fn of_plain(line: &str) -> Self {
        let counts = || {
            let (passed, failed) = line.trim().split_once(" passed, ")?;
            Some(Self {
                passed: passed.parse().ok()?,
                failed: failed.strip_suffix(" failed")?.parse().ok()?,
            })
        };
        counts().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_every_test_program_are_summed() {
        let output = "running 3 tests\n\
            test index::the_scan_is_exact ... ok\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
            test result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.20s\n";
        let mut sum = Tally::default();
        for line in output.lines() {
            sum.add(Tally::of_libtest(line));
        }
        assert_eq!(sum, Tally { passed: 13, failed: 2 });
    }

    #[test]
    fn a_test_that_prints_numbers_is_not_counted() {
        assert_eq!(Tally::of_libtest("99 passed; 99 failed"), Tally::default());
    }

    #[test]
    fn the_closing_line_has_its_two_numbers() {
        let tally = Tally { passed: 7, failed: 0 };
        assert_eq!(tally.to_string(), "7 passed, 0 failed");
        assert_eq!(Tally::of_plain(&tally.to_string()), tally);
    }
}
