//! How `hapax dedup` uses threads: seconds of every stage, and the share that stays serial.
//!
//! ```text
//! cargo build --release
//! cargo run --release -p hapax-bench -- threads --documents 900e3 --threads 1,2,16
//! ```
//!
//! The corpus is text of the synthetic web, 620 words per document, a fifth of them near-copies. Every number of
//! threads must write the same bytes. After the timed runs, one run with each number of threads is sampled from
//! outside ([`busy`]). The serial share is the CPU seconds of moments with at most one busy thread of two, divided by
//! the time of one thread; it is valid on a busy machine too. On idle cores, 2 T2 minus the CPU seconds of that run
//! is a cross-check.
//!
//! What one thread does while others work, such as processing results in order, is not serial with two threads, but
//! may be the limit with many: see the CPU seconds of the first thread. Needs idle cores, and files in memory.

mod bandwidth;
mod busy;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Instant, SystemTime};

use anyhow::{Context, ensure};
use comfy_table::{CellAlignment, Table};
use hapax_synth::Length;
use serde::Deserialize;

use crate::texts::Texts;
use busy::{Samples, Stretch};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Documents of the corpus
    #[arg(long, default_value = "900e3", value_parser = crate::near::count)]
    documents: usize,
    #[arg(long, default_value_t = 5)]
    seed: u64,
    /// Files the corpus is split into; each makes tables
    #[arg(long, value_delimiter = ',', default_value = "16,1")]
    files: Vec<usize>,
    /// Layouts of the kept documents; each makes tables
    #[arg(long, value_delimiter = ',', default_value = "one,as-input")]
    layouts: Vec<Layout>,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_value = "1,2,16")]
    threads: Vec<usize>,
    /// Runs of each number; the fastest counts
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// More options for `hapax dedup`
    #[arg(last = true)]
    options: Vec<String>,
    /// The `hapax` program
    #[arg(long, default_value = "target/release/hapax")]
    hapax: PathBuf,
    /// Folder that keeps the corpus for the next run
    #[arg(long, default_value = "bench/out/threads")]
    keep: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Layout {
    /// One file
    One,
    /// One file per input file
    AsInput,
}

/// The used part of `run.json`.
#[derive(Clone, Deserialize)]
struct Run {
    reading_seconds: f64,
    reading_cpu_seconds: f64,
    deciding_seconds: f64,
    deciding_cpu_seconds: f64,
    confirming_seconds: f64,
    confirming_cpu_seconds: f64,
    writing_seconds: f64,
    writing_cpu_seconds: f64,
    peak_memory: u64,
}

impl Run {
    /// Wall and CPU seconds of reading, deciding, writing and the whole run.
    fn stages(&self) -> [(f64, f64); 4] {
        let deciding = self.deciding_seconds + self.confirming_seconds;
        let deciding_cpu = self.deciding_cpu_seconds + self.confirming_cpu_seconds;
        let all = self.reading_seconds + deciding + self.writing_seconds;
        let all_cpu = self.reading_cpu_seconds + deciding_cpu + self.writing_cpu_seconds;
        [
            (self.reading_seconds, self.reading_cpu_seconds),
            (deciding, deciding_cpu),
            (self.writing_seconds, self.writing_cpu_seconds),
            (all, all_cpu),
        ]
    }
}

/// Names of [`Run::stages`].
const STAGES: [&str; 4] = ["reading", "deciding", "writing", "whole"];

/// The fastest run with a number of threads, and a sampled one.
struct Measured {
    threads: usize,
    run: Run,
    /// Seconds from start to end of the process.
    process: f64,
    watched: Vec<(&'static str, Stretch)>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let length = Length { mu: 6.25, sigma: 0.6, least: 100, most: 5000 };
    for &files in &arguments.files {
        let Arguments { documents, seed, .. } = *arguments;
        let corpus = Texts { documents, seed, files, length }.make(&arguments.keep)?;
        for &layout in &arguments.layouts {
            // One file per thread is the same as one file with one thread.
            if files > 1 || layout == Layout::One {
                let to = if layout == Layout::One { "one file" } else { "a file each" };
                println!("\n## {files} files to {to}\n");
                let out = arguments.keep.join("clean");
                curve(&Job { arguments, corpus: &corpus, layout, out })?;
            }
        }
    }
    Ok(())
}

/// What is run with several numbers of threads.
struct Job<'j> {
    arguments: &'j Arguments,
    corpus: &'j Path,
    layout: Layout,
    out: PathBuf,
}

fn curve(job: &Job<'_>) -> anyhow::Result<()> {
    let mut all: Vec<Measured> = Vec::new();
    let mut first: Option<Vec<Vec<u8>>> = None;
    for &threads in &job.arguments.threads {
        let mut best: Option<(Run, f64)> = None;
        for _ in 0..job.arguments.rounds.max(1) {
            let (run, process) = job.timed(threads)?;
            let hashes = written(&job.out)?;
            ensure!(
                first.get_or_insert_with(|| hashes.clone()) == &hashes,
                "{threads} threads write other bytes than {}",
                job.arguments.threads[0]
            );
            if best.as_ref().is_none_or(|(_, least)| process < *least) {
                best = Some((run, process));
            }
        }
        let watched = job.watched(threads)?;
        all.extend(best.map(|(run, process)| Measured { threads, run, process, watched }));
    }
    print(&all);
    let bytes = Bytes::of(job.corpus, &job.out)?;
    fs::remove_dir_all(&job.out)?;
    print_watched(&all);
    print_bandwidth(&all, &bytes);
    print_serial(&all);
    Ok(())
}

impl Job<'_> {
    fn start(&self, threads: usize) -> anyhow::Result<Child> {
        if self.out.exists() {
            fs::remove_dir_all(&self.out)?;
        }
        let hapax = &self.arguments.hapax;
        let mut command = Command::new(hapax);
        command.arg("dedup").arg(self.corpus).arg("--out").arg(&self.out);
        command.args(["--threads", &threads.to_string(), "--quiet"]).args(&self.arguments.options);
        if self.layout == Layout::AsInput {
            command.args(["--layout", "as-input"]);
        }
        let started = command.stdout(Stdio::null()).spawn();
        started.with_context(|| format!("cannot start {}", hapax.display()))
    }

    /// Runs the job; returns its own report, and the seconds of its process.
    fn timed(&self, threads: usize) -> anyhow::Result<(Run, f64)> {
        let mut child = self.start(threads)?;
        let begun = Instant::now();
        let status = child.wait()?;
        let process = begun.elapsed().as_secs_f64();
        ensure!(status.success(), "the program ended with {status}");
        Ok((serde_json::from_slice(&fs::read(self.out.join("run.json"))?)?, process))
    }

    /// Stages of a run that is sampled; the rest is the start and the end of the process.
    fn watched(&self, threads: usize) -> anyhow::Result<Vec<(&'static str, Stretch)>> {
        let mut child = self.start(threads)?;
        let begun = busy::seconds(SystemTime::now());
        let (status, samples): (_, Samples) = busy::watch(&mut child)?;
        let ended = busy::seconds(SystemTime::now());
        ensure!(status.success(), "the program ended with {status}");
        let file = self.out.join("run.json");
        let run: Run = serde_json::from_slice(&fs::read(&file)?)?;
        // The file is written at the end of the last stage.
        let mut to = busy::seconds(fs::metadata(&file)?.modified()?);
        let mut stretches = vec![("end", samples.between(to, ended, threads))];
        for (name, (seconds, _)) in STAGES.iter().zip(run.stages()).take(3).rev() {
            let from = to - seconds;
            stretches.push((name, samples.between(from, to, threads)));
            to = from;
        }
        stretches.push(("start", samples.between(begun, to, threads)));
        stretches.reverse();
        stretches.push(("whole", samples.between(begun, ended, threads)));
        Ok(stretches)
    }
}

/// The outputs that must not depend on threads, sorted by name.
fn written(out: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(out)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    names.retain(|path| !path.ends_with("run.json") && !path.ends_with("report.html"));
    names.sort();
    names.iter().map(hash).collect()
}

/// Hashes a file, because outputs of two runs may not fit into memory together.
fn hash(path: &PathBuf) -> anyhow::Result<Vec<u8>> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(fs::File::open(path)?)?;
    Ok(hasher.finalize().as_bytes().to_vec())
}

/// Bytes of files that a job reads or writes.
struct Bytes {
    read: u64,
    written: u64,
}

impl Bytes {
    fn of(corpus: &Path, out: &Path) -> anyhow::Result<Self> {
        let all = |folder: &Path| -> anyhow::Result<u64> {
            fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
        };
        Ok(Self { read: all(corpus)?, written: all(out)? })
    }

    /// Bytes that a stage reads and writes.
    fn of_stage(&self, stage: &str) -> u64 {
        match stage {
            "reading" => self.read,
            "writing" => self.read + self.written,
            _ => 2 * self.read + self.written,
        }
    }
}

fn table(header: impl IntoIterator<Item = String>) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(header);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn print(all: &[Measured]) {
    let mut header = vec!["threads".to_owned()];
    header.extend(STAGES.iter().map(|stage| format!("{stage}, s")));
    header.extend(STAGES.iter().map(|stage| format!("{stage}, CPU s")));
    header.extend(["process, s", "speed-up", "peak MB"].map(str::to_owned));
    let mut table = table(header);
    let Some(one) = all.first() else { return };
    for Measured { threads, run, process, .. } in all {
        let mut row = vec![threads.to_string()];
        row.extend(run.stages().iter().map(|(wall, _)| format!("{wall:.2}")));
        row.extend(run.stages().iter().map(|(_, cpu)| format!("{cpu:.2}")));
        row.push(format!("{process:.2}"));
        row.push(format!("{:.2}", one.process / process));
        row.push(format!("{:.0}", run.peak_memory as f64 / 1e6));
        table.add_row(row);
    }
    println!("{table}");
}

fn print_watched(all: &[Measured]) {
    let header = [
        "threads",
        "stage",
        "seconds",
        "at most one busy, s",
        "at most one busy, CPU s",
        "none busy, s",
        "threads waited, s",
        "waits",
        "first thread, CPU s",
    ];
    let mut table = table(header.map(str::to_owned));
    for Measured { threads, watched, .. } in all {
        for (stage, it) in watched {
            table.add_row([
                threads.to_string(),
                (*stage).to_owned(),
                format!("{:.3}", it.seconds),
                format!("{:.3}", it.alone),
                format!("{:.3}", it.alone_cpu),
                format!("{:.3}", it.idle),
                format!("{:.3}", it.missing),
                it.waits.to_string(),
                format!("{:.3}", it.first_cpu),
            ]);
        }
    }
    println!("\nOne watched run of each:\n\n{table}");
}

fn print_bandwidth(all: &[Measured], bytes: &Bytes) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let header = ["threads", "stage", "files, GB/s", "copying memory, GB/s", "share, %"];
    let mut table = table(header.map(str::to_owned));
    for Measured { threads, run, .. } in all.iter().filter(|it| it.threads <= cores) {
        let copying = bandwidth::copying(*threads) / 1e9;
        for (stage, (seconds, _)) in STAGES.iter().zip(run.stages()) {
            if *stage == "deciding" {
                continue;
            }
            let rate = bytes.of_stage(stage) as f64 / seconds / 1e9;
            table.add_row([
                threads.to_string(),
                (*stage).to_owned(),
                format!("{rate:.2}"),
                format!("{copying:.1}"),
                format!("{:.1}", 100.0 * rate / copying),
            ]);
        }
    }
    println!(
        "\nBytes of files that a stage reads and writes, each counted once; copying counts bytes read and written:\n\n{table}"
    );
}

fn print_serial(all: &[Measured]) {
    let of = |wanted| all.iter().find(|it| it.threads == wanted);
    let (Some(one), Some(two)) = (of(1), of(2)) else { return };
    let cpu = one.run.stages()[3].1;
    let share = |seconds: f64| {
        let seconds = seconds.max(0.0);
        format!("{seconds:.3} s, {:.1} %", 100.0 * seconds / cpu)
    };
    println!("\nSerial with two threads, as a share of the {cpu:.2} CPU s of one:\n");
    for (stage, seen) in &two.watched {
        println!("- serial, {stage}: {}", share(seen.alone_cpu));
    }
    for (stage, (wall, cpu)) in STAGES.iter().zip(two.run.stages()) {
        println!("- one core idle, {stage}: {}", share(2.0 * wall - cpu));
    }
}
