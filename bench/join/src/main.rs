//! Measures the joins in units of sorts.
//!
//! `pairs` joins a set with itself and compares with `sort_unstable` of the same numbers in the same run; `match`
//! streams a file past a batch and compares with the thesis's baseline. Answers are asserted before a time is
//! printed.
#![expect(clippy::print_stdout, reason = "a program that prints its tables")]

mod clock;
mod dense;
mod documents;
mod files;
mod manku;
mod matching;
mod pairs;
mod spilled;
mod threads;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about)]
struct Arguments {
    #[command(subcommand)]
    figure: Figure,
}

#[derive(Subcommand)]
enum Figure {
    /// All pairs within a bound, in memory
    Pairs(pairs::Arguments),
    /// All pairs of a set whose fingerprints share their leading bits
    Dense(dense::Arguments),
    /// A batch of queries against a file of sorted chunks
    Match(matching::Arguments),
}

fn main() -> anyhow::Result<()> {
    println!("load average {}", clock::load());
    match Arguments::parse().figure {
        Figure::Pairs(arguments) => pairs::run(&arguments),
        Figure::Dense(arguments) => dense::run(&arguments),
        Figure::Match(arguments) => matching::run(&arguments),
    }
}

/// Parses `16e6` as well as `16000000`.
fn count(text: &str) -> Result<usize, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if (0.0..=4e9).contains(&number) && number.fract() == 0.0 {
        Ok(number as usize)
    } else {
        Err(format!("{text} is not a whole number from 0 to 4e9"))
    }
}
