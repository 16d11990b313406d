//! Runs parts in [`lanes`], each in its own process, and prints their output and the result.
//!
//! The last line is the sum of all tests, `test: N passed, N failed`; a part that fails without naming a test counts
//! as one failure. The duration of each part's last pass is kept in the target folder and printed when it starts.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::lanes::{self, Job, Lane};
use super::{PARTS, Part, Tally};
use crate::needs::{self, Need};
use crate::workspace::Workspace;

/// Runs the named parts, or all if none is named, and prints the results.
pub(crate) fn test(workspace: &Workspace, requested: &[String]) -> Result<bool> {
    let chosen: Vec<&Part> = chosen(requested);
    let jobs: Vec<Job> =
        chosen.iter().map(|part| Job { name: part.name, after: part.after }).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // One more than cores, up to three: parts wait for servers, installations and clocks.
    let lanes = &[Lane::Front, Lane::Back, Lane::Back][..(cores + 1).min(chosen.len()).min(3)];
    let logs = tempfile::tempdir().context("cannot make a temporary folder")?;
    let record = Mutex::new(Record { last: LastTimes::read(workspace), ended: Vec::new() });
    let began = Instant::now();
    lanes::run(&jobs, lanes, |job, lane| chosen[job].run_separately(lane, logs.path(), &record));

    let took = Seconds(began.elapsed());
    let Record { ended, .. } = record.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut sum = Tally::default();
    for part in &ended {
        println!("{:<8} {:>10}", part.name, part.took);
        sum.add(part.tally);
    }
    println!("{:<8} {took:>10}", "whole");
    for part in ended.iter().filter(|part| part.failure.is_some()) {
        println!("\nFAILED: part {}: {}", part.name, part.failure.as_deref().unwrap_or_default());
        println!("run it alone with: cargo xtask test {}", part.name);
    }
    println!("test: {sum}");
    Ok(sum.failed == 0)
}

/// Runs one part in this process and writes its outcome to a file for the parent process.
pub(crate) fn test_one(
    workspace: &Workspace,
    requested: &[String],
    outcome: &Path,
) -> Result<bool> {
    let part = PARTS.iter().find(|part| requested.iter().any(|name| name == part.name));
    let part = part.context("no part is named")?;
    let (tally, why) = match part.provide_and_run(workspace) {
        Ok(tally) if tally.failed == 0 => (tally, String::new()),
        Ok(tally) => (tally, format!("{} failed", tally.failed)),
        Err(error) => (Tally { passed: 0, failed: 1 }, format!("{error:#}")),
    };
    fs::write(outcome, format!("{tally}\n{why}")).context("cannot write the outcome")?;
    Ok(tally.failed == 0)
}

/// The named parts and those they require, or all if none is named, in order.
fn chosen(named: &[String]) -> Vec<&'static Part> {
    let is_named = |name: &str| named.iter().any(|wanted| wanted == name);
    let is_required =
        |name: &str| PARTS.iter().any(|part| is_named(part.name) && part.requires.contains(&name));
    let is_chosen =
        |part: &&Part| named.is_empty() || is_named(part.name) || is_required(part.name);
    PARTS.iter().filter(is_chosen).collect()
}

impl Part {
    fn provide_and_run(&self, workspace: &Workspace) -> Result<Tally> {
        let needs: Vec<Need> = self.needs.iter().map(|n| Need::parse(n)).collect::<Result<_>>()?;
        needs::provide(workspace, &needs)?;
        (self.run)(workspace)
    }

    /// Runs the part in its own process. Output of the first lane is passed through, that of the
    /// second is printed when the part ends, so that the two do not mix.
    fn run_separately(&self, lane: Lane, logs: &Path, record: &Mutex<Record>) -> bool {
        let locked = || record.lock().unwrap_or_else(PoisonError::into_inner);
        let last = locked().last.of(self.name);
        let aside = if lane == Lane::Back { ", printed when it has ended" } else { "" };
        println!("== {}: {}{last}{aside}", self.name, self.about);
        let log = logs.join(format!("{}.log", self.name));
        let start = Instant::now();
        let outcome = self.outcome(lane, logs, &log);
        let took = Seconds(start.elapsed());
        let (tally, failure) = match outcome {
            Ok((tally, why)) => (tally, (tally.failed > 0).then_some(why)),
            Err(error) => (Tally { passed: 0, failed: 1 }, Some(format!("{error:#}"))),
        };
        let mut record = locked();
        if lane == Lane::Back {
            println!("== {}: its output", self.name);
            print!("{}", String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()));
        }
        let passed = failure.is_none();
        if passed {
            println!("== {}: ok in {took}\n", self.name);
            record.last.note(self.name, took);
        } else {
            println!("== {}: FAILED in {took}; what runs is finished first\n", self.name);
        }
        record.ended.push(Ended { name: self.name, took, tally, failure });
        passed
    }

    fn outcome(&self, lane: Lane, logs: &Path, log: &Path) -> Result<(Tally, String)> {
        let file = logs.join(format!("{}.outcome", self.name));
        let own = std::env::current_exe().context("cannot find the path of this program")?;
        let mut command = Command::new(own);
        command.args(["test", self.name, "--outcome"]).arg(&file);
        if lane == Lane::Back {
            let output = File::create(log).context("cannot make a file for its output")?;
            command.stdout(output.try_clone()?).stderr(output);
        }
        let status = command.status().context("cannot start it")?;
        let Ok(text) = fs::read_to_string(&file) else { bail!("it ended early ({status})") };
        let (tally, why) = text.split_once('\n').unwrap_or((&text, ""));
        Ok((Tally::of_plain(tally), why.to_owned()))
    }
}

/// A finished part; `failure` says why it did not pass.
struct Ended {
    name: &'static str,
    took: Seconds,
    tally: Tally,
    failure: Option<String>,
}

/// Results of both lanes.
struct Record {
    last: LastTimes,
    ended: Vec<Ended>,
}

/// The duration of each part's last pass, stored in the target folder.
struct LastTimes {
    file: Option<PathBuf>,
    seconds: BTreeMap<String, f64>,
}

impl LastTimes {
    fn read(workspace: &Workspace) -> Self {
        let file = workspace.binaries().parent().map(|target| target.join("xtask-seconds.txt"));
        let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        Self { file, seconds: Self::parsed(&text.unwrap_or_default()) }
    }

    /// Skips invalid lines, because the file only helps to estimate.
    fn parsed(text: &str) -> BTreeMap<String, f64> {
        let entry = |line: &str| {
            let (name, seconds) = line.split_once(' ')?;
            Some((name.to_owned(), seconds.parse().ok()?))
        };
        text.lines().filter_map(entry).collect()
    }

    fn of(&self, name: &str) -> String {
        let seconds = self.seconds.get(name);
        seconds.map(|seconds| format!(" (last time {seconds:.0} s)")).unwrap_or_default()
    }

    fn note(&mut self, name: &str, took: Seconds) {
        self.seconds.insert(name.to_owned(), took.0.as_secs_f64());
        let lines = self.seconds.iter().map(|(name, seconds)| format!("{name} {seconds:.1}\n"));
        if let Some(file) = &self.file {
            let _ = std::fs::write(file, lines.collect::<String>());
        }
    }
}

/// A duration, printed in tenths of a second.
#[derive(Clone, Copy)]
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} s", self.0.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_names_select_all_parts_and_a_name_selects_its_part_and_what_it_requires() {
        let names = |named: &[&str]| -> Vec<&str> {
            let named: Vec<String> = named.iter().map(ToString::to_string).collect();
            chosen(&named).iter().map(|part| part.name).collect()
        };
        assert_eq!(names(&[]).len(), PARTS.len());
        assert_eq!(names(&["doc", "unit"]), ["unit", "doc"]);
        assert_eq!(names(&["spark"]), ["wheel", "spark"]);
    }

    #[test]
    fn the_last_time_of_a_part_is_printed_and_invalid_lines_are_skipped() {
        let times = LastTimes { file: None, seconds: LastTimes::parsed("unit 61.2\nnonsense\n") };
        assert_eq!(times.of("unit"), " (last time 61 s)");
        assert_eq!(times.of("clippy"), "");
    }
}
