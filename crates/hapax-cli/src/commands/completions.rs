//! `hapax completions`: writes the completions of commands and options for a shell.
//!
//! Generated from the arguments, so they are always current. The examples name the usual places where shells look for
//! such files.

use crate::failure::Failure;
use crate::output;
use clap::Args;
use clap_complete::Shell;

/// Print shell completions for commands and options
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax completions bash > ~/.local/share/bash-completion/completions/hapax
  hapax completions zsh > ~/.zfunc/_hapax
  hapax completions fish > ~/.config/fish/completions/hapax.fish")]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::command(), "hapax", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
