//! `hapax completions`: what a shell needs to complete commands and options.
//!
//! Made from the arguments themselves, so it is never behind them. It does not know where a shell
//! looks for such files; the examples say it for the usual ones.

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
