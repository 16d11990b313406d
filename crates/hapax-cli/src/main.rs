//! The `hapax` program; its code is in the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    hapax_cli::remove_when_interrupted();
    ExitCode::from(hapax_cli::run(std::env::args_os()))
}
