//! Compares two texts: whether they are near-duplicates, and how similar they are.
//!
//! `cargo run --release -p hapax --example compare`
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use hapax::Fingerprinter;
use hapax::fingerprint::compare;

fn main() {
    let mut fingerprinter = Fingerprinter::default();
    let old =
        "The council voted on Tuesday to restore the old harbour crane, which was built in 1902.";
    let new =
        "The council voted on Friday to restore the old harbour crane, which was built in 1902.";
    let comparison = compare(&mut fingerprinter, old, new);
    println!("exact Jaccard similarity {:.2}", comparison.jaccard);
    if let Some(bits) = comparison.bits {
        println!("{} bits apart, estimated similarity {:.2}", bits.distance, bits.estimate.jaccard);
    }
    assert!(comparison.jaccard > 0.3 && comparison.jaccard < 1.0);
}
