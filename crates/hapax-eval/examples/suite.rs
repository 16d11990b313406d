//! Measures every quality figure on real sets with the default settings, in one command.
//!
//! ```console
//! $ cargo run --release -p hapax-eval --example suite -- --data DIR [--groups DIR] [--json FILE]
//! ```
//!
//! `DIR/SET/` contains `docs.jsonl.zst`, `refpairs.tsv.zst` (all pairs with exact similarity) and `pairs.tsv.zst`
//! (labels). Missing sets are reported and skipped. `--groups` names a folder of other programs' answers,
//! `SET-NAME.tsv` with id and group (`experiments/quality/minhash.py` makes them).

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that prints what it measures"
)]

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use hapax::fingerprint::{Fingerprinter, MaxDistance, Recipe};
use hapax::page::{Extent, ExtractOptions, Extractor, Hints};
use hapax::similarity::MinSimilarity;
use hapax_corpus::{ReadOptions, Source};
use hapax_dedup::Frames;
use hapax_eval::curves::{Curve, Point};
use hapax_eval::{Evaluation, Report, Score, Truth, steps};
use serde_json::{Value, json};

const GRADED: [&str; 4] = ["web-uci", "debdocs", "phpdoc", "cjk-lohelp"];

struct Suite {
    data: PathBuf,
    groups: Option<PathBuf>,
    rows: Vec<(String, String, String, bool)>,
    record: serde_json::Map<String, Value>,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (mut data, mut groups, mut out) = (None, None, None);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().map(PathBuf::from);
        match argument.as_str() {
            "--data" => data = value,
            "--groups" => groups = value,
            "--json" => out = value,
            other => bail!("unknown argument {other}; see the head of examples/suite.rs"),
        }
    }
    let data = data.context("--data DIR says where the sets are")?;
    let mut suite = Suite { data, groups, rows: Vec::new(), record: serde_json::Map::new() };
    let start = Instant::now();
    for set in GRADED {
        suite.graded(set)?;
    }
    for set in ["debdocs", "phpdoc", "cjk-lohelp"] {
        suite.labelled(set, 0.99, None)?;
    }
    suite.labelled("web-uci", 0.99, None)?;
    suite.labelled("labelled-minhash2500", 1.0, Some(1.0))?;
    suite.syndication()?;
    suite.steps()?;
    println!("\n{:<21} {:<74} {:>30}", "set", "bar", "measured [95 % interval]");
    for (set, bar, measured, met) in &suite.rows {
        println!("{set:<21} {bar:<74} {measured:>30} {}", if *met { "" } else { "NOT MET" });
    }
    println!("{:.0} s", start.elapsed().as_secs_f64());
    if let Some(out) = out {
        std::fs::write(&out, serde_json::to_string_pretty(&Value::Object(suite.record))? + "\n")?;
    }
    Ok(())
}

impl Suite {
    fn row(&mut self, set: &str, bar: &str, measured: &Score, met: bool) {
        self.rows.push((set.to_owned(), bar.to_owned(), measured.to_string(), met));
    }

    /// The inputs of a set and the path of one of its tables; `None` if the set is missing.
    fn files(&self, set: &str, table: &str) -> Option<(Vec<String>, PathBuf)> {
        let folder = self.data.join(set);
        let (documents, truth) = (folder.join("docs.jsonl.zst"), folder.join(table));
        if !documents.exists() || !truth.exists() {
            eprintln!("{set}: not there");
            return None;
        }
        Some((vec![documents.display().to_string()], truth))
    }

    fn evaluation(&self, set: &str, table: &str, recipe: Recipe) -> Result<Option<Evaluation>> {
        let Some((inputs, truth)) = self.files(set, table) else { return Ok(None) };
        let mut evaluation = Evaluation::new(inputs, Fingerprinter::new(recipe, None)?);
        let name = truth.display().to_string();
        evaluation.truth = Some((Truth::read(&truth, None)?, name));
        evaluation.worst = 0;
        Ok(Some(evaluation))
    }

    fn keep(&mut self, name: String, mut report: Report) -> Result<()> {
        // Curves are large, and names of pages may not be published.
        for run in &mut report.runs {
            run.curves.clear();
            run.worst.clear();
            run.distances = None;
        }
        report.inputs.clear();
        report.truth.file = None;
        self.record.insert(name, serde_json::to_value(report)?);
        Ok(())
    }

    /// Truth is exact similarity: checks that all similar pairs are found and that removed pairs
    /// are similar.
    fn graded(&mut self, set: &str) -> Result<()> {
        let Some(mut evaluation) =
            self.evaluation(set, "refpairs.tsv.zst", Recipe::built_in("web-2")?)?
        else {
            return Ok(());
        };
        // The second is SimHash alone at 3 bits, without confirmation by sketches.
        let least = MinSimilarity::new(0.0).context("0 is a similarity")?;
        let three = MaxDistance::new(3).context("3 is a distance")?;
        evaluation.within.push(three);
        evaluation.min_similarity.push(least);
        evaluation.others = self.others(set);
        let report = evaluation.run(&mut ())?;
        for (number, run) in report.runs.iter().enumerate() {
            let alone = run.within == Some(3) && run.min_similarity == Some(0.0);
            let (Some(pairs), Some(removed)) = (run.pairs, run.removed_pairs) else { continue };
            if number > 0 && !alone && run.within.is_some() {
                continue;
            }
            let who = match number {
                0 => "defaults".to_owned(),
                _ if alone => "(SimHash alone, k = 3)".to_owned(),
                _ => format!("({})", run.name),
            };
            let ours = number == 0;
            self.row(
                set,
                &format!("{who}: pairs >= 0.9 in one group, 0.97"),
                &pairs.recall,
                !ours || pairs.recall.value >= 0.97,
            );
            self.row(set, &format!("{who}: pairs >= 0.9, not both stay"), &run.resolved, true);
            let bar =
                format!("{who}: removed pairs >= 0.8, 0.99 ({} below 0.5)", removed.below_half);
            let met = removed.from_80.value >= 0.99 && removed.below_half == 0;
            self.row(set, &bar, &removed.from_80, !ours || met);
        }
        self.keep(format!("{set} graded"), report)
    }

    fn others(&self, set: &str) -> Vec<(String, PathBuf)> {
        let Some(folder) = &self.groups else { return Vec::new() };
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let name = name.strip_prefix(&format!("{set}-")).and_then(|it| it.strip_suffix(".tsv"));
            if let Some(name) = name {
                found.push((name.to_owned(), entry.path()));
            }
        }
        found.sort();
        found
    }

    /// Truth is labels that do not come from text.
    fn labelled(&mut self, set: &str, precision: f64, recall: Option<f64>) -> Result<()> {
        let Some(mut evaluation) =
            self.evaluation(set, "pairs.tsv.zst", Recipe::built_in("web-2")?)?
        else {
            return Ok(());
        };
        evaluation.exact = false;
        let report = evaluation.run(&mut ())?;
        if let Some(pairs) = report.runs.first().and_then(|run| run.pairs) {
            let found = pairs.precision.unwrap_or_default();
            let met = found.value >= precision;
            self.row(set, &format!("labels: precision, {precision}"), &found, met);
            let met = recall.is_none_or(|it| pairs.recall.value >= it);
            let bar =
                recall.map_or("labels: recall".to_owned(), |it| format!("labels: recall, {it}"));
            self.row(set, &bar, &pairs.recall, met);
        }
        self.keep(format!("{set} labelled"), report)
    }

    /// The same article on other sites, by main content. The bar is for groups with the default
    /// settings; the best that pairs alone could reach at any similarity is printed next to it.
    fn syndication(&mut self) -> Result<()> {
        let set = "syndication";
        let mut recipe = Recipe::built_in("web-2")?;
        recipe.extent = Extent::MainContent;
        recipe.name = "web-2-main".to_owned();
        let Some(mut evaluation) = self.evaluation(set, "pairs.tsv.zst", recipe)? else {
            return Ok(());
        };
        evaluation.exact = false;
        let report = evaluation.run(&mut ())?;
        let best = |curve: &Curve| {
            let points = curve.points.iter().copied();
            let f1 = |it: &Point| it.f1.unwrap_or(0.0);
            points.max_by(|a, b| f1(a).total_cmp(&f1(b))).map(|it| (curve.within, it))
        };
        for curve in &report.runs[0].curves {
            if let Some((within, it)) =
                best(curve).filter(|(within, _)| [6, 16, 64].contains(within))
            {
                let bar = format!(
                    "main content, pairs within {within}, from {:.2}: F1 at best",
                    it.similarity
                );
                let (f1, precision) = (it.f1.unwrap_or(0.0), it.precision.unwrap_or(0.0));
                let text = format!("{f1:.4} (P {precision:.4}, R {:.4})", it.recall);
                self.rows.push((set.to_owned(), bar, text, true));
            }
        }
        if let Some(pairs) = report.runs[0].pairs {
            let f1 = pairs.f1.unwrap_or_default();
            let bar = "main content, groups by the defaults: F1, 0.9";
            self.row(set, bar, &f1, f1.value >= 0.9);
        }
        self.keep("syndication labelled".to_owned(), report)?;
        let recipe = Recipe::built_in("web-2")?;
        let Some(mut own) = self.evaluation(set, "pairs.tsv.zst", recipe)? else { return Ok(()) };
        own.use_frames(Frames::Own);
        own.exact = false;
        let report = own.run(&mut ())?;
        if let Some(pairs) = report.runs[0].pairs {
            let f1 = pairs.f1.unwrap_or_default();
            self.row(set, "own texts, groups by the defaults: F1, 0.95", &f1, f1.value >= 0.95);
        }
        self.keep("syndication by own texts".to_owned(), report)
    }

    /// Estimated and exact similarity of texts that change step by step.
    fn steps(&mut self) -> Result<()> {
        let mut by = Fingerprinter::new(Recipe::built_in("web-2")?, None)?;
        for set in ["debdocs", "web-uci"] {
            let Some((inputs, _)) = self.files(set, "pairs.tsv.zst") else { continue };
            let texts = some_texts(&inputs, 61)?;
            let found = steps::measure(&texts, &mut by, 20);
            let text =
                format!("{:.2} points, at most {:.1}", found.mean_error, found.largest_error);
            self.rows.push((
                set.to_owned(),
                "similarity in percent: mean error, 3 points".to_owned(),
                text,
                found.mean_error < 3.0,
            ));
            let record = json!({"mean_error": found.mean_error, "largest_error": found.largest_error, "steps": found.steps.len()});
            self.record.insert(format!("{set} steps"), record);
        }
        Ok(())
    }
}

/// Texts of documents sampled evenly from a set.
fn some_texts(inputs: &[String], most: usize) -> Result<Vec<String>> {
    let mut extractor = Extractor::new(ExtractOptions::default());
    let source = Source::open(inputs, ReadOptions::default())?;
    let mut texts = Vec::new();
    let mut number = 0;
    for mut batch in source.batches() {
        for document in batch.documents() {
            let document = document?;
            number += 1;
            if number % 97 == 0 && texts.len() < most {
                let html = String::from_utf8_lossy(document.body.content.as_bytes()).into_owned();
                texts.push(extractor.extract_html(&html, &Hints::default())?.text.clone());
            }
        }
    }
    Ok(texts)
}
