//! Extracts text with our extractor, and converts folders of HTML to lines of JSON for all contenders.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hapax::page::{Extent, ExtractOptions, Extractor, Hints, decoded};
use serde::Deserialize;

use crate::measure::{Report, repeated};
use crate::{Document, read_documents};

#[derive(Deserialize)]
pub(crate) struct Job {
    /// Whether to omit navigation and link lists.
    main_content: bool,
    pages: PathBuf,
    out: PathBuf,
}

/// A folder to read; a page's name is its relative path.
#[derive(Deserialize)]
pub(crate) struct Folder {
    folder: PathBuf,
    out: PathBuf,
}

/// Writes the texts of all pages as lines of JSON.
pub(crate) fn run(job: &Job) -> Result<Report> {
    let pages = read_documents(&job.pages)?;
    let extent = if job.main_content { Extent::MainContent } else { Extent::Body };
    let mut extractor = Extractor::new(ExtractOptions { extent, ..ExtractOptions::default() });
    let (texts, seconds) = repeated(|| {
        let of = |page: &Document| {
            let extracted = extractor.extract_html(&page.html, &Hints::default());
            extracted.map(|page| page.text.clone())
        };
        pages.iter().map(of).collect::<Result<Vec<_>, _>>()
    });
    let texts = texts?;
    let bytes = texts.iter().map(String::len).sum();
    let items = pages.len();
    let documents = pages.into_iter().zip(texts);
    let documents =
        documents.map(|(page, text)| Document { id: page.id, html: String::new(), text });
    write(&job.out, documents)?;
    let setting = if job.main_content { "main content" } else { "whole body" };
    Ok(Report { setting: setting.into(), seconds, items, bytes: Some(bytes), ..Report::default() })
}

/// Writes the decoded HTML files of a folder.
pub(crate) fn pages(job: &Folder) -> Result<Report> {
    let mut paths = Vec::new();
    walk(&job.folder, &mut paths)?;
    paths.sort();
    let items = paths.len();
    let mut pages = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        let (_, html) = decoded(&bytes, &Hints::default())?;
        let id = path.strip_prefix(&job.folder)?.to_string_lossy().replace('\\', "/");
        pages.push(Document { id, html: html.into_owned(), text: String::new() });
    }
    write(&job.out, pages.into_iter())?;
    Ok(Report { setting: "decoded".into(), items, ..Report::default() })
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, found)?;
        } else if path.extension().is_some_and(|it| it == "html" || it == "htm") {
            found.push(path);
        }
    }
    Ok(())
}

fn write(path: &Path, documents: impl Iterator<Item = Document>) -> Result<()> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let mut lines = BufWriter::new(file);
    for document in documents {
        serde_json::to_writer(&mut lines, &document)?;
        lines.write_all(b"\n")?;
    }
    Ok(lines.flush()?)
}
