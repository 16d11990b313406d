//! Measures alternatives to the defaults (word weights, a bound on lengths, grouping rules) and locates errors.
//!
//! ```console
//! $ cargo run --release -p hapax-eval --example sweep -- --data DIR [--json FILE]
//! ```
//!
//! `DIR/SET/` is as for the suite. Of pages with the same text only the first counts. Compares all pairs of
//! fingerprints, so that only the setting in question decides. Truth is the exact similarity of every pair, from 0.5.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that prints what it measures"
)]

mod pages;
mod rules;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use hapax::fingerprint::Recipe;
use hapax::similarity::DEFAULT_WITHIN;
use pages::{Set, Tables, Weights};
use serde_json::{Value, json};

const SETS: [&str; 4] = ["web-uci", "debdocs", "phpdoc", "cjk-lohelp"];
/// Ranges of page length in words that are reported separately.
const LENGTHS: [(u32, u32); 5] = [(0, 20), (20, 50), (50, 200), (200, 1_000), (1_000, u32::MAX)];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (mut data, mut out) = (None, None);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().map(PathBuf::from);
        match argument.as_str() {
            "--data" => data = value,
            "--json" => out = value,
            other => bail!("unknown argument {other}; see the head of examples/sweep"),
        }
    }
    let data = data.context("--data DIR says where the sets are")?;
    let recipe = Recipe::built_in("web-2")?;
    let mut sets = Vec::new();
    for name in SETS {
        if data.join(name).exists() {
            eprintln!("reading {name}");
            sets.push(Set::read(&data, name, &recipe)?);
        } else {
            eprintln!("{name}: not there");
        }
    }
    let mut record = serde_json::Map::new();
    for (at, set) in sets.iter().enumerate() {
        let others: Vec<&Set> =
            sets.iter().enumerate().filter(|(it, _)| *it != at).map(|(_, set)| set).collect();
        let mut rows = serde_json::Map::new();
        rows.insert("weights".into(), weights(set, &others)?);
        rows.insert("lengths".into(), lengths(set));
        rows.insert("pages".into(), kinds(set));
        rows.insert("rules".into(), rules::table(set));
        record.insert(set.name.clone(), Value::Object(rows));
    }
    if data.join("syndication").exists() {
        record.insert("syndication".into(), syndication(&data, &recipe)?);
    }
    if let Some(out) = out {
        std::fs::write(&out, serde_json::to_string_pretty(&Value::Object(record))? + "\n")?;
    }
    Ok(())
}

/// Word weights decide which pairs are candidates; sketches confirm independently of the weights.
fn weights(set: &Set, others: &[&Set]) -> Result<Value> {
    println!(
        "\n{}: weights (pairs >= 0.9 within 3, 6, 8 bits; those of 0.5 to 0.6 within 6; candidates a page)",
        set.name
    );
    let tables = Tables::of(set, others)?;
    let mut rows = Vec::new();
    for weights in Weights::ALL {
        let fingerprints = set.fingerprints(weights, &tables);
        let share = |from: f32, to: f32, within: u32| {
            let pairs = set.truth.iter().filter(|it| it.2 >= from && it.2 < to);
            let (mut all, mut near) = (0u64, 0u64);
            for &(a, b, _) in pairs {
                all += 1;
                let differing = fingerprints[a as usize] ^ fingerprints[b as usize];
                near += u64::from(differing.count_ones() <= within);
            }
            near as f64 / all.max(1) as f64
        };
        let alike = [3, 6, 8].map(|within| share(0.9, 2.0, within));
        let unlike = share(0.5, 0.6, 6);
        let candidates =
            set.near(&fingerprints, u32::from(DEFAULT_WITHIN)).len() as f64 / set.len() as f64;
        println!(
            "  {:<28} {:.3} {:.3} {:.3}   {:.3}   {:.1}",
            weights.name(),
            alike[0],
            alike[1],
            alike[2],
            unlike,
            candidates
        );
        rows.push(json!({"weights": weights.name(), "alike_within_3_6_8": alike, "unlike_within_6": unlike, "candidates_a_page": candidates}));
    }
    Ok(Value::Array(rows))
}

/// Skips pairs whose shorter page has less than this share of the longer one's words.
fn lengths(set: &Set) -> Value {
    println!("\n{}: bound on lengths (candidates left, recall, precision)", set.name);
    let mut rows = Vec::new();
    for least in [0.0, 0.5, 0.7, 0.8, 0.9] {
        let similar = |a: u32, b: u32| {
            let (a, b) = (f64::from(set.words(a)), f64::from(set.words(b)));
            a.min(b) >= least * a.max(b)
        };
        let asked = set.candidates.iter().filter(|&&(a, b)| similar(a, b)).count();
        let left = asked as f64 / set.candidates.len().max(1) as f64;
        let confirmed: Vec<_> =
            set.confirmed.iter().copied().filter(|&(a, b)| similar(a, b)).collect();
        let (recall, precision) = set.scores(&confirmed, |_, _| true);
        println!("  {least:.1}  {left:.3}  {recall}  {precision}");
        rows.push(json!({"least": least, "candidates": left, "recall": recall.value(), "precision": precision.value()}));
    }
    Value::Array(rows)
}

/// Errors by page length, and within one host or across hosts.
fn kinds(set: &Set) -> Value {
    println!(
        "\n{}: kinds of pages (pairs >= 0.9 confirmed; confirmed pairs >= 0.8; without confirmation)",
        set.name
    );
    let mut rows = Vec::new();
    let mut row = |name: String, of: &dyn Fn(u32, u32) -> bool| {
        let (recall, precision) = set.scores(&set.confirmed, of);
        let (proposed, unconfirmed) = set.scores(&set.candidates, of);
        println!("  {name:<24} {recall:<22} {precision:<22} {proposed} {unconfirmed}");
        rows.push(json!({"pages": name, "recall": recall.value(), "of": recall.of, "precision": precision.value(), "confirmed": precision.of, "proposed": proposed.value(), "precision_unconfirmed": unconfirmed.value()}));
    };
    for (from, to) in LENGTHS {
        let name = match to {
            u32::MAX => format!("from {from} words"),
            _ => format!("{from} to {} words", to - 1),
        };
        row(name, &|a, b| (from..to).contains(&set.words(a).min(set.words(b))));
    }
    row("of one host".into(), &|a, b| set.host(a) == set.host(b));
    row("of two hosts".into(), &|a, b| set.host(a) != set.host(b));
    Value::Array(rows)
}

/// The same article on other sites: tests whether weights by host separate it from its neighbours.
fn syndication(data: &std::path::Path, recipe: &Recipe) -> Result<Value> {
    println!("\nsyndication: best F1 of the fingerprint alone, by weights");
    let set = Set::read(data, "syndication", recipe)?;
    let tables = Tables::of(&set, &[])?;
    let labels = pages::labels(data, "syndication", &set)?;
    let mut rows = Vec::new();
    for weights in Weights::ALL {
        let fingerprints = set.fingerprints(weights, &tables);
        let best = (0..=32).map(|within| {
            let (mut hit, mut false_hit, mut missed) = (0u64, 0u64, 0u64);
            for &(a, b, same) in &labels {
                let near =
                    (fingerprints[a as usize] ^ fingerprints[b as usize]).count_ones() <= within;
                match (near, same) {
                    (true, true) => hit += 1,
                    (true, false) => false_hit += 1,
                    (false, true) => missed += 1,
                    (false, false) => {}
                }
            }
            (2.0 * hit as f64 / (2 * hit + false_hit + missed).max(1) as f64, within)
        });
        let (f1, within) = best.fold((0.0, 0), |best, it| if it.0 > best.0 { it } else { best });
        println!("  {:<28} {f1:.3} within {within}", weights.name());
        rows.push(json!({"weights": weights.name(), "f1": f1, "within": within}));
    }
    Ok(Value::Array(rows))
}
