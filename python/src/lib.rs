//! The engine as a Python module, `hapax._hapax`, on which the typed and documented package `python/hapax` is
//! built.
//!
//! Texts, numbers and paths come in; engine values, bytes, Arrow tables and JSON go out. Guarantees that the GIL is
//! released around all work, that errors are exceptions and outside data never panics, and that a value that
//! belongs to a process refuses to work in a child made by `fork`. Contains no algorithms: it calls the crates that
//! have them.

mod cell_rows;
mod cells;
mod client;
mod columns;
mod comparison;
mod dedup;
mod errors;
mod fingerprinter;
mod index;
mod pages;
mod recipes;
mod repository;
mod shards;
mod signature;
mod spool;
mod stages;
mod steps;
mod texts;
mod workers;

use pyo3::prelude::*;

/// The module.
#[pymodule]
mod _hapax {
    #[pymodule_export]
    use super::cells::{CellsCore, learn_cells};
    #[pymodule_export]
    use super::client::ClientCore;
    #[pymodule_export]
    use super::columns::document_columns;
    #[pymodule_export]
    use super::comparison::Comparison;
    #[pymodule_export]
    use super::dedup::run_dedup;
    #[pymodule_export]
    use super::fingerprinter::FingerprinterCore;
    #[pymodule_export]
    use super::index::{IndexCore, plan_json};
    #[pymodule_export]
    use super::pages::parse_time;
    #[pymodule_export]
    use super::recipes::built_in_recipes;
    #[pymodule_export]
    use super::repository::RepositoryCore;
    #[pymodule_export]
    use super::shards::{decide_shards, fingerprint_shard};
    #[pymodule_export]
    use super::signature::Signature;
    #[pymodule_export]
    use super::spool::SpoolCore;
    #[pymodule_export]
    use super::stages::{groups_of_pairs, pairs_of_file, pairs_of_fingerprints, pairs_of_table};
    #[pymodule_export]
    use super::steps::{LearnFramesCore, OwnTextsCore, SignaturesCore, StepsCore};

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("DEFAULT_WITHIN", hapax::similarity::DEFAULT_WITHIN)?;
        module.add("DEFAULT_MIN_SIMILARITY", hapax::similarity::DEFAULT_MIN_SIMILARITY)?;
        module.add("DEFAULT_RULES", hapax::group::rules::DEFAULT_RULES)
    }
}
