//! The pages to measure: the repository's examples, or a file of JSON lines.

use anyhow::{Context, Result, ensure};
use hapax::page::{ExtractOptions, Extractor, Hints};
use std::fs;
use std::path::{Path, PathBuf};

/// Reads at most `limit` pages.
pub(crate) fn read(jsonl: Option<&Path>, limit: usize) -> Result<Vec<String>> {
    let pages = match jsonl {
        Some(path) => from_jsonl(path, limit)?,
        None => from_examples(limit)?,
    };
    ensure!(!pages.is_empty(), "no pages to measure on");
    Ok(pages)
}

fn from_jsonl(path: &Path, limit: usize) -> Result<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Line {
        html: String,
    }
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    text.lines()
        .take(limit)
        .enumerate()
        .map(|(n, line)| {
            let line: Line = serde_json::from_str(line)
                .with_context(|| format!("{} line {}", path.display(), n + 1))?;
            Ok(line.html)
        })
        .collect()
}

/// The examples in UTF-8, because the peers take decoded text.
fn from_examples(limit: usize) -> Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/docs");
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut extractor = Extractor::new(ExtractOptions::default());
    let mut pages = Vec::new();
    for file in files.into_iter().take(limit) {
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        if extractor.extract(&bytes, &Hints::default())?.encoding == "UTF-8" {
            pages.push(String::from_utf8(bytes)?);
        }
    }
    Ok(pages)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
