//! Repeats the measurements of the papers' tables and figures and writes them to one document.
//!
//! `experiments/` does the work; this module builds it, starts it in the root of the repository, and collects its
//! records.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::{Workspace, run};

pub(crate) struct Run<'a> {
    pub(crate) only: &'a [String],
    pub(crate) full: bool,
    pub(crate) pages: &'a Option<PathBuf>,
}

/// Runs the requested measurements, and writes the documents from all records.
pub(crate) fn papers(workspace: &Workspace, asked: Option<&Run<'_>>) -> Result<()> {
    run(&mut workspace.cargo(["build", "--release", "--package", "hapax-experiments"]))?;
    let program = workspace.binaries().join("hapax-experiments");
    if let Some(asked) = asked {
        let mut command = workspace.command(&program);
        command.arg("run").args(asked.only);
        if asked.full {
            command.arg("--full");
        }
        if let Some(folder) = asked.pages {
            // The command starts in the root, not in the user's folder.
            command.arg("--pages").arg(absolute(folder)?);
        }
        run(&mut command)?;
    }
    run(workspace.command(&program).arg("gather"))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot resolve {}", path.display()))
}
