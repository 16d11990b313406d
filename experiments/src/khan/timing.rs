//! Time per page: text extraction, comparison, and total (Figures 14 to 16).
//!
//! Each page is extracted, fingerprinted and compared with the page before it three times, and the fastest run
//! counts; CPU time. Fetching is excluded, but the paper's times are for a page of a local web server and include it.

use anyhow::{Context, Result, ensure};
use hapax::fingerprint::{Fingerprint, Fingerprinter, Recipe};
use hapax::page::{ExtractOptions, Extractor, Hints};
use hapax_report::chart::{Axis, Chart, Series};
use hapax_report::grouped;
use hapax_synth::{Web, WebOptions};
use serde_json::json;

use crate::bench::Bench;
use crate::clock::best_cpu;
use crate::real::{RealPage, RealSet};
use crate::record::{Record, Table, Verdict};

/// The paper's longest time for a page, in seconds.
const THEIR_PEAK: f64 = 0.12;

/// Number of comparisons timed together, because one takes a nanosecond.
const COMPARISONS: usize = 100_000;

/// Times of one page in seconds.
#[derive(Clone, Copy)]
struct Spent {
    bytes: usize,
    purify: f64,
    fingerprint: f64,
}

struct Timed {
    name: String,
    pages: Vec<Spent>,
    /// Seconds per comparison.
    compare: f64,
}

impl Timed {
    fn of(name: &str, pages: &[RealPage]) -> Result<Self> {
        let recipe = Recipe::built_in("khan-words")?;
        let extent = recipe.extent;
        let mut extractor = Extractor::new(ExtractOptions { extent, ..Default::default() });
        let mut by = Fingerprinter::new(recipe, None)?;
        let (mut spent, mut seen) = (Vec::new(), Vec::new());
        for page in pages {
            let hints = Hints::default();
            let (purified, purify) =
                best_cpu(3, || extractor.extract_html(&page.html, &hints).cloned());
            // Cloning the text takes about a hundredth of the measured time.
            let purified = purified.with_context(|| format!("cannot purify {}", page.url))?;
            let (signature, fingerprint) = best_cpu(3, || by.extracted(&purified));
            let whole = by.html(&page.html)?;
            ensure!(whole == signature, "two ways to the same signature differ for {}", page.url);
            seen.extend(signature.comparable.map(|it| it.fingerprint));
            spent.push(Spent { bytes: page.html.len(), purify, fingerprint });
        }
        ensure!(seen.len() > 1, "too few pages with words in {name}");
        let pair = |at: usize| (seen[at % seen.len()], seen[(at * 7 + 1) % seen.len()]);
        let pairs: Vec<(Fingerprint, Fingerprint)> = (0..COMPARISONS).map(pair).collect();
        let (sum, compare) = best_cpu(5, || pairs.iter().map(|(a, b)| a.percent(*b)).sum::<f64>());
        ensure!((0.0..=100.0).contains(&(sum / COMPARISONS as f64)), "no percentage");
        Ok(Self { name: name.to_owned(), pages: spent, compare: compare / COMPARISONS as f64 })
    }

    fn sorted(&self, of: fn(&Spent) -> f64) -> Vec<f64> {
        let mut all: Vec<f64> = self.pages.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// By page size: (kilobytes, longest time).
    fn by_size(&self, of: fn(&Spent) -> f64) -> Vec<(f64, f64)> {
        let mut pages = self.pages.clone();
        pages.sort_by_key(|it| it.bytes);
        let bins = pages.chunk_by(|a, b| a.bytes.max(1).ilog2() == b.bytes.max(1).ilog2());
        bins.map(|bin| {
            let mut times: Vec<f64> = bin.iter().map(of).collect();
            times.sort_by(f64::total_cmp);
            (bin[bin.len() / 2].bytes as f64 / 1024.0, times[times.len() / 2] * 1e3)
        })
        .collect()
    }
}

fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

fn total(spent: &Spent) -> f64 {
    spent.purify + spent.fingerprint
}

pub(super) fn run(bench: &Bench<'_>, sets: &[RealSet]) -> Result<()> {
    let names = ["khan-figure-14", "khan-figure-15", "khan-figure-16"];
    if !names.iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let mut timed = Vec::new();
    for set in sets {
        bench.say(format!("  timing {}", set.name));
        timed.push(Timed::of(&set.name, &set.pages)?);
    }
    let web = Web::new(WebOptions::new(8, bench.size.of(500, 4000)));
    let pages: Vec<RealPage> =
        web.pages(0..web.len()).map(|it| RealPage { url: it.url, html: it.html }).collect();
    timed.push(Timed::of("synthetic web", &pages)?);
    let ran_on = format!(
        "{}; recipe khan-words, one thread, CPU time, the quickest of three",
        timed
            .iter()
            .map(|it| format!("{} pages of {}", it.pages.len(), it.name))
            .collect::<Vec<_>>()
            .join(", ")
    );
    let figure = |name: &str, of: fn(&Spent) -> f64| -> (Table, Chart, f64, f64) {
        let mut table =
            Table::new(["set", "pages", "median, ms", "99 %, ms", "longest, ms", "MB/s"]);
        let (mut longest, mut median) = (0f64, Vec::new());
        for set in &timed {
            let all = set.sorted(of);
            let bytes: usize = set.pages.iter().map(|it| it.bytes).sum();
            longest = longest.max(at(&all, 1.0));
            median.push(at(&all, 0.5));
            table.row([
                set.name.clone(),
                all.len().to_string(),
                format!("{:.3}", at(&all, 0.5) * 1e3),
                format!("{:.3}", at(&all, 0.99) * 1e3),
                format!("{:.3}", at(&all, 1.0) * 1e3),
                format!("{:.0}", bytes as f64 * 1e-6 / all.iter().sum::<f64>()),
            ]);
        }
        let chart = Chart {
            title: name.to_owned(),
            x: Axis::logarithmic("kilobytes of the page"),
            y: Axis::logarithmic("milliseconds, median"),
            series: timed.iter().map(|it| Series::new(it.name.clone(), it.by_size(of))).collect(),
            about: "Pages by size, each bin twice as large as the one before.".to_owned(),
        };
        median.sort_by(f64::total_cmp);
        (table, chart, longest, median[median.len() / 2])
    };
    let keep = |name: &str,
                figure: &str,
                title: &str,
                claim: &str,
                verdict: Verdict,
                sentence: String,
                table,
                chart,
                data| {
        if !bench.wants(name) {
            return Ok(());
        }
        bench.keep(Record {
            name: name.to_owned(),
            figure: figure.to_owned(),
            title: title.to_owned(),
            claim: claim.to_owned(),
            ran_on: ran_on.clone(),
            verdict,
            sentence,
            size: bench.size,
            table: Some(table),
            charts: vec![chart],
            data,
        })
    };

    let (table, chart, longest, median) = figure("Text extraction", |it| it.purify);
    keep(
        names[0],
        "Figure 14",
        "purification time",
        "Time to purify a page, drawn in milliseconds without numbers in the text; the highest peak altogether is 0.12 seconds.",
        if longest <= THEIR_PEAK { Verdict::Agrees } else { Verdict::Differs },
        format!(
            "Extracting the text takes {:.3} ms at the median of the middle set and {:.1} ms for the slowest page of all ({} pages); the paper's text has no number of its own for this step, only the peak of all steps together, 120 ms.",
            median * 1e3,
            longest * 1e3,
            grouped(timed.iter().map(|it| it.pages.len() as u64).sum()),
        ),
        table,
        chart,
        json!({ "median s": median, "longest s": longest }),
    )?;

    let compare = timed.iter().map(|it| it.compare).fold(0.0, f64::max);
    let least = timed.iter().map(|it| it.compare).fold(f64::INFINITY, f64::min);
    let flat = compare < 1.5 * least;
    let mut table = Table::new(["set", "nanoseconds a comparison"]);
    for set in &timed {
        table.row([set.name.clone(), format!("{:.2}", set.compare * 1e9)]);
    }
    let line = (1u32..).zip(&timed).map(|(number, it)| (f64::from(number), it.compare * 1e9));
    let chart = Chart {
        title: "Comparing two fingerprints".to_owned(),
        x: Axis::linear("set, in the order of the table"),
        y: Axis::linear("nanoseconds").showing(0.0),
        series: vec![Series::new("a comparison", line.collect())],
        about: String::new(),
    };
    keep(
        names[1],
        "Figure 15",
        "time to compare two fingerprints",
        "\"Virtually no time is needed\": a flat line, in microseconds.",
        if compare < 1e-6 && flat { Verdict::Agrees } else { Verdict::Partly },
        format!(
            "A comparison takes {:.2} to {:.2} ns, by set, {}: it is an exclusive or and a count of bits, and the paper's line is drawn in microseconds.",
            least * 1e9,
            compare * 1e9,
            if flat { "as flat as in the paper" } else { "not as flat as in the paper" },
        ),
        table,
        chart,
        json!({ "seconds": compare }),
    )?;

    let (table, chart, longest, median) = figure("Altogether", total);
    let slower = timed.iter().flat_map(|it| &it.pages).filter(|it| total(it) > THEIR_PEAK).count();
    keep(
        names[2],
        "Figure 16",
        "total running time",
        "The highest peak is 0.12 seconds a page.",
        if longest <= THEIR_PEAK { Verdict::Agrees } else { Verdict::Differs },
        format!(
            "A page takes {:.3} ms at the median of the middle set and {:.1} ms at most to purify and fingerprint, {:.3} of the paper's peak of 120 ms ({slower} pages are above it); the difference is not the method's: the paper fetches the page as well, and runs PHP on a machine of 2012.",
            median * 1e3,
            longest * 1e3,
            longest / THEIR_PEAK,
        ),
        table,
        chart,
        json!({ "median s": median, "longest s": longest, "pages above 0.12 s": slower }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::cpu;

    #[test]
    fn shares_of_a_sorted_list_are_its_members() {
        let sorted = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!([0.0, 0.5, 1.0].map(|share| at(&sorted, share)), [1.0, 3.0, 5.0]);
    }

    #[test]
    fn pages_are_put_into_bins_of_double_size() {
        let page = |bytes, purify| Spent { bytes, purify, fingerprint: 0.0 };
        let pages = vec![page(1500, 1e-3), page(1024, 3e-3), page(2048, 7e-3)];
        let timed = Timed { name: String::new(), pages, compare: 0.0 };
        let bins = timed.by_size(|it| it.purify);
        assert_eq!(bins.len(), 2);
        assert!((bins[1].0 - 2.0).abs() < 1e-9 && (bins[1].1 - 7.0).abs() < 1e-9);
    }

    #[test]
    fn a_few_pages_are_timed() {
        let web = Web::new(WebOptions::new(8, 20));
        let pages: Vec<RealPage> =
            web.pages(0..20).map(|it| RealPage { url: it.url, html: it.html }).collect();
        let (timed, _) = cpu(|| Timed::of("web", &pages).unwrap());
        assert_eq!(timed.pages.len(), 20);
        assert!(timed.pages.iter().all(|it| total(it) > 0.0));
    }
}
