//! Chooses the best candidate, and says why.
//!
//! The best one is the fastest of those that fit into memory; if the number of queries is known, the one that
//! is done first, including its construction. Of equally fast ones, the smaller. Does not predict anything.

use super::{Candidate, Engine, Plan, PlanError, Request};
use crate::index::segment::Encoding;

pub(super) fn choose(request: &Request, candidates: Vec<Candidate>) -> Result<Plan, PlanError> {
    let all = || candidates.iter().enumerate();
    let by_cost = |a: &(usize, &Candidate), b: &(usize, &Candidate)| {
        let by_time = cost(request, a.1).total_cmp(&cost(request, b.1));
        by_time.then(a.1.total_bytes.cmp(&b.1.total_bytes))
    };
    let Some((chosen, choice)) = all().filter(|(_, c)| c.fits).min_by(by_cost) else {
        let smallest = all().map(|(_, c)| c).min_by_key(|c| c.total_bytes);
        return Err(PlanError::Memory {
            pages: request.pages,
            given: request.memory.unwrap_or(u64::MAX),
            needed: smallest.map_or(u64::MAX, |c| c.total_bytes),
            engine: smallest.map_or("scan", |c| c.engine.name()),
        });
    };
    let fastest = all().min_by(by_cost).map_or(choice, |(_, c)| c);
    let reason = reason(request, choice, fastest);
    Ok(Plan { candidates, chosen, reason })
}

/// Nanoseconds until all work is done, or per query if their number is unknown.
fn cost(request: &Request, candidate: &Candidate) -> f64 {
    match request.queries {
        None => candidate.nanoseconds_per_query,
        Some(queries) => {
            candidate.build_nanoseconds + queries as f64 * candidate.nanoseconds_per_query
        }
    }
}

fn reason(request: &Request, choice: &Candidate, fastest: &Candidate) -> String {
    let mut text = format!(
        "{}: {} a query in {} ({:.1} bytes a page)",
        describe(&choice.engine),
        time(choice.nanoseconds_per_query),
        bytes(choice.total_bytes),
        choice.bytes_per_page,
    );
    if choice.recall < 1.0 {
        text.push_str(&format!(", finding {} % of the matches", percent(choice.recall)));
    }
    match request.memory {
        Some(memory) if choice == fastest => {
            text.push_str(&format!("; nothing faster is known, and it fits into {}", bytes(memory)))
        }
        Some(memory) => text.push_str(&format!(
            "; the fastest that fits into {} ({} would take {} but need {})",
            bytes(memory),
            describe(&fastest.engine),
            time(fastest.nanoseconds_per_query),
            bytes(fastest.total_bytes),
        )),
        None => text.push_str("; nothing faster is known"),
    }
    if let (Some(queries), Engine::Scan | Engine::Sorted(_)) = (request.queries, &choice.engine) {
        text.push_str(&format!("; for {queries} queries no other index is worth building"));
    }
    if choice.parts > 1 {
        text.push_str(&format!("; spread over {} indexes", choice.parts));
    }
    text
}

fn describe(engine: &Engine) -> String {
    match engine {
        Engine::Scan => "a scan".to_owned(),
        Engine::Sorted(Encoding::Plain) => "one sorted array".to_owned(),
        Engine::Sorted(Encoding::Compressed) => "one compressed sorted array".to_owned(),
        Engine::Tables(design) => match design.keys().len() {
            1 => "1 table".to_owned(),
            tables => format!("{tables} tables"),
        },
        Engine::WeakBits { prefix_bits } => format!("weak bits with {prefix_bits} leading bits"),
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.3}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats bytes in decimal units.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if count < 1000 {
        return format!("{count} B");
    }
    let (mut value, mut unit) = (count as f64 / 1e3, 0);
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// The number of machines needed, if that is useful to know.
pub(super) fn machines(given: u64, needed: u64) -> String {
    match needed.div_ceil(given.max(1)) {
        some @ 2..=1000 => format!("; {some} machines with so much each would hold a part each"),
        _ => String::new(),
    }
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} us", n / 1e3),
        n if n < 1e9 => format!("{:.1} ms", n / 1e6),
        n => format!("{:.1} s", n / 1e9),
    }
}
