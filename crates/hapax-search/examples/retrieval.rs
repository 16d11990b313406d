//! Measures the time of retrieving the best results of queries, and of reading what dedup needs about them.
//!
//! ```sh
//! cargo run --profile dist -p hapax-search --example retrieval -- index queries.txt 1000
//! ```
//!
//! Queries are one per line, each run once to warm up and once measured. Prints mean, median and maximum in
//! milliseconds, with the number of results, so that fast empty results are visible.

use std::time::{Duration, Instant};

use hapax_search::Engine;
use hapax_search::tantivy::TantivyIndex;

#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [path, queries, rest @ ..] = given.as_slice() else {
        return Err("usage: retrieval INDEX QUERIES [RESULTS]".into());
    };
    let most = rest.first().map_or(Ok(1000), |text| text.parse())?;
    let started = Instant::now();
    let index = TantivyIndex::open(path)?;
    println!("opened {} documents in {:.1?}", index.totals().documents, started.elapsed());
    let text = std::fs::read_to_string(queries)?;
    let mut times: [Vec<Duration>; 3] = Default::default();
    let (mut shown, mut all) = (0, 0);
    for query in text.lines().filter(|line| !line.trim().is_empty()) {
        index.top(query, most, &|_| false)?;
        let started = Instant::now();
        let found = index.top(query, most, &|_| false)?;
        times[0].push(started.elapsed());
        let started = Instant::now();
        let bits = index.fingerprints(&found.top)?;
        times[1].push(started.elapsed());
        let started = Instant::now();
        let facts = index.facts(&found.top)?;
        times[2].push(started.elapsed());
        assert_eq!((bits.len(), facts.len()), (found.top.len(), found.top.len()));
        shown += found.top.len() as u64;
        all += found.all;
    }
    let asked = times[0].len().max(1) as u64;
    println!("{asked} queries, on average {} of {} results", shown / asked, all / asked);
    for (what, times) in ["results", "fingerprints", "facts of all"].iter().zip(&mut times) {
        times.sort_unstable();
        let milliseconds = |time: &Duration| time.as_secs_f64() * 1e3;
        let mean = times.iter().map(milliseconds).sum::<f64>() / asked as f64;
        let at = |share: usize| times.get(times.len() * share / 100).map_or(0.0, milliseconds);
        let slowest = times.last().map_or(0.0, milliseconds);
        println!(
            "{what:>13}: mean {mean:.2} ms, median {:.2}, 95 % {:.2}, slowest {slowest:.2}",
            at(50),
            at(95)
        );
    }
    Ok(())
}
