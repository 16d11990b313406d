//! The JSON form of a plan. The engine's types are not a stable format; these are.

use hapax::index::plan::{Candidate, Engine, Machine, Mode, Plan, PlanError, Request};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    request: RequestRecord,
    machine: MachineRecord,
    candidates: Vec<CandidateRecord>,
    /// Position among the candidates; null if none fits.
    chosen: Option<usize>,
    reason: Option<&'a str>,
    /// Bytes of the smallest candidate, if none fits.
    needed_bytes: Option<u64>,
}

#[derive(Serialize)]
struct RequestRecord {
    pages: u64,
    within: u32,
    memory_bytes: Option<u64>,
    recall: f64,
    first: bool,
}

#[derive(Serialize)]
struct MachineRecord {
    near_probe_ns: f64,
    far_probe_ns: f64,
    entry_ns: f64,
    scanned_ns: f64,
    ranked_ns: f64,
    near_combination_ns: f64,
    filtered_ns: f64,
    placed_ns: f64,
}

#[derive(Serialize)]
struct CandidateRecord {
    engine: &'static str,
    tables: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<KeyRecord>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix_bits: Option<u32>,
    parts: u64,
    recall: f64,
    bytes_per_page: f64,
    total_bytes: u64,
    probes: f64,
    compared: f64,
    nanoseconds_per_query: f64,
    build_nanoseconds: f64,
    fits: bool,
}

/// Bit positions that form a key, and how many of them may differ.
#[derive(Serialize)]
struct KeyRecord {
    mask: String,
    radius: u32,
}

pub(super) fn document<'a>(
    request: &Request,
    machine: &Machine,
    candidates: &[Candidate],
    plan: &'a Result<Plan, PlanError>,
) -> impl Serialize + 'a {
    let needed_bytes = match plan {
        Err(PlanError::Memory { needed, .. }) => Some(*needed),
        _ => None,
    };
    let plan = plan.as_ref().ok();
    Document {
        request: RequestRecord {
            pages: request.pages,
            within: request.bound.bits(),
            memory_bytes: request.memory,
            recall: request.recall.get(),
            first: request.mode == Mode::First,
        },
        machine: MachineRecord {
            near_probe_ns: machine.near_probe,
            far_probe_ns: machine.far_probe,
            entry_ns: machine.entry,
            scanned_ns: machine.scanned,
            ranked_ns: machine.ranked,
            near_combination_ns: machine.near_combination,
            filtered_ns: machine.filtered,
            placed_ns: machine.placed,
        },
        candidates: candidates.iter().map(candidate).collect(),
        chosen: plan.map(|plan| plan.chosen),
        reason: plan.map(|plan| plan.reason.as_str()),
        needed_bytes,
    }
}

fn candidate(candidate: &Candidate) -> CandidateRecord {
    let keys = match &candidate.engine {
        Engine::Tables(design) => Some(
            design
                .keys()
                .iter()
                .map(|key| KeyRecord { mask: format!("{:016x}", key.mask), radius: key.radius })
                .collect(),
        ),
        _ => None,
    };
    let prefix_bits = match candidate.engine {
        Engine::WeakBits { prefix_bits } => Some(prefix_bits),
        _ => None,
    };
    CandidateRecord {
        engine: candidate.engine.name(),
        tables: candidate.engine.tables(),
        keys,
        prefix_bits,
        parts: candidate.parts,
        recall: candidate.recall,
        bytes_per_page: candidate.bytes_per_page,
        total_bytes: candidate.total_bytes,
        probes: candidate.probes,
        compared: candidate.compared,
        nanoseconds_per_query: candidate.nanoseconds_per_query,
        build_nanoseconds: candidate.build_nanoseconds,
        fits: candidate.fits,
    }
}
