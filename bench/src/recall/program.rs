//! Starts the measured program, watches it, and parses its output.

use anyhow::{Context, ensure};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Interval between reads of memory. The system keeps the peak itself.
const INTERVAL: Duration = Duration::from_millis(5);

pub(super) struct Program<'a> {
    pub(super) path: &'a Path,
    pub(super) queries: &'a Path,
}

pub(super) struct Run {
    output: String,
    errors: String,
    /// Peak resident memory in bytes.
    pub(super) peak_bytes: u64,
    pub(super) seconds: f64,
}

impl Program<'_> {
    /// Finds all matches within a bound.
    pub(super) fn find(&self, stored: &Path, within: u8, options: &[&str]) -> anyhow::Result<Run> {
        let scratch = stored.with_extension("found");
        let log = stored.with_extension("log");
        let started = Instant::now();
        let child = Command::new(self.path)
            .args(["near", "find"])
            .arg(self.queries)
            .arg("--index")
            .arg(stored)
            .args(["--within", &within.to_string()])
            .args(options)
            .stdout(fs::File::create(&scratch)?)
            .stderr(fs::File::create(&log)?)
            .stdin(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", self.path.display()))?;
        let peak_bytes = watch(child)?;
        let seconds = started.elapsed().as_secs_f64();
        let (output, errors) = (fs::read_to_string(scratch)?, fs::read_to_string(log)?);
        Ok(Run { output, errors, peak_bytes, seconds })
    }
}

/// Waits for the end of the process; returns its peak memory in bytes.
fn watch(mut child: Child) -> anyhow::Result<u64> {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kibibytes.unwrap_or(0) * 1024);
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        std::thread::sleep(INTERVAL);
    };
    ensure!(ended.success(), "the program ended with {ended}");
    ensure!(peak > 0, "the system does not say how much memory it had");
    Ok(peak)
}

impl Run {
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.output.lines()
    }

    /// The engine, and the recall that it reports.
    pub(super) fn summary(&self) -> Option<(&str, &str)> {
        let last = self.errors.lines().rfind(|line| line.contains(" with a match, "))?;
        let how = last.split_once("; ")?.1;
        let measured = how.split_once("measured ").and_then(|(_, after)| after.split(' ').next());
        let stated = measured.filter(|share| share.parse::<f64>().is_ok()).unwrap_or("1");
        let by = how.split([',', ';']).next()?;
        let by = by.strip_prefix("loaded into ").unwrap_or(by);
        Some((by.split(" for recall").next()?, stated))
    }
}
