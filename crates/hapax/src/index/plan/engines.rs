//! Predicts bytes, probes, comparisons and time of each engine, with the functions that lay out tables and
//! count probes.
//!
//! | engine | time per query | bytes |
//! |---|---|---|
//! | scan | `n * scanned` | fingerprint and id |
//! | sorted | `probes(p, k) * (probe + n / 2^p * entry)` | see `sorted` |
//! | tables | sum over tables of `probes * (probe + n / 2^p * entry)` | scan, and the tables |
//! | weak bits | `ranked + K * (combination + n / 2^p * filtered)` | see `weak_bits` |

use super::weak_bits::{WEAK_BITS_WIDEST, WeakForecast, forecasts};
use super::{Candidate, Engine, Machine, Mode, PlanError, Request, sorted};
use crate::index::collection::Collection;
use crate::index::segment::Encoding;
use crate::index::tables::Design;
use crate::index::tables::cost::{TableForecast, cheapest, forecast};
use crate::index::weak::Recall;

/// Limits of the number of tables to try.
const TABLE_LIMITS: [usize; 13] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32];

/// Number of sampled flip patterns for averages.
const SAMPLED: u64 = 512;

/// The possible engines, by bytes. Leaves out tables that are both slower and larger than others.
///
/// # Errors
///
/// [`PlanError::NoPages`].
pub fn candidates(request: &Request, machine: &Machine) -> Result<Vec<Candidate>, PlanError> {
    if request.pages == 0 {
        return Err(PlanError::NoPages);
    }
    let parts = request.pages.div_ceil(Collection::MOST as u64);
    let spread = Spread { request, machine, parts, rows: request.pages.div_ceil(parts) };
    let mut found = vec![spread.scan()];
    found.extend([Encoding::Plain, Encoding::Compressed].map(|encoding| spread.sorted(encoding)));
    if request.bound.bits() <= Design::WIDEST {
        found.extend(undominated(spread.tables()));
    }
    if request.recall < Recall::ALL && request.bound.bits() <= WEAK_BITS_WIDEST {
        found.extend(undominated(spread.weak_bits()));
    }
    found.sort_by_key(|candidate| candidate.total_bytes);
    Ok(found)
}

/// Pages spread over several indexes.
struct Spread<'a> {
    request: &'a Request,
    machine: &'a Machine,
    parts: u64,
    rows: u64,
}

/// The cost of one index, per query and to build.
struct Cost {
    bytes: u64,
    probes: f64,
    compared: f64,
    nanoseconds: f64,
    build: f64,
}

impl Spread<'_> {
    fn candidate(&self, engine: Engine, recall: f64, one: &Cost) -> Candidate {
        let parts = self.parts as f64;
        // A query with one match finds it in one of the parts; on average half of the others come
        // before it.
        let asked = match self.request.mode {
            Mode::All => parts,
            Mode::First => (parts + 1.0) / 2.0,
        };
        let total_bytes = one.bytes.saturating_mul(self.parts);
        Candidate {
            engine,
            parts: self.parts,
            recall,
            bytes_per_page: total_bytes as f64 / self.request.pages as f64,
            total_bytes,
            probes: one.probes * asked,
            compared: one.compared * asked,
            nanoseconds_per_query: one.nanoseconds * asked,
            build_nanoseconds: one.build * parts,
            fits: self.request.memory.is_none_or(|memory| total_bytes <= memory),
        }
    }

    fn collection_bytes(&self) -> u64 {
        Collection::predicted_bytes(self.rows, self.request.pages - 1)
    }

    fn scan(&self) -> Candidate {
        let compared = match self.request.mode {
            Mode::All => self.rows as f64,
            Mode::First => self.rows as f64 / 2.0,
        };
        let cost = Cost {
            bytes: self.collection_bytes(),
            probes: 0.0,
            compared,
            nanoseconds: compared * self.machine.scanned,
            build: 0.0,
        };
        self.candidate(Engine::Scan, 1.0, &cost)
    }

    fn sorted(&self, encoding: Encoding) -> Candidate {
        let Request { bound, mode, pages, .. } = *self.request;
        let (probes, compared, nanoseconds) =
            sorted::forecast(self.rows, bound.bits(), encoding, mode, self.machine);
        let bytes = sorted::bytes(self.rows, pages - 1, encoding);
        let cost = Cost { bytes, probes, compared, nanoseconds, build: 0.0 };
        self.candidate(Engine::Sorted(encoding), 1.0, &cost)
    }

    fn tables(&self) -> Vec<Candidate> {
        // At most `Collection::MOST`, so it fits into `usize`.
        let rows = self.rows as usize;
        let costs = self.machine.costs(rows);
        let mut designs: Vec<Design> = Vec::new();
        for most in TABLE_LIMITS {
            let design = cheapest(rows, self.request.bound, most, costs);
            if !designs.contains(&design) {
                designs.push(design);
            }
        }
        let candidate = |design: Design| {
            let tables = forecast(rows, &design, costs);
            let (probes, compared, nanoseconds) = match self.request.mode {
                Mode::All => sums(&tables),
                Mode::First => sums_until_first(&tables, self.request.bound.bits()),
            };
            let cost = Cost {
                bytes: self.collection_bytes() + tables.iter().map(|t| t.bytes).sum::<u64>(),
                probes,
                compared,
                nanoseconds,
                build: rows as f64 * tables.len() as f64 * self.machine.placed,
            };
            self.candidate(Engine::Tables(design), 1.0, &cost)
        };
        designs.into_iter().map(candidate).collect()
    }

    /// A batch probes all buckets before it sees any match, so the first match takes as long as all
    /// matches.
    fn weak_bits(&self) -> Vec<Candidate> {
        let all = forecasts(self.rows, self.request, self.machine);
        let candidate = |weak: WeakForecast| {
            let cost = Cost {
                bytes: weak.bytes,
                probes: weak.probes,
                compared: weak.compared,
                nanoseconds: weak.nanoseconds,
                build: self.rows as f64 * self.machine.placed,
            };
            let engine = Engine::WeakBits { prefix_bits: weak.prefix_bits };
            self.candidate(engine, self.request.recall.get(), &cost)
        };
        all.into_iter().map(candidate).collect()
    }
}

fn sums(tables: &[TableForecast]) -> (f64, f64, f64) {
    tables.iter().fold((0.0, 0.0, 0.0), |(probes, compared, nanoseconds), table| {
        (probes + table.probes, compared + table.compared, nanoseconds + table.nanoseconds)
    })
}

/// As [`sums`], up to the table that finds a match differing in `bound` random bits, averaged over
/// [`SAMPLED`] such matches. Includes the following table, because a batch probes it for many
/// queries before the results of the previous one are known.
fn sums_until_first(tables: &[TableForecast], bound: u32) -> (f64, f64, f64) {
    let (mut probes, mut compared, mut nanoseconds) = (0.0, 0.0, 0.0);
    for number in 0..SAMPLED {
        let flips = spread_flips(number, bound);
        let finds = |table: &TableForecast| (flips & table.prefix).count_ones() <= table.radius;
        let searched = tables
            .iter()
            .position(finds)
            .map_or(tables.len(), |table| (table + 2).min(tables.len()));
        let cost = sums(&tables[..searched]);
        probes += cost.0;
        compared += cost.1;
        nanoseconds += cost.2;
    }
    let share = 1.0 / SAMPLED as f64;
    (probes * share, compared * share, nanoseconds * share)
}

/// `count` different bits, chosen by a random sequence (SplitMix64 of Steele, Lea and Flood) that
/// starts at `number`.
fn spread_flips(number: u64, count: u32) -> u64 {
    let mut state = number.wrapping_mul(0xd1b5_4a32_d192_ed03);
    let mut flips = 0u64;
    while flips.count_ones() < count.min(u64::BITS) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        flips |= 1 << ((mixed ^ (mixed >> 31)) % 64);
    }
    flips
}

/// Removes candidates that another one beats in both time and bytes.
fn undominated(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by(|a, b| {
        let by_time = a.nanoseconds_per_query.total_cmp(&b.nanoseconds_per_query);
        a.total_bytes.cmp(&b.total_bytes).then(by_time)
    });
    let mut least = f64::INFINITY;
    candidates.retain(|candidate| {
        let faster = candidate.nanoseconds_per_query < least;
        least = least.min(candidate.nanoseconds_per_query);
        faster
    });
    candidates
}
