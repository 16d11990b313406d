//! The method Sood measured against, as his chapter VI.A models it.
//!
//! Manku, Jain and Das Sarma (2007): cut `f = 64` bits into `z` blocks, take `x = z - h` of them
//! as a key in all `L = C(z, x)` ways, keep one sorted table of permuted fingerprints for each,
//! find the first one with the query's key by binary search and compare those that follow.
//!
//! ```text
//!   compared  =  L * 2^(d - x f / z)                                         (6.6)
//!   time      =  L * (f c1 + min(x f / z, d) c2 + 2^(d - x f / z) c3)        (6.10, 6.11)
//!   bytes     =  C(z, x) * 2^d * f / 8                                       (6.12)
//! ```
//!
//! The bytes are the thesis's own: no ids, and none of the other structures. What this module
//! does not know: that such tables are an engine. They are in the benchmarks, not here.

use super::{Candidate, Engine, Machine, Mode, Request};
use crate::fingerprint::Fingerprint;
use crate::index::tables::design::choose;

/// Key sizes listed: `x` of 1, 2 and 3 blocks. The thesis goes no further, for want of memory.
const TAKEN: std::ops::RangeInclusive<u32> = 1..=3;

pub(super) fn sorted_tables(request: &Request, machine: &Machine) -> Vec<Candidate> {
    let possible = TAKEN.filter(|taken| request.bound.bits() + taken <= Fingerprint::BITS);
    possible.map(|taken| candidate(request, machine, taken)).collect()
}

fn candidate(request: &Request, machine: &Machine, taken: u32) -> Candidate {
    let blocks = request.bound.bits() + taken;
    let tables = choose(blocks, taken);
    let pages = request.pages as f64;
    let key_bits = f64::from(Fingerprint::BITS * taken) / f64::from(blocks);
    let bucket = pages / key_bits.exp2();
    let steps = key_bits.min(pages.log2());
    let table =
        machine.permuted + steps * machine.bisected(request.pages) + bucket * machine.one_by_one();
    let bytes = u128::from(tables) * u128::from(request.pages) * u128::from(Fingerprint::BITS / 8);
    let total_bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    // 6.9: a search for the first match ends somewhere between the first table and the last.
    let searched = match request.mode {
        Mode::All => tables as f64,
        Mode::First => (tables as f64 + 1.0) / 2.0,
    };
    Candidate {
        engine: Engine::SortedTables { blocks, taken },
        parts: 1,
        recall: 1.0,
        bytes_per_page: (tables * u64::from(Fingerprint::BITS / 8)) as f64,
        total_bytes,
        probes: searched,
        compared: searched * bucket,
        nanoseconds_per_query: searched * table,
        build_nanoseconds: tables as f64 * pages * machine.placed,
        fits: request.memory.is_none_or(|memory| total_bytes <= memory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::MaxDistance;

    fn at(pages: u64) -> Vec<Candidate> {
        let three = MaxDistance::new(3).unwrap();
        sorted_tables(&Request::new(pages, three), &Machine::typical())
    }

    #[test]
    fn the_examples_of_the_thesis_come_out() {
        // Section VI.A.1: 16 GB hold 2^29 fingerprints in four tables, each query checks 2^13
        // of them in every table.
        let four = &at(1 << 29)[0];
        assert_eq!((four.engine.tables(), four.total_bytes), (4, 16 << 30));
        assert_eq!(four.compared, 4.0 * f64::from(1 << 13));
        // Section VI.A: d = 34, z = 6, x = 3 are twenty tables with keys of 32 bits.
        let twenty = &at(1 << 34)[2];
        assert_eq!((twenty.engine.tables(), twenty.probes), (20, 20.0));
        assert_eq!(twenty.compared, 20.0 * 4.0);
    }
}
