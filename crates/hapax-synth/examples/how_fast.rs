//! Measures pages, bags and planted fingerprints per second on one thread.
//!
//! Prints counts next to times, so that doing nothing quickly is visible.
//!
//! ```console
//! $ cargo run --release -p hapax-synth --example how_fast
//! ```

use std::io::{self, Write};
use std::time::Instant;

use hapax_synth::{Page, Scratch, Web, WebOptions, Weighting, planted};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let web = Web::new(WebOptions::new(1, 1_000_000));
    let (mut page, mut scratch) = (Page::default(), Scratch::default());

    let start = Instant::now();
    let pages = 50_000;
    let mut bytes = 0u64;
    for index in 0..pages {
        web.page_into(index, &mut page, &mut scratch);
        bytes += page.html.len() as u64;
    }
    let seconds = start.elapsed().as_secs_f64();
    writeln!(
        out,
        "{pages} pages of {} bytes: {:.0} a second, {:.0} MB a second",
        bytes / pages,
        pages as f64 / seconds,
        bytes as f64 / seconds / 1e6
    )?;

    let start = Instant::now();
    let (mut bag, mut features) = (Vec::new(), 0u64);
    for index in 0..pages {
        web.bag(index, Weighting::FrequencyRarity, &mut scratch, &mut bag);
        features += bag.len() as u64;
    }
    let seconds = start.elapsed().as_secs_f64();
    writeln!(
        out,
        "{pages} bags of {} features: {:.0} a second",
        features / pages,
        pages as f64 / seconds
    )?;

    let start = Instant::now();
    let count = 2_000_000;
    let (groups, largest) = planted(1, count, 0.1, 3).groups();
    let seconds = start.elapsed().as_secs_f64();
    writeln!(
        out,
        "{count} fingerprints, {groups} groups, the largest of {largest}: {:.1} million a second",
        count as f64 / seconds / 1e6
    )
}
