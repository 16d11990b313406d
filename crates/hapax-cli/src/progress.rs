//! Output on standard error: progress on a terminal, notes, and the final summary.
//!
//! Ignores failed writes to standard error, because there is no other place to report them. Does not know what
//! a command does, only how much of it is done.

use crate::{readable, reading};
use hapax_corpus::{Bad, Ignored};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Writes a line to standard error, without control characters.
pub(crate) fn say(line: &str) {
    let line = readable::harmless_lines(line);
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// The progress of a run.
pub(crate) struct Progress {
    bar: ProgressBar,
    quiet: bool,
    started: Instant,
    read: Read,
}

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Read {
    pub(crate) pages: u64,
    pub(crate) bytes: u64,
    /// Pages without any feature.
    pub(crate) without_features: u64,
    /// Pages with fewer features than the recipe requires.
    pub(crate) too_short: u64,
    /// Pages with more hidden than visible text.
    pub(crate) hiding: u64,
    /// Pages that exceeded the limit, so that only their beginning was read.
    pub(crate) cut: u64,
    /// Bad inputs that were skipped.
    pub(crate) skipped: u64,
}

impl Progress {
    /// Starts the clock. Shows the bar only on a terminal without scrolling results; `total` is the
    /// number of pages if it is known.
    pub(crate) fn start(total: Option<u64>, quiet: bool, results_on_screen: bool) -> Self {
        let template = match total {
            Some(_) => "{bar:30} {human_pos}/{human_len} pages  {msg}  {eta} left",
            None => "{spinner} {human_pos} pages  {msg}  {elapsed}",
        };
        let bar = bar(total, quiet || results_on_screen, template);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, quiet, started: Instant::now(), read: Read::default() }
    }

    pub(crate) fn page(&mut self, bytes: u64) {
        self.read.pages += 1;
        self.read.bytes += bytes;
        self.bar.inc(1);
        if !self.bar.is_hidden() {
            self.bar.set_message(readable::bytes(self.read.bytes));
        }
    }

    /// Counts pages without bytes.
    pub(crate) fn pages(&mut self, pages: u64) {
        self.read.pages += pages;
        self.bar.inc(pages);
    }

    /// Starts another step, with counts from zero.
    pub(crate) fn step(&mut self, name: &'static str) {
        self.bar.set_position(0);
        self.bar.set_message(name);
    }

    /// Shows a message if there is a bar.
    pub(crate) fn message(&self, text: impl FnOnce() -> String) {
        if !self.bar.is_hidden() {
            self.bar.set_message(text());
        }
    }

    /// Advances by this many percent, without counting pages.
    pub(crate) fn percent(&self, more: u64) {
        self.bar.inc(more);
    }

    /// Removes the bar without a summary.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Reports and counts skipped records.
    pub(crate) fn skip(&mut self, bad: &Bad) {
        self.read.skipped += bad.records;
        self.note(&format!("skipped: {}", reading::skipped(bad)));
    }

    /// Prints a note.
    pub(crate) fn note(&self, line: &str) {
        self.bar.suspend(|| say(line));
    }

    /// The counters, for those that only the caller knows.
    pub(crate) fn read(&mut self) -> &mut Read {
        &mut self.read
    }

    /// Removes the bar and prints the summary, unless quiet.
    pub(crate) fn finish(self, ignored: &Ignored) {
        self.bar.finish_and_clear();
        if !self.quiet {
            say(&summary(&self.read, self.started.elapsed(), ignored));
        }
    }
}

/// A bar on standard error if that is a terminal; otherwise, or if `hidden`, none.
pub(crate) fn bar(total: Option<u64>, hidden: bool, template: &str) -> ProgressBar {
    let visible = !hidden && std::io::stderr().is_terminal();
    let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::with_draw_target(total, target).with_style(style)
}

fn summary(read: &Read, took: Duration, ignored: &Ignored) -> String {
    let seconds = took.as_secs_f64();
    let mut line = format!(
        "{}, {} in {seconds:.2} s ({:.1} MB/s); {} without features, {} too short, {} skipped",
        readable::counted(read.pages, "page"),
        readable::bytes(read.bytes),
        read.bytes as f64 / 1e6 / seconds.max(1e-9),
        readable::count(read.without_features),
        readable::count(read.too_short),
        readable::count(read.skipped),
    );
    if read.hiding > 0 {
        line.push_str(&format!(
            ", {} with more text hidden than shown",
            readable::count(read.hiding)
        ));
    }
    if read.cut > 0 {
        line.push_str(&format!(", {} read in part", readable::count(read.cut)));
    }
    if let Some(ignored) = reading::ignored_line(ignored) {
        line.push('\n');
        line.push_str(&ignored);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_contains_all_counters() {
        let read = Read {
            pages: 1200,
            bytes: 3_000_000,
            without_features: 2,
            too_short: 3,
            hiding: 5,
            cut: 1,
            skipped: 4,
        };
        let ignored = Ignored { files: 1, example: Some("site/x.css".into()) };
        assert_eq!(
            summary(&read, Duration::from_millis(1500), &ignored),
            "1,200 pages, 3.0 MB in 1.50 s (2.0 MB/s); 2 without features, 3 too short, \
             4 skipped, 5 with more text hidden than shown, 1 read in part\n1 other file in folders ignored, such as site/x.css: \
             neither name nor content says that they hold documents; --all-files reads them"
        );
    }
}
