//! Counts what is in a corpus: `cargo run --release -p hapax-corpus --example count -- INPUT...`

use std::collections::BTreeMap;
use std::num::NonZero;

use hapax_corpus::{Entry, Error, ReadOptions, Source};

#[expect(clippy::print_stdout, reason = "an example shows its answer")]
fn main() -> Result<(), Error> {
    let inputs: Vec<String> = std::env::args().skip(1).collect();
    let source = Source::open(&inputs, ReadOptions { skip_bad: true, ..ReadOptions::default() })?;
    let threads = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    source.in_order(
        threads,
        |mut batch| {
            batch
                .entries()
                .map(|entry| {
                    Ok(match entry? {
                        Entry::Document(document) => {
                            let bytes = document.body.content.as_bytes().len() as u64;
                            (format!("documents, {:?}", document.body.kind), bytes)
                        }
                        Entry::Fact(fact) => {
                            let _ = fact.addresses();
                            ("facts".to_owned(), 0)
                        }
                        Entry::Passed { reason, .. } => (format!("passed, {reason:?}"), 0),
                        Entry::Bad(error) => (format!("bad, {error}"), 0),
                    })
                })
                .collect::<Result<Vec<_>, Error>>()
        },
        |entries| {
            for (what, bytes) in entries? {
                let count = counts.entry(what).or_default();
                count.0 += 1;
                count.1 += bytes;
            }
            Ok::<_, Error>(())
        },
    )?;
    for (what, (count, bytes)) in counts {
        println!("{count:>9}  {bytes:>13} bytes  {what}");
    }
    Ok(())
}
