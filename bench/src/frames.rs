//! Counts how many products and how many copies `hapax dedup` removes from a generated shop whose pages share a
//! frame.
//!
//! Products differ in name, price, number and description: none may be removed. Copies of a product (session id,
//! referrer, another date) must all be removed. Pages with a different menu or none, and removals from a corpus with
//! and without frames, are counted and not asserted.
//!
//! ```text
//! cargo build --release
//! cargo run --release -p hapax-bench -- frames --corpus DIR/docs.jsonl.zst
//! ```

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use comfy_table::Table;
use hapax_synth::{SiteCopy, SitePage, TemplatedSite};
use serde::Deserialize;

/// Copies that keep the frame of their page.
const COPIES: [SiteCopy; 3] = [SiteCopy::Session, SiteCopy::Referrer, SiteCopy::Date];
/// One in this many words of the frame is in the menu, which differs in copies: with more, whole
/// pages would not match.
const MENU_ONE_IN: usize = 30;
const COPY_COLUMNS: [&str; 5] =
    ["frame, words", "own text, words", "copies", "removed, frames off", "removed, frames on"];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Corpora to clean with and without frames
    #[arg(long)]
    corpus: Vec<PathBuf>,
    /// The `hapax` program
    #[arg(long, default_value = "target/release/hapax")]
    hapax: PathBuf,
    /// Folder for files
    #[arg(long, default_value = "bench/out/frames")]
    keep: PathBuf,
}

#[derive(Deserialize)]
struct Summary {
    documents: u64,
    exact: u64,
    near: u64,
}

impl Summary {
    const fn removed(&self) -> u64 {
        self.exact + self.near
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    fs::create_dir_all(&arguments.keep)?;
    let mut table = headed(&[
        "frame, words",
        "own text, words",
        "pages",
        "removed, frames off",
        "removed, frames on",
    ]);
    for frame in [100, 300, 1000] {
        for own in [0, 10, 40, 80, 150] {
            for pages in [3, 10, 40, 100, 1000] {
                let site = TemplatedSite::new((frame + own) as u64, "shop.test", frame, own);
                row(&mut table, arguments, &site, pages, &[frame, own])?;
            }
        }
    }
    println!("Products of one shop\n\n{table}\n");

    let mut table = headed(&[
        "frame changes every",
        "languages",
        "pages",
        "removed, frames off",
        "removed, frames on",
    ]);
    for (every, two) in [(0, true), (30, false), (100, false), (50, true)] {
        let mut site = TemplatedSite::new(5, "shop.test", 300, 10);
        (site.frame_changes_every, site.two_languages) = (every, two);
        row(&mut table, arguments, &site, 200, &[every as usize, 1 + usize::from(two)])?;
    }
    println!("Frames that change, two languages; 300 words of frame, 10 of own text\n\n{table}\n");

    let mut table = headed(&COPY_COLUMNS);
    for (frame, own) in [(100, 40), (300, 0), (300, 80), (1000, 10), (1000, 150)] {
        let site = TemplatedSite::new(9, "shop.test", frame, own);
        let [off, on] = with_copies(arguments, &site, &COPIES)?;
        ensure!(on == 60, "{on} of 60 copies go: {frame} {own}");
        add(&mut table, &[frame, own, 60], &[off, on]);
    }
    println!("60 products of one shop and three copies of 20 of them\n\n{table}\n");

    let mut table = headed(&COPY_COLUMNS);
    for (frame, own) in [(100, 40), (300, 0), (300, 80), (1000, 10), (1000, 150)] {
        let mut site = TemplatedSite::new(9, "shop.test", frame, own);
        site.menu_words = frame / MENU_ONE_IN;
        let counts = with_copies(arguments, &site, &[SiteCopy::Print, SiteCopy::Menu])?;
        add(&mut table, &[frame, own, 40], &counts);
    }
    println!("60 products, a print version of 20 of them, and 20 with another menu\n\n{table}\n");

    let mut table = headed(&[
        "corpus",
        "documents",
        "removed, frames off",
        "removed, frames on",
        "removed by both",
    ]);
    for corpus in &arguments.corpus {
        let (off, kept_off) = cleaned(arguments, corpus, "off")?;
        let (on, kept_on) = cleaned(arguments, corpus, "on")?;
        let only_off = kept_on.difference(&kept_off).count() as u64;
        let name = corpus.parent().and_then(Path::file_name).unwrap_or(corpus.as_os_str());
        let mut cells = vec![name.to_string_lossy().into_owned()];
        let numbers = [off.documents, off.removed(), on.removed(), off.removed() - only_off];
        cells.extend(numbers.map(|number| number.to_string()));
        table.add_row(cells);
    }
    if !arguments.corpus.is_empty() {
        println!("Corpora\n\n{table}");
    }
    Ok(())
}

/// Counts removed products of 60 and removed copies of 20 of them, without and with frames.
fn with_copies(
    arguments: &Arguments,
    site: &TemplatedSite,
    copies: &[SiteCopy],
) -> anyhow::Result<[u64; 2]> {
    let mut pages: Vec<SitePage> = (0..60).map(|number| site.page(number)).collect();
    for number in 0..20 {
        pages.extend(copies.iter().map(|&how| site.copy(number, how)));
    }
    let (off, on) = (clean(arguments, &pages, "off")?, clean(arguments, &pages, "on")?);
    Ok([off.removed(), on.removed()])
}

fn headed(names: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(names);
    table
}

fn add(table: &mut Table, about: &[usize], found: &[u64]) {
    let about = about.iter().map(usize::to_string);
    table.add_row(about.chain(found.iter().map(u64::to_string)).collect::<Vec<_>>());
}

fn row(
    table: &mut Table,
    arguments: &Arguments,
    site: &TemplatedSite,
    count: u64,
    about: &[usize],
) -> anyhow::Result<()> {
    let pages: Vec<SitePage> = (0..count).map(|number| site.page(number)).collect();
    let (off, on) = (clean(arguments, &pages, "off")?, clean(arguments, &pages, "on")?);
    // With fewer than eight pages no frame is learned.
    let most = if count < 8 { off.removed() } else { 0 };
    ensure!(on.removed() <= most, "{} of {count} products go: {about:?}", on.removed());
    add(table, &[about, &[count as usize]].concat(), &[off.removed(), on.removed()]);
    Ok(())
}

fn clean(arguments: &Arguments, pages: &[SitePage], frames: &str) -> anyhow::Result<Summary> {
    let mut lines = String::new();
    for page in pages {
        let line = serde_json::json!({ "url": page.url, "html": page.html });
        writeln!(lines, "{line}")?;
    }
    let path = arguments.keep.join("pages.jsonl");
    fs::write(&path, lines)?;
    Ok(cleaned(arguments, &path, frames)?.0)
}

/// The summary, and the names of the kept documents.
fn cleaned(
    arguments: &Arguments,
    corpus: &Path,
    frames: &str,
) -> anyhow::Result<(Summary, BTreeSet<String>)> {
    let out = arguments.keep.join("clean");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let status = Command::new(&arguments.hapax)
        .arg("dedup")
        .arg(corpus)
        .args(["--format", "jsonl", "--frames", frames, "--quiet", "--out"])
        .arg(&out)
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", arguments.hapax.display()))?;
    ensure!(status.success(), "the program ended with {status}");
    let mut kept = BTreeSet::new();
    for line in fs::read_to_string(out.join("kept.jsonl"))?.lines() {
        let document: serde_json::Value = serde_json::from_str(line)?;
        let name =
            document.get("id").or(document.get("url")).context("a document without a name")?;
        kept.insert(name.to_string());
    }
    Ok((serde_json::from_slice(&fs::read(out.join("summary.json"))?)?, kept))
}
