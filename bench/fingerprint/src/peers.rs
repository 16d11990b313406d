//! The peers in Python, in a virtual environment under `bench/out`.
//!
//! The same pages go to `peers.py`, which answers with its CPU times and the words it found;
//! a word count far from ours would mean that other work was measured and stops the run.

use crate::measure::{Bench, table};
use anyhow::{Context, Result, ensure};
use hapax::page::{Hints, Purifier, PurifyOptions};
use serde::Deserialize;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The releases that are compared.
///
/// `simhash` fails under NumPy 2 when a feature occurs more than 255 times.
const PACKAGES: [&str; 3] = ["selectolax==1.0.2", "simhash==2.1.2", "numpy==1.26.4"];

#[derive(Deserialize)]
struct Figures {
    extract: f64,
    extract_sample: f64,
    words_sample: f64,
    usual_sample: f64,
    sample: usize,
    words: usize,
}

/// The whole way beside text extraction alone, and beside extraction plus SimHash.
pub(crate) fn compare(bench: &Bench<'_>, ours: f64) -> Result<()> {
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("../out");
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    let python = environment(&out)?;
    let file = out.join("pages.jsonl");
    let mut lines = std::io::BufWriter::new(
        fs::File::create(&file).with_context(|| file.display().to_string())?,
    );
    for page in bench.pages {
        serde_json::to_writer(&mut lines, &serde_json::json!({ "html": page }))?;
        lines.write_all(b"\n")?;
    }
    lines.flush()?;
    drop(lines);

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers.py");
    let answer = Command::new(&python)
        .arg(&script)
        .arg(&file)
        .arg(bench.rounds.to_string())
        .output()
        .with_context(|| format!("running {}", script.display()))?;
    ensure!(
        answer.status.success(),
        "{} failed: {}",
        script.display(),
        String::from_utf8_lossy(&answer.stderr)
    );
    let theirs: Figures = serde_json::from_slice(&answer.stdout)?;
    let our_words = words(bench)?;
    let apart = (our_words as f64 / theirs.words as f64 - 1.0).abs();
    ensure!(apart < 0.2, "words extracted: ours {our_words}, theirs {}", theirs.words);

    // SimHash in Python is measured on a sample and scaled by what extraction took there.
    let scaled = |sample: f64| theirs.extract * sample / theirs.extract_sample;
    let mut table = table(&["what", "us/page", "MB/s of HTML", "times ours"]);
    for (what, seconds) in [
        ("hapax: HTML bytes to imprint".to_owned(), ours),
        ("selectolax (lexbor): text only".to_owned(), theirs.extract),
        ("selectolax, then simhash of its words *".to_owned(), scaled(theirs.words_sample)),
        ("selectolax, then simhash of its text *".to_owned(), scaled(theirs.usual_sample)),
    ] {
        let ratio = format!("{:.2}", seconds / ours);
        table.add_row([what, bench.per_page(seconds), bench.speed(seconds), ratio]);
    }
    println!("{table}\n\n* measured on {} pages and scaled", theirs.sample);
    println!("words extracted: ours {our_words}, selectolax {}", theirs.words);
    Ok(())
}

fn words(bench: &Bench<'_>) -> Result<usize> {
    let mut purifier = Purifier::new(PurifyOptions::default());
    bench.pages.iter().try_fold(0, |sum, page| {
        Ok(sum + purifier.purify_html(page, &Hints::default())?.text.split(' ').count())
    })
}

/// A Python with the peers in it.
fn environment(out: &Path) -> Result<PathBuf> {
    let folder = out.join("venv-fingerprint");
    let python = folder.join("bin/python");
    if !python.exists() {
        eprintln!("installing {} into {}", PACKAGES.join(", "), folder.display());
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
    }
    Ok(python)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
