//! All pairs of a set of fingerprints within 3 bits.
//!
//! `cargo run --release -p hapax --example all_pairs`
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use hapax::MaxDistance;
use hapax::join::{OneThread, PairOptions, Record, pairs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let within = MaxDistance::new(3).ok_or("0 to 64 bits")?;
    let records = [0xff00, 0xff01, 0x1234, 0xff00, 0xff07];
    let records: Vec<Record<u32>> =
        (0..).zip(records).map(|(id, fingerprint)| Record { fingerprint, id }).collect();
    let joined = pairs(records, &PairOptions::within(within)?, &OneThread);
    // Documents with equal fingerprints are paired with the first of them, which represents all.
    for pair in joined.twins().iter().chain(joined.pairs()) {
        println!("{} and {}: {} bits", pair.a, pair.b, pair.distance);
    }
    assert_eq!((joined.twins().len(), joined.pairs().len()), (1, 3));
    Ok(())
}
