//! Which threads of a process have something to do, seen from outside.
//!
//! Every two milliseconds the state of each thread is read from `/proc`. A thread that runs or waits for a core is
//! *busy*; one that waits for a lock, for results or for another thread is not. Unlike a difference of times this is the
//! serial share itself. Other processes and a host that takes cores away make a stretch longer, but no thread less busy;
//! CPU seconds say how much was worked in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::ensure;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(2);
/// How many looks between two counts of context switches, which are slower to read.
const LOOKS_A_COUNT: usize = 8;

/// The process at one time.
#[derive(Clone, Copy)]
struct Look {
    /// Seconds since 1970.
    at: f64,
    busy: u32,
    /// CPU seconds of all threads and of the first one so far.
    cpu: f64,
    first_cpu: f64,
    /// How often a thread has waited so far.
    waits: u64,
}

/// What was seen of a process.
pub(crate) struct Looks(Vec<Look>);

/// A stretch of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stretch {
    pub(crate) seconds: f64,
    /// Seconds with one busy thread or none.
    pub(crate) alone: f64,
    /// CPU seconds in these.
    pub(crate) alone_cpu: f64,
    /// Seconds with none.
    pub(crate) idle: f64,
    /// Seconds of threads that were not busy, of as many as the job may use.
    pub(crate) missing: f64,
    /// CPU seconds of the first thread, which takes results in order.
    pub(crate) first_cpu: f64,
    /// How often a thread waited.
    pub(crate) waits: u64,
}

/// A thread whose files are kept open: opening them takes longer than reading them.
struct Seen {
    stat: File,
    status: File,
    schedstat: File,
    waits: u64,
    cpu: f64,
}

/// Looks at a process until it ends.
pub(crate) fn watch(child: &mut Child) -> anyhow::Result<(ExitStatus, Looks)> {
    let tasks = format!("/proc/{}/task", child.id());
    ensure!(
        Path::new(&format!("{tasks}/{}/schedstat", child.id())).exists(),
        "the system does not say how long threads ran"
    );
    let mut threads: BTreeMap<u32, Option<Seen>> = BTreeMap::new();
    let mut looks: Vec<Look> = Vec::new();
    let (mut waits, mut ended_waits, mut ended_cpu) = (0, 0, 0.0);
    let mut buffer = [0; 4096];
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, Looks(looks)));
        }
        let numbers = fs::read_dir(&tasks).into_iter().flatten().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let present: Vec<u32> = numbers.collect();
        for (_, seen) in threads.extract_if(.., |number, _| !present.contains(number)) {
            ended_waits += seen.as_ref().map_or(0, |it| it.waits);
            ended_cpu += seen.map_or(0.0, |it| it.cpu);
        }
        let mut busy = 0;
        let counts = looks.len().is_multiple_of(LOOKS_A_COUNT);
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
        let before = looks.last().map_or(0.0, |look| look.first_cpu);
        let first_cpu = first.map_or(before, |it| it.cpu);
        looks.push(Look { at: seconds(SystemTime::now()), busy, cpu, first_cpu, waits });
        thread::sleep(PAUSE);
    }
}

impl Seen {
    fn open(tasks: &str, number: u32) -> Option<Self> {
        let open = |name| File::open(format!("{tasks}/{number}/{name}")).ok();
        let (stat, status, schedstat) = (open("stat")?, open("status")?, open("schedstat")?);
        Some(Self { stat, status, schedstat, waits: 0, cpu: 0.0 })
    }

    /// Running, ready to run, or in the kernel where it cannot be interrupted.
    fn is_busy(&self, buffer: &mut [u8]) -> bool {
        // The state is behind the name, which may hold brackets itself.
        let state = |text: &str| text.rsplit_once(") ").and_then(|(_, after)| after.bytes().next());
        matches!(read(&self.stat, buffer).and_then(state), Some(b'R' | b'D'))
    }

    fn cpu_seconds(&self, buffer: &mut [u8]) -> Option<f64> {
        let nanoseconds = read(&self.schedstat, buffer)?.split(' ').next()?.parse::<u64>().ok()?;
        Some(nanoseconds as f64 / 1e9)
    }

    /// How often it has waited.
    fn count(&self, buffer: &mut [u8]) -> Option<u64> {
        let text = read(&self.status, buffer)?;
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    }
}

/// A small file from its beginning; `None` when its thread has ended.
fn read<'b>(file: &File, buffer: &'b mut [u8]) -> Option<&'b str> {
    let length = file.read_at(buffer, 0).ok().filter(|length| *length > 0)?;
    std::str::from_utf8(&buffer[..length]).ok()
}

/// Since 1970.
pub(crate) fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |it| it.as_secs_f64())
}

impl Looks {
    /// What was seen between two times, of a job with so many threads.
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
    fn a_stretch_counts_the_looks_in_it_by_the_time_to_the_next() {
        let look = |at, busy, first_cpu, waits| {
            let cpu = 2.0 * first_cpu;
            Look { at, busy, cpu, first_cpu, waits }
        };
        let looks = Looks(vec![
            look(0.0, 2, 0.0, 0),
            look(1.0, 1, 0.5, 4),
            look(2.0, 0, 1.5, 4),
            look(4.0, 3, 1.5, 10),
            look(5.0, 0, 1.5, 10),
        ]);
        let all = looks.between(0.0, 9.0, 2);
        assert_eq!((all.seconds, all.alone, all.idle, all.missing), (5.0, 3.0, 2.0, 5.0));
        assert_eq!((all.alone_cpu, all.first_cpu, all.waits), (2.0, 1.5, 10));
        let some = looks.between(1.5, 3.0, 4);
        assert_eq!((some.seconds, some.alone, some.idle, some.missing), (1.5, 1.5, 1.0, 5.5));
        assert_eq!((some.first_cpu, some.waits), (0.5, 3));
    }

    #[test]
    fn a_process_is_watched_until_it_ends() {
        let mut child = std::process::Command::new("sleep").arg("0.05").spawn().unwrap();
        let before = seconds(SystemTime::now());
        let (status, looks) = watch(&mut child).unwrap();
        assert!(status.success());
        let all = looks.between(before, seconds(SystemTime::now()), 1);
        assert!(all.seconds > 0.01 && all.idle > 0.0, "{all:?}");
    }
}
