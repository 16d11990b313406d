//! Searches an index while fingerprints are added and removed.
//!
//! `cargo run --release -p hapax --example live_index`
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use hapax::{Entry, Error, Fingerprinter, Index, Policy};

fn main() -> Result<(), Error> {
    let mut fingerprinter = Fingerprinter::default();
    let index = Index::default();
    let within = Policy::default().within;
    let pages = [
        "The council voted on Tuesday to restore the old harbour crane.",
        "Tea is made of leaves and of water that has boiled a moment ago.",
        "The council voted on Tuesday to restore the old harbour crane!",
    ];
    for (id, page) in (0..).zip(pages) {
        let fingerprint = fingerprinter.fingerprint(page)?;
        match index.find(fingerprint, within)?.first() {
            Some(known) => println!("page {id} is near page {}", known.id),
            None => println!("page {id} is new"),
        }
        index.insert(Entry { id, fingerprint })?;
    }
    index.remove(0);
    let crane = fingerprinter.fingerprint(pages[0])?;
    assert_eq!(index.find(crane, within)?.first().map(|hit| hit.id), Some(2));
    Ok(())
}
