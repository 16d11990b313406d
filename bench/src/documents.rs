//! Measures CPU time and memory of `hapax dedup` against the number of short documents, where chance matches grow
//! with the square of the corpus.
//!
//! Each corpus is cleaned by a dry run in its own process. A fifth of the documents are near-copies; at least a tenth
//! must be found before a row is printed.
//!
//! ```text
//! cargo run --release -p hapax-bench -- documents --documents 1e6,2e6,4e6,8e6,16e6 --plot documents.svg
//! ```

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use comfy_table::{CellAlignment, Table};
use hapax::fingerprint::Fingerprinter;
use hapax_dedup::Options;
use hapax_synth::Length;
use serde::{Deserialize, Serialize};

use crate::plot::{Charts, Point, draw};
use crate::texts::Texts;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Sizes of the corpus
    #[arg(long, value_delimiter = ',', default_value = "1e6,2e6,4e6,8e6,16e6", value_parser = crate::near::count)]
    documents: Vec<usize>,
    /// Words per document
    #[arg(long, default_value_t = 80)]
    words: u32,
    #[arg(long, default_value_t = 5)]
    seed: u64,
    #[arg(long, default_value = "2")]
    threads: NonZero<usize>,
    /// Runs of each size; the one with the least CPU time counts
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Output file of the plot
    #[arg(long)]
    plot: Option<PathBuf>,
    /// File that keeps the figures of every size, one line of JSON each; only missing sizes are
    /// measured
    #[arg(long)]
    figures: Option<PathBuf>,
    /// Folder for the corpora
    #[arg(long, default_value = "bench/out/documents")]
    keep: PathBuf,
    /// Create the corpora only
    #[arg(long)]
    prepare: bool,
    /// Clean this corpus and print the figures as JSON; used for the process of one run
    #[arg(long, hide = true)]
    corpus: Option<PathBuf>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Figures {
    documents: u64,
    removed: u64,
    reading: f64,
    deciding: f64,
    wall: f64,
    candidates: u64,
    compared: u64,
    saturated_chance: Option<f64>,
    peak: u64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(corpus) = &arguments.corpus {
        println!("{}", serde_json::to_string(&measure(corpus, arguments.threads)?)?);
        return Ok(());
    }
    let known = match arguments.figures.as_deref().filter(|path| path.exists()) {
        Some(path) => fs::read_to_string(path)?,
        None => String::new(),
    };
    let mut all: Vec<Figures> =
        known.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    for &documents in &arguments.documents {
        if all.iter().any(|it| it.documents == documents as u64) {
            continue;
        }
        let (least, most) = (arguments.words, arguments.words);
        let length = Length { mu: f64::from(least).ln(), sigma: 0.0, least, most };
        let texts = Texts { documents, seed: arguments.seed, files: 16, length };
        let corpus = texts.make(&arguments.keep)?;
        if arguments.prepare {
            continue;
        }
        let runs = (0..arguments.rounds.max(1)).map(|_| {
            let ran = Command::new(std::env::current_exe()?)
                .args(["documents", "--threads", &arguments.threads.to_string(), "--corpus"])
                .arg(&corpus)
                .stderr(Stdio::inherit())
                .output()?;
            ensure!(ran.status.success(), "the run ended with {}", ran.status);
            Ok(serde_json::from_slice::<Figures>(&ran.stdout)?)
        });
        let runs: Vec<Figures> = runs.collect::<anyhow::Result<_>>()?;
        let cpu = |it: &Figures| it.reading + it.deciding;
        let best = runs.into_iter().min_by(|a, b| cpu(a).total_cmp(&cpu(b)));
        let best = best.context("no run")?;
        ensure!(
            best.removed as f64 > 0.1 * documents as f64,
            "only {} of {documents} documents would go, and a fifth are copies",
            best.removed
        );
        eprintln!("{documents} documents: {:.1} s of CPU", cpu(&best));
        all.push(best);
        if let Some(path) = &arguments.figures {
            let lines = all.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
            fs::write(path, lines.join("\n") + "\n")?;
        }
    }
    all.sort_by_key(|it| it.documents);
    if arguments.prepare {
        return Ok(());
    }
    print(&all);
    if let Some(path) = &arguments.plot {
        fs::write(path, picture(&all)).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn measure(corpus: &Path, threads: NonZero<usize>) -> anyhow::Result<Figures> {
    let mut options = Options::new(Fingerprinter::default());
    options.threads = threads;
    let inputs = [corpus.to_string_lossy().into_owned()];
    let done = hapax_dedup::dry_run(&inputs, &options, &mut ())?;
    let (summary, run) = (done.summary, done.run);
    Ok(Figures {
        documents: summary.documents,
        removed: summary.documents - summary.kept,
        reading: run.reading_cpu_seconds,
        deciding: run.deciding_cpu_seconds + run.confirming_cpu_seconds,
        wall: run.reading_seconds + run.deciding_seconds + run.confirming_seconds,
        candidates: summary.candidate_pairs,
        compared: summary.compared_pairs,
        saturated_chance: summary.saturated_chance,
        peak: run.peak_memory.context("the system does not say how much memory was used")?,
    })
}

impl Figures {
    /// The amount per document.
    fn each(&self, all: f64) -> f64 {
        all / self.documents as f64
    }
}

fn print(all: &[Figures]) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    let header = [
        "documents",
        "removed",
        "proposed by",
        "candidates each",
        "compared each",
        "reading, CPU us each",
        "deciding, CPU us each",
        "whole, CPU us each",
        "whole, CPU s",
        "whole, s",
        "peak bytes each",
    ];
    table.set_header(header);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for it in all {
        let micros = |seconds: f64| format!("{:.1}", 1e6 * it.each(seconds));
        let by = if it.saturated_chance.is_some() { "sketches" } else { "fingerprints" };
        table.add_row([
            it.documents.to_string(),
            it.removed.to_string(),
            by.to_owned(),
            format!("{:.1}", it.each(it.candidates as f64)),
            format!("{:.1}", it.each(it.compared as f64)),
            micros(it.reading),
            micros(it.deciding),
            micros(it.reading + it.deciding),
            format!("{:.1}", it.reading + it.deciding),
            format!("{:.1}", it.wall),
            format!("{:.0}", it.each(it.peak as f64)),
        ]);
    }
    println!("{table}");
}

fn picture(all: &[Figures]) -> String {
    let mut points = Vec::new();
    for it in all {
        for (line, seconds) in [
            ("whole", it.reading + it.deciding),
            ("reading", it.reading),
            ("deciding", it.deciding),
        ] {
            points.push(Point {
                line: line.to_owned(),
                pages: it.documents as usize,
                microseconds: 1e6 * it.each(seconds),
                bytes: it.each(it.peak as f64),
            });
        }
    }
    let time = "CPU microseconds per document, by number of documents";
    let bytes = "bytes of memory at the peak per document, by number of documents";
    let label = |documents: usize| format!("{} million", documents as f64 / 1e6);
    draw(&points, &Charts { time, bytes, logarithmic: false, bytes_of: Some("whole"), label })
}
