//! The `hapax` program, started by Python.

use std::ffi::OsString;
use std::io::Write;

use pyo3::prelude::*;

/// Runs the program with these words, its own name first; gives the exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = hapax_cli::run(words);
        // At the end of a Python process nobody else does.
        let _ = std::io::stdout().flush();
        code
    })
}
