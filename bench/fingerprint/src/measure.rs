//! CPU time of the current thread as the best of several rounds, and tables of ratios.

use comfy_table::{Table, presets};
use cpu_time::ThreadTime;

/// The pages, and the number of rounds.
pub(crate) struct Bench<'a> {
    pub(crate) rounds: usize,
    pub(crate) pages: &'a [String],
}

impl Bench<'_> {
    /// Size of the HTML in megabytes.
    pub(crate) fn megabytes(&self) -> f64 {
        self.pages.iter().map(String::len).sum::<usize>() as f64 / 1e6
    }

    /// CPU seconds of the fastest round.
    pub(crate) fn best(&self, mut work: impl FnMut()) -> f64 {
        (0..self.rounds.max(1))
            .map(|_| {
                let start = ThreadTime::now();
                work();
                start.elapsed().as_secs_f64()
            })
            .fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn per_page(&self, seconds: f64) -> String {
        format!("{:.1}", 1e6 * seconds / self.pages.len() as f64)
    }

    /// Megabytes of HTML per second.
    pub(crate) fn speed(&self, seconds: f64) -> String {
        format!("{:.0}", self.megabytes() / seconds)
    }
}

pub(crate) fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(headings);
    table
}
