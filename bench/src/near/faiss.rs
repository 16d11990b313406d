//! FAISS in a virtual environment of its own, on the same data.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use hapax::fingerprint::Fingerprint;
use hapax::index::Match;
use serde::Deserialize;

/// The release the figures are about.
const PACKAGES: [&str; 2] = ["faiss-cpu==1.15.1", "numpy"];

/// What the script measured, and what it found.
pub(crate) struct Outcome {
    pub(crate) report: Report,
    /// Matches of each query, nearest first, ties by id.
    pub(crate) answers: Vec<Vec<Match>>,
}

#[derive(Deserialize)]
pub(crate) struct Report {
    pub(crate) version: String,
    pub(crate) build_seconds: f64,
    pub(crate) search_seconds: f64,
    pub(crate) bytes: u64,
}

/// Searches `queries` among `stored` with `IndexBinaryMultiHash(64, 4, 16)`.
pub(crate) fn run(
    stored: &[Fingerprint],
    queries: &[Fingerprint],
    within: u32,
    flips: u32,
) -> anyhow::Result<Outcome> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = folder.join("out");
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let python = environment(&out)?;
    let stored_file = write(&out.join("fingerprints.u64"), stored)?;
    let query_file = write(&out.join("queries.u64"), queries)?;
    let answers = out.join("faiss");
    let output = Command::new(python)
        .arg(folder.join("peers/faiss_binary.py"))
        .args([&stored_file, &query_file, &answers])
        .args(["--within", &within.to_string(), "--nflip", &flips.to_string()])
        .output()
        .context("cannot start Python")?;
    if !output.status.success() {
        bail!("faiss_binary.py failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let report = serde_json::from_slice(&output.stdout).context("faiss_binary.py's report")?;
    let answers = read_answers(&answers, queries.len())?;
    Ok(Outcome { report, answers })
}

/// The interpreter of an environment with FAISS in it, made when missing.
fn environment(out: &Path) -> anyhow::Result<PathBuf> {
    let folder = out.join("venv");
    let python = folder.join("bin/python");
    let check = || Command::new(&python).args(["-c", "import faiss, numpy"]).output();
    if check().is_ok_and(|output| output.status.success()) {
        return Ok(python);
    }
    eprintln!("installing {} into {}", PACKAGES.join(" and "), folder.display());
    let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status()?;
    ensure!(made.success(), "python3 -m venv failed");
    let installed = Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(PACKAGES)
        .status()?;
    ensure!(installed.success(), "pip could not install {}", PACKAGES.join(" and "));
    Ok(python)
}

fn write(path: &Path, fingerprints: &[Fingerprint]) -> anyhow::Result<PathBuf> {
    let bytes: Vec<u8> = fingerprints.iter().flat_map(|f| f.to_bits().to_le_bytes()).collect();
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path.to_owned())
}

fn read_answers(prefix: &Path, queries: usize) -> anyhow::Result<Vec<Vec<Match>>> {
    let read = |extension: &str| {
        let path = prefix.with_extension(extension);
        fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (limits, distances, ids) = (read("limits")?, read("distances")?, read("ids")?);
    let limits: Vec<usize> =
        limits.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b) as usize).collect();
    let distances = distances.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b));
    let ids = ids.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b));
    let matches: Vec<Match> =
        distances.zip(ids).map(|(distance, id)| Match { distance, id }).collect();
    ensure!(
        limits.len() == queries + 1 && limits.last() == Some(&matches.len()),
        "FAISS answered {} queries of {queries}",
        limits.len().saturating_sub(1),
    );
    let group = |ends: &[usize]| {
        let mut group = matches[ends[0]..ends[1]].to_vec();
        group.sort_unstable();
        group
    };
    Ok(limits.windows(2).map(group).collect())
}
