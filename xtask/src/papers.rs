//! The papers' tables and figures, measured again and put into one document.
//!
//! The work is in `experiments/`; here it is built, started in the root of the repository, and its
//! records are gathered.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::{Workspace, run};

pub(crate) struct Run<'a> {
    pub(crate) only: &'a [String],
    pub(crate) full: bool,
    pub(crate) pages: &'a Option<PathBuf>,
}

/// Runs what is asked for, and writes the documents from all records.
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
            // The command starts in the root, whoever asks somewhere else.
            command.arg("--pages").arg(absolute(folder)?);
        }
        run(&mut command)?;
    }
    run(workspace.command(&program).arg("gather"))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot resolve {}", path.display()))
}
