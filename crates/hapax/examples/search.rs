//! Finds every fingerprint within 3 bits of a query among a million.
//!
//! `cargo run --release -p hapax --example search`
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use hapax::index::{Collection, HammingIndex, TableOptions, Tables};
use hapax::{Entry, Fingerprint, MaxDistance, Query};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let within = MaxDistance::new(3).ok_or("0 to 64 bits")?;
    // Multiplying by an odd constant spreads the numbers over all 64 bits.
    let bits = |id: u64| id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let entries = (0..1_000_000)
        .map(|id| Entry { id, fingerprint: Fingerprint::from_bits(bits(id)) })
        .collect::<Vec<_>>();
    let tables = Tables::build(Collection::new(entries)?, TableOptions::within(within))?;

    let query = Fingerprint::from_bits(bits(42) ^ 0b101);
    let found = tables.find_all(&Query::from(query), within)?;
    println!("{found:?}");
    assert!(found.iter().any(|hit| (hit.id, hit.distance) == (42, 2)));
    Ok(())
}
