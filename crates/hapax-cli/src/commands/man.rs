//! `hapax man`: writes manual pages, one for the program and one for each command.
//!
//! Generated from the arguments, so they are always current.

use crate::failure::Failure;
use crate::output;
use clap::Args;
use clap_mangen::Man;
use std::path::{Path, PathBuf};

/// Write the manual pages
///
/// Without --out, the page of the program goes to standard output.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax man | man -l -
  hapax man --out ~/.local/share/man/man1     then: man hapax-dedup")]
pub(crate) struct Arguments {
    /// Folder for all pages; created if it does not exist
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut program = crate::command().disable_help_subcommand(true);
    program.build();
    match &arguments.out {
        None => write(program, None),
        Some(folder) => {
            let made = std::fs::create_dir_all(folder);
            made.map_err(|error| Failure::io("make", folder, error))?;
            all(&program, "hapax", folder)
        }
    }
}

/// Writes the pages of a command and its subcommands.
fn all(command: &clap::Command, name: &str, folder: &Path) -> Result<(), Failure> {
    write(command.clone(), Some(&folder.join(format!("{name}.1"))))?;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        all(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(())
}

fn write(command: clap::Command, path: Option<&Path>) -> Result<(), Failure> {
    let mut page = Vec::new();
    let version = concat!("hapax ", env!("CARGO_PKG_VERSION"));
    Man::new(command).source(version).render(&mut page).map_err(anyhow::Error::new)?;
    // Renames the library's heading of the text below the options.
    let page = String::from_utf8_lossy(&page).replace(".SH EXTRA", ".SH NOTES");
    match path {
        Some(path) => output::write_file(path, page.as_bytes()),
        None => output::print(&page),
    }
}
