//! Samples which threads of a process are busy, from outside.
//!
//! Reads the state of each thread from `/proc` every two milliseconds. A thread that runs or waits for a core is
//! *busy*; one that waits for a lock, for results or for another thread is not. Unlike a difference of times this
//! measures the serial share directly. Other processes and a host that takes cores away make a stretch longer, but no
//! thread less busy; CPU seconds show how much work was done in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::ensure;

/// Interval between samples.
const PAUSE: Duration = Duration::from_millis(2);
/// Samples between two reads of context switches, which are slower.
const SAMPLES_PER_COUNT: usize = 8;

/// The state of the process at one time.
#[derive(Clone, Copy)]
struct Sample {
    /// Seconds since 1970.
    at: f64,
    busy: u32,
    /// CPU seconds of all threads since the start.
    cpu: f64,
    first_cpu: f64,
    /// Context switches for waiting since the start.
    waits: u64,
}

/// The samples of a process.
pub(crate) struct Samples(Vec<Sample>);

/// A time range.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stretch {
    pub(crate) seconds: f64,
    /// Seconds with at most one busy thread.
    pub(crate) alone: f64,
    /// CPU seconds in that time.
    pub(crate) alone_cpu: f64,
    /// Seconds without a busy thread.
    pub(crate) idle: f64,
    /// Seconds of threads that were not busy, out of the threads that the job may use.
    pub(crate) missing: f64,
    /// CPU seconds of the first thread, which processes results in order.
    pub(crate) first_cpu: f64,
    /// Number of waits of threads.
    pub(crate) waits: u64,
}

/// A thread with open files, because opening takes longer than reading.
struct Seen {
    stat: File,
    status: File,
    schedstat: File,
    waits: u64,
    cpu: f64,
}

/// Samples a process until it ends.
pub(crate) fn watch(child: &mut Child) -> anyhow::Result<(ExitStatus, Samples)> {
    let tasks = format!("/proc/{}/task", child.id());
    ensure!(
        Path::new(&format!("{tasks}/{}/schedstat", child.id())).exists(),
        "the system does not say how long threads ran"
    );
    let mut threads: BTreeMap<u32, Option<Seen>> = BTreeMap::new();
    let mut samples: Vec<Sample> = Vec::new();
    let (mut waits, mut ended_waits, mut ended_cpu) = (0, 0, 0.0);
    let mut buffer = [0; 4096];
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, Samples(samples)));
        }
        let numbers = fs::read_dir(&tasks).into_iter().flatten().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let present: Vec<u32> = numbers.collect();
        for (_, seen) in threads.extract_if(.., |number, _| !present.contains(number)) {
            ended_waits += seen.as_ref().map_or(0, |it| it.waits);
            ended_cpu += seen.map_or(0.0, |it| it.cpu);
        }
        let mut busy = 0;
        let counts = samples.len().is_multiple_of(SAMPLES_PER_COUNT);
        for number in present {
            let opened = threads.entry(number).or_insert_with(|| Seen::open(&tasks, number));
            let Some(seen) = opened else { continue };
            busy += u32::from(seen.is_busy(&mut buffer));
            seen.cpu = seen.cpu_seconds(&mut buffer).unwrap_or(seen.cpu);
            if counts {
                seen.waits = seen.count(&mut buffer).unwrap_or(seen.waits);
            }
        }
        if counts {
            waits = ended_waits + threads.values().flatten().map(|it| it.waits).sum::<u64>();
        }
        let cpu = ended_cpu + threads.values().flatten().map(|it| it.cpu).sum::<f64>();
        let first = threads.get(&child.id()).and_then(Option::as_ref);
        let before = samples.last().map_or(0.0, |sample| sample.first_cpu);
        let first_cpu = first.map_or(before, |it| it.cpu);
        samples.push(Sample { at: seconds(SystemTime::now()), busy, cpu, first_cpu, waits });
        thread::sleep(PAUSE);
    }
}

impl Seen {
    fn open(tasks: &str, number: u32) -> Option<Self> {
        let open = |name| File::open(format!("{tasks}/{number}/{name}")).ok();
        let (stat, status, schedstat) = (open("stat")?, open("status")?, open("schedstat")?);
        Some(Self { stat, status, schedstat, waits: 0, cpu: 0.0 })
    }

    /// Running, ready to run, or in uninterruptible sleep.
    fn is_busy(&self, buffer: &mut [u8]) -> bool {
        // The state follows the name, which may contain brackets itself.
        let state = |text: &str| text.rsplit_once(") ").and_then(|(_, after)| after.bytes().next());
        matches!(read(&self.stat, buffer).and_then(state), Some(b'R' | b'D'))
    }

    fn cpu_seconds(&self, buffer: &mut [u8]) -> Option<f64> {
        let nanoseconds = read(&self.schedstat, buffer)?.split(' ').next()?.parse::<u64>().ok()?;
        Some(nanoseconds as f64 / 1e9)
    }

    /// Number of waits so far.
    fn count(&self, buffer: &mut [u8]) -> Option<u64> {
        let text = read(&self.status, buffer)?;
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    }
}

/// Reads a small file; `None` if its thread has ended.
fn read<'b>(file: &File, buffer: &'b mut [u8]) -> Option<&'b str> {
    let length = file.read_at(buffer, 0).ok().filter(|length| *length > 0)?;
    std::str::from_utf8(&buffer[..length]).ok()
}

/// Seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |it| it.as_secs_f64())
}

impl Samples {
    /// The samples between two times, for a job with this many threads.
    pub(crate) fn between(&self, from: f64, to: f64, threads: usize) -> Stretch {
        let mut all = Stretch::default();
        for two in self.0.windows(2) {
            let (from, to) = (two[0].at.max(from), two[1].at.min(to));
            if from >= to {
                continue;
            }
            let (busy, seconds) = (two[0].busy, to - from);
            let share = seconds / (two[1].at - two[0].at);
            all.seconds += seconds;
            if busy <= 1 {
                all.alone += seconds;
                all.alone_cpu += share * (two[1].cpu - two[0].cpu).max(0.0);
            }
            all.idle += if busy == 0 { seconds } else { 0.0 };
            all.missing += (threads as f64 - f64::from(busy)).max(0.0) * seconds;
            all.first_cpu += share * (two[1].first_cpu - two[0].first_cpu);
            all.waits += (share * (two[1].waits.saturating_sub(two[0].waits)) as f64) as u64;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_for_the_time_to_the_next() {
        let sample = |at, busy, first_cpu, waits| {
            let cpu = 2.0 * first_cpu;
            Sample { at, busy, cpu, first_cpu, waits }
        };
        let samples = Samples(vec![
            sample(0.0, 2, 0.0, 0),
            sample(1.0, 1, 0.5, 4),
            sample(2.0, 0, 1.5, 4),
            sample(4.0, 3, 1.5, 10),
            sample(5.0, 0, 1.5, 10),
        ]);
        let all = samples.between(0.0, 9.0, 2);
        assert_eq!((all.seconds, all.alone, all.idle, all.missing), (5.0, 3.0, 2.0, 5.0));
        assert_eq!((all.alone_cpu, all.first_cpu, all.waits), (2.0, 1.5, 10));
        let some = samples.between(1.5, 3.0, 4);
        assert_eq!((some.seconds, some.alone, some.idle, some.missing), (1.5, 1.5, 1.0, 5.5));
        assert_eq!((some.first_cpu, some.waits), (0.5, 3));
    }

    #[test]
    fn a_process_is_watched_until_it_ends() {
        let mut child = std::process::Command::new("sleep").arg("0.05").spawn().unwrap();
        let before = seconds(SystemTime::now());
        let (status, samples) = watch(&mut child).unwrap();
        assert!(status.success());
        let all = samples.between(before, seconds(SystemTime::now()), 1);
        assert!(all.seconds > 0.01 && all.idle > 0.0, "{all:?}");
    }
}
