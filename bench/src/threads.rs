//! Measures how `hapax dedup` uses threads: seconds of every stage and the serial share. Needs two idle cores, and
//! files in memory.
//!
//! The corpus is text of the synthetic web, 620 words a document, a fifth of them near-copies; every number of
//! threads must write the same bytes. With T1 and T2 the seconds of one and two threads, the serial share of a
//! stage is (2 T2 - T1) / T1 by Amdahl (a small difference of large times, which also counts slower memory), or (2
//! T2 less the CPU seconds) / T1, the time in which only one core worked.
//!
//! ```text
//! cargo build --release
//! cargo run --release -p hapax-bench -- threads --documents 900e3 --threads 1,2
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use comfy_table::{CellAlignment, Table};
use hapax_synth::Length;
use serde::Deserialize;

use crate::texts::Texts;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Documents of the corpus
    #[arg(long, default_value = "900e3", value_parser = crate::near::count)]
    documents: usize,
    #[arg(long, default_value_t = 5)]
    seed: u64,
    /// Files the corpus is split into
    #[arg(long, default_value_t = 16)]
    files: usize,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Runs of each; the quickest counts
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// More options for `hapax dedup`
    #[arg(last = true)]
    options: Vec<String>,
    /// The program
    #[arg(long, default_value = "target/release/hapax")]
    hapax: PathBuf,
    /// Folder for the files; the corpus stays there for the next run
    #[arg(long, default_value = "bench/out/threads")]
    keep: PathBuf,
}

/// What is taken of `run.json`.
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
    /// Seconds of reading, deciding, writing and all: on the wall, of the processor.
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

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { documents, seed, files, .. } = *arguments;
    let length = Length { mu: 6.25, sigma: 0.6, least: 100, most: 5000 };
    let corpus = Texts { documents, seed, files, length }.make(&arguments.keep)?;
    let mut runs: Vec<(usize, Run)> = Vec::new();
    let mut first: Option<Vec<Vec<u8>>> = None;
    for &threads in &arguments.threads {
        for _ in 0..arguments.rounds.max(1) {
            let out = arguments.keep.join("clean");
            let run = clean(arguments, &corpus, &out, threads)?;
            let hashes = written(&out)?;
            ensure!(
                first.get_or_insert_with(|| hashes.clone()) == &hashes,
                "{threads} threads write other bytes than {}",
                arguments.threads[0]
            );
            match runs.last_mut() {
                Some((of, best)) if *of == threads => {
                    if run.stages()[3].0 < best.stages()[3].0 {
                        *best = run;
                    }
                }
                _ => runs.push((threads, run)),
            }
        }
    }
    print(&runs);
    Ok(())
}

fn clean(arguments: &Arguments, corpus: &Path, out: &Path, threads: usize) -> anyhow::Result<Run> {
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    let status = Command::new(&arguments.hapax)
        .arg("dedup")
        .arg(corpus)
        .arg("--out")
        .arg(out)
        .args(["--threads", &threads.to_string(), "--quiet"])
        .args(&arguments.options)
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", arguments.hapax.display()))?;
    ensure!(status.success(), "the program ended with {status}");
    Ok(serde_json::from_slice(&fs::read(out.join("run.json"))?)?)
}

/// What must not depend on threads, in the order of names.
fn written(out: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(out)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    names.retain(|path| !path.ends_with("run.json") && !path.ends_with("report.html"));
    names.sort();
    names.iter().map(|path| Ok(fs::read(path)?)).collect()
}

fn print(runs: &[(usize, Run)]) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    let stages = ["reading", "deciding", "writing", "whole"];
    let mut header = vec!["threads".to_owned()];
    header.extend(stages.iter().map(|stage| format!("{stage}, s")));
    header.extend(stages.iter().map(|stage| format!("{stage}, CPU s")));
    header.extend(["speed-up".to_owned(), "peak MB".to_owned()]);
    let columns = header.len();
    table.set_header(header);
    for column in 0..columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let Some((_, one)) = runs.first() else { return };
    for (threads, run) in runs {
        let mut row = vec![threads.to_string()];
        row.extend(run.stages().iter().map(|(wall, _)| format!("{wall:.2}")));
        row.extend(run.stages().iter().map(|(_, cpu)| format!("{cpu:.2}")));
        row.push(format!("{:.2}", one.stages()[3].0 / run.stages()[3].0));
        row.push(format!("{:.0}", run.peak_memory as f64 / 1e6));
        table.add_row(row);
    }
    println!("{table}");
    let of = |wanted| runs.iter().find(|(threads, _)| *threads == wanted);
    if let (Some((_, one)), Some((_, two))) = (of(1), of(2)) {
        let whole = one.stages()[3].0;
        for ((stage, one), two) in stages.iter().zip(one.stages()).zip(two.stages()) {
            let share = |seconds: f64| {
                let seconds = seconds.max(0.0);
                format!("{seconds:.2} s, {:.1} % of one thread", 100.0 * seconds / whole)
            };
            let (grows, idle) = (2.0 * two.0 - one.0, 2.0 * two.0 - two.1);
            println!("serial, {stage}: {}; one core idle: {}", share(grows), share(idle));
        }
    }
}
