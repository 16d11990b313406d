//! The `hapax` program. Everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    hapax_cli::remove_when_interrupted();
    ExitCode::from(hapax_cli::run(std::env::args_os()))
}
