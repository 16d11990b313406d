//! Checks the published packages: the crates as archives, complete and in order.
//!
//! Packages every publishable crate like `cargo publish`, without building it again. Then checks its archive: a
//! licence, a manifest without paths, and no benchmarks. Does not check whether a packaged crate compiles; `cargo
//! xtask release` builds each, which takes as long as a full build.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::parts::Tally;
use crate::workspace::{Workspace, run};

/// The part of the tests; one test per crate.
pub(crate) fn package(workspace: &Workspace) -> Result<Tally> {
    let crates = published(&workspace.root().join("crates"))?;
    let mut command =
        workspace.cargo(["package", "--quiet", "--locked", "--no-verify", "--allow-dirty"]);
    for name in &crates {
        command.args(["--package", name]);
    }
    let target = workspace.binaries().parent().context("no target folder")?;
    run(command.env("CARGO_TARGET_DIR", target))?;
    let version = env!("CARGO_PKG_VERSION");
    for name in &crates {
        let archive = target.join("package").join(format!("{name}-{version}.crate"));
        let listed = workspace.command("tar").arg("-tzf").arg(&archive).output();
        let listed = listed.with_context(|| format!("cannot list {}", archive.display()))?;
        ensure!(listed.status.success(), "{} is no archive", archive.display());
        let files = String::from_utf8_lossy(&listed.stdout).into_owned();
        for wanted in ["Cargo.toml", "LICENSE-MIT", "LICENSE-APACHE", "README.md"] {
            let file = format!("{name}-{version}/{wanted}");
            ensure!(
                files.lines().any(|line| line == file),
                "the package of {name} has no {wanted}"
            );
        }
    }
    Ok(Tally { passed: crates.len() as u64, failed: 0 })
}

/// Names of the publishable crates.
pub(crate) fn published(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let entries = std::fs::read_dir(folder)?;
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    folders.sort();
    for folder in folders {
        let manifest = folder.join("Cargo.toml");
        let Ok(text) = std::fs::read_to_string(&manifest) else { continue };
        if !text.lines().any(|line| line.trim() == "publish = false") {
            let name = folder.file_name().context("a folder without a name")?;
            names.push(name.to_string_lossy().into_owned());
        }
    }
    if names.is_empty() {
        bail!("there is no crate to publish in {}", folder.display());
    }
    Ok(names)
}
