//! The tables in Markdown. Errors are in thousandths, shares in percent, times in microseconds.

use crate::errors::{Errors, Share};
use crate::method::Method;
use crate::real::RealSet;
use crate::synthetic::{self, Cell};
use anyhow::Result;
use hapax::fingerprint::sketch::Sketcher;
use rayon::prelude::*;
use std::hint::black_box;
use std::io::Write;
use std::ops::Range;
use std::time::Instant;

/// The range of similarities in which decisions are made.
const DECIDING: Range<f64> = 0.5..0.951;
/// Pairs with at least this similarity are confirmed.
const THRESHOLD: f64 = 0.8;
const SURELY_ALIKE: f64 = 0.85;
const SURELY_UNLIKE: f64 = 0.7;

pub(crate) fn describe(out: &mut impl Write, sets: &[RealSet]) -> Result<()> {
    heading(out, &["set", "pages", "pairs", "median shingles", "similarity as listed %"])?;
    for set in sets {
        let mut sizes: Vec<usize> = set.pages.iter().map(Vec::len).collect();
        sizes.sort_unstable();
        writeln!(
            out,
            "| {} | {} | {} | {} | {:.1} |",
            set.name,
            set.pages.len(),
            set.pairs.len(),
            sizes[sizes.len() / 2],
            set.as_listed.percent()
        )?;
    }
    Ok(writeln!(out)?)
}

/// Error by similarity, error by size, bias.
pub(crate) fn synthetic(
    out: &mut impl Write,
    methods: &[Box<dyn Method>],
    cells: &[Cell],
) -> Result<()> {
    writeln!(out, "Synthetic sets of 100 to 5000 shingles: error by similarity; bias over all.\n")?;
    let mut columns = vec!["method".to_owned()];
    columns.extend(synthetic::SIMILARITIES.map(|j| format!("J {j}")));
    columns.push("bias".to_owned());
    heading(out, &columns)?;
    for (i, method) in methods.iter().enumerate() {
        let long = |cell: &&Cell| cell.size >= 100;
        let mut row = Vec::new();
        for j in synthetic::SIMILARITIES {
            row.push(pool(cells.iter().filter(long).filter(|c| c.similarity == j), i));
        }
        let bias = pool(cells.iter().filter(long), i).bias();
        line(out, &method.name(), row.iter().map(Errors::root_mean_square), Some(bias))?;
    }
    writeln!(out, "\nSynthetic sets with J 0.5 to 0.95: error by size; bias up to 20 shingles.\n")?;
    let mut columns = vec!["method".to_owned()];
    columns.extend(synthetic::SIZES[1..].iter().map(|size| format!("{size} shingles")));
    columns.push("bias".to_owned());
    heading(out, &columns)?;
    for (i, method) in methods.iter().enumerate() {
        let deciding = |cell: &&Cell| DECIDING.contains(&cell.exact);
        let mut row = Vec::new();
        for &size in &synthetic::SIZES[1..] {
            row.push(pool(cells.iter().filter(deciding).filter(|c| c.size == size), i));
        }
        let short = cells.iter().filter(|c| c.size <= 20);
        let bias = pool(short, i).bias();
        line(out, &method.name(), row.iter().map(Errors::root_mean_square), Some(bias))?;
    }
    Ok(writeln!(out)?)
}

/// Bias and error of every cell.
pub(crate) fn every_cell(
    out: &mut impl Write,
    methods: &[Box<dyn Method>],
    cells: &[Cell],
) -> Result<()> {
    writeln!(out, "Every size and similarity.\n")?;
    heading(out, &["method", "shingles", "J", "bias", "error"])?;
    for (i, method) in methods.iter().enumerate() {
        for cell in cells {
            let errors = &cell.errors[i];
            writeln!(
                out,
                "| {} | {} | {:.4} | {:.2} | {:.2} |",
                method.name(),
                cell.size,
                cell.exact,
                errors.bias(),
                errors.root_mean_square()
            )?;
        }
    }
    Ok(writeln!(out)?)
}

/// Error by similarity and by set, and wrong decisions.
pub(crate) fn real(
    out: &mut impl Write,
    methods: &[Box<dyn Method>],
    sets: &[RealSet],
) -> Result<()> {
    const BANDS: [(f64, f64); 5] = [(0.0, 0.5), (0.5, 0.7), (0.7, 0.85), (0.85, 0.95), (0.95, 1.0)];
    writeln!(
        out,
        "Real pairs: error by similarity; error of each set and bias of all at J 0.5 to 0.95; \
         at a threshold of {THRESHOLD} the share of pairs with J from {SURELY_ALIKE} up rejected \
         and of pairs with J from 0.5 to {SURELY_UNLIKE} accepted.\n"
    )?;
    let mut columns = vec!["method".to_owned()];
    columns.extend(BANDS.map(|(from, to)| format!("{from} to {to}")));
    columns.extend(sets.iter().map(|set| set.name.clone()));
    columns.extend(["bias", "rejected %", "accepted %"].map(str::to_owned));
    heading(out, &columns)?;
    let mut decidable = (0, 0);
    for method in methods {
        let mut bands = [Errors::default(); BANDS.len()];
        let mut by_set = vec![Errors::default(); sets.len()];
        let (mut rejected, mut accepted) = (Share::default(), Share::default());
        for (set, errors) in sets.iter().zip(&mut by_set) {
            let sketches = sketches_of_pairs(method.as_ref(), set);
            for &(a, b, exact) in &set.pairs {
                let estimate = method.jaccard(&sketches[a], &sketches[b]);
                for (band, (from, to)) in bands.iter_mut().zip(BANDS) {
                    if (from..to).contains(&exact) {
                        band.add(estimate - exact);
                    }
                }
                if DECIDING.contains(&exact) {
                    errors.add(estimate - exact);
                }
                if exact >= SURELY_ALIKE {
                    rejected.add(estimate < THRESHOLD);
                } else if (0.5..=SURELY_UNLIKE).contains(&exact) {
                    accepted.add(estimate >= THRESHOLD);
                }
            }
        }
        let mut all = Errors::default();
        by_set.iter().for_each(|errors| all.merge(errors));
        let errors = bands.iter().chain(&by_set).map(Errors::root_mean_square);
        write!(out, "| {}", method.name())?;
        for error in errors {
            write!(out, " | {error:.1}")?;
        }
        let (rejected_percent, accepted_percent) = (rejected.percent(), accepted.percent());
        writeln!(out, " | {:+.1} | {rejected_percent:.2} | {accepted_percent:.2} |", all.bias())?;
        decidable = (rejected.of(), accepted.of());
    }
    Ok(writeln!(out, "\n{} pairs could be rejected, {} accepted.\n", decidable.0, decidable.1)?)
}

/// Sketches of the pages that occur in pairs; empty for the others.
fn sketches_of_pairs(method: &dyn Method, set: &RealSet) -> Vec<Vec<u64>> {
    let mut needed = vec![false; set.pages.len()];
    for &(a, b, _) in &set.pairs {
        needed[a] = true;
        needed[b] = true;
    }
    let pages = set.pages.par_iter().zip(needed);
    pages.map(|(page, needed)| if needed { method.sketch(page) } else { Vec::new() }).collect()
}

/// Compares the engine's stated standard error with its actual errors.
pub(crate) fn stated_error(out: &mut impl Write, trials: u64, sets: &[RealSet]) -> Result<()> {
    writeln!(
        out,
        "The engine's estimates at J 0.5 to 0.95: root mean square of error over stated standard \
         error, and share of errors within two of them.\n"
    )?;
    heading(out, &["sets", "error over stated", "within two %"])?;
    let mut sketcher = Sketcher::default();
    let mut measure = |pairs: &mut dyn Iterator<Item = (&[u64], &[u64], f64)>| {
        let (mut ratio, mut within) = (Errors::default(), Share::default());
        for (a, b, exact) in pairs {
            let (Some(a), Some(b)) = (sketcher.sketch(a), sketcher.sketch(b)) else { continue };
            let estimate = a.estimate(&b);
            let off = (estimate.jaccard - exact) / estimate.standard_error;
            ratio.add(off);
            within.add(off.abs() <= 2.0);
        }
        (ratio.root_mean_square() / 1000.0, within.percent())
    };
    for size in &synthetic::SIZES[2..] {
        let mut pairs = Vec::new();
        for j in synthetic::SIMILARITIES.into_iter().filter(|j| DECIDING.contains(j)) {
            let shared = (2.0 * *size as f64 * j / (1.0 + j)).round() as usize;
            let exact = shared as f64 / (2 * size - shared) as f64;
            pairs.extend((0..trials).map(|trial| (synthetic::pair(*size, shared, trial), exact)));
        }
        let mut pairs = pairs.iter().map(|((a, b), exact)| (&a[..], &b[..], *exact));
        let (ratio, within) = measure(&mut pairs);
        writeln!(out, "| synthetic, {size} shingles | {ratio:.2} | {within:.1} |")?;
    }
    for set in sets {
        let deciding = set.pairs.iter().filter(|pair| DECIDING.contains(&pair.2));
        let mut pairs = deciding.map(|&(a, b, j)| (&set.pages[a][..], &set.pages[b][..], j));
        let (ratio, within) = measure(&mut pairs);
        writeln!(out, "| {} | {ratio:.2} | {within:.1} |", set.name)?;
    }
    Ok(writeln!(out)?)
}

/// Time to sketch a page: the best of several runs on one thread.
pub(crate) fn time(out: &mut impl Write, methods: &[Box<dyn Method>]) -> Result<()> {
    const SIZES: [usize; 4] = [20, 140, 300, 3000];
    writeln!(out, "Microseconds to sketch a page, one thread.\n")?;
    let mut columns = vec!["method".to_owned()];
    columns.extend(SIZES.map(|size| format!("{size} shingles")));
    heading(out, &columns)?;
    for method in methods {
        let times = SIZES.map(|size| microseconds(size, |page| method.sketch(page)));
        line(out, &method.name(), times.into_iter(), None)?;
    }
    let mut sketcher = Sketcher::default();
    let times = SIZES.map(|size| microseconds(size, |page| sketcher.sketch(page)));
    line(out, "the engine's sketch (128 bytes)", times.into_iter(), None)?;
    Ok(writeln!(out)?)
}

fn microseconds<T>(size: usize, mut sketch: impl FnMut(&[u64]) -> T) -> f64 {
    let pages: Vec<Vec<u64>> = (0..8).map(|trial| synthetic::pair(size, 0, trial).0).collect();
    let mut best = f64::INFINITY;
    for _ in 0..12 {
        let start = Instant::now();
        for page in &pages {
            black_box(sketch(black_box(page)));
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    1e6 * best / pages.len() as f64
}

fn pool<'a>(cells: impl Iterator<Item = &'a Cell>, method: usize) -> Errors {
    let mut all = Errors::default();
    cells.for_each(|cell| all.merge(&cell.errors[method]));
    all
}

fn heading(out: &mut impl Write, columns: &[impl AsRef<str>]) -> Result<()> {
    let names: Vec<&str> = columns.iter().map(AsRef::as_ref).collect();
    writeln!(out, "| {} |\n|{}", names.join(" | "), "---|".repeat(columns.len()))?;
    Ok(())
}

fn line(
    out: &mut impl Write,
    name: &str,
    numbers: impl Iterator<Item = f64>,
    signed: Option<f64>,
) -> Result<()> {
    write!(out, "| {name}")?;
    for number in numbers {
        write!(out, " | {number:.1}")?;
    }
    if let Some(number) = signed {
        write!(out, " | {number:+.1}")?;
    }
    Ok(writeln!(out, " |")?)
}
